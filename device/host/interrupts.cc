// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/interrupts.hh"

#include <fcntl.h>

namespace ohca::host {

namespace {

uint64_t bit(uint32_t vector)
{
	return uint64_t{1} << vector;
}

} // namespace

void InterruptTable::set_fd(uint32_t vector, UniqueFd fd)
{
	if (vector >= fds_.size())
		return;
	// A counter that nobody reads must not block us.
	if (fd)
		fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
	fds_[vector] = std::move(fd);
	deliver_pending(vector);
}

void InterruptTable::mask(uint32_t vector)
{
	bits_->masked.fetch_or(bit(vector));
}

void InterruptTable::unmask(uint32_t vector)
{
	bits_->masked.fetch_and(~bit(vector));
	deliver_pending(vector);
}

void InterruptTable::raise(uint32_t vector)
{
	if (vector >= fds_.size())
		return;
	bits_->raised.fetch_add(1, std::memory_order_relaxed);
	// Latch first, look at the mask after: pairs with unmask(), which does it the other way
	// round, so that one of the two delivers.
	bits_->pending.fetch_or(bit(vector));
	deliver_pending(vector);
}

void InterruptTable::deliver_pending(uint32_t vector)
{
	if (!fds_[vector] || (bits_->masked.load() & bit(vector)) != 0)
		return;
	if ((bits_->pending.fetch_and(~bit(vector)) & bit(vector)) == 0)
		return;
	const uint64_t one = 1;
	// EAGAIN: the counter is full, so the client has an interrupt to take anyway.
	[[maybe_unused]] const ssize_t written = write(fds_[vector].get(), &one, sizeof(one));
}

void InterruptTable::clear()
{
	for (UniqueFd &fd : fds_)
		fd.reset();
	bits_->masked.store(0);
	bits_->pending.store(0);
}

} // namespace ohca::host
