// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Host memory as a function sees it: bus addresses, in the ranges that the bus
// has mapped (vfio-user DMA_MAP).
//
// Rules (design D8)
//  - A contiguous bus range may span many mappings (one per 4 KiB page under a
//    vIOMMU), so every access is split at mapping borders.
//  - A translated pointer is good until the map changes: whoever caches one
//    caches generation() beside it and compares before use.
//  - A range without shared memory (base == nullptr) is reached in band only.
//  - A fault of the memory behind a mapping (SIGBUS) is noticed by the
//    surroundings and counted in *fault_count; an access during which it moved
//    has failed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace ohca::core {

// Accesses for ranges that are not mapped. Slow: a message to the bus and back.
class InBandDma {
public:
	virtual bool read(uint64_t address, std::span<std::byte> to) = 0;
	virtual bool write(uint64_t address, std::span<const std::byte> from) = 0;
	// Called on a translation miss: map changes may be waiting in a socket.
	// True if the map has changed, so that looking again makes sense.
	virtual bool refresh() = 0;

protected:
	~InBandDma() = default;
};

class DmaSpace {
public:
	// in_band and fault_count may be null (tests); both outlive the DmaSpace.
	explicit DmaSpace(InBandDma *in_band = nullptr, const std::atomic<uint64_t> *fault_count = nullptr);

	// False if the range is empty, wraps or overlaps an existing one. base is the host pointer
	// behind `address`, or null for in-band only.
	bool map(uint64_t address, uint64_t size, std::byte *base, bool writable);
	// Removes [address, address + size); mappings that stick out are cut, not removed whole.
	void unmap(uint64_t address, uint64_t size);
	void clear();
	// Changes with every map(), unmap() and clear(); never 0.
	uint64_t generation() const { return generation_; }

	// The longest directly accessible piece at `address`, at most `length` bytes;
	// empty if unmapped, in-band only, or not writable though `write`. May call refresh(), after
	// which pointers translated before are stale: compare generation().
	std::span<std::byte> translate(uint64_t address, uint64_t length, bool write);

	// Whole-range copies, split as needed, falling back to in-band. False: nothing is
	// promised about how much was transferred.
	bool read(uint64_t address, std::span<std::byte> to);
	bool write(uint64_t address, std::span<const std::byte> from);
	// Faults seen so far; compare before and after touching translated memory.
	uint64_t fault_count() const;

private:
	struct Mapping {
		uint64_t address;
		uint64_t size;
		std::byte *base;
		bool writable;

		bool contains(uint64_t at) const { return at - address < size; }
	};
	// A tree, because a vIOMMU makes one mapping per page: hundreds of thousands, and each map()
	// and unmap() must stay cheap. Nodes do not move, so pointers to them are good until erased.
	using Map = std::map<uint64_t, Mapping>; // by address

	const Mapping *find(uint64_t address);
	const Mapping *find_or_refresh(uint64_t address);
	bool insert(const Mapping &mapping);
	void changed();

	// By the low bits of the 4 KiB page number: enough for two messages of some MiB under a vIOMMU.
	static constexpr size_t kCacheSize = 2048;
	struct CacheEntry {
		const Mapping *mapping = nullptr;
		uint64_t generation = 0; // in which it was found; another one is stale
	};

	Map mappings_;
	const Mapping *last_hit_ = nullptr;
	std::array<CacheEntry, kCacheSize> cache_{};
	uint64_t generation_ = 1;
	InBandDma *in_band_;
	const std::atomic<uint64_t> *fault_count_;
};

} // namespace ohca::core
