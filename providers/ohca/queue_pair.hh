// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A queue pair: owned by the application thread(s) that post to it; its queues'
// consumer side is owned by whoever polls the completion queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <rdma/ohca_hw_io.h>

#include "buffer.hh"
#include "doorbell.hh"
#include "shim.h"
#include "work_queue.hh"

namespace ohca {

// An ibv_wr_start() .. ibv_wr_complete() section, under the send queue's lock.
struct Batch {
	Index cursor;		// index of the next work request
	std::byte *wqe;		// the one being built; `scratch` if it has no slot
	std::byte *payload;	// where its elements or inline data go
	std::byte *scratch;	// one stride that the device never looks at
	int error;		// first error: nothing of the batch will be posted
};

struct QueuePair {
	ohca_verbs_qp verbs;

	ohca_qp_record *record;
	Doorbell doorbell;
	std::uint32_t max_inline; // bytes
	WorkQueue sq;
	Batch batch;
	WorkQueue rq;
	std::uint32_t fast_opcodes; // this many of enum ibv_wr_opcode, from 0, need nothing of the below
	std::uint32_t opcodes;	// 1 << ibv_wr_opcode of those that may be posted

	// Its receive queue, if that is shared, and where that completes.
	SharedReceiveQueue *srq;
	CompletionQueue *recv_cq;

	// Control path only.
	ibv_qp_cap cap;
	Buffer buffer;
	ProtectionDomain *domain; // null: an XRC target
	std::uint32_t async_operations; // whose completions have not been read, or kAsyncDestruction; atomic

	static QueuePair &of(ibv_qp *qp) { return *reinterpret_cast<QueuePair *>(qp); }
	static QueuePair &of(ibv_qp_ex *qp) { return *reinterpret_cast<QueuePair *>(qp); }

	bool may_post(std::uint32_t opcode) const { return opcode < 32 && opcodes >> opcode & 1; }

	void set_state(ibv_qp_state state)
	{
		sq.set_postable(state >= IBV_QPS_RTS);
		rq.set_postable(state >= IBV_QPS_INIT);
	}
};

// of() depends on this.
static_assert(std::is_standard_layout_v<QueuePair>);

// The only operation of a queue pair is the one that destroys it.
constexpr std::uint32_t kAsyncDestruction = UINT32_MAX;

// qp.cc: the kernel has taken the queue pair there.
void enter_state(QueuePair &qp, ibv_qp_state state);
// qp.cc: the parts of the verbs. A queue pair with all its memory, which `request` describes and the
// kernel does not know yet; attr.cap becomes what it can do. Null, and errno, on failure.
QueuePair *plan_queue_pair(ibv_context *context, ibv_qp_init_attr_ex &attr, ohca_create_qp_req &request);
void free_queue_pair(QueuePair *qp);
// What has been planned becomes a queue pair of libibverbs. 0 or an errno.
int create_queue_pair(QueuePair &qp, ibv_context *context, const ibv_qp_init_attr_ex &attr,
		      const ohca_create_qp_req &request);
// Also in the kernel. 0, and it is gone, or an errno.
int destroy_queue_pair(QueuePair &qp);
void set_fast_opcodes(QueuePair &qp, ibv_qp_type type); // post_send.cc
void set_wr_api(ibv_qp_ex &qp, ibv_qp_type type); // wr_api.cc: fills in the ibv_wr_* pointers

} // namespace ohca
