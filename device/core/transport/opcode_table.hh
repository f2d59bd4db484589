// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the requester has to know about each opcode of a send WQE.
#pragma once

#include <array>
#include <cstdint>

#include <rdma/ohca_hw.h>

#include "core/transport/segment.hh"

namespace ohca::core {

struct OpcodeProperties {
	SegmentKind kind = SegmentKind::kNone;
	// Answered by more than an ACK: counts against max_read_atomic, fence waits. kReadResponse or
	// kAtomicAcknowledge.
	bool read_atomic = false;
	SegmentKind response = SegmentKind::kAcknowledge;
	bool has_immediate = false;
	bool has_invalidate = false;
	bool local = false; // concerns this HCA only: no PSN, nothing is transmitted
};

constexpr uint8_t kOpcodeCount = OHCA_WR_REG_MR_INTEGRITY + 1;

constexpr std::array<OpcodeProperties, kOpcodeCount> kOpcodes = [] {
	constexpr OpcodeProperties kRead = {.kind = SegmentKind::kReadRequest,
					    .read_atomic = true,
					    .response = SegmentKind::kReadResponse};
	constexpr OpcodeProperties kAtomic = {.read_atomic = true, .response = SegmentKind::kAtomicAcknowledge};
	std::array<OpcodeProperties, kOpcodeCount> table{};
	table[OHCA_WR_SEND] = {.kind = SegmentKind::kSend};
	table[OHCA_WR_SEND_IMM] = {.kind = SegmentKind::kSend, .has_immediate = true};
	table[OHCA_WR_SEND_INV] = {.kind = SegmentKind::kSend, .has_invalidate = true};
	table[OHCA_WR_WRITE] = {.kind = SegmentKind::kWrite};
	table[OHCA_WR_WRITE_IMM] = {.kind = SegmentKind::kWrite, .has_immediate = true};
	table[OHCA_WR_READ] = kRead;
	table[OHCA_WR_READ_INV] = kRead;
	table[OHCA_WR_CAS] = kAtomic;
	table[OHCA_WR_CAS].kind = SegmentKind::kCompareSwap;
	table[OHCA_WR_FADD] = kAtomic;
	table[OHCA_WR_FADD].kind = SegmentKind::kFetchAdd;
	table[OHCA_WR_MASKED_CAS] = kAtomic;
	table[OHCA_WR_MASKED_CAS].kind = SegmentKind::kMaskedCompareSwap;
	table[OHCA_WR_MASKED_FADD] = kAtomic;
	table[OHCA_WR_MASKED_FADD].kind = SegmentKind::kMaskedFetchAdd;
	table[OHCA_WR_ATOMIC_WRITE] = kRead;
	table[OHCA_WR_ATOMIC_WRITE].kind = SegmentKind::kAtomicWrite;
	table[OHCA_WR_FLUSH] = kRead;
	table[OHCA_WR_FLUSH].kind = SegmentKind::kFlush;
	table[OHCA_WR_BIND_MW] = {.local = true};
	table[OHCA_WR_REG_MR] = {.local = true};
	table[OHCA_WR_LOCAL_INV] = {.local = true};
	table[OHCA_WR_REG_MR_INTEGRITY] = {.local = true};
	return table;
}();

// Unknown opcodes have kind kNone; fetching has given them an error status already.
inline const OpcodeProperties &opcode_properties(uint8_t opcode)
{
	return kOpcodes[opcode < kOpcodeCount ? opcode : 0];
}

} // namespace ohca::core
