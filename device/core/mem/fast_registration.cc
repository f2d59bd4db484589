// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/fast_registration.hh"

#include <span>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/mem/block_list.hh"
#include "core/mem/key_access.hh"

namespace ohca::core {

namespace {

constexpr uint64_t kEntrySize = sizeof(BusBlock); // the larger kind

// The list, and what an INTEGRITY key has besides.
uint64_t room_of(const MkeyContext &mkey)
{
	return mkey.list_entry_max * kEntrySize +
	       (mkey.type == OHCA_MKEY_TYPE_INTEGRITY ? sizeof(IntegrityContext) : 0);
}

uint32_t check_request(Function &function, const MkeyContext &mkey, const struct ohca_wqe_register &request)
{
	const uint32_t access = from_le(request.access);
	const uint64_t length = from_le(request.length);
	const uint64_t start = access & OHCA_ACCESS_ZERO_BASED ? 0 : from_le(request.start);
	const uint8_t log_page_size = request.log_page_size;
	const uint64_t first_page_offset = from_le(request.first_page_offset);

	if ((access & ~known_access(function.state().features)) ||
	    (needs_local_write(access) && !(access & OHCA_ACCESS_LOCAL_WRITE)))
		return OHCA_VENDOR_ERROR_KEY_ACCESS;
	if (from_le(request.entry_count) > mkey.list_entry_max)
		return OHCA_VENDOR_ERROR_LENGTH;
	if (log_page_size == 0) {
		if (!function.has_feature(OHCA_FEATURE_SG_GAPS) || first_page_offset)
			return OHCA_VENDOR_ERROR_FLAGS;
	} else if (log_page_size < 12 || log_page_size > 63) {
		return OHCA_VENDOR_ERROR_FLAGS;
	} else if (first_page_offset >> log_page_size) {
		return OHCA_VENDOR_ERROR_ALIGNMENT;
	}
	if (length > kRegisteredLengthMax || (length && start + (length - 1) < start))
		return OHCA_VENDOR_ERROR_KEY_RANGE;
	return OHCA_VENDOR_ERROR_NONE;
}

// Pages that the range touches; written so that nothing overflows.
uint64_t pages_needed(uint64_t first_page_offset, uint64_t length, uint8_t log_page_size)
{
	if (length == 0)
		return 0;
	const uint64_t in_first = (uint64_t{1} << log_page_size) - first_page_offset;
	return length <= in_first ? 1 : 1 + ((length - in_first - 1) >> log_page_size) + 1;
}

uint32_t take_pages(Function &function, const MkeyContext &mkey, const struct ohca_wqe_register &request,
		    PageRange &range)
{
	const uint64_t count = pages_needed(range.first_page_offset, range.length, range.log_page_size);
	const uint64_t mask = (uint64_t{1} << range.log_page_size) - 1;

	if (count > from_le(request.entry_count))
		return OHCA_VENDOR_ERROR_KEY_RANGE;
	std::span pages(reinterpret_cast<uint64_t *>(function.context().block(mkey.list)), count);
	if (!function.memory().dma().read(from_le(request.list_address), std::as_writable_bytes(pages)))
		return OHCA_VENDOR_ERROR_DMA;
	bool contiguous = true;
	for (uint64_t i = 0; i < count; i++) {
		pages[i] = from_le(pages[i]);
		if (pages[i] & mask)
			return OHCA_VENDOR_ERROR_ALIGNMENT;
		contiguous = contiguous && (i == 0 || pages[i] == pages[i - 1] + mask + 1);
	}
	range.page_count = static_cast<uint32_t>(count);
	range.contiguous = contiguous;
	if (!contiguous)
		range.addresses = mkey.list;
	else if (count)
		range.contiguous_address = pages[0];
	return OHCA_VENDOR_ERROR_NONE;
}

uint32_t take_blocks(Function &function, const MkeyContext &mkey, const struct ohca_wqe_register &request,
		     PageRange &range)
{
	PageRange blocks{};
	const uint32_t error = copy_block_list(function, from_le(request.list_address), mkey.list,
					       from_le(request.entry_count), blocks);

	if (error)
		return error;
	if (blocks.length < range.length)
		return OHCA_VENDOR_ERROR_KEY_RANGE;
	blocks.length = range.length;
	range = blocks;
	return OHCA_VENDOR_ERROR_NONE;
}

} // namespace

bool reserve_list(Function &function, MkeyContext &mkey, uint32_t entry_max)
{
	mkey.list_entry_max = entry_max;
	mkey.list = function.context().allocate_block(room_of(mkey));
	return mkey.list != 0;
}

void free_list(Function &function, MkeyContext &mkey)
{
	if (mkey.list)
		function.context().free_block(mkey.list, room_of(mkey));
	mkey.list = 0;
	mkey.pages = {};
}

uint32_t find_free_key(Function &function, uint32_t pd, uint32_t key, uint8_t type, MkeyContext *&mkey)
{
	mkey = function.context().mkey(key >> 8);
	if (!mkey)
		return OHCA_VENDOR_ERROR_KEY_INDEX;
	if (mkey->type != type)
		return OHCA_VENDOR_ERROR_KEY_TYPE;
	// Before a list is read: only kernel users own such keys, and only they may name DMA addresses.
	if (mkey->pd != pd)
		return OHCA_VENDOR_ERROR_KEY_PD;
	if (!(mkey->flags & kMkeyFlagFree))
		return OHCA_VENDOR_ERROR_KEY_STATE;
	return OHCA_VENDOR_ERROR_NONE;
}

uint32_t register_list(Function &function, uint32_t pd, uint32_t key, const struct ohca_wqe_register &request)
{
	MkeyContext *mkey = nullptr;
	uint32_t error = find_free_key(function, pd, key, OHCA_MKEY_TYPE_FAST_REGION, mkey);

	if (!error)
		error = check_request(function, *mkey, request);
	if (error)
		return error;

	PageRange range{};
	range.first_page_offset = from_le(request.first_page_offset);
	range.length = from_le(request.length);
	range.log_page_size = request.log_page_size;
	error = range.log_page_size ? take_pages(function, *mkey, request, range)
				    : take_blocks(function, *mkey, request, range);
	if (error)
		return error;
	mkey->pages = range;
	mkey->access = from_le(request.access);
	mkey->start = mkey->access & OHCA_ACCESS_ZERO_BASED ? 0 : from_le(request.start);
	mkey->length = range.length;
	mkey->consumer_key = static_cast<uint8_t>(key);
	mkey->flags = 0;
	function.count(OHCA_COUNTER_REGISTRATIONS);
	return OHCA_VENDOR_ERROR_NONE;
}

} // namespace ohca::core
