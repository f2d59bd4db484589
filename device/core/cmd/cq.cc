// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Completion queues.
#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/cq_event.hh"
#include "core/queue/eq_post.hh"

namespace ohca::core {

CommandResult create_cq(Function &function, const struct ohca_cmd_create_cq_in &in, struct ohca_cmd_handle &out)
{
	if (in.reserved_f0)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (in.flags & ~OHCA_CQ_FLAGS_ALL)
		return unsupported(OHCA_CMD_DETAIL_NONE);
	if (!function.state().async_eq)
		return bad_state(OHCA_CMD_DETAIL_EQ);
	EqContext *eq = function.context().eq(from_le(in.eq));
	if (!eq)
		return bad_handle(OHCA_CMD_DETAIL_EQ);
	if (eq->type != OHCA_EQ_COMPLETION)
		return bad_parameter(OHCA_CMD_DETAIL_EQ);
	if (in.log_depth > kLogCqDepthMax)
		return bad_parameter(OHCA_CMD_DETAIL_DEPTH);

	PageRange buffer;
	uint64_t length = OHCA_CQ_RING_OFFSET + (sizeof(struct ohca_cqe) << in.log_depth);
	CommandResult result = copy_queue_pages(function, in.pages, length, buffer);
	if (!result.ok())
		return result;
	uint32_t index = function.context().allocate_cq();
	if (index == ContextMemory::kNoIndex) {
		free_page_range(function, buffer);
		return no_resources(OHCA_CMD_DETAIL_CQ);
	}
	CqContext *cq = function.context().cq(index);
	cq->cqn = index;
	cq->buffer = buffer;
	cq->eq = from_le(in.eq);
	cq->log_depth = in.log_depth;
	cq->flags = in.flags;
	eq->reference_count++;
	out.handle = to_le(index);
	return kAccepted;
}

CommandResult modify_cq(Function &function, const struct ohca_cmd_modify_cq_in &in, NoData &)
{
	if (!function.has_feature(OHCA_FEATURE_MODERATION))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	uint32_t cqn = from_le(in.cqn);
	CqContext *cq = function.context().cq(cqn);
	if (!cq)
		return bad_handle(OHCA_CMD_DETAIL_CQ);
	set_moderation(function, cqn, *cq, from_le(in.moderation_count), from_le(in.moderation_period_us));
	return kAccepted;
}

CommandResult destroy_cq(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t index = from_le(in.handle);
	CqContext *cq = function.context().cq(index);
	if (!cq)
		return bad_handle(OHCA_CMD_DETAIL_CQ);
	if (cq->reference_count)
		return in_use(OHCA_CMD_DETAIL_CQ);
	forget_completion_event(function, index, *cq);
	if (function.owner())
		function.owner()->forget(function, *cq);
	function.context().eq(cq->eq)->reference_count--;
	free_page_range(function, cq->buffer);
	function.context().free_cq(index);
	return kAccepted;
}

} // namespace ohca::core
