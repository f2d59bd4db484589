// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: receive work requests.
#include "core/transport/responder.hh"

namespace ohca::core {

bool take_receive_wqe(Function &function, QpContext &qp, const Segment &segment, ReceiveWqe &wqe)
{
	ResponderContext &responder = qp.responder;

	if (!qp.rq.present) {
		refuse_not_ready(function, qp, segment);
		return false;
	}
	switch (fetch_receive_wqe(function, qp, responder.rq_index, wqe)) {
	case Fetch::kEmpty:
		refuse_not_ready(function, qp, segment);
		return false;
	case Fetch::kFault:
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, 0, OHCA_VENDOR_ERROR_DMA, OHCA_EVENT_QP_FATAL});
		return false;
	case Fetch::kBadIndex:
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, 0, OHCA_VENDOR_ERROR_RING_INDEX, OHCA_EVENT_QP_FATAL});
		return false;
	case Fetch::kOk:
		break;
	}
	responder.recv_tag = wqe.tag;
	if (wqe.status == OHCA_CQE_STATUS_SUCCESS)
		return true;
	responder.recv_active = 1;
	refuse(function, qp, segment.psn, {kAethNakRemoteOperation, wqe.status, wqe.vendor_error, 0});
	return false;
}

} // namespace ohca::core
