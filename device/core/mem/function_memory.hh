// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A function's host memory through its keys and page lists.
#pragma once

#include <cstdint>

#include "core/context.hh"
#include "core/mem/dma_space.hh"
#include "core/mem/sg_list.hh"

namespace ohca::core {

class ContextMemory;

struct KeyCheck {
	const MkeyContext *mkey = nullptr; // null: refused
	uint32_t vendor_error = 0;         // OHCA_VENDOR_ERROR_KEY_*: why
};

// For whom a key is checked.
struct KeyUser {
	uint32_t pd = 0;
	uint32_t qpn = 0; // of the queue pair that a peer addresses; 0: local use
};

class FunctionMemory {
public:
	FunctionMemory(ContextMemory &context, DmaSpace &dma) : context_(context), dma_(dma) {}

	// All checks of the use of a key: index, consumer key, state, PD, queue pair (windows), every
	// bit of `access` (OHCA_ACCESS_*; 0 for local read), [address, address + length) inside.
	// length 0 needs no valid key (IBTA 10.6.3); callers skip the check then.
	KeyCheck check_key(uint32_t key, KeyUser user, uint64_t address, uint64_t length, uint32_t access) const;
	// As an lkey: windows have none (IBTA 10.6.7.2).
	KeyCheck check_key(uint32_t key, uint32_t pd, uint64_t address, uint64_t length, uint32_t access) const
	{
		return check_key(key, KeyUser{pd, 0}, address, length, access);
	}
	// As an rkey of a request that has come to `qp`.
	KeyCheck check_remote_key(uint32_t key, const QpContext &qp, uint64_t address, uint64_t length,
				  uint32_t access) const
	{
		return check_key(key, KeyUser{qp.pd, qp.qpn}, address, length, access);
	}

	// Bus address of a byte of the key's address space, and how many bytes follow contiguously;
	// length 0: none.
	struct BusRange {
		uint64_t address;
		uint64_t length;
	};
	BusRange bus_range(const MkeyContext &mkey, uint64_t address, uint64_t length) const;
	BusRange bus_range(const PageRange &pages, uint64_t offset, uint64_t length) const;

	// Small structured accesses to queue buffers; offset in bytes from the buffer's start.
	bool read(const PageRange &pages, uint64_t offset, void *to, uint64_t length);
	bool write(const PageRange &pages, uint64_t offset, const void *from, uint64_t length);
	// Pointer to `length` bytes that do not cross a page, or null (then use read/write).
	std::byte *pointer(const PageRange &pages, uint64_t offset, uint64_t length, bool write);

	// 64-bit atomic read-modify-write, atomic towards CPUs that use the same memory.
	// False: not reachable. `original` gets the value before.
	bool compare_swap(const MkeyContext &mkey, uint64_t address, uint64_t compare, uint64_t swap,
			  uint64_t &original);
	bool fetch_add(const MkeyContext &mkey, uint64_t address, uint64_t addend, uint64_t &original);
	// Extended atomics. Bits outside compare_mask are not compared, bits outside swap_mask stay; a
	// carry out of a bit of boundary_mask is dropped.
	struct MaskedSwap {
		uint64_t compare;
		uint64_t compare_mask;
		uint64_t swap;
		uint64_t swap_mask;
	};
	bool masked_compare_swap(const MkeyContext &mkey, uint64_t address, const MaskedSwap &operands,
				 uint64_t &original);
	bool masked_fetch_add(const MkeyContext &mkey, uint64_t address, uint64_t addend, uint64_t boundary_mask,
			      uint64_t &original);
	// 8 aligned bytes at once, as they are.
	bool atomic_store(const MkeyContext &mkey, uint64_t address, uint64_t bytes);

	DmaSpace &dma() { return dma_; }
	ContextMemory &context() { return context_; }

private:
	BusRange block_range(const PageRange &pages, uint64_t offset, uint64_t length) const;

	ContextMemory &context_;
	DmaSpace &dma_;
};

} // namespace ohca::core
