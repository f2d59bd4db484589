// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Page lists (struct ohca_page_list) from host memory into context memory.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

namespace {

constexpr uint32_t kChunkEntries = OHCA_PAGE_LIST_CHUNK_ENTRIES;
constexpr uint64_t kChunkSize = kChunkEntries * sizeof(__le64);

// What the copy of one list may cost in context memory and time: 2^24 pages, 64 GiB of 4 KiB pages,
// 128 MiB of context memory, some 50 ms.
constexpr uint32_t kPageCountMax = 1u << 24;

constexpr CommandResult kMalformed = bad_parameter(OHCA_CMD_DETAIL_PAGE_LIST);
constexpr CommandResult kUnreachable = {OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_PAGE_LIST};

// Checks everything but the addresses, and that first_page_offset + length fits into the pages.
CommandResult check_shape(const struct ohca_page_list &list, uint64_t length)
{
	if (from_le(list.reserved_b0))
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	if (list.levels > 2 || list.log_page_size < 12 || list.log_page_size > 63)
		return kMalformed;
	uint64_t offset = from_le(list.first_page_offset);
	if (offset >> list.log_page_size)
		return kMalformed;
	// Pages that [offset, offset + length) touches; written so that nothing overflows.
	uint64_t mask = (uint64_t{1} << list.log_page_size) - 1;
	uint64_t in_first = mask - offset + 1;
	uint64_t needed = 1;
	if (length > in_first)
		needed += ((length - in_first - 1) >> list.log_page_size) + 1;
	if (from_le(list.page_count) < needed)
		return kMalformed;
	return kAccepted;
}

// Entries [first, first + count) of the list, count <= kChunkEntries and within one chunk.
bool read_entries(Function &function, const struct ohca_page_list &list, uint32_t first, uint32_t count,
		  uint64_t *to, CommandResult &refusal)
{
	DmaSpace &dma = function.memory().dma();
	uint64_t array = from_le(list.address) + uint64_t{first} * sizeof(__le64);
	refusal = kUnreachable;
	if (list.levels == 2) {
		__le64 chunk;
		uint64_t at = from_le(list.address) + uint64_t{first / kChunkEntries} * sizeof(chunk);
		if (!dma.read(at, std::as_writable_bytes(std::span(&chunk, 1))))
			return false;
		array = from_le(chunk);
		if (array % kChunkSize) {
			refusal = kMalformed;
			return false;
		}
		array += uint64_t{first % kChunkEntries} * sizeof(__le64);
	}
	if (!dma.read(array, std::as_writable_bytes(std::span(to, count))))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		to[i] = from_le(to[i]);
		if (to[i] & ((uint64_t{1} << list.log_page_size) - 1)) {
			refusal = kMalformed;
			return false;
		}
	}
	return true;
}

// Collects page addresses; takes context memory only once they turn out not to be neighbours.
class PageCollector {
public:
	PageCollector(Function &function, PageRange &range) : function_(function), range_(range) {}

	// False: out of context memory.
	bool add(const uint64_t *addresses, uint32_t count)
	{
		uint32_t i = 0;
		if (collected_ == 0)
			range_.contiguous_address = addresses[0];
		while (range_.contiguous && i < count && addresses[i] == expected(collected_ + i))
			i++;
		if (range_.contiguous && i < count && !scatter(collected_ + i))
			return false;
		if (!range_.contiguous)
			std::memcpy(table() + collected_ + i, addresses + i, (count - i) * sizeof(uint64_t));
		collected_ += count;
		return true;
	}

private:
	uint64_t expected(uint32_t page) const
	{
		return range_.contiguous_address + (uint64_t{page} << range_.log_page_size);
	}

	uint64_t *table() { return reinterpret_cast<uint64_t *>(function_.context().block(range_.addresses)); }

	bool scatter(uint32_t known)
	{
		range_.addresses = function_.context().allocate_block(range_.page_count * sizeof(uint64_t));
		if (!range_.addresses)
			return false;
		for (uint32_t page = 0; page < known; page++)
			table()[page] = expected(page);
		range_.contiguous = 0;
		range_.contiguous_address = 0;
		return true;
	}

	Function &function_;
	PageRange &range_;
	uint32_t collected_ = 0;
};

CommandResult collect(Function &function, const struct ohca_page_list &list, PageRange &range)
{
	PageCollector collector(function, range);
	std::array<uint64_t, kChunkEntries> addresses;
	for (uint32_t first = 0; first < range.page_count; first += kChunkEntries) {
		uint32_t count = std::min(kChunkEntries, range.page_count - first);
		CommandResult refusal;
		if (!read_entries(function, list, first, count, addresses.data(), refusal))
			return refusal;
		if (!collector.add(addresses.data(), count))
			return no_resources(OHCA_CMD_DETAIL_PAGE_LIST);
	}
	return kAccepted;
}

} // namespace

CommandResult copy_page_list(Function &function, const struct ohca_page_list &list, uint64_t length,
			     PageRange &range)
{
	range = {};
	CommandResult result = check_shape(list, length);
	if (!result.ok())
		return result;
	range.first_page_offset = from_le(list.first_page_offset);
	range.length = length;
	range.log_page_size = list.log_page_size;
	range.contiguous = 1;
	if (list.levels == 0) {
		uint64_t address = from_le(list.address);
		uint64_t end = address + range.first_page_offset + (length - 1);
		if ((address & ((uint64_t{1} << list.log_page_size) - 1)) || end < address)
			return kMalformed;
		range.contiguous_address = address;
		range.page_count = from_le(list.page_count);
		return kAccepted;
	}
	// Only the pages that the range touches.
	uint64_t last = range.first_page_offset + (length - 1);
	uint64_t page_count = (last >> list.log_page_size) + 1;
	if (page_count > kPageCountMax)
		return no_resources(OHCA_CMD_DETAIL_PAGE_LIST);
	range.page_count = static_cast<uint32_t>(page_count);
	function.add_command_cost(page_count);
	result = collect(function, list, range);
	if (!result.ok())
		free_page_range(function, range);
	return result;
}

CommandResult copy_queue_pages(Function &function, const struct ohca_page_list &list, uint64_t length,
			       PageRange &range)
{
	range = {};
	// No entry may cross a page, and records are accessed as aligned words.
	if (from_le(list.first_page_offset) % OHCA_RECORD_SIZE)
		return kMalformed;
	return copy_page_list(function, list, length, range);
}

void free_page_range(Function &function, PageRange &range)
{
	if (range.addresses)
		function.context().free_block(range.addresses, range.page_count * sizeof(uint64_t));
	range = {};
}

} // namespace ohca::core
