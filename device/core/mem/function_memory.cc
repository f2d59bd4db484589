// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/function_memory.hh"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <span>

#include "core/endian.hh"
#include "core/mem/context_memory.hh"

namespace ohca::core {

namespace {

KeyCheck check_range(const MkeyContext &mkey, uint64_t address, uint64_t length)
{
	uint64_t offset = address - mkey.start;
	if (address < mkey.start || offset > mkey.length || length > mkey.length - offset)
		return {nullptr, OHCA_VENDOR_ERROR_KEY_RANGE};
	return {&mkey, 0};
}

// Keys with flags: what is not simply a region.
KeyCheck check_special_key(const MkeyContext &mkey, KeyUser user, uint64_t address, uint64_t length, uint32_t access)
{
	if (mkey.flags & kMkeyFlagFree)
		return {nullptr, OHCA_VENDOR_ERROR_KEY_STALE};
	if (mkey.pd != user.pd)
		return {nullptr, OHCA_VENDOR_ERROR_KEY_PD};
	if (mkey.flags & kMkeyFlagWindow) {
		if (user.qpn == 0)
			return {nullptr, OHCA_VENDOR_ERROR_KEY_TYPE};
		if (mkey.type == OHCA_MKEY_TYPE_WINDOW_2B && mkey.binding.qpn != user.qpn)
			return {nullptr, OHCA_VENDOR_ERROR_KEY_QP};
	}
	if ((mkey.access & access) != access)
		return {nullptr, OHCA_VENDOR_ERROR_KEY_ACCESS};
	if (!(mkey.flags & OHCA_MKEY_LINEAR))
		return check_range(mkey, address, length);
	if (length && address + (length - 1) < address)
		return {nullptr, OHCA_VENDOR_ERROR_KEY_RANGE};
	return {&mkey, 0};
}

} // namespace

KeyCheck FunctionMemory::check_key(uint32_t key, KeyUser user, uint64_t address, uint64_t length,
				   uint32_t access) const
{
	if (key >> 8 >= context_.mkey_limit())
		return {nullptr, OHCA_VENDOR_ERROR_KEY_INDEX};
	const MkeyContext *mkey = context_.mkey(key >> 8);
	if (!mkey || mkey->consumer_key != (key & 0xff))
		return {nullptr, OHCA_VENDOR_ERROR_KEY_STALE};
	if (mkey->flags)
		return check_special_key(*mkey, user, address, length, access);
	if (mkey->pd != user.pd)
		return {nullptr, OHCA_VENDOR_ERROR_KEY_PD};
	if ((mkey->access & access) != access)
		return {nullptr, OHCA_VENDOR_ERROR_KEY_ACCESS};
	return check_range(*mkey, address, length);
}

FunctionMemory::BusRange FunctionMemory::bus_range(const MkeyContext &mkey, uint64_t address,
						   uint64_t length) const
{
	uint64_t offset = address - mkey.start;
	if (!mkey.flags)
		return bus_range(mkey.pages, offset, length);
	if (mkey.flags & OHCA_MKEY_LINEAR)
		return {address, length};
	// What an INTEGRITY key names is made on the way (protected_stream.hh), and not in memory.
	if (mkey.flags & (kMkeyFlagFree | kMkeyFlagIntegrity))
		return {0, 0};
	if (offset >= mkey.length)
		return {0, 0};
	const MkeyContext *region = context_.mkey(mkey.binding.region);
	return bus_range(region->pages, mkey.binding.region_offset + offset, std::min(length, mkey.length - offset));
}

FunctionMemory::BusRange FunctionMemory::bus_range(const PageRange &pages, uint64_t offset,
						   uint64_t length) const
{
	if (offset >= pages.length)
		return {0, 0};
	length = std::min(length, pages.length - offset);
	uint64_t at = pages.first_page_offset + offset;
	if (pages.contiguous)
		return {pages.contiguous_address + at, length};
	if (pages.log_page_size == 0)
		return block_range(pages, offset, length);

	uint64_t page_size = uint64_t{1} << pages.log_page_size;
	uint64_t in_page = at & (page_size - 1);
	auto addresses = reinterpret_cast<const uint64_t *>(context_.block(pages.addresses));
	uint64_t page = at >> pages.log_page_size;
	uint64_t start = addresses[page];
	uint64_t available = page_size - in_page;
	// Neighbours on the bus are one piece: fewer, longer copies.
	for (uint64_t count = 1; available < length && addresses[page + count] == start + count * page_size; count++)
		available += page_size;
	return {start + in_page, std::min(length, available)};
}

FunctionMemory::BusRange FunctionMemory::block_range(const PageRange &pages, uint64_t offset, uint64_t length) const
{
	std::span blocks(reinterpret_cast<const BusBlock *>(context_.block(pages.addresses)), pages.page_count);
	auto block = std::ranges::upper_bound(blocks, offset, {}, &BusBlock::end);
	if (block == blocks.end())
		return {0, 0};
	uint64_t before = block == blocks.begin() ? 0 : std::prev(block)->end;
	uint64_t start = block->address + (offset - before);
	uint64_t available = block->end - offset;
	for (auto next = block + 1; available < length && next != blocks.end() && next->address == start + available;
	     next++)
		available = next->end - offset;
	return {start, std::min(length, available)};
}

bool FunctionMemory::read(const PageRange &pages, uint64_t offset, void *to, uint64_t length)
{
	auto bytes = static_cast<std::byte *>(to);
	while (length) {
		BusRange range = bus_range(pages, offset, length);
		if (!range.length || !dma_.read(range.address, {bytes, range.length}))
			return false;
		offset += range.length;
		bytes += range.length;
		length -= range.length;
	}
	return true;
}

bool FunctionMemory::write(const PageRange &pages, uint64_t offset, const void *from, uint64_t length)
{
	auto bytes = static_cast<const std::byte *>(from);
	while (length) {
		BusRange range = bus_range(pages, offset, length);
		if (!range.length || !dma_.write(range.address, {bytes, range.length}))
			return false;
		offset += range.length;
		bytes += range.length;
		length -= range.length;
	}
	return true;
}

std::byte *FunctionMemory::pointer(const PageRange &pages, uint64_t offset, uint64_t length, bool write)
{
	BusRange range = bus_range(pages, offset, length);
	if (range.length < length)
		return nullptr;
	std::span<std::byte> piece = dma_.translate(range.address, length, write);
	return piece.size() < length ? nullptr : piece.data();
}

namespace {

// Applies `update` (old value in host order -> new value) to the 64 bits at `address`. Without
// shared memory the read and the write are two messages: atomic towards other queue pairs (they
// are served one after the other), not towards CPUs; there is no way to be.
template <typename Update>
bool modify64(DmaSpace &dma, FunctionMemory::BusRange range, uint64_t &original, Update update)
{
	if (range.length != sizeof(uint64_t) || range.address % sizeof(uint64_t))
		return false;
	uint64_t faults = dma.fault_count();
	std::span<std::byte> piece = dma.translate(range.address, sizeof(uint64_t), true);
	if (piece.size() == sizeof(uint64_t) &&
	    reinterpret_cast<uintptr_t>(piece.data()) % sizeof(uint64_t) == 0) {
		std::atomic_ref<uint64_t> target(*reinterpret_cast<uint64_t *>(piece.data()));
		uint64_t seen = target.load(std::memory_order_relaxed);
		while (!target.compare_exchange_weak(seen, to_le(update(from_le(seen)))))
			;
		original = from_le(seen);
		return dma.fault_count() == faults;
	}
	uint64_t value = 0;
	if (!dma.read(range.address, std::as_writable_bytes(std::span(&value, 1))))
		return false;
	original = from_le(value);
	value = to_le(update(original));
	return dma.write(range.address, std::as_bytes(std::span(&value, 1)));
}

} // namespace

bool FunctionMemory::compare_swap(const MkeyContext &mkey, uint64_t address, uint64_t compare, uint64_t swap,
				  uint64_t &original)
{
	return modify64(dma_, bus_range(mkey, address, sizeof(uint64_t)), original,
			[=](uint64_t value) { return value == compare ? swap : value; });
}

bool FunctionMemory::fetch_add(const MkeyContext &mkey, uint64_t address, uint64_t addend, uint64_t &original)
{
	return modify64(dma_, bus_range(mkey, address, sizeof(uint64_t)), original,
			[=](uint64_t value) { return value + addend; });
}

bool FunctionMemory::masked_compare_swap(const MkeyContext &mkey, uint64_t address, const MaskedSwap &operands,
					 uint64_t &original)
{
	return modify64(dma_, bus_range(mkey, address, sizeof(uint64_t)), original, [&](uint64_t value) {
		if ((value ^ operands.compare) & operands.compare_mask)
			return value;
		return (value & ~operands.swap_mask) | (operands.swap & operands.swap_mask);
	});
}

bool FunctionMemory::masked_fetch_add(const MkeyContext &mkey, uint64_t address, uint64_t addend,
				      uint64_t boundary_mask, uint64_t &original)
{
	// The highest bit of each field is added without its carry: that is an exclusive or.
	return modify64(dma_, bus_range(mkey, address, sizeof(uint64_t)), original, [=](uint64_t value) {
		uint64_t below = (value & ~boundary_mask) + (addend & ~boundary_mask);
		return below ^ ((value ^ addend) & boundary_mask);
	});
}

bool FunctionMemory::atomic_store(const MkeyContext &mkey, uint64_t address, uint64_t bytes)
{
	BusRange range = bus_range(mkey, address, sizeof(bytes));
	if (range.length != sizeof(bytes))
		return false;
	uint64_t faults = dma_.fault_count();
	std::span<std::byte> piece = dma_.translate(range.address, sizeof(bytes), true);
	if (piece.size() == sizeof(bytes) && reinterpret_cast<uintptr_t>(piece.data()) % sizeof(bytes) == 0) {
		std::atomic_ref(*reinterpret_cast<uint64_t *>(piece.data())).store(bytes, std::memory_order_release);
		return dma_.fault_count() == faults;
	}
	return dma_.write(range.address, std::as_bytes(std::span(&bytes, 1)));
}

} // namespace ohca::core
