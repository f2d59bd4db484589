// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The unit between requester and responder (design D6): transport headers and
// a reference to payload.  To a peer in the same process one segment carries
// up to kSegmentPayloadMax bytes and stands for psn_count path-MTU packets; to
// a peer on a wire it is one packet.  All protocol decisions are taken on
// PSNs, so both behave the same.
#pragma once

#include <cstdint>

#include "core/mem/sg_list.hh"
#include "core/transport/datagram.hh"

namespace ohca::core {

// The service prefix of the opcodes. Queue pairs of different services do not hear each other.
enum class Service : uint8_t {
	kReliableConnection = 0,
	kExtendedReliableConnection,
	kUnreliableConnection,
	kUnreliableDatagram,
};

// IBTA 9.2 base transport header opcodes, without the service prefix,
// by meaning. First/middle/last/only is in the flags.
enum class SegmentKind : uint8_t {
	kNone = 0,
	kSend,
	kWrite,
	kReadRequest,
	kCompareSwap,
	kFetchAdd,
	kMaskedCompareSwap, // extended atomics: both masks of the operands
	kMaskedFetchAdd,
	kAtomicWrite,       // payload of 8 bytes; answered with an empty kReadResponse
	kFlush,             // likewise
	kReadResponse,
	kAcknowledge,       // ACK and every NAK; see aeth_syndrome
	kAtomicAcknowledge,
};

struct Segment {
	SegmentKind kind = SegmentKind::kNone;
	Service service = Service::kReliableConnection;
	bool first = false;          // of its message (or read response)
	bool last = false;
	bool solicited = false;
	bool ack_request = false;
	bool may_pause = false;      // UC, UD: the sender waits if there is no receive WQE (link pause)
	bool has_immediate = false;  // last of SEND/WRITE
	bool has_invalidate = false; // last of SEND
	uint8_t aeth_syndrome = 0;   // IBTA 9.7.5.1.2: ACK 0x1f, RNR NAK 0x20|timer, NAK 0x60|code
	uint32_t source_function = 0; // index in the engine; a wire peer is addressed by GID
	uint32_t source_qpn = 0;
	uint32_t dest_qpn = 0;
	uint32_t psn = 0;            // 24 bits, of the first packet
	uint32_t psn_count = 1;      // packets this segment stands for
	uint32_t msn = 0;            // AETH
	uint32_t immediate_be = 0;   // as on the wire; or the rkey to invalidate (host order)
	uint32_t remote_srqn = 0;    // XRCETH: requests to XRC_TGT; 0 otherwise
	uint32_t rkey = 0;           // RETH, AtomicETH
	uint32_t dma_length = 0;     // RETH: length of the whole message
	uint64_t remote_address = 0; // RETH, AtomicETH
	uint64_t operand = 0;        // AtomicETH: swap or add; AtomicAckETH: original value
	uint64_t compare = 0;
	uint64_t swap_mask = 0;      // masked compare and swap; masked fetch and add: boundary mask
	uint64_t compare_mask = 0;
	uint8_t flush_placement = 0; // FETH: OHCA_FLUSH_GLOBAL, OHCA_FLUSH_PERSISTENT
	uint8_t flush_selectivity = 0;
	uint64_t payload_length = 0; // bytes
	const Datagram *datagram = nullptr; // DETH and below; lives as long as the payload
	SgCursor payload;            // where the bytes are; valid until the pass ends
};

// Bounds the time one segment occupies the engine (copy of 256 KiB: tens of microseconds).
constexpr uint64_t kSegmentPayloadMax = 256 * 1024;

} // namespace ohca::core
