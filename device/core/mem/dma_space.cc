// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/dma_space.hh"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ohca::core {

DmaSpace::DmaSpace(InBandDma *in_band, const std::atomic<uint64_t> *fault_count)
	: in_band_(in_band), fault_count_(fault_count)
{
}

void DmaSpace::changed()
{
	last_hit_ = nullptr;
	generation_++;
}

bool DmaSpace::insert(const Mapping &mapping)
{
	uint64_t last = mapping.address + mapping.size - 1;
	if (mapping.size == 0 || last < mapping.address)
		return false;
	auto after = mappings_.upper_bound(last);
	if (after != mappings_.begin()) {
		const Mapping &before = std::prev(after)->second;
		if (before.address + (before.size - 1) >= mapping.address)
			return false;
	}
	mappings_.emplace_hint(after, mapping.address, mapping);
	return true;
}

bool DmaSpace::map(uint64_t address, uint64_t size, std::byte *base, bool writable)
{
	if (!insert({address, size, base, writable}))
		return false;
	changed();
	return true;
}

void DmaSpace::unmap(uint64_t address, uint64_t size)
{
	if (size == 0)
		return;
	uint64_t last = address + (size - 1);
	if (last < address)
		last = UINT64_MAX;
	changed();

	auto it = mappings_.upper_bound(address);
	if (it != mappings_.begin())
		--it;
	while (it != mappings_.end() && it->first <= last) {
		Mapping old = it->second;
		uint64_t old_last = old.address + (old.size - 1);
		if (old_last < address) {
			++it;
			continue;
		}
		it = mappings_.erase(it);
		if (old.address < address)
			insert({old.address, address - old.address, old.base, old.writable});
		if (old_last > last) {
			uint64_t skipped = last - old.address + 1;
			insert({last + 1, old_last - last, old.base ? old.base + skipped : nullptr, old.writable});
		}
	}
}

void DmaSpace::clear()
{
	changed();
	mappings_.clear();
}

uint64_t DmaSpace::fault_count() const
{
	return fault_count_ ? fault_count_->load(std::memory_order_relaxed) : 0;
}

const DmaSpace::Mapping *DmaSpace::find(uint64_t address)
{
	if (last_hit_ && last_hit_->contains(address))
		return last_hit_;
	CacheEntry &slot = cache_[(address >> 12) % kCacheSize];
	if (slot.generation != generation_ || !slot.mapping->contains(address)) {
		auto after = mappings_.upper_bound(address);
		if (after == mappings_.begin())
			return nullptr;
		const Mapping &candidate = std::prev(after)->second;
		if (!candidate.contains(address))
			return nullptr;
		slot = {&candidate, generation_};
	}
	last_hit_ = slot.mapping;
	return last_hit_;
}

const DmaSpace::Mapping *DmaSpace::find_or_refresh(uint64_t address)
{
	const Mapping *mapping = find(address);
	if (!mapping && in_band_ && in_band_->refresh())
		mapping = find(address);
	return mapping;
}

std::span<std::byte> DmaSpace::translate(uint64_t address, uint64_t length, bool write)
{
	const Mapping *mapping = find_or_refresh(address);
	if (!mapping || !mapping->base || (write && !mapping->writable))
		return {};
	uint64_t offset = address - mapping->address;
	return {mapping->base + offset, std::min(length, mapping->size - offset)};
}

bool DmaSpace::read(uint64_t address, std::span<std::byte> to)
{
	uint64_t faults = fault_count();
	while (!to.empty()) {
		const Mapping *mapping = find_or_refresh(address);
		if (!mapping)
			return false;
		uint64_t offset = address - mapping->address;
		size_t piece = std::min(to.size(), mapping->size - offset);
		if (mapping->base)
			std::memcpy(to.data(), mapping->base + offset, piece);
		else if (!in_band_ || !in_band_->read(address, to.first(piece)))
			return false;
		to = to.subspan(piece);
		address += piece;
	}
	return fault_count() == faults;
}

bool DmaSpace::write(uint64_t address, std::span<const std::byte> from)
{
	uint64_t faults = fault_count();
	while (!from.empty()) {
		const Mapping *mapping = find_or_refresh(address);
		if (!mapping || !mapping->writable)
			return false;
		uint64_t offset = address - mapping->address;
		size_t piece = std::min(from.size(), mapping->size - offset);
		if (mapping->base)
			std::memcpy(mapping->base + offset, from.data(), piece);
		else if (!in_band_ || !in_band_->write(address, from.first(piece)))
			return false;
		from = from.subspan(piece);
		address += piece;
	}
	return fault_count() == faults;
}

} // namespace ohca::core
