// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The operations of an asynchronous queue whose completions have not been read.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "direct_verbs.hh"
#include "queue_pair.hh"

namespace ohca {

// Of one queue pair that is being created: what the verb needs once the device has done its part.
struct Creation {
	ibv_qp_init_attr_ex attr;
	ohca_create_qp_req request;
};

constexpr int kNoState = -1;

struct Slot {
	std::uint64_t wr_id;
	ibv_qp *qp; // null: free
	ohcadv_async_opcode opcode;
	int next_state; // of the queue pair if it succeeds
	Creation *creation; // OHCADV_ASYNC_CREATE_QP
	std::uint32_t next_free;
};

struct AsyncQueue {
	ohcadv_async_queue verbs; // first: what the application sees
	pthread_mutex_t mutex; // all below
	Slot *slots;
	std::uint32_t depth;
	std::uint32_t used;
	std::uint32_t free;

	static AsyncQueue &of(ohcadv_async_queue *queue) { return *reinterpret_cast<AsyncQueue *>(queue); }

	// With the mutex held, and only while there is one. The slot's number.
	std::uint32_t take(std::uint64_t wr_id, ibv_qp *qp, ohcadv_async_opcode opcode)
	{
		const std::uint32_t index = free;
		free = slots[index].next_free;
		++used;
		slots[index] = {wr_id, qp, opcode, kNoState, nullptr, 0};
		return index;
	}

	void release(std::uint32_t index)
	{
		slots[index].qp = nullptr;
		slots[index].next_free = free;
		free = index;
		--used;
	}
};

// dv_create_qp.cc: the device has created the queue pair `qpn`, or there was an error. The completion's
// queue pair becomes the application's, or null.
void conclude_creation(ibv_context *context, Creation *creation, std::uint32_t qpn,
		       ohcadv_async_completion &completion);
// Likewise, destroyed; null once it is gone.
void conclude_destruction(ohcadv_async_completion &completion);

} // namespace ohca
