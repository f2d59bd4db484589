// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What broker and engine say to each other: messages of one size over a
// SOCK_SEQPACKET pair, and memory that both see.  Both ends are the same
// binary, so there is no versioning.
//
// The broker announces each message in EngineShared::messages before it answers
// the client that caused it.  An engine that misses a translation therefore
// knows whether the map it has is the newest one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.hh"
#include "core/engine.hh"
#include "host/interrupts.hh"

namespace ohca::broker {

constexpr size_t kFunctionCountMax = 32;

enum class ChannelType : uint32_t {
	// broker -> engine
	kAddFile,    // file, fd
	kDropFile,   // file
	kMap,        // function, address, size, file, offset, flag: writable
	kUnmap,      // function, address, size                    -> kDone
	kUnmapAll,   // function                                   -> kDone
	kSetIrq,     // function, value: vector, fd or none
	kReset,      // function                                   -> kDone
	kEnable,     // function, enable                           -> kDone, value: OHCA_FAIL_*
	kDmaReply,   // flag: it worked; data in EngineShared::bounce
	kStop,
	// engine -> broker
	kDone,       // sequence of the request
	kFailed,     // function, value: OHCA_FAIL_*
	kDmaRequest, // function, address, size, flag: write; data in EngineShared::bounce -> kDmaReply
};

struct ChannelMessage {
	ChannelType type{};
	uint32_t function = 0;
	uint64_t sequence = 0;
	uint64_t address = 0;
	uint64_t size = 0;
	uint64_t offset = 0;
	uint32_t file = 0;
	uint32_t value = 0;
	bool flag = false;
	core::EnableRequest enable = {};
};

// Counters and times of the engine, for the status socket. Written by the engine only.
struct EngineStatistics {
	std::atomic<uint64_t> started_ns;
	std::atomic<uint64_t> passes;
	std::atomic<uint64_t> busy_passes;
	std::atomic<uint64_t> naps;
	std::atomic<uint64_t> sleeps;
	std::atomic<uint64_t> in_band_requests;
	std::atomic<uint64_t> interrupts;
	std::atomic<uint32_t> realtime;  // runs under SCHED_FIFO
	std::atomic<uint32_t> contended; // more runnable threads than processors
	std::atomic<uint32_t> sleeping;  // in deep sleep
};

struct EngineShared {
	static constexpr size_t kBounceSize = 64 * 1024;

	alignas(64) std::atomic<uint64_t> messages; // broker -> engine, announced so far
	alignas(64) std::atomic<uint64_t> faults;   // SIGBUS taken; of all engines
	alignas(64) EngineStatistics statistics;
	alignas(64) host::InterruptBits interrupts[kFunctionCountMax];
	alignas(64) std::byte bounce[kBounceSize];  // data of the one in-band access under way
};

// One end of the pair.
class Channel {
public:
	Channel() = default;
	explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

	enum class Result { kOk, kAgain, kClosed };
	int fd() const { return socket_.get(); }
	Result send(const ChannelMessage &message, int fd = -1);
	Result receive(ChannelMessage &message, UniqueFd &fd);

	// Throws std::system_error.
	static void make_pair(Channel &broker, Channel &engine);

private:
	UniqueFd socket_;
};

} // namespace ohca::broker
