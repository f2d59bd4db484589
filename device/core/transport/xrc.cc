// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder of XRC: which SRQ, and whose protection domain (IBTA annex A14).
//
// A target queue pair has neither queue nor PD. Each request names an SRQ of the
// queue pair's XRC domain; receive WQEs are taken from it, completions go to its
// CQ, and L_Keys and R_Keys are checked against its PD. SRQs come and go without
// the queue pair's knowledge, so a number is looked up whenever it is used.
#include "core/transport/responder.hh"

namespace ohca::core {

namespace {

const SrqContext *srq_of_domain(Function &function, const QpContext &qp, uint32_t srqn)
{
	const SrqContext *srq = function.context().srq(srqn);

	return srq != nullptr && srq->xrcd != 0 && srq->xrcd == qp.xrcd ? srq : nullptr;
}

} // namespace

bool select_srq(Function &function, QpContext &qp, const Segment &segment)
{
	if (!segment.first) // 0: the SRQ was destroyed meanwhile
		return segment.remote_srqn == qp.responder.request_srq && qp.responder.request_srq != 0;
	const SrqContext *srq = srq_of_domain(function, qp, segment.remote_srqn);
	if (srq == nullptr)
		return false;
	qp.responder.request_srq = segment.remote_srqn;
	qp.pd = srq->pd;
	return true;
}

uint32_t pd_of_resource(Function &function, const QpContext &qp, const ResponderResource &resource)
{
	if (qp.type != OHCA_QP_TYPE_XRC_TGT)
		return qp.pd;
	const SrqContext *srq = srq_of_domain(function, qp, resource.srq);
	return srq != nullptr ? srq->pd : 0;
}

} // namespace ohca::core
