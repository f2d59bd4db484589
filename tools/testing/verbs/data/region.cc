// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/region.hh"

#include "failure.hh"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace verbs_test {

namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC;
// what is left outside of all keys at both ends, at least and at most
constexpr std::size_t kGuardMin = 64;
constexpr std::size_t kGuardMax = 4096 + 64;
constexpr std::size_t kStampDistance = 512;

}  // namespace

Region::Region(ibv_pd *pd, std::size_t length, PageKind kind, int other_access, Random &random)
	: pd_(pd), access_(kAccess | other_access), mapping_(length + 2 * kGuardMax, kind), model_(new std::uint8_t[mapping_.length()])
{
	random.fill(model_.get(), mapping_.length());
	std::memcpy(mapping_.data(), model_.get(), mapping_.length());
	begin_ = kGuardMax;
	end_ = mapping_.length() - kGuardMax;
	reregister(random);
}

Region::~Region()
{
	for (Key &key : keys_) {
		if (key.mr != nullptr)
			must_succeed(ibv_dereg_mr(key.mr), "ibv_dereg_mr at the end");
	}
}

void Region::register_key(Key &key, std::size_t begin, std::size_t end, bool other_address, Random &random)
{
	key.begin = begin;
	key.end = end;
	key.address = reinterpret_cast<std::uint64_t>(memory(begin));
	if (!other_address) {
		key.mr = must(ibv_reg_mr(pd_, memory(begin), end - begin, access_), "ibv_reg_mr");
		return;
	}
	// Only the offset in the page is shared with the virtual address.
	key.address = (key.address & 0xfff) | (random.between<std::uint64_t>(1, 0xffffff) << 20);
	key.mr = must(ibv_reg_mr_iova(pd_, memory(begin), end - begin, key.address, access_), "ibv_reg_mr_iova");
}

void Region::reregister(Random &random)
{
	if (in_window_)
		return;
	for (Key &key : keys_) {
		// often enough one stays while its neighbours go
		if (key.mr != nullptr && random.chance(30))
			continue;
		if (key.mr != nullptr)
			must_succeed(ibv_dereg_mr(key.mr), "ibv_dereg_mr");
		const auto index = &key - keys_;
		const std::size_t before = random.between(kGuardMin, kGuardMax);
		const std::size_t after = random.between(kGuardMin, kGuardMax);
		if (index == 0) {
			register_key(key, begin_ - (kGuardMax - before), end_ + (kGuardMax - after), false, random);
		} else if (index == 1) {
			register_key(key, begin_, end_, true, random);
		} else {
			const std::size_t third = (end_ - begin_) / 3;
			register_key(key, begin_ + random.below(third), end_ - random.below(third), random.chance(50),
				     random);
		}
	}
}

const Region::Key &Region::key_for(const Piece &piece, Random &random) const
{
	for (;;) {
		const Key &key = keys_[random.below(kKeyCount)];
		if (piece.offset >= key.begin && piece.offset + piece.length <= key.end)
			return key;
	}
}

KeyedAddress Region::keyed(const Piece &piece, Random &random) const
{
	const Key &key = key_for(piece, random);
	return {key.address + (piece.offset - key.begin), key.mr->lkey, key.mr->rkey};
}

BindableRange Region::bindable(const Piece &piece, Random &random) const
{
	const Key &key = key_for(piece, random);
	return {key.mr, key.address + (piece.offset - key.begin)};
}

void Region::stamp(const Piece &piece, Random &random)
{
	for (std::size_t at = 0; at < piece.length; at += kStampDistance) {
		const std::size_t length = std::min<std::size_t>(8, piece.length - at);
		const std::uint64_t value = random.next();
		std::memcpy(memory(piece.offset + at), &value, length);
		std::memcpy(model(piece.offset + at), &value, length);
	}
	if (piece.length > 8) {
		const std::uint64_t value = random.next();
		std::memcpy(memory(piece.offset + piece.length - 8), &value, 8);
		std::memcpy(model(piece.offset + piece.length - 8), &value, 8);
	}
}

void Region::verify(std::size_t offset, std::size_t length, const char *what) const
{
	if (matches(offset, length))
		return;
	std::size_t first = 0;
	while (memory(offset)[first] == model(offset)[first])
		first++;
	std::size_t wrong = 0;
	for (std::size_t i = first; i < length; i++)
		wrong += memory(offset)[i] != model(offset)[i];
	fail("%s: %zu of %zu bytes differ, the first is byte %zu at %p (offset %zu of a region of %zu bytes, %s pages): "
	     "0x%02x instead of 0x%02x",
	     what, wrong, length, first, static_cast<void *>(memory(offset + first)), offset + first, mapping_.length(),
	     name_of(mapping_.kind()), memory(offset)[first], model(offset)[first]);
}

}  // namespace verbs_test
