// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A shared receive queue.  Its WQEs complete in any order, so each carries a tag: an
// index into wr_ids[], from a free list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <rdma/ohca_hw_io.h>

#include "buffer.hh"
#include "lock.hh"
#include "ring.hh"
#include "shim.h"
#include "work_queue.hh"

namespace ohca {

struct SharedReceiveQueue {
	static constexpr std::uint32_t kTaken = 0xffffffff; // in next[]: the tag is outstanding
	static constexpr std::uint32_t kNone = 0xfffffffe;  // end of the free list

	ohca_verbs_srq verbs;

	// Under `lock`, which is taken inside that of a CQ and never the other way round.
	std::byte *ring;
	ohca_srq_record *record;
	std::uint64_t *wr_ids;	// of each tag
	std::uint32_t *next;	// of each tag: the next free one, kNone or kTaken
	std::uint32_t first_free;
	std::uint32_t outstanding;
	std::uint32_t depth;	// most that may be outstanding
	std::uint32_t mask;	// depth - 1
	Index producer;
	std::uint8_t log_stride;
	std::uint8_t max_sge;
	SpinLock lock;

	// Control path, and polling after the device has failed.
	const ohca_uar *uar;
	std::uint32_t number;
	std::uint32_t tag_count;	// at least depth: shrinking leaves tags unused
	std::uint32_t flush_cursor;	// tags below it have been flushed
	CompletionQueue *cq;		// of an XRC SRQ; else null
	WorkQueue in_cq;		// an XRC SRQ among the queues attached to its CQ
	Buffer buffer;
	ProtectionDomain *domain;

	static SharedReceiveQueue &of(ibv_srq *srq) { return *reinterpret_cast<SharedReceiveQueue *>(srq); }

	std::byte *slot(Index index) const
	{
		return ring + (std::size_t{slot_of(index, mask)} << log_stride);
	}

	// Call with the lock held, and with outstanding < depth.
	std::uint32_t take_tag()
	{
		const std::uint32_t tag = first_free;
		first_free = next[tag];
		next[tag] = kTaken;
		++outstanding;
		return tag;
	}

	// False if the device names a work request that is not outstanding.
	bool retire(std::uint32_t tag, std::uint64_t &wr_id)
	{
		LockGuard guard(lock);
		if (tag >= tag_count || next[tag] != kTaken)
			return false;
		wr_id = wr_ids[tag];
		next[tag] = first_free;
		first_free = tag;
		--outstanding;
		return true;
	}

	// After the device has failed, when nothing is posted any more: some outstanding tag.
	bool find_outstanding(std::uint32_t &tag)
	{
		LockGuard guard(lock);
		while (flush_cursor < tag_count && next[flush_cursor] != kTaken)
			++flush_cursor;
		tag = flush_cursor;
		return flush_cursor < tag_count;
	}
};

// of() depends on this.
static_assert(std::is_standard_layout_v<SharedReceiveQueue>);

} // namespace ohca
