// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_post_recv().  No doorbell: the device looks at rq_producer when a message
// needs a buffer.
#include <cerrno>

#include "queue_pair.hh"
#include "wqe.hh"

using namespace ohca;

int ohca_post_recv(ibv_qp *ibv_qp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	WorkQueue &rq = qp.rq;
	LockGuard guard(rq.lock);
	const Index first = rq.producer;
	Index next = first;
	int error = qp.doorbell.has_device_failed() ? EIO : 0;
	for (; wr && !error; wr = wr->next) {
		const auto num_sge = static_cast<std::uint32_t>(wr->num_sge);
		if (rq.is_full(next)) [[unlikely]] {
			error = rq.refusal;
			break;
		}
		if (num_sge > rq.max_sge) [[unlikely]] {
			error = EINVAL;
			break;
		}
		std::byte *wqe = rq.slot(next);
		write_receive_header(wqe, static_cast<std::uint8_t>(num_sge), next);
		write_sge_list(wqe + sizeof(ohca_rq_wqe), wr->sg_list, num_sge);
		rq.wr_ids[slot_of(next, rq.mask)] = wr->wr_id;
		++next;
	}
	if (next != first) {
		store_release(rq.producer, next);
		// Pairs with the device's load acquire before it fetches a receive WQE.
		store_release(qp.record->rq_producer, next);
	}
	if (error) [[unlikely]]
		*bad_wr = wr;
	return error;
}
