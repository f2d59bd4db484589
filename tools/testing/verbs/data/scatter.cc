// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/scatter.hh"

namespace verbs_test {

std::pair<std::uint8_t *, std::uint32_t> ScatteredCursor::current() const
{
	if (region_ == nullptr)
		return {reinterpret_cast<std::uint8_t *>(list_.sge[index_].addr) + done_, list_.sge[index_].length - done_};
	const Piece &piece = list_.piece[index_];
	std::uint8_t *start = of_ == Of::kModel ? region_->model(piece.offset) : region_->memory(piece.offset);
	return {start + done_, piece.length - done_};
}

void ScatteredCursor::advance(std::uint32_t step)
{
	done_ += step;
	skip_empty();
}

void ScatteredCursor::skip(std::uint32_t length)
{
	while (length > 0) {
		const std::uint32_t step = std::min(length, current().second);
		advance(step);
		length -= step;
	}
}

void ScatteredCursor::skip_empty()
{
	while (index_ < list_.count && done_ == list_.sge[index_].length) {
		index_++;
		done_ = 0;
	}
}

}  // namespace verbs_test
