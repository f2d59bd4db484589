// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/context_memory.hh"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ohca::core {

namespace {

using layout::FreeEntry;
using layout::Header;
using layout::PoolPage;
using layout::PoolState;
using layout::TableState;

constexpr uint64_t kMagic = 0x4f48434143545831; // "OHCACTX1"
constexpr uint32_t kVersion = 3;

struct TableShape {
	uint64_t offset;
	uint32_t entry_size;
	uint32_t first;       // lowest index given out
	uint32_t capacity;
	uint32_t reuse_after; // freed entries that are kept back before the oldest is reused
};

constexpr TableShape kShapes[layout::kTableCount] = {
	{layout::kQps, sizeof(QpContext), 2, kQpCountMax, 1024},
	{layout::kCqs, sizeof(CqContext), 1, kCqCountMax, 1024},
	{layout::kEqs, sizeof(EqContext), 1, kEqCountMax, 64},
	{layout::kPds, sizeof(PdContext), 1, kPdCountMax, 1024},
	{layout::kMkeys, sizeof(MkeyContext), 1, kMkeyCountMax, 4096},
	{layout::kUars, sizeof(UarContext), 1, kUarCountMax, 1024},
	{layout::kSrqs, sizeof(SrqContext), 1, kSrqCountMax, 1024},
	{layout::kXrcds, sizeof(XrcdContext), 1, kXrcdCountMax, 1024},
	// Their numbers are nobody's handles.
	{layout::kMulticastGroups, sizeof(MulticastGroupContext), 1, kMulticastGroupCountMax, 1},
};

// Smallest order whose block holds `bytes`.
uint32_t order_of(uint64_t bytes)
{
	uint64_t pages = (bytes + kPoolPageSize - 1) / kPoolPageSize;
	return static_cast<uint32_t>(std::bit_width(pages - 1));
}

uint32_t small_class_of(uint64_t bytes)
{
	uint64_t size = std::max(std::bit_ceil(bytes), kBlockSizeMin);
	return static_cast<uint32_t>(std::countr_zero(size) - std::countr_zero(kBlockSizeMin));
}

constexpr uint64_t kSmallMax = kBlockSizeMin << (kSmallClassCount - 1);

uint64_t block_size(uint64_t bytes)
{
	return bytes <= kSmallMax ? kBlockSizeMin << small_class_of(bytes)
				  : kPoolPageSize << order_of(bytes);
}

} // namespace

bool ContextMemory::format()
{
	if (size_ < size())
		return false;
	Header *h = header();
	if (h->magic)
		return h->magic == kMagic && h->version == kVersion && h->size == sizeof(Header);
	for (uint32_t table = 0; table < layout::kTableCount; table++)
		h->tables[table].limit = kShapes[table].first;
	h->version = kVersion;
	h->size = sizeof(Header);
	push_free(0, kPoolOrderCount - 1);
	h->magic = kMagic;
	return true;
}

void ContextMemory::reset()
{
	Header *h = header();
	if (h->magic == kMagic) {
		for (uint32_t table = 0; table < layout::kTableCount; table++) {
			const TableShape &shape = kShapes[table];
			uint64_t limit = std::min(h->tables[table].limit, shape.capacity);
			std::memset(base_ + shape.offset, 0, limit * shape.entry_size);
		}
		uint64_t pages = std::min<uint64_t>(h->pool.used_limit, kPoolPageCount);
		std::memset(base_ + layout::kPool, 0, pages * kPoolPageSize);
		for (uint32_t order = 0; order < kPoolOrderCount; order++)
			while (h->pool.free_heads[order])
				remove_free(h->pool.free_heads[order] - 1, order);
	}
	std::memset(base_ + layout::kGids, 0, sizeof(GidContext) * kGidCountMax);
	std::memset(h, 0, sizeof(*h));
	format();
}

FreeEntry *ContextMemory::entry(layout::Table table, uint32_t index) const
{
	return at<FreeEntry>(kShapes[table].offset + uint64_t{index} * kShapes[table].entry_size);
}

uint32_t ContextMemory::allocate(layout::Table table, uint32_t capacity)
{
	const TableShape &shape = kShapes[table];
	TableState &state = header()->tables[table];
	capacity = std::min(capacity, shape.capacity);
	uint32_t index;

	if (state.limit < capacity && state.free_count < shape.reuse_after) {
		index = state.limit++;
	} else if (state.free_head) {
		index = state.free_head - 1;
		state.free_head = entry(table, index)->next;
		if (!state.free_head)
			state.free_tail = 0;
		state.free_count--;
	} else {
		return kNoIndex;
	}
	FreeEntry *fresh = entry(table, index);
	std::memset(static_cast<void *>(fresh), 0, shape.entry_size);
	// One byte serves all contexts: it is MkeyContext's whole `live` and the low byte of the others'.
	static_assert(std::endian::native == std::endian::little);
	fresh->live = 1;
	state.live_count++;
	return index;
}

void ContextMemory::free(layout::Table table, uint32_t index)
{
	TableState &state = header()->tables[table];
	FreeEntry *freed = entry(table, index);
	freed->live = 0;
	freed->next = 0;
	if (state.free_tail)
		entry(table, state.free_tail - 1)->next = index + 1;
	else
		state.free_head = index + 1;
	state.free_tail = index + 1;
	state.free_count++;
	state.live_count--;
}

uint32_t ContextMemory::allocate_qp() { return allocate(layout::kQpTable, kQpCountMax); }
uint32_t ContextMemory::allocate_cq() { return allocate(layout::kCqTable, kCqCountMax); }
uint32_t ContextMemory::allocate_eq() { return allocate(layout::kEqTable, kEqCountMax); }
uint32_t ContextMemory::allocate_pd() { return allocate(layout::kPdTable, kPdCountMax); }
uint32_t ContextMemory::allocate_mkey() { return allocate(layout::kMkeyTable, kMkeyCountMax); }
uint32_t ContextMemory::allocate_uar(uint32_t uar_count) { return allocate(layout::kUarTable, uar_count); }
uint32_t ContextMemory::allocate_srq() { return allocate(layout::kSrqTable, kSrqCountMax); }
uint32_t ContextMemory::allocate_multicast_group()
{
	return allocate(layout::kMulticastTable, kMulticastGroupCountMax);
}
uint32_t ContextMemory::allocate_xrcd() { return allocate(layout::kXrcdTable, kXrcdCountMax); }

void ContextMemory::free_qp(uint32_t index)
{
	if (index != OHCA_QPN_GSI) {
		free(layout::kQpTable, index);
		return;
	}
	entry(layout::kQpTable, index)->live = 0;
	header()->tables[layout::kQpTable].live_count--;
}
void ContextMemory::free_cq(uint32_t index) { free(layout::kCqTable, index); }
void ContextMemory::free_eq(uint32_t index) { free(layout::kEqTable, index); }
void ContextMemory::free_pd(uint32_t index) { free(layout::kPdTable, index); }
void ContextMemory::free_mkey(uint32_t index) { free(layout::kMkeyTable, index); }
void ContextMemory::free_uar(uint32_t index) { free(layout::kUarTable, index); }
void ContextMemory::free_srq(uint32_t index) { free(layout::kSrqTable, index); }
void ContextMemory::free_multicast_group(uint32_t index) { free(layout::kMulticastTable, index); }
void ContextMemory::free_xrcd(uint32_t index) { free(layout::kXrcdTable, index); }

uint32_t ContextMemory::allocate_gsi_qp()
{
	FreeEntry *fresh = entry(layout::kQpTable, OHCA_QPN_GSI);

	static_assert(kShapes[layout::kQpTable].first > OHCA_QPN_GSI);
	if (fresh->live)
		return kNoIndex;
	std::memset(static_cast<void *>(fresh), 0, sizeof(QpContext));
	fresh->live = 1;
	header()->tables[layout::kQpTable].live_count++;
	return OHCA_QPN_GSI;
}

void ContextMemory::enable_kernel_uar()
{
	at<UarContext>(layout::kUars)->live = 1;
}

uint32_t ContextMemory::object_count() const
{
	uint32_t count = 0;
	for (uint32_t table = 0; table < layout::kTableCount; table++)
		if (table != layout::kEqTable)
			count += header()->tables[table].live_count;
	return count;
}

// --- block pool -----------------------------------------------------------

void ContextMemory::push_free(uint32_t page, uint32_t order)
{
	PoolState &pool = header()->pool;
	PoolPage *pages = at<PoolPage>(layout::kPoolPages);
	uint32_t head = pool.free_heads[order];
	pages[page] = {.next = head, .previous = 0, .free_order = static_cast<uint8_t>(order + 1), .reserved = {}};
	if (head)
		pages[head - 1].previous = page + 1;
	pool.free_heads[order] = page + 1;
}

void ContextMemory::remove_free(uint32_t page, uint32_t order)
{
	PoolState &pool = header()->pool;
	PoolPage *pages = at<PoolPage>(layout::kPoolPages);
	PoolPage taken = pages[page];
	if (taken.previous)
		pages[taken.previous - 1].next = taken.next;
	else
		pool.free_heads[order] = taken.next;
	if (taken.next)
		pages[taken.next - 1].previous = taken.previous;
	pages[page] = {};
}

// First page of a block of 2^order pages, or kNoIndex.
uint32_t ContextMemory::allocate_pages(uint32_t order)
{
	PoolState &pool = header()->pool;
	uint32_t from = order;
	while (from < kPoolOrderCount && !pool.free_heads[from])
		from++;
	if (from >= kPoolOrderCount)
		return kNoIndex;
	uint32_t page = pool.free_heads[from] - 1;
	remove_free(page, from);
	// Keep the lower half each time, so that the used part stays compact.
	while (from > order) {
		from--;
		push_free(page + (1u << from), from);
	}

	uint32_t end = page + (1u << order);
	uint32_t used_end = std::min(end, pool.used_limit);
	if (used_end > page)
		std::memset(base_ + layout::kPool + page * kPoolPageSize, 0, (used_end - page) * kPoolPageSize);
	pool.used_limit = std::max(pool.used_limit, end);
	return page;
}

void ContextMemory::free_pages(uint32_t page, uint32_t order)
{
	const PoolPage *pages = at<PoolPage>(layout::kPoolPages);
	while (order < kPoolOrderCount - 1) {
		uint32_t buddy = page ^ (1u << order);
		if (pages[buddy].free_order != order + 1)
			break;
		remove_free(buddy, order);
		page &= ~(1u << order);
		order++;
	}
	push_free(page, order);
}

BlockOffset ContextMemory::allocate_small(uint32_t size_class)
{
	PoolState &pool = header()->pool;
	uint64_t bytes = kBlockSizeMin << size_class;
	BlockOffset head = pool.small_heads[size_class];
	if (head) {
		std::memcpy(&pool.small_heads[size_class], base_ + head, sizeof(BlockOffset));
		std::memset(base_ + head, 0, bytes);
		return head;
	}
	uint32_t page = allocate_pages(0);
	if (page == kNoIndex)
		return 0;
	// The first piece is the caller's, the others go to the list in ascending order.
	BlockOffset first = layout::kPool + page * kPoolPageSize;
	for (uint64_t at = kPoolPageSize - bytes; at > 0; at -= bytes) {
		std::memcpy(base_ + first + at, &pool.small_heads[size_class], sizeof(BlockOffset));
		pool.small_heads[size_class] = first + at;
	}
	return first;
}

BlockOffset ContextMemory::allocate_block(uint64_t bytes)
{
	if (bytes == 0 || bytes > kPoolSize)
		return 0;
	BlockOffset offset = 0;
	if (bytes <= kSmallMax) {
		offset = allocate_small(small_class_of(bytes));
	} else {
		uint32_t page = allocate_pages(order_of(bytes));
		if (page != kNoIndex)
			offset = layout::kPool + page * kPoolPageSize;
	}
	if (offset)
		header()->pool.bytes_in_use += block_size(bytes);
	return offset;
}

void ContextMemory::free_block(BlockOffset offset, uint64_t bytes)
{
	if (!offset)
		return;
	PoolState &pool = header()->pool;
	pool.bytes_in_use -= block_size(bytes);
	if (bytes > kSmallMax) {
		free_pages(static_cast<uint32_t>((offset - layout::kPool) / kPoolPageSize), order_of(bytes));
		return;
	}
	uint32_t size_class = small_class_of(bytes);
	std::memcpy(base_ + offset, &pool.small_heads[size_class], sizeof(BlockOffset));
	pool.small_heads[size_class] = offset;
}

} // namespace ohca::core
