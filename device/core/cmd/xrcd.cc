// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// XRC domains (IBTA annex A14).
#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

CommandResult create_xrcd(Function &function, const NoData &, struct ohca_cmd_handle &out)
{
	if (!function.has_feature(OHCA_FEATURE_SRQ | OHCA_FEATURE_XRC))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	uint32_t index = function.context().allocate_xrcd();
	if (index == ContextMemory::kNoIndex)
		return no_resources(OHCA_CMD_DETAIL_XRCD);
	out.handle = to_le(index);
	return kAccepted;
}

CommandResult destroy_xrcd(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t index = from_le(in.handle);
	XrcdContext *xrcd = function.context().xrcd(index);
	if (!xrcd)
		return bad_handle(OHCA_CMD_DETAIL_XRCD);
	if (xrcd->reference_count)
		return in_use(OHCA_CMD_DETAIL_XRCD);
	function.context().free_xrcd(index);
	return kAccepted;
}

} // namespace ohca::core
