// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Receive work requests from the ring in host memory.
#include <algorithm>
#include <cstddef>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

bool read_receive_wqe(Function &function, const PageRange &buffer, const QueueRing &ring, uint32_t index,
		      ReceiveWqe &wqe)
{
	RingSlot slot(function, buffer, ring, index);
	struct ohca_rq_wqe header;
	if (!slot.read(0, &header, sizeof(header)))
		return false;
	wqe.tag = from_le(header.tag);
	wqe.sge_count = 0;
	wqe.status = 0;
	wqe.vendor_error = 0;
	wqe.length = 0;

	uint64_t sge_max = std::min<uint64_t>((slot.stride() - sizeof(header)) / sizeof(struct ohca_sge),
					      kReceiveSgeMax);
	bool reserved = header.reserved_8[0] || header.reserved_8[1] || header.reserved_8[2] || header.reserved_40;
	if (reserved || header.num_sge > sge_max) {
		wqe.status = OHCA_CQE_STATUS_LOCAL_QP_OPERATION;
		wqe.vendor_error = reserved ? OHCA_VENDOR_ERROR_FLAGS : OHCA_VENDOR_ERROR_SGE_COUNT;
		return true;
	}
	if (!slot.read(sizeof(header), wqe.sges, header.num_sge * sizeof(struct ohca_sge)))
		return false;
	wqe.sge_count = header.num_sge;
	for (uint32_t i = 0; i < wqe.sge_count; i++)
		wqe.length += from_le(wqe.sges[i].length);
	return true;
}

Fetch fetch_receive_wqe(Function &function, QpContext &qp, uint32_t index, ReceiveWqe &wqe)
{
	if (!qp.rq.present)
		return Fetch::kEmpty;
	if (index == qp.rq_producer_seen) {
		Fetch seen = read_producer(function, qp.buffer, offsetof(struct ohca_qp_record, rq_producer),
					   qp.rq.log_depth, qp.responder.rq_index, qp.rq_producer_seen);
		if (seen != Fetch::kOk)
			return seen;
		if (index == qp.rq_producer_seen)
			return Fetch::kEmpty;
	}
	if (!read_receive_wqe(function, qp.buffer, qp.rq, index, wqe))
		return Fetch::kFault;
	function.count(OHCA_COUNTER_RECEIVE_WQES);
	return Fetch::kOk;
}

} // namespace ohca::core
