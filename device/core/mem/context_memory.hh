// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Layout and allocation of context memory (context.hh): one table per kind of
// object, and a pool of variable blocks. All bookkeeping (free lists, cursors)
// is inside the memory as well.
//
// The memory is sparse: nothing beyond a table's limit (the highest index ever
// used) is read or written, because even reading a hole of a shared memory
// file makes it resident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/context.hh"

namespace ohca::core {

// Table sizes. Index 0 is never given out (UAR: is the kernel's; QP: 0 and 1 are special), so
// that a zeroed handle is not somebody's object.
constexpr uint32_t kQpCountMax = 1u << 17;
constexpr uint32_t kCqCountMax = 1u << 17;
constexpr uint32_t kEqCountMax = 65;
constexpr uint32_t kPdCountMax = 1u << 16;
constexpr uint32_t kMkeyCountMax = 1u << 24;
constexpr uint32_t kUarCountMax = 1u << 16;
constexpr uint32_t kSrqCountMax = 1u << 16;
constexpr uint32_t kXrcdCountMax = 1u << 16;
constexpr uint32_t kGidCountMax = 256;
constexpr uint32_t kMulticastGroupCountMax = 1025;
constexpr uint32_t kMulticastQpsMax = 256; // members of a group

// Block pool: a buddy system of pages (freed neighbours merge, so that the room of one huge page
// list serves many small ones later), and below a page free lists per power of two.
constexpr uint64_t kPoolPageSize = 4096;
constexpr uint32_t kPoolOrderCount = 21; // blocks of 2^0 .. 2^20 pages
constexpr uint64_t kPoolSize = kPoolPageSize << (kPoolOrderCount - 1);
constexpr uint64_t kPoolPageCount = kPoolSize / kPoolPageSize;
constexpr uint64_t kBlockSizeMin = 64;
constexpr uint32_t kSmallClassCount = 6; // 64 .. 2048 bytes

namespace layout {

enum Table : uint32_t { kQpTable, kCqTable, kEqTable, kPdTable, kMkeyTable, kUarTable, kSrqTable, kXrcdTable, kMulticastTable,
			kTableCount };

struct TableState {
	uint32_t limit;      // highest index ever allocated + 1
	uint32_t live_count;
	uint32_t free_head;  // oldest freed index + 1, 0 = none; linked through FreeEntry
	uint32_t free_tail;
	uint32_t free_count;
	uint32_t reserved;
};

// What a freed entry of any table looks like: every context starts with 32 bits of which
// `live` is the first byte or all.
struct FreeEntry {
	uint32_t live; // 0
	uint32_t next; // index + 1, 0 = end
};

struct PoolPage {
	uint32_t next;       // page index + 1
	uint32_t previous;
	uint8_t free_order;  // 1 + order if this page is the first of a free block, else 0
	uint8_t reserved[3];
};

struct PoolState {
	uint32_t free_heads[kPoolOrderCount]; // page index + 1
	uint32_t used_limit;                  // pages from here on were never given out: still zero
	BlockOffset small_heads[kSmallClassCount];
	uint64_t bytes_in_use;
};

struct Header {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	FunctionContext function;
	TableState tables[kTableCount];
	PoolState pool;
	uint64_t counters[64];
};
static_assert(OHCA_COUNTER_COUNT <= 64);

constexpr uint64_t page_align(uint64_t bytes)
{
	return (bytes + 4095) & ~uint64_t{4095};
}

constexpr uint64_t kGids = page_align(sizeof(Header));
constexpr uint64_t kEqs = kGids + page_align(sizeof(GidContext) * kGidCountMax);
constexpr uint64_t kPds = kEqs + page_align(sizeof(EqContext) * kEqCountMax);
constexpr uint64_t kUars = kPds + page_align(sizeof(PdContext) * kPdCountMax);
constexpr uint64_t kSrqs = kUars + page_align(sizeof(UarContext) * kUarCountMax);
constexpr uint64_t kXrcds = kSrqs + page_align(sizeof(SrqContext) * kSrqCountMax);
constexpr uint64_t kMulticastGroups = kXrcds + page_align(sizeof(XrcdContext) * kXrcdCountMax);
constexpr uint64_t kCqs = kMulticastGroups + page_align(sizeof(MulticastGroupContext) * kMulticastGroupCountMax);
constexpr uint64_t kQps = kCqs + page_align(sizeof(CqContext) * kCqCountMax);
constexpr uint64_t kMkeys = kQps + page_align(sizeof(QpContext) * kQpCountMax);
constexpr uint64_t kPoolPages = kMkeys + page_align(sizeof(MkeyContext) * kMkeyCountMax);
constexpr uint64_t kPool = kPoolPages + page_align(sizeof(PoolPage) * kPoolPageCount);
constexpr uint64_t kEnd = kPool + kPoolSize;

} // namespace layout

class ContextMemory {
public:
	explicit ContextMemory(std::span<std::byte> memory) : base_(memory.data()), size_(memory.size()) {}

	// Bytes to reserve (sparse).
	static constexpr size_t size() { return layout::kEnd; }
	// Writes the header if the memory is all zero (new or reset). False: memory of another
	// layout, or too small.
	bool format();
	// Forgets everything, and zeroes what was ever used. Cheap if the memory is zero already.
	void reset();

	// Allocation: a free index, or kNoIndex when full. The entry is zeroed and live = 1. Freed
	// indices are reused late (after many others have been freed), so that a stale handle is
	// rarely somebody else's.
	static constexpr uint32_t kNoIndex = UINT32_MAX;
	uint32_t allocate_qp();
	// OHCA_QPN_GSI, which allocate_qp() never returns; kNoIndex if it is live.
	uint32_t allocate_gsi_qp();
	uint32_t allocate_cq();
	uint32_t allocate_eq();
	uint32_t allocate_pd();
	uint32_t allocate_mkey();
	uint32_t allocate_uar(uint32_t uar_count);
	uint32_t allocate_srq();
	uint32_t allocate_multicast_group();
	uint32_t allocate_xrcd();
	void free_qp(uint32_t index);
	void free_cq(uint32_t index);
	void free_eq(uint32_t index);
	void free_pd(uint32_t index);
	void free_mkey(uint32_t index);
	void free_uar(uint32_t index);
	void free_srq(uint32_t index);
	void free_multicast_group(uint32_t index);
	void free_xrcd(uint32_t index);
	// Makes UAR 0, the kernel's, live.
	void enable_kernel_uar();

	// Live entry, or null. Any 32-bit value may be passed.
	QpContext *qp(uint32_t qpn) { return live<QpContext>(layout::kQpTable, layout::kQps, qpn); }
	CqContext *cq(uint32_t cqn) { return live<CqContext>(layout::kCqTable, layout::kCqs, cqn); }
	EqContext *eq(uint32_t index) { return live<EqContext>(layout::kEqTable, layout::kEqs, index); }
	PdContext *pd(uint32_t index) { return live<PdContext>(layout::kPdTable, layout::kPds, index); }
	UarContext *uar(uint32_t index) { return live<UarContext>(layout::kUarTable, layout::kUars, index); }
	SrqContext *srq(uint32_t srqn) { return live<SrqContext>(layout::kSrqTable, layout::kSrqs, srqn); }
	MulticastGroupContext *multicast_group(uint32_t index)
	{
		return live<MulticastGroupContext>(layout::kMulticastTable, layout::kMulticastGroups, index);
	}
	XrcdContext *xrcd(uint32_t index)
	{
		return live<XrcdContext>(layout::kXrcdTable, layout::kXrcds, index);
	}
	MkeyContext *mkey(uint32_t index)
	{
		return live<MkeyContext>(layout::kMkeyTable, layout::kMkeys, index);
	}
	std::span<uint32_t> multicast_members(const MulticastGroupContext &group)
	{
		return {reinterpret_cast<uint32_t *>(base_ + group.members), group.member_count};
	}
	// index < kGidCountMax, live or not
	GidContext *gid(uint32_t index) { return at<GidContext>(layout::kGids) + index; }
	uint64_t *counters() { return header()->counters; } // uint64_t[OHCA_COUNTER_COUNT]
	FunctionContext &function() { return header()->function; }

	// Highest index ever allocated + 1, for iteration.
	uint32_t qp_limit() const { return header()->tables[layout::kQpTable].limit; }
	uint32_t cq_limit() const { return header()->tables[layout::kCqTable].limit; }
	uint32_t uar_limit() const { return header()->tables[layout::kUarTable].limit; }
	uint32_t mkey_limit() const { return header()->tables[layout::kMkeyTable].limit; }
	uint32_t eq_limit() const { return header()->tables[layout::kEqTable].limit; }
	uint32_t multicast_group_limit() const { return header()->tables[layout::kMulticastTable].limit; }
	uint32_t srq_limit() const { return header()->tables[layout::kSrqTable].limit; }
	uint32_t xrcd_limit() const { return header()->tables[layout::kXrcdTable].limit; }
	// Live objects of all kinds but EQs and UAR 0.
	uint32_t object_count() const;
	uint32_t live_count(layout::Table table) const { return header()->tables[table].live_count; }

	// Variable blocks, 64-byte aligned, zeroed; 0 when out of memory. Size classes, so that
	// free needs the size that was asked for.
	BlockOffset allocate_block(uint64_t bytes);
	void free_block(BlockOffset offset, uint64_t bytes);
	std::byte *block(BlockOffset offset) { return base_ + offset; }
	uint64_t block_bytes_in_use() const { return header()->pool.bytes_in_use; }

private:
	template <typename T> T *at(uint64_t offset) const { return reinterpret_cast<T *>(base_ + offset); }
	layout::Header *header() const { return at<layout::Header>(0); }

	template <typename T> T *live(layout::Table table, uint64_t offset, uint32_t index)
	{
		if (index >= header()->tables[table].limit)
			return nullptr;
		T *entry = at<T>(offset) + index;
		return entry->live ? entry : nullptr;
	}

	uint32_t allocate(layout::Table table, uint32_t capacity);
	void free(layout::Table table, uint32_t index);
	layout::FreeEntry *entry(layout::Table table, uint32_t index) const;

	uint32_t allocate_pages(uint32_t order);
	void free_pages(uint32_t page, uint32_t order);
	void push_free(uint32_t page, uint32_t order);
	void remove_free(uint32_t page, uint32_t order);
	BlockOffset allocate_small(uint32_t size_class);

	std::byte *base_;
	size_t size_;
};

} // namespace ohca::core
