// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What a CQE means in the terms of the verbs.  Every value of the device is
// bounded here before it is used as an index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>
#include <rdma/ohca_hw_io.h>

#include "completion_queue.hh"

namespace ohca {

// Indexed by OHCA_CQE_STATUS_*.
inline constexpr std::uint8_t kStatus[OHCA_CQE_STATUS_COUNT] = {
	IBV_WC_SUCCESS,
	IBV_WC_LOC_LEN_ERR,
	IBV_WC_LOC_QP_OP_ERR,
	IBV_WC_LOC_PROT_ERR,
	IBV_WC_WR_FLUSH_ERR,
	IBV_WC_MW_BIND_ERR,
	IBV_WC_BAD_RESP_ERR,
	IBV_WC_LOC_ACCESS_ERR,
	IBV_WC_REM_INV_REQ_ERR,
	IBV_WC_REM_ACCESS_ERR,
	IBV_WC_REM_OP_ERR,
	IBV_WC_RETRY_EXC_ERR,
	IBV_WC_RNR_RETRY_EXC_ERR,
	IBV_WC_REM_ABORT_ERR,
	IBV_WC_FATAL_ERR,
	IBV_WC_GENERAL_ERR,
};

constexpr ibv_wc_status wc_status(std::uint8_t status)
{
	static_assert(OHCA_CQE_STATUS_GENERAL == OHCA_CQE_STATUS_COUNT - 1);
	if (status == OHCA_CQE_STATUS_SUCCESS) [[likely]]
		return IBV_WC_SUCCESS;
	return static_cast<ibv_wc_status>(kStatus[std::min<std::uint8_t>(status, OHCA_CQE_STATUS_GENERAL)]);
}

// Indexed by OHCA_WR_*, for receive completions + kOpcodeCount.
inline constexpr std::uint8_t kOpcodeCount = 32;

struct OpcodeTable {
	std::uint8_t values[2 * kOpcodeCount];
};

consteval OpcodeTable make_opcode_table()
{
	OpcodeTable table{};
	for (std::uint8_t i = 0; i < kOpcodeCount; ++i) {
		table.values[i] = IBV_WC_SEND; // of 0 and of numbers that are no opcode, too
		table.values[kOpcodeCount + i] = IBV_WC_RECV;
	}
	table.values[OHCA_WR_WRITE] = IBV_WC_RDMA_WRITE;
	table.values[OHCA_WR_WRITE_IMM] = IBV_WC_RDMA_WRITE;
	table.values[OHCA_WR_READ] = IBV_WC_RDMA_READ;
	table.values[OHCA_WR_CAS] = IBV_WC_COMP_SWAP;
	table.values[OHCA_WR_FADD] = IBV_WC_FETCH_ADD;
	table.values[OHCA_WR_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE;
	table.values[OHCA_WR_FLUSH] = IBV_WC_FLUSH;
	table.values[OHCA_WR_BIND_MW] = IBV_WC_BIND_MW;
	table.values[OHCA_WR_LOCAL_INV] = IBV_WC_LOCAL_INV;
	table.values[kOpcodeCount + OHCA_WR_WRITE_IMM] = IBV_WC_RECV_RDMA_WITH_IMM;
	return table;
}

inline constexpr OpcodeTable kOpcode = make_opcode_table();
static_assert(IBV_WC_RECV_RDMA_WITH_IMM <= 0xff);

constexpr ibv_wc_opcode wc_opcode(std::uint8_t opcode, std::uint8_t flags)
{
	static_assert(OHCA_CQE_RECEIVE == 1);
	const std::size_t half = flags & std::size_t{OHCA_CQE_RECEIVE};
	return static_cast<ibv_wc_opcode>(kOpcode.values[opcode % std::size_t{kOpcodeCount} + half * kOpcodeCount]);
}

// Indexed by OHCA_CQE_* of ohca_cqe.flags.
inline constexpr std::uint8_t kFlagsCount = 64;

struct FlagsTable {
	std::uint8_t values[kFlagsCount];
};

consteval FlagsTable make_flags_table()
{
	FlagsTable table{};
	for (std::uint8_t i = 0; i < kFlagsCount; ++i)
		table.values[i] = static_cast<std::uint8_t>((i & OHCA_CQE_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
							    (i & OHCA_CQE_WITH_INV ? IBV_WC_WITH_INV : 0) |
							    (i & OHCA_CQE_WITH_GRH ? IBV_WC_GRH : 0));
	return table;
}

inline constexpr FlagsTable kFlags = make_flags_table();

// RoCE carries no service level.  For datagrams the field tells, as ConnectX does and UCX relies on,
// what the packet was: bit 3 a UDP header, bits 2:0 the network header, 1 IPv6 or 2 IPv4.
constexpr std::uint8_t wc_sl(std::uint8_t network_header)
{
	static_assert(OHCA_NETWORK_HEADER_NONE == 0 && OHCA_NETWORK_HEADER_IPV4 == 1 && OHCA_NETWORK_HEADER_IPV6 == 2);
	constexpr std::uint32_t kByHeader = 0x09'0a'00;
	return static_cast<std::uint8_t>(kByHeader >> (8 * (network_header & 3)));
}

constexpr unsigned int wc_flags(std::uint8_t flags)
{
	return kFlags.values[flags % kFlagsCount];
}

// Retires the work request(s) that a CQE of a queue pair's own queues stands for.  False for
// others, and for one that names nothing outstanding: a discarded one, or garbage.
[[gnu::always_inline]] inline bool retire_own(CompletionQueue &cq, const ohca_cqe &cqe, std::uint64_t &wr_id)
{
	QueuePair *qp = cq.find(load_relaxed(cqe.qpn));
	if (!qp) [[unlikely]]
		return false;
	WorkQueue &queue = load_relaxed(cqe.flags) & OHCA_CQE_RECEIVE ? qp->rq : qp->sq;
	// Another CQ's queue is under another lock.
	if (queue.cq != &cq) [[unlikely]]
		return false;
	return queue.retire(load_relaxed(cqe.wqe_index), wr_id);
}

// The same for any CQE.
inline bool retire(CompletionQueue &cq, const ohca_cqe &cqe, std::uint64_t &wr_id)
{
	return retire_own(cq, cqe, wr_id) || cq.retire_shared(cqe, wr_id);
}

} // namespace ohca
