// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Both ends of a shared receive queue's work requests: ibv_post_srq_recv(), and the
// completion of one.  No doorbell, as with ibv_post_recv().
#include <cerrno>

#include "completion_queue.hh"
#include "doorbell.hh"
#include "shared_receive_queue.hh"
#include "wqe.hh"

namespace ohca {

// A completion of a shared receive queue.
bool CompletionQueue::retire_shared(const ohca_cqe &cqe, std::uint64_t &wr_id)
{
	constexpr std::uint8_t kFlags = OHCA_CQE_RECEIVE | OHCA_CQE_FROM_SRQ;
	if ((load_relaxed(cqe.flags) & kFlags) != kFlags)
		return false;
	SharedReceiveQueue *srq = nullptr;
	// There is none here for an XRC target, which may be another process's.
	const QueuePair *qp = find(load_relaxed(cqe.qpn));
	if (!qp)
		srq = shared_receive_queues->find(load_relaxed(cqe.srqn));
	else if (qp->recv_cq == this)
		srq = qp->srq;
	// One that is found by its number is alive only under the lock of its own CQ.
	if (!srq || (!qp && srq->cq != this))
		return false;
	return srq->retire(load_relaxed(cqe.wqe_index), wr_id);
}

} // namespace ohca

using namespace ohca;

int ohca_post_srq_recv(ibv_srq *ibv_srq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	SharedReceiveQueue &srq = SharedReceiveQueue::of(ibv_srq);
	LockGuard guard(srq.lock);
	const Index first = srq.producer;
	Index next = first;
	int error = has_failed(*srq.uar) ? EIO : 0;
	for (; wr && !error; wr = wr->next) {
		const auto num_sge = static_cast<std::uint32_t>(wr->num_sge);
		if (srq.outstanding >= srq.depth) [[unlikely]] {
			error = ENOMEM;
			break;
		}
		if (num_sge > srq.max_sge) [[unlikely]] {
			error = EINVAL;
			break;
		}
		const std::uint32_t tag = srq.take_tag();
		std::byte *wqe = srq.slot(next);
		write_receive_header(wqe, static_cast<std::uint8_t>(num_sge), tag);
		write_sge_list(wqe + sizeof(ohca_rq_wqe), wr->sg_list, num_sge);
		srq.wr_ids[tag] = wr->wr_id;
		++next;
	}
	if (next != first) {
		srq.producer = next;
		// Pairs with the device's load acquire before it fetches a receive WQE.
		store_release(srq.record->producer, next);
	}
	if (error) [[unlikely]]
		*bad_wr = wr;
	return error;
}
