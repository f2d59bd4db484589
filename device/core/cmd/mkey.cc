// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory keys.
#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

namespace {

CommandResult check(Function &function, const struct ohca_cmd_create_mkey_in &in)
{
	if (in.reserved_198 || in.list_entry_max)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (in.flags & ~OHCA_MKEY_FLAGS_ALL)
		return unsupported(OHCA_CMD_DETAIL_NONE);
	if (in.type != OHCA_MKEY_TYPE_REGION)
		return unsupported(OHCA_CMD_DETAIL_TYPE);
	uint32_t access = from_le(in.access);
	// IBTA 10.6.3.1: remote write and atomic require local write.
	constexpr uint32_t kNeedsLocalWrite = OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_ATOMIC;
	if ((access & ~uint32_t{OHCA_REGION_ACCESS_ALL}) ||
	    ((access & kNeedsLocalWrite) && !(access & OHCA_ACCESS_LOCAL_WRITE)))
		return bad_parameter(OHCA_CMD_DETAIL_ACCESS);
	if ((access & OHCA_ACCESS_REMOTE_ATOMIC) && !function.has_feature(OHCA_FEATURE_ATOMIC))
		return unsupported(OHCA_CMD_DETAIL_ACCESS);
	if (!function.state().async_eq)
		return bad_state(OHCA_CMD_DETAIL_EQ);
	if (!function.context().pd(from_le(in.pd)))
		return bad_handle(OHCA_CMD_DETAIL_PD);
	return kAccepted;
}

} // namespace

CommandResult create_mkey(Function &function, const struct ohca_cmd_create_mkey_in &in,
			  struct ohca_cmd_create_mkey_out &out)
{
	CommandResult result = check(function, in);
	if (!result.ok())
		return result;

	PageRange pages{};
	uint64_t start = from_le(in.start);
	uint64_t length = from_le(in.length);
	// A LINEAR key covers all DMA addresses; start, length and pages mean nothing.
	if (!(in.flags & OHCA_MKEY_LINEAR)) {
		if (length > kMrSizeMax || (length && start + (length - 1) < start))
			return bad_parameter(OHCA_CMD_DETAIL_LENGTH);
		if (length)
			result = copy_page_list(function, in.pages, length, pages);
		if (!result.ok())
			return result;
	}
	uint32_t index = function.context().allocate_mkey();
	if (index == ContextMemory::kNoIndex) {
		free_page_range(function, pages);
		return no_resources(OHCA_CMD_DETAIL_KEY);
	}
	MkeyContext *mkey = function.context().mkey(index);
	mkey->flags = in.flags;
	mkey->consumer_key = in.consumer_key;
	mkey->access = from_le(in.access);
	mkey->pd = from_le(in.pd);
	mkey->start = start;
	mkey->length = length;
	mkey->pages = pages;
	function.context().pd(mkey->pd)->reference_count++;
	out.key = to_le(index << 8 | in.consumer_key);
	return kAccepted;
}

CommandResult destroy_mkey(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t key = from_le(in.handle);
	MkeyContext *mkey = function.context().mkey(key >> 8);
	if (!mkey || mkey->consumer_key != (key & 0xff))
		return bad_handle(OHCA_CMD_DETAIL_KEY);
	function.context().pd(mkey->pd)->reference_count--;
	free_page_range(function, mkey->pages);
	function.context().free_mkey(key >> 8);
	return kAccepted;
}

} // namespace ohca::core
