// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Event queues.
#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

CommandResult create_eq(Function &function, const struct ohca_cmd_create_eq_in &in, struct ohca_cmd_handle &out)
{
	FunctionContext &state = function.state();
	if (in.reserved_e0)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (in.type != OHCA_EQ_ASYNC && in.type != OHCA_EQ_COMPLETION)
		return bad_parameter(OHCA_CMD_DETAIL_TYPE);
	if (in.type == OHCA_EQ_ASYNC && state.async_eq)
		return bad_state(OHCA_CMD_DETAIL_EQ);
	if (in.log_depth > kLogEqDepthMax)
		return bad_parameter(OHCA_CMD_DETAIL_DEPTH);
	if (from_le(in.vector) >= function.resources().vector_count)
		return bad_parameter(OHCA_CMD_DETAIL_EQ);

	PageRange buffer;
	uint64_t length = OHCA_EQ_RING_OFFSET + (sizeof(struct ohca_eqe) << in.log_depth);
	CommandResult result = copy_queue_pages(function, in.pages, length, buffer);
	if (!result.ok())
		return result;
	uint32_t index = function.context().allocate_eq();
	if (index == ContextMemory::kNoIndex) {
		free_page_range(function, buffer);
		return no_resources(OHCA_CMD_DETAIL_EQ);
	}
	EqContext *eq = function.context().eq(index);
	eq->buffer = buffer;
	eq->log_depth = in.log_depth;
	eq->type = in.type;
	eq->vector = from_le(in.vector);
	if (in.type == OHCA_EQ_ASYNC)
		state.async_eq = index;
	out.handle = to_le(index);
	return kAccepted;
}

CommandResult destroy_eq(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t index = from_le(in.handle);
	EqContext *eq = function.context().eq(index);
	if (!eq)
		return bad_handle(OHCA_CMD_DETAIL_EQ);
	bool is_async = eq->type == OHCA_EQ_ASYNC;
	if (eq->reference_count || (is_async && function.context().object_count()))
		return in_use(OHCA_CMD_DETAIL_EQ);
	if (is_async)
		function.state().async_eq = 0;
	function.state().eq_pending &= ~(uint64_t{1} << (index - 1));
	free_page_range(function, eq->buffer);
	function.context().free_eq(index);
	return kAccepted;
}

} // namespace ohca::core
