// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory keys: creation and destruction.
#include <cstring>

#include "core/cmd/commands.hh"
#include "core/cmd/mkey.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/mem/fast_registration.hh"
#include "core/mem/key_access.hh"
#include "core/mem/memory_window.hh"

namespace ohca::core {

namespace {

bool is_window(uint8_t type)
{
	return type == OHCA_MKEY_TYPE_WINDOW_1 || type == OHCA_MKEY_TYPE_WINDOW_2B;
}

// Gets a list by a work request.
bool has_list(uint8_t type)
{
	return type == OHCA_MKEY_TYPE_FAST_REGION || type == OHCA_MKEY_TYPE_INTEGRITY;
}

constexpr uint64_t kIntegrity = OHCA_FEATURE_INTEGRITY | OHCA_FEATURE_FAST_REG;

CommandResult check_type(Function &function, const struct ohca_cmd_create_mkey_in &in)
{
	if (in.type > OHCA_MKEY_TYPE_INTEGRITY)
		return unsupported(OHCA_CMD_DETAIL_TYPE);
	if (in.type == OHCA_MKEY_TYPE_FAST_REGION && !function.has_feature(OHCA_FEATURE_FAST_REG))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (is_window(in.type) && !function.has_feature(OHCA_FEATURE_WINDOW))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (in.type == OHCA_MKEY_TYPE_INTEGRITY && !function.has_feature(kIntegrity))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	return kAccepted;
}

// A free key has no translation and no rights yet.
CommandResult check_free_key(const struct ohca_cmd_create_mkey_in &in)
{
	const struct ohca_page_list none = {};

	if (in.start || in.length || in.access || in.flags || std::memcmp(&in.pages, &none, sizeof(none)))
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (!has_list(in.type))
		return in.list_entry_max ? bad_parameter(OHCA_CMD_DETAIL_RESERVED) : kAccepted;
	uint32_t entries = from_le(in.list_entry_max);
	return entries && entries <= kListEntriesMax ? kAccepted : bad_parameter(OHCA_CMD_DETAIL_LENGTH);
}

CommandResult check(Function &function, const struct ohca_cmd_create_mkey_in &in)
{
	if (in.reserved_198)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (in.flags & ~OHCA_MKEY_FLAGS_ALL)
		return unsupported(OHCA_CMD_DETAIL_NONE);
	CommandResult result = check_type(function, in);
	if (!result.ok())
		return result;
	if (in.type != OHCA_MKEY_TYPE_REGION)
		result = check_free_key(in);
	else if (in.list_entry_max)
		result = bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	else
		result = check_region_access(function, from_le(in.access));
	if (!result.ok())
		return result;
	if (!function.state().async_eq)
		return bad_state(OHCA_CMD_DETAIL_EQ);
	if (!function.context().pd(from_le(in.pd)))
		return bad_handle(OHCA_CMD_DETAIL_PD);
	return kAccepted;
}

} // namespace

CommandResult check_region_access(Function &function, uint32_t access)
{
	if ((access & ~uint32_t{OHCA_REGION_ACCESS_ALL}) ||
	    (needs_local_write(access) && !(access & OHCA_ACCESS_LOCAL_WRITE)))
		return bad_parameter(OHCA_CMD_DETAIL_ACCESS);
	if (access & ~known_access(function.state().features))
		return unsupported(OHCA_CMD_DETAIL_ACCESS);
	return kAccepted;
}

CommandResult copy_translation(Function &function, const struct ohca_cmd_create_mkey_in &in, PageRange &pages)
{
	uint64_t start = from_le(in.start);
	uint64_t length = from_le(in.length);

	pages = {};
	// A LINEAR key covers all DMA addresses; start, length and pages mean nothing.
	if (in.flags & OHCA_MKEY_LINEAR)
		return kAccepted;
	if (length > kMrSizeMax || (length && start + (length - 1) < start))
		return bad_parameter(OHCA_CMD_DETAIL_LENGTH);
	return length ? copy_page_list(function, in.pages, length, pages) : kAccepted;
}

CommandResult create_mkey(Function &function, const struct ohca_cmd_create_mkey_in &in,
			  struct ohca_cmd_create_mkey_out &out)
{
	CommandResult result = check(function, in);
	if (!result.ok())
		return result;

	PageRange pages{};
	if (in.type == OHCA_MKEY_TYPE_REGION)
		result = copy_translation(function, in, pages);
	if (!result.ok())
		return result;
	uint32_t index = function.context().allocate_mkey();
	if (index == ContextMemory::kNoIndex) {
		free_page_range(function, pages);
		return no_resources(OHCA_CMD_DETAIL_KEY);
	}
	MkeyContext *mkey = function.context().mkey(index);
	mkey->type = in.type;
	if (has_list(in.type) && !reserve_list(function, *mkey, from_le(in.list_entry_max))) {
		function.context().free_mkey(index);
		return no_resources(OHCA_CMD_DETAIL_PAGE_LIST);
	}
	mkey->flags = in.flags;
	if (in.type != OHCA_MKEY_TYPE_REGION)
		mkey->flags = is_window(in.type) ? kMkeyFlagFree | kMkeyFlagWindow : kMkeyFlagFree;
	mkey->consumer_key = in.consumer_key;
	mkey->access = from_le(in.access);
	mkey->pd = from_le(in.pd);
	mkey->start = from_le(in.start);
	mkey->length = from_le(in.length);
	if (!is_window(in.type))
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
	// The consumer key of the other types changes by work requests that the driver does not see.
	bool region = mkey && mkey->type == OHCA_MKEY_TYPE_REGION;
	if (!mkey || (region && mkey->consumer_key != (key & 0xff)))
		return bad_handle(OHCA_CMD_DETAIL_KEY);
	if (mkey->window_count)
		return in_use(OHCA_CMD_DETAIL_WINDOWS);
	function.context().pd(mkey->pd)->reference_count--;
	if (is_window(mkey->type))
		unbind_window(function.context(), *mkey);
	else if (has_list(mkey->type))
		free_list(function, *mkey);
	else
		free_page_range(function, mkey->pages);
	function.context().free_mkey(key >> 8);
	return kAccepted;
}

} // namespace ohca::core
