// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host_model.hh"

#include <algorithm>
#include <cstring>

namespace ohca::sim {

Region::Region(RcHost &host, Prng &prng, uint32_t pd, uint64_t length, uint32_t access)
	: host_(&host), length_(length)
{
	log_page_size_ = static_cast<uint8_t>(prng.chance(0.7) ? 12 : prng.between(13, 14));
	const uint64_t page_size = uint64_t{1} << log_page_size_;
	// Multiples of 8, so that atomics have a place anywhere.
	first_offset_ = prng.chance(0.3) ? 0 : prng.below(page_size / 8) * 8;
	const uint64_t count = (first_offset_ + length + page_size - 1) / page_size;
	const uint64_t base = host.allocate(count * page_size, page_size);

	address_ = 0x7f00'0000'0000 + prng.below(1 << 20) * 4096 + first_offset_;
	for (uint64_t i = 0; i < count; i++)
		pages_.push_back(base + i * page_size);
	if (prng.chance(0.3)) {
		key_ = host.create_key(pd, base + first_offset_, length, access, address_);
		return;
	}
	for (size_t i = pages_.size() - 1; i > 0; i--)
		std::swap(pages_[i], pages_[prng.below(i + 1)]);
	key_ = host.create_key(pd, pages_, log_page_size_, first_offset_, length, access, address_);
}

ohca_wqe_register Region::registration(uint32_t access)
{
	ohca_wqe_register body{};

	if (list_ == 0) {
		list_ = host_->allocate(pages_.size() * sizeof(uint64_t));
		std::memcpy(host_->at(list_), pages_.data(), pages_.size() * sizeof(uint64_t));
	}
	body.start = address_;
	body.length = length_;
	body.list_address = list_;
	body.first_page_offset = first_offset_;
	body.entry_count = static_cast<uint32_t>(pages_.size());
	body.access = access;
	body.log_page_size = log_page_size_;
	return body;
}

std::byte *Region::piece(uint64_t offset, uint64_t &length) const
{
	const uint64_t page_size = uint64_t{1} << log_page_size_;
	const uint64_t at = first_offset_ + offset;

	length = std::min(length, page_size - at % page_size);
	return host_->at(pages_[at / page_size] + at % page_size);
}

void Region::write(uint64_t offset, std::span<const std::byte> bytes)
{
	while (!bytes.empty()) {
		uint64_t length = bytes.size();
		std::byte *to = piece(offset, length);
		std::memcpy(to, bytes.data(), length);
		offset += length;
		bytes = bytes.subspan(length);
	}
}

void Region::read(uint64_t offset, std::span<std::byte> bytes) const
{
	while (!bytes.empty()) {
		uint64_t length = bytes.size();
		const std::byte *from = piece(offset, length);
		std::memcpy(bytes.data(), from, length);
		offset += length;
		bytes = bytes.subspan(length);
	}
}

uint64_t Region::load64(uint64_t offset) const
{
	uint64_t value;

	read(offset, std::as_writable_bytes(std::span(&value, 1)));
	return value;
}

bool Region::slack_intact() const
{
	const uint64_t page_size = uint64_t{1} << log_page_size_;
	const std::byte *first = host_->at(pages_.front());
	const std::byte *last = host_->at(pages_.back());
	const uint64_t end = (first_offset_ + length_ - 1) % page_size + 1;
	const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };

	return std::all_of(first, first + first_offset_, is_zero) &&
	       std::all_of(last + end, last + page_size, is_zero);
}

} // namespace ohca::sim
