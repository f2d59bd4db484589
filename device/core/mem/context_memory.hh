// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Layout and allocation of context memory (context.hh): one table per kind of
// object, and a pool of variable blocks. All bookkeeping (free lists, cursors)
// is inside the memory as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/context.hh"

namespace ohca::core {

constexpr uint32_t kQpCountMax = 1u << 17;
constexpr uint32_t kCqCountMax = 1u << 17;
constexpr uint32_t kEqCountMax = 64;
constexpr uint32_t kPdCountMax = 1u << 16;
constexpr uint32_t kMkeyCountMax = 1u << 24;
constexpr uint32_t kUarCountMax = 1u << 16;
constexpr uint32_t kGidCountMax = 256;

class ContextMemory {
public:
	explicit ContextMemory(std::span<std::byte> memory);

	// Bytes to reserve (sparse).
	static size_t size();
	// Writes the header if the memory is all zero (new or reset).
	void format();

	// Allocation: a free index (never 0 for QPs: numbers start at 2), or 0/kNoIndex when full.
	// The entry is zeroed and live = 1. Freed indices are reused as late as possible, so that
	// a stale handle is rarely somebody else's.
	static constexpr uint32_t kNoIndex = UINT32_MAX;
	uint32_t allocate_qp();
	uint32_t allocate_cq();
	uint32_t allocate_eq();
	uint32_t allocate_pd();
	uint32_t allocate_mkey();
	uint32_t allocate_uar(uint32_t uar_count);
	void free_qp(uint32_t index);
	void free_cq(uint32_t index);
	void free_eq(uint32_t index);
	void free_pd(uint32_t index);
	void free_mkey(uint32_t index);
	void free_uar(uint32_t index);

	// Live entry, or null. Any 32-bit value may be passed.
	QpContext *qp(uint32_t qpn);
	CqContext *cq(uint32_t cqn);
	EqContext *eq(uint32_t index);
	PdContext *pd(uint32_t index);
	MkeyContext *mkey(uint32_t index);
	UarContext *uar(uint32_t index);
	GidContext *gid(uint32_t index); // any index < kGidCountMax, live or not
	uint64_t *counters();            // uint64_t[OHCA_COUNTER_COUNT]

	// Highest index ever allocated + 1, for iteration.
	uint32_t qp_limit() const;
	uint32_t cq_limit() const;
	uint32_t uar_limit() const;
	uint32_t mkey_limit() const;

	// Variable blocks, 64-byte aligned, zeroed; 0 when out of memory. Size classes, so that
	// free needs the size that was asked for.
	BlockOffset allocate_block(uint64_t bytes);
	void free_block(BlockOffset offset, uint64_t bytes);
	std::byte *block(BlockOffset offset);

private:
	std::span<std::byte> memory_;
};

} // namespace ohca::core
