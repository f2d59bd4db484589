// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory that one flow works on, its model, and several keys for it.
//
// The model is a second buffer with the content the memory must have once all
// planned operations are done.  Memory before and after what the keys cover is
// part of the model: nothing may ever change there.
#pragma once

#include "memory.hh"
#include "random.hh"

#include <infiniband/verbs.h>

#include <cstring>
#include <memory>

namespace verbs_test {

struct Piece {
	std::size_t offset;
	std::uint32_t length;
};

// A range as work requests name it.
struct KeyedAddress {
	std::uint64_t address;
	std::uint32_t lkey;
	std::uint32_t rkey;
};

// A range as a memory window is bound to it.
struct BindableRange {
	ibv_mr *mr;
	std::uint64_t address;
};

class Region {
 public:
	// other_access: IBV_ACCESS_* beyond what every device can do
	Region(ibv_pd *pd, std::size_t length, PageKind kind, int other_access, Random &random);
	~Region();
	Region(const Region &) = delete;
	Region &operator=(const Region &) = delete;

	// The part that every region can be sure to have a key for.
	std::size_t begin() const { return begin_; }
	std::size_t end() const { return end_; }
	std::uint8_t *memory(std::size_t offset) const { return mapping_.data() + offset; }
	std::uint8_t *model(std::size_t offset) const { return model_.get() + offset; }
	const Mapping &mapping() const { return mapping_; }

	// Through one of the keys that cover the piece.
	KeyedAddress keyed(const Piece &piece, Random &random) const;
	BindableRange bindable(const Piece &piece, Random &random) const;
	// A key that a window is bound to must stay.
	void set_in_window(bool value) { in_window_ = value; }
	// Writes both memory and model, so that a later copy of old bytes is noticed.
	void stamp(const Piece &piece, Random &random);

	// New keys, other borders, unless a window is bound. No operation may be outstanding.
	void reregister(Random &random);

	bool matches(std::size_t offset, std::size_t length) const
	{
		return std::memcmp(memory(offset), model(offset), length) == 0;
	}
	// fail() with the first differing byte. `what` says which check it was.
	void verify(std::size_t offset, std::size_t length, const char *what) const;
	void verify_all(const char *what) const { verify(0, mapping_.length(), what); }

 private:
	static constexpr unsigned kKeyCount = 3;
	struct Key {
		ibv_mr *mr = nullptr;
		std::size_t begin = 0;
		std::size_t end = 0;
		std::uint64_t address = 0;  // of begin, in the key's address space
	};

	const Key &key_for(const Piece &piece, Random &random) const;
	void register_key(Key &key, std::size_t begin, std::size_t end, bool other_address, Random &random);

	ibv_pd *pd_;
	int access_;
	bool in_window_ = false;
	Mapping mapping_;
	std::unique_ptr<std::uint8_t[]> model_;
	std::size_t begin_ = 0;
	std::size_t end_ = 0;
	Key keys_[kKeyCount];
};

}  // namespace verbs_test
