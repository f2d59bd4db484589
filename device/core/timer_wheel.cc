// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/timer_wheel.hh"

#include <algorithm>
#include <bit>

namespace ohca::core {

void TimerWheel::clear()
{
	occupied_.fill(0);
	heads_.fill(0);
}

void TimerWheel::insert(QpContext &qp, uint64_t tick)
{
	tick = std::max(tick, std::max(current_, floor_));
	uint64_t differing = tick ^ current_;
	uint32_t level = differing ? (static_cast<uint32_t>(std::bit_width(differing)) - 1) / kDigitBits : 0;
	uint32_t slot = static_cast<uint32_t>(tick >> (level * kDigitBits)) & (kBuckets - 1);
	uint32_t bucket = level * kBuckets + slot;

	uint32_t head = heads_[bucket];
	qp.timer_bucket = bucket + 1;
	qp.timer_previous = 0;
	qp.timer_next = head;
	if (head)
		context_.qp(head)->timer_previous = qp.qpn;
	heads_[bucket] = qp.qpn;
	occupied_[level] |= uint64_t{1} << slot;
}

void TimerWheel::schedule(QpContext &qp, TimeNs at)
{
	if (at == kNever || (qp.timer_bucket && qp.timer_at_ns <= at))
		return;
	remove(qp);
	qp.timer_at_ns = at;
	uint64_t tick = (at >> kTickShift) + ((at & ((uint64_t{1} << kTickShift) - 1)) ? 1 : 0); // never early
	insert(qp, tick);
}

void TimerWheel::remove(QpContext &qp)
{
	if (!qp.timer_bucket)
		return;
	uint32_t bucket = qp.timer_bucket - 1;
	if (qp.timer_previous)
		context_.qp(qp.timer_previous)->timer_next = qp.timer_next;
	else
		heads_[bucket] = qp.timer_next;
	if (qp.timer_next)
		context_.qp(qp.timer_next)->timer_previous = qp.timer_previous;
	if (!heads_[bucket])
		occupied_[bucket / kBuckets] &= ~(uint64_t{1} << (bucket % kBuckets));
	qp.timer_bucket = 0;
	qp.timer_next = 0;
	qp.timer_previous = 0;
}

// The earliest bucket; of two that begin at once the coarser one, whose entries may have to go
// into the other.
bool TimerWheel::first_occupied(Position &position) const
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

QpContext *TimerWheel::take_due(TimeNs now)
{
	uint64_t now_tick = now >> kTickShift;
	floor_ = now_tick + 1;
	Position position;
	while (first_occupied(position) && position.tick <= now_tick) {
		current_ = std::max(current_, position.tick);
		uint32_t bucket = position.level * kBuckets + position.slot;
		QpContext *qp = context_.qp(heads_[bucket]);
		remove(*qp);
		if (position.level == 0 || qp->timer_at_ns <= now)
			return qp;
		// Its bucket has been reached: down to a finer one, not before its own time.
		uint64_t tick = (qp->timer_at_ns + ((uint64_t{1} << kTickShift) - 1)) >> kTickShift;
		insert(*qp, tick);
	}
	// Nothing before or at now any more.
	current_ = std::max(current_, now_tick);
	return nullptr;
}

TimeNs TimerWheel::next() const
{
	Position position;
	if (!first_occupied(position))
		return kNever;
	return position.tick << kTickShift;
}

} // namespace ohca::core
