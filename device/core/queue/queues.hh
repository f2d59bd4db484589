// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Rings in host memory, seen from the device: fetch work requests, post
// completions and events.  Everything is copied once, then checked, then the
// copy is used (design D7).
#pragma once

#include <cstdint>
#include <span>

#include "core/context.hh"

namespace ohca::core {

class Function;

constexpr uint32_t kSendSgeMax = 30;
constexpr uint32_t kReceiveSgeMax = 30;
constexpr uint32_t kInlineMax = 1024; // bytes

// A send WQE after copying and checking, in host order.
struct SendWqe {
	uint32_t index = 0;          // SQ index
	uint8_t opcode = 0;          // OHCA_WR_*
	uint8_t flags = 0;           // OHCA_WQE_*
	uint8_t sge_count = 0;
	uint8_t status = 0;          // OHCA_CQE_STATUS_* if the WQE is not acceptable, else 0
	uint32_t vendor_error = 0;
	uint32_t inline_length = 0;
	uint32_t immediate_be = 0;
	uint32_t invalidate_key = 0;
	uint32_t rkey = 0;
	uint32_t remote_srqn = 0;    // XRC_INI
	struct ohca_wqe_datagram datagram; // UD and GSI: as copied
	uint64_t remote_address = 0;
	uint64_t operand = 0;
	uint64_t compare = 0;
	uint64_t swap_mask = 0;      // MASKED_CAS; MASKED_FADD: boundary mask
	uint64_t compare_mask = 0;   // MASKED_CAS
	uint64_t length = 0;         // bytes of the message; FLUSH: of the range
	union {                      // little endian, as copied, of that opcode
		struct ohca_wqe_flush flush;
		struct ohca_wqe_bind bind;
		struct ohca_wqe_register registration = {};
		struct ohca_wqe_register_integrity integrity;
	};
	struct ohca_sge sges[kSendSgeMax]; // little endian, as copied; only sge_count are valid
	std::byte inline_data[kInlineMax]; // only inline_length are valid
};

struct ReceiveWqe {
	uint32_t tag = 0;
	uint8_t sge_count = 0;
	uint8_t status = 0;          // as SendWqe
	uint32_t vendor_error = 0;
	uint64_t length = 0;         // bytes it can take
	struct ohca_sge sges[kReceiveSgeMax];
};

enum class Fetch : uint8_t {
	kOk,
	kEmpty,
	kFault,      // ring memory not reachable
	kBadIndex,   // producer index more than depth ahead
};

// sq_fetch.cc: copies and checks the WQE at `index` if it has been posted. Does not consume it:
// the caller owns the indices. sge_count/opcode/flags/length are validated against the queue
// pair's stride and the contract; a WQE that fails has status != 0 and must complete in error.
Fetch fetch_send_wqe(Function &function, QpContext &qp, uint32_t index, SendWqe &wqe);
// rq_fetch.cc: likewise, of the queue pair's own receive queue.
Fetch fetch_receive_wqe(Function &function, QpContext &qp, uint32_t index, ReceiveWqe &wqe);
// One slot of a receive ring. False: not reachable.
bool read_receive_wqe(Function &function, const PageRange &buffer, const QueueRing &ring, uint32_t index,
		      ReceiveWqe &wqe);

// srq_fetch.cc: the next WQE of a shared receive queue, copied and checked, but not taken. kFault and
// kBadIndex break the SRQ for good; that has been reported then.
Fetch fetch_srq_wqe(Function &function, uint32_t srqn, ReceiveWqe &wqe);
// Takes the WQE that was fetched last: whoever fetches next gets another one.
void take_srq_wqe(Function &function, uint32_t srqn);
// Posts the limit event if fewer than the limit are left.
void check_srq_limit(Function &function, uint32_t srqn, SrqContext &srq);

// cq_post.cc: fills timestamp and owner, writes the CQE, handles arming and overrun
// (on overrun: CQ in error, OHCA_EVENT_CQ_ERROR, false). The QPs of a CQ in error go to ERR
// when they next complete something.
bool post_cqe(Function &function, uint32_t cqn, struct ohca_cqe &cqe);

// eq_post.cc
void post_async_event(Function &function, uint8_t type, uint32_t number, uint32_t detail);

} // namespace ohca::core
