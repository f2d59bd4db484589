// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Re-registration of a region (IBTA 11.2.8.5): everything that can be refused comes
// before the first change.
#include "core/cmd/mkey.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

namespace {

CommandResult check_request(const struct ohca_cmd_modify_mkey_in &in, uint32_t mask)
{
	const struct ohca_cmd_create_mkey_in &region = in.region;

	if (region.reserved_198 || region.list_entry_max)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (!mask || (mask & ~uint32_t{OHCA_MKEY_MODIFY_ALL}))
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	if (region.flags & ~OHCA_MKEY_FLAGS_ALL)
		return unsupported(OHCA_CMD_DETAIL_NONE);
	if (region.type != OHCA_MKEY_TYPE_REGION)
		return bad_parameter(OHCA_CMD_DETAIL_TYPE);
	return kAccepted;
}

CommandResult check_key(const MkeyContext *mkey, uint32_t key)
{
	if (!mkey)
		return bad_handle(OHCA_CMD_DETAIL_KEY);
	if (mkey->type != OHCA_MKEY_TYPE_REGION)
		return bad_parameter(OHCA_CMD_DETAIL_TYPE);
	if (mkey->consumer_key != (key & 0xff))
		return bad_handle(OHCA_CMD_DETAIL_KEY);
	return mkey->window_count ? in_use(OHCA_CMD_DETAIL_WINDOWS) : kAccepted;
}

} // namespace

CommandResult modify_mkey(Function &function, const struct ohca_cmd_modify_mkey_in &in,
			  struct ohca_cmd_create_mkey_out &out)
{
	ContextMemory &context = function.context();
	const struct ohca_cmd_create_mkey_in &region = in.region;
	const uint32_t mask = from_le(in.mask);
	const uint32_t key = from_le(in.key);
	const uint32_t pd = from_le(region.pd);
	MkeyContext *mkey = context.mkey(key >> 8);

	CommandResult result = check_request(in, mask);
	if (result.ok())
		result = check_key(mkey, key);
	if (result.ok() && (mask & OHCA_MKEY_MODIFY_ACCESS))
		result = check_region_access(function, from_le(region.access));
	if (result.ok() && (mask & OHCA_MKEY_MODIFY_PD) && !context.pd(pd))
		result = bad_handle(OHCA_CMD_DETAIL_PD);
	PageRange pages{};
	if (result.ok() && (mask & OHCA_MKEY_MODIFY_TRANSLATION))
		result = copy_translation(function, region, pages);
	if (!result.ok())
		return result;

	if (mask & OHCA_MKEY_MODIFY_TRANSLATION) {
		free_page_range(function, mkey->pages);
		mkey->pages = pages;
		mkey->flags = region.flags;
		mkey->start = from_le(region.start);
		mkey->length = from_le(region.length);
	}
	if (mask & OHCA_MKEY_MODIFY_PD) {
		context.pd(mkey->pd)->reference_count--;
		context.pd(pd)->reference_count++;
		mkey->pd = pd;
	}
	if (mask & OHCA_MKEY_MODIFY_ACCESS)
		mkey->access = from_le(region.access);
	mkey->consumer_key = region.consumer_key;
	out.key = to_le((key & ~uint32_t{0xff}) | region.consumer_key);
	return kAccepted;
}

} // namespace ohca::core
