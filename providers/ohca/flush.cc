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
	attached = &queue;
}

void CompletionQueue::detach(WorkQueue &queue)
{
	LockGuard guard(lock);
	for (WorkQueue **link = &attached; *link; link = &(*link)->next_of_cq) {
		if (*link == &queue) {
			*link = queue.next_of_cq;
			break;
		}
	}
	// The number may soon be another queue pair's.
	if (last_qpn == queue.qpn) {
		last_qp = nullptr;
		last_qpn = 0;
	}
}

// Marks the CQEs of a queue pair that the application will not want any more.
// They keep their slots: polling passes over CQEs of queue pair 0.  The device
// does not write to a slot before the consumer index has passed it.  Call with
// the lock held.
void CompletionQueue::discard(std::uint32_t qpn)
{
	for (Index index = consumer; index - consumer < depth; ++index) {
		ohca_cqe *entry = try_entry(index);
		if (!entry)
			break;
		if (entry->qpn == qpn)
			entry->qpn = 0;
	}
}

// After the device has failed: the completion that the oldest outstanding work
// request of some attached queue would have got.  False if there is none.
bool CompletionQueue::try_flush(ohca_cqe &completion)
{
	for (WorkQueue *queue = attached; queue; queue = queue->next_of_cq) {
		const Index index = queue->consumer;
		if (index == load_acquire(queue->producer))
			continue;
		completion = {};
		completion.qpn = queue->qpn;
		completion.wqe_index = index;
		completion.status = OHCA_CQE_STATUS_FLUSHED;
		if (queue->is_receive) {
			completion.flags = OHCA_CQE_RECEIVE;
			completion.opcode = OHCA_WR_SEND;
		} else {
			completion.opcode = static_cast<std::uint8_t>(queue->slot(index)[offsetof(ohca_sq_wqe, opcode)]);
		}
		return true;
	}
	return false;
}

} // namespace ohca
