// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A host of the simulated world: device function, RAM, and registered memory
// over pages of various sizes in random places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tests/transport/rc_host.hh"
#include "prng.hh"

namespace ohca::sim {

using core::test::RcHost;

// Registered memory as its application sees it: contiguous from `address` on.
class Region {
public:
	// Allocates pages, contiguous on the bus or shuffled, and registers [first byte, length).
	Region(RcHost &host, Prng &prng, uint32_t pd, uint64_t length, uint32_t access);

	uint32_t key() const { return key_; }
	uint64_t address() const { return address_; }
	uint64_t length() const { return length_; }
	size_t page_count() const { return pages_.size(); }

	// REG_MR of the same range with a key of its own; the list is made on first use.
	ohca_wqe_register registration(uint32_t access);

	void write(uint64_t offset, std::span<const std::byte> bytes);
	void read(uint64_t offset, std::span<std::byte> bytes) const;
	uint64_t load64(uint64_t offset) const;
	// The slack around the range in the first and last page is untouched.
	bool slack_intact() const;

private:
	std::byte *piece(uint64_t offset, uint64_t &length) const;

	RcHost *host_;
	std::vector<uint64_t> pages_;
	uint8_t log_page_size_;
	uint64_t first_offset_;
	uint64_t address_;
	uint64_t length_;
	uint64_t list_ = 0;
	uint32_t key_ = 0;
};

} // namespace ohca::sim
