// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The parts of a completion queue that are not hot: which work queues complete
// here, and what becomes of their completions when a queue pair or the device
// goes away.
#include "completion_queue.hh"

namespace ohca {

void CompletionQueue::attach(WorkQueue &queue)
{
	LockGuard guard(lock);
	queue.next_of_cq = attached;
	queue.link_of_cq = &attached;
	if (attached)
		attached->link_of_cq = &queue.next_of_cq;
	attached = &queue;
}

void CompletionQueue::detach(WorkQueue &queue)
{
	LockGuard guard(lock);
	if (queue.link_of_cq) {
		*queue.link_of_cq = queue.next_of_cq;
		if (queue.next_of_cq)
			queue.next_of_cq->link_of_cq = queue.link_of_cq;
		queue.link_of_cq = nullptr;
	}
	// The number may soon be another queue pair's.
	if (last_qpn == queue.qpn) {
		last_qp = nullptr;
		last_qpn = 0;
	}
}

// Marks the CQEs of a queue pair that the application will not want any more, and gives
// their work requests back if they were of a shared receive queue.  The CQEs keep their
// slots: polling passes over CQEs of queue pair 0.  The device does not write to a slot
// before the consumer index has passed it.  Call with the lock held.
void CompletionQueue::discard(std::uint32_t qpn, SharedReceiveQueue *srq)
{
	for (Index index = consumer; index - consumer < depth; ++index) {
		ohca_cqe *entry = try_entry(index);
		if (!entry)
			break;
		if (entry->qpn != qpn)
			continue;
		std::uint64_t wr_id;
		if (srq && entry->flags & OHCA_CQE_FROM_SRQ)
			srq->retire(entry->wqe_index, wr_id);
		entry->qpn = 0;
		entry->flags = 0;
	}
}

// The same for an XRC SRQ, whose queue pairs are often another process's.
void CompletionQueue::discard_srq(std::uint32_t srqn)
{
	for (Index index = consumer; index - consumer < depth; ++index) {
		ohca_cqe *entry = try_entry(index);
		if (!entry)
			break;
		if (entry->flags & OHCA_CQE_FROM_SRQ && entry->srqn == srqn) {
			entry->qpn = 0;
			entry->flags = 0;
		}
	}
}

namespace {

bool try_flush_shared(const WorkQueue &queue, ohca_cqe &completion)
{
	std::uint32_t tag;
	if (!queue.srq->find_outstanding(tag))
		return false;
	completion.qpn = queue.qpn;
	completion.wqe_index = tag;
	completion.srqn = queue.srq->number;
	completion.status = OHCA_CQE_STATUS_FLUSHED;
	completion.flags = OHCA_CQE_RECEIVE | OHCA_CQE_FROM_SRQ;
	completion.opcode = OHCA_WR_SEND;
	return true;
}

bool try_flush_queue(const WorkQueue &queue, ohca_cqe &completion)
{
	const Index index = queue.consumer;
	if (index == load_acquire(queue.producer))
		return false;
	completion.qpn = queue.qpn;
	completion.wqe_index = index;
	completion.status = OHCA_CQE_STATUS_FLUSHED;
	if (queue.is_receive) {
		completion.flags = OHCA_CQE_RECEIVE;
		completion.opcode = OHCA_WR_SEND;
	} else {
		completion.opcode = static_cast<std::uint8_t>(queue.slot(index)[offsetof(ohca_sq_wqe, opcode)]);
	}
	return true;
}

} // namespace

// After the device has failed: the completion that the oldest outstanding work
// request of some attached queue would have got.  False if there is none.  What waits in
// a shared receive queue completes where the first queue pair that uses it receives.
bool CompletionQueue::try_flush(ohca_cqe &completion)
{
	for (WorkQueue *queue = attached; queue; queue = queue->next_of_cq) {
		completion = {};
		if (queue->srq ? try_flush_shared(*queue, completion) : try_flush_queue(*queue, completion))
			return true;
	}
	return false;
}

} // namespace ohca
