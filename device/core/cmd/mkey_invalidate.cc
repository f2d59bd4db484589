// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// INVALIDATE_MKEY: makes a key free without a queue pair, for drivers that keep keys in stock.
#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/mem/invalidate.hh"
#include "core/mem/memory_window.hh"

namespace ohca::core {

CommandResult invalidate_mkey(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (!function.has_feature(OHCA_FEATURE_RECYCLE))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	const uint32_t index = from_le(in.handle) >> 8;
	ContextMemory &context = function.context();
	MkeyContext *mkey = index < context.mkey_limit() ? context.mkey(index) : nullptr;
	if (!mkey)
		return bad_handle(OHCA_CMD_DETAIL_KEY);
	if (mkey->type == OHCA_MKEY_TYPE_REGION)
		return bad_parameter(OHCA_CMD_DETAIL_TYPE);
	if (mkey->window_count)
		return in_use(OHCA_CMD_DETAIL_WINDOWS);
	if (mkey->flags & kMkeyFlagFree)
		return kAccepted;
	if (mkey->flags & kMkeyFlagWindow)
		unbind_window(context, *mkey);
	else
		free_region(*mkey);
	function.count(OHCA_COUNTER_INVALIDATIONS);
	return kAccepted;
}

} // namespace ohca::core
