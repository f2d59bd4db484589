// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Protection domains.
#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

CommandResult create_pd(Function &function, const NoData &, struct ohca_cmd_handle &out)
{
	uint32_t index = function.context().allocate_pd();
	if (index == ContextMemory::kNoIndex)
		return no_resources(OHCA_CMD_DETAIL_PD);
	out.handle = to_le(index);
	return kAccepted;
}

CommandResult destroy_pd(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t index = from_le(in.handle);
	PdContext *pd = function.context().pd(index);
	if (!pd)
		return bad_handle(OHCA_CMD_DETAIL_PD);
	if (pd->reference_count)
		return in_use(OHCA_CMD_DETAIL_PD);
	function.context().free_pd(index);
	return kAccepted;
}

} // namespace ohca::core
