// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// When which queue pair or CQ of a function wants to be looked at.
//
// A hierarchical timing wheel: insertion and removal touch one list, whatever
// the number of timers, and the lists go through the contexts, so nothing is
// allocated.  Level l has 64 buckets of 64^l ticks; an entry is in the lowest
// level at which its tick and the current one have the next higher digits in
// common, and moves down when time reaches its bucket.  A timer fires at its
// time or up to one tick (4 us) later.
//
// Lazy: a timer that moves to a later time stays where it is; whoever is woken
// asks poll_timeout() again.  So an ACK timer that is restarted with every
// message costs nothing.
#pragma once

#include <array>
#include <cstdint>

#include "core/context.hh"
#include "core/engine.hh"
#include "core/mem/context_memory.hh"

namespace ohca::core {

// Entry: QpContext or CqContext; both have timer_bucket, timer_next, timer_previous and timer_at_ns.
template <typename Entry> class BasicTimerWheel {
public:
	explicit BasicTimerWheel(ContextMemory &context) : context_(context) {}

	bool empty() const { return count_ == 0; }
	// Makes sure that the entry comes out of take_due() soon after `at`, or earlier.
	void schedule(Entry &entry, TimeNs at);
	void remove(Entry &entry);
	// Forgets all. The links in the contexts are not touched.
	void clear();

	// An entry whose time has come, removed from the wheel; null: none. While the caller
	// takes them one by one, new entries are placed after `now`.
	Entry *take_due(TimeNs now);
	// No timer fires before; kNever if there is none.
	TimeNs next() const;

private:
	static constexpr uint32_t kTickShift = 12; // 4096 ns
	static constexpr uint32_t kDigitBits = 6;
	static constexpr uint32_t kBuckets = 1u << kDigitBits;
	static constexpr uint32_t kLevels = 9;     // 9 * 6 + 12 bits: all of time

	struct Position {
		uint32_t level;
		uint32_t slot;
		uint64_t tick; // at which the bucket begins
	};
	bool first_occupied(Position &position) const;
	void insert(Entry &entry, uint64_t tick);

	ContextMemory &context_;
	uint64_t current_ = 0; // everything before this tick has been taken
	uint64_t floor_ = 0;   // no entry is placed before this tick
	std::array<uint64_t, kLevels> occupied_{};
	std::array<uint32_t, kLevels * kBuckets> heads_{}; // number of the first entry, 0 = empty
	uint32_t count_ = 0;   // entries
};

using TimerWheel = BasicTimerWheel<QpContext>;
using CqTimerWheel = BasicTimerWheel<CqContext>;

} // namespace ohca::core
