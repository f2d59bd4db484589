// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What a seed decides before the first event.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <rdma/ohca_hw.h>

#include "prng.hh"

namespace ohca::sim {

// A deliberately broken rule, to see that the oracle notices (never in the device's code: the
// world bends what it hands to it).
enum class Canary : uint8_t {
	kNone,
	kDuplicates, // requests behind the expected PSN are carried out again
	kFence,      // fences are ignored
	kAcks,       // acknowledgements cover one packet too many
	kKeys,       // the consumer part of a remote key is not compared
	kCorruption, // UC, UD: a bit of the payload changes on the way
};

enum class Scenario : uint8_t {
	kExchange,      // faults, then health: everything must complete, exactly
	kBlackout,      // the network dies for good: RETRY_EXCEEDED
	kNoReceives,    // nobody posts receives: RNR_RETRY_EXCEEDED
	kBadKey,        // one request with a wrong rkey: REMOTE_ACCESS
	kBadLocalKey,   // one request with a wrong lkey: LOCAL_PROTECTION
	kShortReceive,  // one receive is too small: REMOTE_INVALID_REQUEST
	kModifyToError, // somebody gives up: everything is flushed
	kCount,
};

struct Options {
	uint64_t seed = 0;
	Canary canary = Canary::kNone;
	Scenario scenario = Scenario::kExchange;

	// Queue pairs.
	uint32_t pair_count = 1;
	uint32_t operations = 50;        // per direction
	uint8_t log_mtu = 10;
	uint64_t segment_payload_max = 0;
	uint8_t log_sq_depth = 4;
	uint8_t log_rq_depth = 4;
	uint8_t read_atomic_depth = 4;
	uint8_t ack_timeout = 5;         // IBTA encoding
	uint8_t rnr_timer = 1;
	uint8_t retry_count = 7;
	uint8_t rnr_retry = 7;
	bool signal_all = false;
	bool shared_cq = false;
	uint32_t transmit_budget = 8;    // segments per service

	// Traffic.
	uint64_t message_max = 4096;     // bytes
	uint32_t sge_max = 4;
	std::array<uint32_t, OHCA_WR_LOCAL_INV + 1> weights{}; // by OHCA_WR_*
	double registration = 0;         // share of requests whose buffer is registered for them alone
	bool windows = false;            // peers are given windows instead of regions
	double leases = 0;               // chance per request to ask the peer for access (lease.hh)
	double unsignaled = 0;
	double fence = 0;
	double inline_share = 0;
	double drain = 0;                // chance per operation of a pause in SQD
	uint64_t receive_pause_ns = 0;   // mean time until a used receive is posted again

	// Network; per segment.
	bool direct = false;             // as in one process: no copy, no delay
	double loss = 0;
	double duplication = 0;
	double delay = 0;                // chance of an extra delay, which also reorders
	uint64_t latency_ns = 2000;
	uint64_t extra_delay_ns = 20000; // at most
};

Options draw_options(uint64_t seed, Canary canary);
std::string describe(const Options &options);

} // namespace ohca::sim
