// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// MSI-X vectors of a function as eventfds.  Broker and engine have a table
// each, with descriptors of their own, over one shared set of pending and mask
// bits, so that an interrupt that was latched by an engine is delivered by
// whoever sees the vector become deliverable.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/unique_fd.hh"

namespace ohca::host {

// In memory shared by broker and engine; all zero is the initial state.
struct InterruptBits {
	std::atomic<uint64_t> pending; // raised while masked or without an eventfd
	std::atomic<uint64_t> masked;
	std::atomic<uint64_t> raised;  // number of raise()
};

class InterruptTable {
public:
	InterruptTable(uint32_t vector_count, InterruptBits &bits) : fds_(vector_count), bits_(&bits) {}

	uint32_t vector_count() const { return static_cast<uint32_t>(fds_.size()); }
	// An empty fd: from now on the vector is latched.
	void set_fd(uint32_t vector, UniqueFd fd);
	int fd(uint32_t vector) const { return fds_[vector].get(); }
	void mask(uint32_t vector);
	void unmask(uint32_t vector);
	// Delivers or latches. Out of range: ignored.
	void raise(uint32_t vector);
	// Forgets what is latched (reset); descriptors and masks are the bus's and stay.
	void drop_pending() { bits_->pending.store(0); }
	// The client is gone.
	void clear();
	uint64_t pending() const { return bits_->pending.load(); }

private:
	void deliver_pending(uint32_t vector);

	std::vector<UniqueFd> fds_;
	InterruptBits *bits_;
};

} // namespace ohca::host
