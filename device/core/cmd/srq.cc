// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Shared receive queues: basic, and of XRC domains (IBTA 10.2.9, annex A14).
#include <algorithm>
#include <cstddef>

#include "core/cmd/commands.hh"
#include "core/cmd/queue_ring.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

CommandResult check_references(Function &function, const struct ohca_cmd_create_srq_in &in)
{
	ContextMemory &context = function.context();
	uint32_t xrcd = from_le(in.xrcd);
	uint32_t cq = from_le(in.cq);
	if (!function.state().async_eq)
		return bad_state(OHCA_CMD_DETAIL_EQ);
	if (!context.pd(from_le(in.pd)))
		return bad_handle(OHCA_CMD_DETAIL_PD);
	if (!xrcd)
		return cq ? bad_parameter(OHCA_CMD_DETAIL_CQ) : kAccepted;
	if (!function.has_feature(OHCA_FEATURE_XRC))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (!context.xrcd(xrcd))
		return bad_handle(OHCA_CMD_DETAIL_XRCD);
	return context.cq(cq) ? kAccepted : bad_handle(OHCA_CMD_DETAIL_CQ);
}

// Copies the description of the buffer. On success it is the caller's.
CommandResult take_buffer(Function &function, const struct ohca_page_list &pages, const QueueRing &ring,
			  PageRange &buffer)
{
	CommandResult result = check_ring(ring, kSrqLimits);
	if (result.ok())
		result = copy_queue_pages(function, pages, std::max<uint64_t>(OHCA_RECORD_SIZE, ring_end(ring)), buffer);
	if (!result.ok())
		return result;
	if (crosses_pages(buffer, ring)) {
		free_page_range(function, buffer);
		return bad_parameter(OHCA_CMD_DETAIL_OFFSET);
	}
	return kAccepted;
}

// A message that a target queue pair is receiving into a WQE of an SRQ that goes away has nowhere to
// complete. XRC_TGT queue pairs do not hold references on SRQs (annex A14), so they are looked for.
void abandon_messages(Function &function, uint32_t srqn)
{
	ContextMemory &context = function.context();
	function.add_command_cost(context.qp_limit());
	for (uint32_t qpn = 0; qpn < context.qp_limit(); qpn++) {
		QpContext *qp = context.qp(qpn);
		if (!qp || qp->type != OHCA_QP_TYPE_XRC_TGT || qp->responder.request_srq != srqn)
			continue;
		qp->responder.recv_active = 0;
		qp->responder.request_srq = 0;
		qp->pd = 0;
	}
}

// Moves the untaken WQEs [srq.consumer, producer) into the new buffer.
CommandResult copy_wqes(Function &function, const SrqContext &srq, const PageRange &buffer, const QueueRing &ring,
			uint32_t producer)
{
	constexpr CommandResult kUnreachable = {OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE};
	FunctionMemory &memory = function.memory();
	uint64_t stride = uint64_t{1} << ring.log_stride;
	std::byte wqe[OHCA_RQ_STRIDE_MAX];
	for (uint32_t index = srq.consumer; index != producer; index++) {
		uint64_t from = index & ((uint64_t{1} << srq.ring.log_depth) - 1);
		uint64_t to = index & ((uint64_t{1} << ring.log_depth) - 1);
		if (!memory.read(srq.buffer, srq.ring.offset + from * stride, wqe, stride) ||
		    !memory.write(buffer, ring.offset + to * stride, wqe, stride))
			return kUnreachable;
	}
	function.add_command_cost(producer - srq.consumer);
	return kAccepted;
}

CommandResult move_wqes(Function &function, const SrqContext &srq, const PageRange &buffer, const QueueRing &ring,
			uint32_t &producer)
{
	if (!load_record(function, buffer, offsetof(struct ohca_srq_record, producer), producer))
		return {OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE};
	uint32_t log_depth = std::min(ring.log_depth, srq.ring.log_depth);
	if (producer - srq.consumer > uint32_t{1} << log_depth)
		return bad_parameter(OHCA_CMD_DETAIL_DEPTH);
	return copy_wqes(function, srq, buffer, ring, producer);
}

} // namespace

CommandResult create_srq(Function &function, const struct ohca_cmd_create_srq_in &in, struct ohca_cmd_handle &out)
{
	ContextMemory &context = function.context();
	if (!function.has_feature(OHCA_FEATURE_SRQ))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (in.reserved_150[0] || in.reserved_150[1])
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	CommandResult result = check_references(function, in);
	if (!result.ok())
		return result;
	QueueRing ring{from_le(in.ring_offset), in.log_depth, in.log_stride, 1, 0};
	PageRange buffer;
	result = take_buffer(function, in.pages, ring, buffer);
	if (!result.ok())
		return result;
	if (from_le(in.limit) > uint32_t{1} << ring.log_depth) {
		free_page_range(function, buffer);
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	}
	uint32_t srqn = context.allocate_srq();
	if (srqn == ContextMemory::kNoIndex) {
		free_page_range(function, buffer);
		return no_resources(OHCA_CMD_DETAIL_SRQ);
	}
	SrqContext &srq = *context.srq(srqn);
	srq.buffer = buffer;
	srq.ring = ring;
	srq.pd = from_le(in.pd);
	srq.xrcd = from_le(in.xrcd);
	srq.cq = from_le(in.cq);
	srq.limit = from_le(in.limit);
	context.pd(srq.pd)->reference_count++;
	if (srq.xrcd) {
		context.xrcd(srq.xrcd)->reference_count++;
		context.cq(srq.cq)->reference_count++;
	}
	out.handle = to_le(srqn);
	return kAccepted;
}

CommandResult modify_srq(Function &function, const struct ohca_cmd_modify_srq_in &in, NoData &)
{
	uint32_t srqn = from_le(in.srqn);
	SrqContext *srq = function.context().srq(srqn);
	if (!srq)
		return bad_handle(OHCA_CMD_DETAIL_SRQ);
	if (from_le(in.limit) > uint32_t{1} << srq->ring.log_depth)
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	if (srq->broken)
		return bad_state(OHCA_CMD_DETAIL_SRQ);
	srq->limit = from_le(in.limit);
	check_srq_limit(function, srqn, *srq);
	return kAccepted;
}

CommandResult query_srq(Function &function, const struct ohca_cmd_handle &in, struct ohca_cmd_query_srq_out &out)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	const SrqContext *srq = function.context().srq(from_le(in.handle));
	if (!srq)
		return bad_handle(OHCA_CMD_DETAIL_SRQ);
	out.limit = to_le(srq->limit);
	out.consumer = to_le(srq->consumer);
	return kAccepted;
}

CommandResult resize_srq(Function &function, const struct ohca_cmd_resize_srq_in &in, NoData &)
{
	if (!function.has_feature(OHCA_FEATURE_SRQ | OHCA_FEATURE_RESIZE))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (std::ranges::any_of(in.reserved_108, [](uint8_t byte) { return byte != 0; }))
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	SrqContext *srq = function.context().srq(from_le(in.srqn));
	if (!srq)
		return bad_handle(OHCA_CMD_DETAIL_SRQ);
	if (srq->broken)
		return bad_state(OHCA_CMD_DETAIL_SRQ);
	QueueRing ring = srq->ring;
	ring.offset = from_le(in.ring_offset);
	ring.log_depth = in.log_depth;
	PageRange buffer;
	CommandResult result = take_buffer(function, in.pages, ring, buffer);
	if (!result.ok())
		return result;
	uint32_t producer = 0;
	result = srq->limit > uint32_t{1} << ring.log_depth ? bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE)
							    : move_wqes(function, *srq, buffer, ring, producer);
	if (!result.ok()) {
		free_page_range(function, buffer);
		return result;
	}
	free_page_range(function, srq->buffer);
	srq->buffer = buffer;
	srq->ring = ring;
	srq->producer_seen = producer;
	return kAccepted;
}

CommandResult reset_srq(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (!function.has_feature(OHCA_FEATURE_SRQ | OHCA_FEATURE_RECYCLE))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	SrqContext *srq = function.context().srq(from_le(in.handle));
	if (!srq)
		return bad_handle(OHCA_CMD_DETAIL_SRQ);
	// Who is in the middle of a message from an XRC target holds no reference.
	if (srq->xrcd)
		return bad_parameter(OHCA_CMD_DETAIL_TYPE);
	if (srq->reference_count)
		return in_use(OHCA_CMD_DETAIL_SRQ);
	srq->consumer = 0;
	srq->producer_seen = 0;
	srq->limit = 0;
	srq->broken = 0;
	return kAccepted;
}

CommandResult destroy_srq(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	ContextMemory &context = function.context();
	uint32_t srqn = from_le(in.handle);
	SrqContext *srq = context.srq(srqn);
	if (!srq)
		return bad_handle(OHCA_CMD_DETAIL_SRQ);
	if (srq->reference_count)
		return in_use(OHCA_CMD_DETAIL_SRQ);
	if (srq->xrcd) {
		abandon_messages(function, srqn);
		context.xrcd(srq->xrcd)->reference_count--;
		context.cq(srq->cq)->reference_count--;
	}
	context.pd(srq->pd)->reference_count--;
	free_page_range(function, srq->buffer);
	context.free_srq(srqn);
	return kAccepted;
}

} // namespace ohca::core
