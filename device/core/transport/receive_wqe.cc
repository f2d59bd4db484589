// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/transport/receive_wqe.hh"

#include <cstring>

#include "core/transport/completion.hh"
#include "core/transport/responder.hh"

namespace ohca::core {

namespace {

void restore(Function &function, const QpContext &qp, ReceiveWqe &wqe)
{
	const std::span<const ohca_sge> sges = kept_sges(function, qp);

	wqe.tag = qp.responder.recv_tag;
	wqe.sge_count = qp.responder.recv_sge_count;
	wqe.status = OHCA_CQE_STATUS_SUCCESS;
	wqe.vendor_error = OHCA_VENDOR_ERROR_NONE;
	wqe.length = qp.responder.recv_length;
	std::memcpy(wqe.sges, sges.data(), sges.size_bytes());
}

} // namespace

uint32_t receive_pd(Function &function, const QpContext &qp)
{
	if (qp.srq == 0)
		return qp.pd;
	return function.context().srq(qp.srq)->pd;
}

Fetch peek_receive_wqe(Function &function, QpContext &qp, ReceiveWqe &wqe)
{
	if (qp.responder.recv_active) {
		restore(function, qp, wqe);
		return Fetch::kOk;
	}
	const uint32_t srqn = receive_srq(qp);
	const Fetch fetch = srqn != 0 ? fetch_srq_wqe(function, srqn, wqe)
				      : fetch_receive_wqe(function, qp, qp.responder.rq_index, wqe);
	if (fetch == Fetch::kOk)
		qp.responder.recv_tag = wqe.tag;
	return fetch;
}

void hold_receive_wqe(Function &function, QpContext &qp)
{
	ResponderContext &responder = qp.responder;

	if (responder.recv_active)
		return;
	responder.recv_active = 1;
	const uint32_t srqn = receive_srq(qp);
	if (srqn != 0)
		take_srq_wqe(function, srqn);
	else
		responder.rq_index++;
}

void flush_held_srq_wqe(Function &function, QpContext &qp)
{
	const uint8_t state = qp.state;

	if (!qp.responder.recv_active || receive_srq(qp) == 0)
		return;
	qp.responder.recv_active = 0;
	qp.state = OHCA_QP_STATE_ERR; // a CQ that has overrun must not start a transition of its own
	complete_receive(function, qp, {.tag = qp.responder.recv_tag, .status = OHCA_CQE_STATUS_FLUSHED});
	qp.state = state;
}

bool keep_receive_wqe(Function &function, QpContext &qp, const ReceiveWqe &wqe)
{
	ResponderContext &responder = qp.responder;

	if (responder.recv_sges == 0)
		responder.recv_sges = function.context().allocate_block(kReceiveSgeMax * sizeof(ohca_sge));
	if (responder.recv_sges == 0)
		return false;
	std::memcpy(function.context().block(responder.recv_sges), wqe.sges, wqe.sge_count * sizeof(ohca_sge));
	responder.recv_sge_count = wqe.sge_count;
	responder.recv_length = wqe.length;
	return true;
}

std::span<const ohca_sge> kept_sges(Function &function, const QpContext &qp)
{
	return {reinterpret_cast<const ohca_sge *>(function.context().block(qp.responder.recv_sges)),
		qp.responder.recv_sge_count};
}

// --- reliable services ------------------------------------------------------

bool find_receive_wqe(Function &function, QpContext &qp, const Segment &segment, ReceiveWqe &wqe)
{
	switch (peek_receive_wqe(function, qp, wqe)) {
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
	if (wqe.status == OHCA_CQE_STATUS_SUCCESS)
		return true;
	hold_receive_wqe(function, qp);
	refuse(function, qp, segment.psn, {kAethNakRemoteOperation, wqe.status, wqe.vendor_error, 0});
	return false;
}

} // namespace ohca::core
