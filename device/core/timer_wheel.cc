// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/timer_wheel.hh"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace ohca::core {

namespace {

uint32_t number_of(const QpContext &qp)
{
	return qp.qpn;
}

uint32_t number_of(const CqContext &cq)
{
	return cq.cqn;
}

template <typename Entry> Entry *find(ContextMemory &context, uint32_t number)
{
	if constexpr (std::is_same_v<Entry, QpContext>)
		return context.qp(number);
	else
		return context.cq(number);
}

} // namespace

template <typename Entry> void BasicTimerWheel<Entry>::clear()
{
	count_ = 0;
	occupied_.fill(0);
	heads_.fill(0);
}

template <typename Entry> void BasicTimerWheel<Entry>::insert(Entry &entry, uint64_t tick)
{
	tick = std::max(tick, std::max(current_, floor_));
	uint64_t differing = tick ^ current_;
	uint32_t level = differing ? (static_cast<uint32_t>(std::bit_width(differing)) - 1) / kDigitBits : 0;
	uint32_t slot = static_cast<uint32_t>(tick >> (level * kDigitBits)) & (kBuckets - 1);
	uint32_t bucket = level * kBuckets + slot;

	uint32_t head = heads_[bucket];
	entry.timer_bucket = bucket + 1;
	entry.timer_previous = 0;
	entry.timer_next = head;
	if (head)
		find<Entry>(context_, head)->timer_previous = number_of(entry);
	heads_[bucket] = number_of(entry);
	occupied_[level] |= uint64_t{1} << slot;
	count_++;
}

template <typename Entry> void BasicTimerWheel<Entry>::schedule(Entry &entry, TimeNs at)
{
	if (at == kNever || (entry.timer_bucket && entry.timer_at_ns <= at))
		return;
	remove(entry);
	entry.timer_at_ns = at;
	uint64_t tick = (at >> kTickShift) + ((at & ((uint64_t{1} << kTickShift) - 1)) ? 1 : 0); // never early
	insert(entry, tick);
}

template <typename Entry> void BasicTimerWheel<Entry>::remove(Entry &entry)
{
	if (!entry.timer_bucket)
		return;
	uint32_t bucket = entry.timer_bucket - 1;
	if (entry.timer_previous)
		find<Entry>(context_, entry.timer_previous)->timer_next = entry.timer_next;
	else
		heads_[bucket] = entry.timer_next;
	if (entry.timer_next)
		find<Entry>(context_, entry.timer_next)->timer_previous = entry.timer_previous;
	if (!heads_[bucket])
		occupied_[bucket / kBuckets] &= ~(uint64_t{1} << (bucket % kBuckets));
	entry.timer_bucket = 0;
	entry.timer_next = 0;
	entry.timer_previous = 0;
	count_--;
}

// The earliest bucket; of two that begin at once the coarser one, whose entries may have to go
// into the other.
template <typename Entry> bool BasicTimerWheel<Entry>::first_occupied(Position &position) const
{
	bool found = false;
	for (uint32_t level = 0; level < kLevels; level++) {
		if (!occupied_[level])
			continue;
		uint32_t shift = level * kDigitBits;
		uint32_t slot = static_cast<uint32_t>(std::countr_zero(occupied_[level]));
		// Entries of a level agree with current_ in all higher digits.
		uint64_t above = current_ >> (shift + kDigitBits) << (shift + kDigitBits);
		uint64_t tick = above | uint64_t{slot} << shift;
		if (!found || tick <= position.tick)
			position = {level, slot, tick};
		found = true;
	}
	return found;
}

template <typename Entry> Entry *BasicTimerWheel<Entry>::take_due(TimeNs now)
{
	uint64_t now_tick = now >> kTickShift;
	floor_ = now_tick + 1;
	Position position;
	while (first_occupied(position) && position.tick <= now_tick) {
		current_ = std::max(current_, position.tick);
		uint32_t bucket = position.level * kBuckets + position.slot;
		Entry *entry = find<Entry>(context_, heads_[bucket]);
		remove(*entry);
		if (position.level == 0 || entry->timer_at_ns <= now)
			return entry;
		// Its bucket has been reached: down to a finer one, not before its own time.
		uint64_t tick = (entry->timer_at_ns + ((uint64_t{1} << kTickShift) - 1)) >> kTickShift;
		insert(*entry, tick);
	}
	// Nothing before or at now any more.
	current_ = std::max(current_, now_tick);
	return nullptr;
}

template <typename Entry> TimeNs BasicTimerWheel<Entry>::next() const
{
	Position position;
	if (!first_occupied(position))
		return kNever;
	return position.tick << kTickShift;
}

template class BasicTimerWheel<QpContext>;
template class BasicTimerWheel<CqContext>;

} // namespace ohca::core
