// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Send WQEs between fetch and completion.
//
// The host may overwrite a ring slot at any time, so what has been fetched is
// kept here until it is acknowledged: a retransmission repeats exactly what was
// sent first.  A ring of window_count entries in context memory, made when a
// queue pair transmits for the first time; entry of SQ index i is i modulo
// window_count.  An entry is this header and then, as in the WQE, the
// scatter/gather elements (masked atomics: and the masks), the inline payload, or
// what BIND_MW, REG_MR and REG_MR_INTEGRITY carry.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/transport/opcode_table.hh"

namespace ohca::core {

struct SendWindowEntry {
	uint32_t psn;             // of the first packet, once started
	uint32_t psn_count;       // packets (READ: of the response)
	uint8_t opcode;           // OHCA_WR_*
	uint8_t flags;            // OHCA_WQE_*
	uint8_t sge_count;
	uint8_t status;           // OHCA_CQE_STATUS_* with which it fails when its turn comes, else 0
	uint8_t started;          // has PSNs, must be finished even in SQD; local: has been carried out
	uint8_t vendor_error;
	uint8_t flush_placement;
	uint8_t flush_selectivity;
	uint32_t inline_length;
	uint32_t immediate;       // *_IMM: as on the wire; *_INV: the key
	uint32_t rkey;            // BIND_MW, REG_MR*: the key from now on
	uint32_t remote_srqn;     // XRC_INI
	uint64_t remote_address;
	uint64_t length;          // bytes of the message; FLUSH: of the range
	uint64_t operand;
	uint64_t compare;
};
static_assert(sizeof(SendWindowEntry) == 64 && std::is_trivial_v<SendWindowEntry>);

inline SendWindowEntry &window_entry(Function &function, const QpContext &qp, uint32_t index)
{
	const RequesterContext &requester = qp.requester;
	const uint64_t slot = index & (requester.window_count - 1);
	return *reinterpret_cast<SendWindowEntry *>(
		function.context().block(requester.window + slot * requester.window_stride));
}

inline std::byte *window_payload(SendWindowEntry &entry)
{
	return reinterpret_cast<std::byte *>(&entry) + sizeof(entry);
}

inline ohca_sge *window_sges(SendWindowEntry &entry)
{
	return reinterpret_cast<ohca_sge *>(window_payload(entry));
}

// Of masked atomics, behind the one element.
struct WindowMasks {
	uint64_t swap_mask;
	uint64_t compare_mask;
};

inline WindowMasks &window_masks(SendWindowEntry &entry)
{
	return *reinterpret_cast<WindowMasks *>(window_payload(entry) + sizeof(ohca_sge));
}

inline ohca_wqe_bind &window_bind(SendWindowEntry &entry)
{
	return *reinterpret_cast<ohca_wqe_bind *>(window_payload(entry));
}

inline ohca_wqe_register &window_registration(SendWindowEntry &entry)
{
	return *reinterpret_cast<ohca_wqe_register *>(window_payload(entry));
}

inline ohca_wqe_register_integrity &window_integrity(SendWindowEntry &entry)
{
	return *reinterpret_cast<ohca_wqe_register_integrity *>(window_payload(entry));
}

inline bool is_local(const SendWindowEntry &entry)
{
	return opcode_properties(entry.opcode).local;
}

inline bool is_read(const SendWindowEntry &entry)
{
	return entry.opcode == OHCA_WR_READ || entry.opcode == OHCA_WR_READ_INV;
}

inline bool is_read_atomic(const SendWindowEntry &entry)
{
	return opcode_properties(entry.opcode).read_atomic;
}

// send_window.cc
// Makes the window if there is none. False: out of context memory.
bool ensure_window(Function &function, QpContext &qp);
void free_window(Function &function, QpContext &qp);
void fill_entry(SendWindowEntry &entry, const SendWqe &wqe);

} // namespace ohca::core
