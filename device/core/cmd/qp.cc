// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Queue pairs: create, query, destroy. qp_modify.cc has the states.
#include <algorithm>

#include "core/cmd/commands.hh"
#include "core/cmd/qp_disconnect.hh"
#include "core/cmd/qp_types.hh"
#include "core/cmd/queue_ring.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/transport/transport.hh"

namespace ohca::core {

namespace {

CommandResult check_rings(uint8_t type, const QueueRing &sq, const QueueRing &rq)
{
	bool datagram = type == OHCA_QP_TYPE_UD || type == OHCA_QP_TYPE_GSI;
	CommandResult result = check_ring(sq, datagram ? kDatagramSqLimits : kSqLimits);
	if (result.ok())
		result = check_ring(rq, kRqLimits);
	if (result.ok() && sq.present && rq.present && sq.offset < ring_end(rq) && rq.offset < ring_end(sq))
		result = bad_parameter(OHCA_CMD_DETAIL_OFFSET);
	return result;
}

// What does not depend on other objects.
CommandResult check_type(Function &function, const struct ohca_cmd_create_qp_in &in)
{
	const QpType &type = qp_type(in.type);
	uint8_t missing = static_cast<uint8_t>((type.has_sq ? 0 : OHCA_QP_NO_SQ) | (type.has_rq ? 0 : OHCA_QP_NO_RQ));

	if (in.reserved_1b0)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (!type.valid)
		return unsupported(OHCA_CMD_DETAIL_TYPE);
	if (!function.has_feature(type.feature))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (in.flags & ~type.flags)
		return unsupported(OHCA_CMD_DETAIL_NONE);
	// A queue that the type cannot have, or that the SRQ replaces.
	if ((in.flags & missing) != missing || (in.srq && !(in.flags & OHCA_QP_NO_RQ)))
		return bad_parameter(OHCA_CMD_DETAIL_TYPE);
	return kAccepted;
}

CommandResult check_srq(Function &function, const QpType &type, uint32_t srq)
{
	if (!srq)
		return kAccepted;
	if (!type.may_share_rq)
		return bad_parameter(OHCA_CMD_DETAIL_SRQ);
	if (!function.has_feature(OHCA_FEATURE_SRQ))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	const SrqContext *context = function.context().srq(srq);
	if (!context)
		return bad_handle(OHCA_CMD_DETAIL_SRQ);
	// That of an XRC domain serves XRC_TGT queue pairs only.
	return context->xrcd ? bad_parameter(OHCA_CMD_DETAIL_SRQ) : kAccepted;
}

CommandResult check_xrcd(Function &function, const QpType &type, uint32_t xrcd)
{
	if (type.has_pd)
		return xrcd ? bad_parameter(OHCA_CMD_DETAIL_XRCD) : kAccepted;
	return function.context().xrcd(xrcd) ? kAccepted : bad_handle(OHCA_CMD_DETAIL_XRCD);
}

// An object that the type does not use is 0.
CommandResult check_references(Function &function, const struct ohca_cmd_create_qp_in &in)
{
	const QpType &type = qp_type(in.type);
	ContextMemory &context = function.context();

	if (!function.state().async_eq)
		return bad_state(OHCA_CMD_DETAIL_EQ);
	if (type.has_pd ? !context.pd(from_le(in.pd)) : in.pd != 0)
		return bad_handle(OHCA_CMD_DETAIL_PD);
	if (type.has_sq ? !context.cq(from_le(in.send_cq)) : in.send_cq != 0)
		return bad_handle(OHCA_CMD_DETAIL_CQ);
	if (type.has_rq ? !context.cq(from_le(in.recv_cq)) : in.recv_cq != 0)
		return bad_handle(OHCA_CMD_DETAIL_CQ);
	if (type.has_sq ? !context.uar(from_le(in.uar)) : in.uar != 0)
		return bad_handle(OHCA_CMD_DETAIL_UAR);
	CommandResult result = check_srq(function, type, from_le(in.srq));
	return result.ok() ? check_xrcd(function, type, from_le(in.xrcd)) : result;
}

void fill(QpContext &qp, uint32_t qpn, const struct ohca_cmd_create_qp_in &in, const PageRange &buffer,
	  const QueueRing &sq, const QueueRing &rq)
{
	qp.qpn = qpn;
	qp.type = in.type;
	qp.flags = in.flags;
	qp.state = OHCA_QP_STATE_RESET;
	qp.pd = from_le(in.pd);
	qp.send_cq = from_le(in.send_cq);
	qp.recv_cq = from_le(in.recv_cq);
	qp.srq = from_le(in.srq);
	qp.xrcd = from_le(in.xrcd);
	qp.uar = from_le(in.uar);
	qp.buffer = buffer;
	qp.sq = sq;
	qp.rq = rq;
}

bool is_page_list_empty(const struct ohca_page_list &list)
{
	return !list.address && !list.first_page_offset && !list.page_count && !list.log_page_size && !list.levels &&
	       !list.reserved_b0;
}

// The record and the rings. A type without queues has no buffer.
CommandResult take_buffer(Function &function, const struct ohca_cmd_create_qp_in &in, const QueueRing &sq,
			  const QueueRing &rq, PageRange &buffer)
{
	const QpType &type = qp_type(in.type);

	buffer = {};
	if (!type.has_sq && !type.has_rq)
		return is_page_list_empty(in.pages) ? kAccepted : bad_parameter(OHCA_CMD_DETAIL_PAGE_LIST);
	uint64_t length = std::max({uint64_t{OHCA_RECORD_SIZE}, ring_end(sq), ring_end(rq)});
	CommandResult result = copy_queue_pages(function, in.pages, length, buffer);
	if (!result.ok())
		return result;
	if (crosses_pages(buffer, sq) || crosses_pages(buffer, rq)) {
		free_page_range(function, buffer);
		return bad_parameter(OHCA_CMD_DETAIL_OFFSET);
	}
	return kAccepted;
}

// By `by`, 1 or UINT32_MAX (-1), in the objects that the queue pair uses.
void count_references(Function &function, const QpContext &qp, uint32_t by)
{
	const QpType &type = qp_type(qp.type);
	ContextMemory &context = function.context();

	if (type.has_pd)
		context.pd(qp.pd)->reference_count += by;
	if (type.has_sq)
		context.cq(qp.send_cq)->reference_count += by;
	if (type.has_rq)
		context.cq(qp.recv_cq)->reference_count += by;
	if (qp.srq)
		context.srq(qp.srq)->reference_count += by;
	if (qp.xrcd)
		context.xrcd(qp.xrcd)->reference_count += by;
}

} // namespace

CommandResult create_qp(Function &function, const struct ohca_cmd_create_qp_in &in,
			struct ohca_cmd_create_qp_out &out)
{
	ContextMemory &context = function.context();
	QueueRing sq{from_le(in.sq_offset), in.log_sq_depth, in.log_sq_stride, !(in.flags & OHCA_QP_NO_SQ), 0};
	QueueRing rq{from_le(in.rq_offset), in.log_rq_depth, in.log_rq_stride, !(in.flags & OHCA_QP_NO_RQ), 0};
	CommandResult result = check_type(function, in);
	if (result.ok())
		result = check_references(function, in);
	if (result.ok())
		result = check_rings(in.type, sq, rq);
	if (result.ok() && in.type == OHCA_QP_TYPE_GSI && context.qp(OHCA_QPN_GSI))
		result = in_use(OHCA_CMD_DETAIL_QP);
	PageRange buffer;
	if (result.ok())
		result = take_buffer(function, in, sq, rq, buffer);
	if (!result.ok())
		return result;

	uint32_t qpn = in.type == OHCA_QP_TYPE_GSI ? context.allocate_gsi_qp() : context.allocate_qp();
	if (qpn == ContextMemory::kNoIndex) {
		free_page_range(function, buffer);
		return no_resources(OHCA_CMD_DETAIL_QP);
	}
	QpContext &qp = *context.qp(qpn);
	fill(qp, qpn, in, buffer, sq, rq);
	if (qp_type(qp.type).has_sq && !attach_to_slot(function, qp)) {
		free_page_range(function, buffer);
		context.free_qp(qpn);
		return no_resources(OHCA_CMD_DETAIL_UAR);
	}
	count_references(function, qp, 1);
	out.qpn = to_le(qpn);
	out.uar_slot = to_le(qp.uar_slot);
	return kAccepted;
}

CommandResult query_qp(Function &function, const struct ohca_cmd_handle &in, struct ohca_cmd_query_qp_out &out)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	QpContext *qp = function.context().qp(from_le(in.handle));
	if (!qp)
		return bad_handle(OHCA_CMD_DETAIL_QP);
	out.attributes = qp->attributes;
	out.attributes.state = qp->state;
	out.attributes.sq_drained_event = qp->requester.draining ? 1 : 0;
	// PSNs as they are now, once the halves have been started.
	bool sends = qp->state == OHCA_QP_STATE_RTS || qp->state == OHCA_QP_STATE_SQD || qp->state == OHCA_QP_STATE_SQE;
	if (sends && qp_type(qp->type).has_sq)
		out.attributes.sq_psn = to_le(qp->requester.next_psn);
	if ((sends || qp->state == OHCA_QP_STATE_RTR) && !is_datagram(*qp))
		out.attributes.rq_psn = to_le(qp->responder.expected_psn);
	out.sq_consumer = to_le(qp->requester.complete_index);
	out.rq_consumer = to_le(qp->responder.rq_index);
	return kAccepted;
}

CommandResult destroy_qp(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	ContextMemory &context = function.context();
	uint32_t qpn = from_le(in.handle);
	QpContext *qp = context.qp(qpn);
	if (!qp)
		return bad_handle(OHCA_CMD_DETAIL_QP);
	if (qp->multicast_count)
		return in_use(OHCA_CMD_DETAIL_QP);
	end_disconnect(function, *qp);
	if (function.owner())
		function.owner()->forget(function, *qp);
	release_resources(function, *qp);
	if (qp_type(qp->type).has_sq)
		detach_from_slot(function, *qp);
	count_references(function, *qp, UINT32_MAX);
	free_page_range(function, qp->buffer);
	context.free_qp(qpn);
	return kAccepted;
}

} // namespace ohca::core
