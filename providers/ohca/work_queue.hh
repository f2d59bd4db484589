// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What a send queue and a receive queue have in common: a ring of work requests
// of which [consumer, producer) are outstanding.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "lock.hh"
#include "ring.hh"

namespace ohca {

struct CompletionQueue;
struct SharedReceiveQueue;

struct WorkQueue {
	// Written by the posting thread, under `lock`.
	std::byte *ring;
	std::uint64_t *wr_ids;	// of each slot
	std::uint32_t mask;	// depth - 1
	std::uint32_t limit;	// most that may be outstanding: depth, or 0 where posting is refused
	Index producer;		// read by the polling thread
	std::uint8_t log_stride;
	std::uint8_t max_sge;
	SpinLock lock;
	int refusal;		// errno when limit is reached: EINVAL by the state or without a ring, else ENOMEM

	// Written by the polling thread, under the lock of `cq`: a line of its own.
	alignas(64) Index consumer; // read by the posting thread

	// Set at creation.
	CompletionQueue *cq;	// null: nothing of this queue completes
	SharedReceiveQueue *srq; // that stands in for this receive queue; else null
	WorkQueue *next_of_cq;
	std::uint32_t qpn;
	std::uint32_t depth;	// 0: the queue pair has no such queue
	bool is_receive;
	// What points to this one in the CQ's list; null: in none.  Programs destroy many in any order.
	WorkQueue **link_of_cq;

	// The posting thread may use a slot (and its wr_id) after the polling thread is
	// done with it: acquire pairs with retire().
	bool is_full(Index next) const { return next - load_acquire(consumer) >= limit; }

	std::byte *slot(Index index) const
	{
		return ring + (std::size_t{slot_of(index, mask)} << log_stride);
	}

	// Takes [consumer, index] out of the queue.  False if the device names a work
	// request that is not outstanding.
	bool retire(Index index, std::uint64_t &wr_id)
	{
		if (!is_within(index, consumer, load_acquire(producer)))
			return false;
		wr_id = wr_ids[slot_of(index, mask)];
		store_release(consumer, index + 1);
		return true;
	}

	void set_postable(bool postable)
	{
		limit = postable ? depth : 0;
		refusal = limit ? ENOMEM : EINVAL;
	}
};

} // namespace ohca
