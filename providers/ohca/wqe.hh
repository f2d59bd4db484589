// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Builds work queue entries in place.  One piece of code for ibv_post_send() and
// for the ibv_wr_* calls.
//
// A slot is plain memory until the producer index is published, so nothing here
// is atomic.  Header words are stored whole: field by field it would be nine
// stores instead of four.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <infiniband/verbs.h>
#include <rdma/ohca_hw_io.h>

#include "address_handle.hh"
#include "ring.hh"

namespace ohca {

template <class T> void store_at(std::byte *at, T value)
{
	std::memcpy(at, &value, sizeof(value));
}

// The two have the same layout, so that an element is one 16-byte copy.
static_assert(sizeof(ibv_sge) == sizeof(ohca_sge));
static_assert(offsetof(ibv_sge, addr) == offsetof(ohca_sge, address));
static_assert(offsetof(ibv_sge, length) == offsetof(ohca_sge, length));
static_assert(offsetof(ibv_sge, lkey) == offsetof(ohca_sge, lkey));

// Indexed by the enum ibv_send_flags that a WQE has flags for.
inline constexpr unsigned int kSendFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;

struct WqeFlagsTable {
	std::uint8_t values[kSendFlags + 1];
};

consteval WqeFlagsTable make_wqe_flags_table()
{
	WqeFlagsTable table{};
	for (unsigned int i = 0; i <= kSendFlags; ++i)
		table.values[i] = static_cast<std::uint8_t>((i & IBV_SEND_SIGNALED ? OHCA_WQE_SIGNALED : 0) |
							    (i & IBV_SEND_SOLICITED ? OHCA_WQE_SOLICITED : 0) |
							    (i & IBV_SEND_FENCE ? OHCA_WQE_FENCE : 0));
	return table;
}

inline constexpr WqeFlagsTable kWqeFlags = make_wqe_flags_table();

constexpr std::uint8_t wqe_flags(unsigned int send_flags)
{
	static_assert(kSendFlags == 7);
	return kWqeFlags.values[send_flags & kSendFlags];
}

// Word 0 of struct ohca_sq_wqe.
inline void write_control(std::byte *wqe, std::uint8_t opcode, std::uint8_t flags, std::uint32_t num_sge,
			  std::uint32_t inline_length = 0)
{
	static_assert(offsetof(ohca_sq_wqe, opcode) == 0 && offsetof(ohca_sq_wqe, flags) == 1);
	static_assert(offsetof(ohca_sq_wqe, num_sge) == 2 && offsetof(ohca_sq_wqe, inline_length) == 4);
	store_at(wqe, opcode | std::uint32_t{flags} << 8 | num_sge << 16 | std::uint64_t{inline_length} << 32);
}

// The rest of the header: what an opcode has no use for is 0.
struct Operands {
	std::uint32_t immediate = 0; // as on the wire
	std::uint32_t invalidate_key = 0;
	std::uint64_t remote_address = 0;
	std::uint32_t rkey = 0;
	std::uint32_t remote_srqn = 0;
};

inline void write_operands(std::byte *wqe, const Operands &operands)
{
	static_assert(offsetof(ohca_sq_wqe, invalidate_key) == offsetof(ohca_sq_wqe, immediate) + 4);
	static_assert(offsetof(ohca_sq_wqe, remote_srqn) == offsetof(ohca_sq_wqe, rkey) + 4);
	store_at(wqe + offsetof(ohca_sq_wqe, immediate),
		 operands.immediate | std::uint64_t{operands.invalidate_key} << 32);
	store_at(wqe + offsetof(ohca_sq_wqe, remote_address), operands.remote_address);
	store_at(wqe + offsetof(ohca_sq_wqe, rkey), operands.rkey | std::uint64_t{operands.remote_srqn} << 32);
}

inline void set_remote_srqn(std::byte *wqe, std::uint32_t remote_srqn)
{
	store_at(wqe + offsetof(ohca_sq_wqe, remote_srqn), remote_srqn);
}

// For the ibv_wr_* calls, which learn of the payload after the header.
inline void set_num_sge(std::byte *wqe, std::uint8_t num_sge)
{
	store_at(wqe + offsetof(ohca_sq_wqe, num_sge), num_sge);
}

inline void set_inline(std::byte *wqe, std::uint32_t length)
{
	wqe[offsetof(ohca_sq_wqe, flags)] |= std::byte{OHCA_WQE_INLINE};
	store_at(wqe + offsetof(ohca_sq_wqe, inline_length), length);
}

inline void write_datagram(std::byte *wqe, const AddressHandle &ah, std::uint32_t qpn, std::uint32_t qkey)
{
	static_assert(offsetof(ohca_wqe_datagram, remote_qpn) == 0 && offsetof(ohca_wqe_datagram, remote_qkey) == 4);
	std::byte *at = wqe + sizeof(ohca_sq_wqe);
	std::memcpy(at, &ah.vector, sizeof(ah.vector));
	store_at(at, qpn | std::uint64_t{qkey} << 32);
}

inline void write_flush(std::byte *at, std::uint32_t length, std::uint8_t placement, std::uint8_t selectivity)
{
	ohca_wqe_flush flush{};
	flush.length = length;
	flush.placement = placement;
	flush.selectivity = selectivity;
	store_at(at, flush);
}

inline void write_compare_swap(std::byte *at, std::uint64_t compare, std::uint64_t swap)
{
	store_at(at + offsetof(ohca_wqe_atomic, operand), swap);
	store_at(at + offsetof(ohca_wqe_atomic, compare), compare);
}

inline void write_fetch_add(std::byte *at, std::uint64_t addend)
{
	store_at(at + offsetof(ohca_wqe_atomic, operand), addend);
	store_at(at + offsetof(ohca_wqe_atomic, compare), std::uint64_t{0});
}

inline void write_sge(std::byte *at, std::uint64_t address, std::uint32_t length, std::uint32_t lkey)
{
	store_at(at + offsetof(ohca_sge, address), address);
	store_at(at + offsetof(ohca_sge, length), length | std::uint64_t{lkey} << 32);
}

inline void write_sge_list(std::byte *at, const ibv_sge *list, std::uint32_t count)
{
	for (std::uint32_t i = 0; i < count; ++i)
		std::memcpy(at + i * sizeof(ohca_sge), &list[i], sizeof(ohca_sge));
}

inline void write_receive_header(std::byte *wqe, std::uint8_t num_sge, std::uint32_t tag)
{
	store_at(wqe, num_sge | std::uint64_t{tag} << 32);
}

// Opcodes that carry payload of the requester and so may carry it inline.
constexpr bool can_be_inline(std::uint8_t opcode)
{
	return opcode <= OHCA_WR_WRITE_IMM || opcode == OHCA_WR_ATOMIC_WRITE;
}

constexpr bool is_atomic(std::uint8_t opcode)
{
	return opcode == OHCA_WR_CAS || opcode == OHCA_WR_FADD;
}

constexpr std::uint32_t kAtomicWriteSize = 8;

// Where elements or inline payload begin, on a queue pair that is not of datagrams.
constexpr std::size_t payload_offset(std::uint8_t opcode)
{
	return sizeof(ohca_sq_wqe) + (is_atomic(opcode) ? sizeof(ohca_wqe_atomic) : 0);
}

constexpr std::size_t kDatagramPayloadOffset = sizeof(ohca_sq_wqe) + sizeof(ohca_wqe_datagram);

} // namespace ohca
