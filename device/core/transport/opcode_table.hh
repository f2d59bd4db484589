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
	bool read_atomic = false;    // answered with data: counts against max_read_atomic, fence waits
	bool has_immediate = false;
	bool has_invalidate = false;
};

constexpr uint8_t kOpcodeCount = OHCA_WR_FADD + 1;

constexpr std::array<OpcodeProperties, kOpcodeCount> kOpcodes = [] {
	std::array<OpcodeProperties, kOpcodeCount> table{};
	table[OHCA_WR_SEND] = {.kind = SegmentKind::kSend};
	table[OHCA_WR_SEND_IMM] = {.kind = SegmentKind::kSend, .has_immediate = true};
	table[OHCA_WR_SEND_INV] = {.kind = SegmentKind::kSend, .has_invalidate = true};
	table[OHCA_WR_WRITE] = {.kind = SegmentKind::kWrite};
	table[OHCA_WR_WRITE_IMM] = {.kind = SegmentKind::kWrite, .has_immediate = true};
	table[OHCA_WR_READ] = {.kind = SegmentKind::kReadRequest, .read_atomic = true};
	table[OHCA_WR_CAS] = {.kind = SegmentKind::kCompareSwap, .read_atomic = true};
	table[OHCA_WR_FADD] = {.kind = SegmentKind::kFetchAdd, .read_atomic = true};
	return table;
}();

// Unknown opcodes have kind kNone; fetching has given them an error status already.
inline const OpcodeProperties &opcode_properties(uint8_t opcode)
{
	return kOpcodes[opcode < kOpcodeCount ? opcode : 0];
}

} // namespace ohca::core
