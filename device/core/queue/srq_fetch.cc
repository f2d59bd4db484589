// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Receive work requests from the ring of a shared receive queue.
//
// A WQE is fetched by the queue pair that has a message for it, and taken in the
// step in which that queue pair accepts the message's first segment. Nothing
// happens between the two, because one thread does both.
#include <cstddef>

#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

uint32_t left_of(const SrqContext &srq)
{
	return srq.producer_seen - srq.consumer;
}

Fetch look_for_more(Function &function, SrqContext &srq)
{
	return read_producer(function, srq.buffer, offsetof(struct ohca_srq_record, producer), srq.ring.log_depth,
			     srq.consumer, srq.producer_seen);
}

// What a queue pair is told whenever it needs a WQE of a broken SRQ.
Fetch reason_of(const SrqContext &srq)
{
	return srq.broken == OHCA_VENDOR_ERROR_RING_INDEX ? Fetch::kBadIndex : Fetch::kFault;
}

Fetch break_srq(Function &function, uint32_t srqn, SrqContext &srq, Fetch reason)
{
	srq.broken = reason == Fetch::kBadIndex ? OHCA_VENDOR_ERROR_RING_INDEX : OHCA_VENDOR_ERROR_DMA;
	srq.limit = 0;
	post_async_event(function, OHCA_EVENT_SRQ_ERROR, srqn, srq.broken);
	return reason;
}

} // namespace

Fetch fetch_srq_wqe(Function &function, uint32_t srqn, ReceiveWqe &wqe)
{
	SrqContext *srq = function.context().srq(srqn);
	if (!srq)
		return Fetch::kEmpty;
	if (srq->broken)
		return reason_of(*srq);
	if (left_of(*srq) == 0) {
		Fetch seen = look_for_more(function, *srq);
		if (seen != Fetch::kOk)
			return break_srq(function, srqn, *srq, seen);
		if (left_of(*srq) == 0)
			return Fetch::kEmpty;
	}
	if (!read_receive_wqe(function, srq->buffer, srq->ring, srq->consumer, wqe))
		return break_srq(function, srqn, *srq, Fetch::kFault);
	return Fetch::kOk;
}

void take_srq_wqe(Function &function, uint32_t srqn)
{
	SrqContext *srq = function.context().srq(srqn);
	if (!srq || srq->broken)
		return;
	srq->consumer++;
	function.count(OHCA_COUNTER_RECEIVE_WQES);
	check_srq_limit(function, srqn, *srq);
}

void check_srq_limit(Function &function, uint32_t srqn, SrqContext &srq)
{
	if (left_of(srq) >= srq.limit)
		return;
	// There may be more than were seen. A garbage record is dealt with when a WQE is needed.
	if (look_for_more(function, srq) != Fetch::kOk || left_of(srq) >= srq.limit)
		return;
	srq.limit = 0;
	post_async_event(function, OHCA_EVENT_SRQ_LIMIT, srqn, OHCA_VENDOR_ERROR_NONE);
}

} // namespace ohca::core
