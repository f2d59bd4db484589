// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Lists of scatter/gather elements, and copies between them as a device makes them.
#pragma once

#include "data/region.hh"

#include <algorithm>
#include <utility>

namespace verbs_test {

inline constexpr unsigned kSgeMax = 16;

struct ScatterList {
	unsigned count = 0;
	ibv_sge sge[kSgeMax];
	Piece piece[kSgeMax];  // where the elements are in the region; unused for inline data
};

// Over bytes in a row.
class Cursor {
 public:
	Cursor(std::uint8_t *bytes, std::uint32_t length) : bytes_(bytes), left_(length) {}
	std::pair<std::uint8_t *, std::uint32_t> current() const { return {bytes_, left_}; }
	void advance(std::uint32_t step)
	{
		bytes_ += step;
		left_ -= step;
	}

 private:
	std::uint8_t *bytes_;
	std::uint32_t left_;
};

// Over the elements of a list, in memory, in the model, or where inline data come from.
class ScatteredCursor {
 public:
	enum class Of {
		kModel,
		kMemory,
	};

	// region == nullptr: inline data, the elements are addresses
	ScatteredCursor(const Region *region, const ScatterList &list, Of of = Of::kModel)
		: region_(region), list_(list), of_(of)
	{
		skip_empty();
	}

	std::pair<std::uint8_t *, std::uint32_t> current() const;
	// Within the current element.
	void advance(std::uint32_t step);
	// Over as many elements as it takes.
	void skip(std::uint32_t length);

 private:
	void skip_empty();

	const Region *region_;
	const ScatterList &list_;
	Of of_;
	unsigned index_ = 0;
	std::uint32_t done_ = 0;
};

template <typename From, typename To>
void copy_scattered(std::uint32_t length, From from, To to)
{
	while (length > 0) {
		auto [source, source_left] = from.current();
		auto [target, target_left] = to.current();
		const std::uint32_t step = std::min({length, source_left, target_left});
		std::memcpy(target, source, step);
		from.advance(step);
		to.advance(step);
		length -= step;
	}
}

}  // namespace verbs_test
