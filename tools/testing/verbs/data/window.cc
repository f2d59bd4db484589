// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/window.hh"

#include "failure.hh"

#include <algorithm>

namespace verbs_test {

namespace {

constexpr unsigned kAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

}  // namespace

Window::Window(ibv_pd *pd, Region &region)
	: region_(region), mw_(must(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw"))
{
}

Window::~Window()
{
	must_succeed(ibv_dealloc_mw(mw_), "ibv_dealloc_mw");
	region_.set_in_window(false);
}

std::uint32_t Window::start_bind(Random &random)
{
	constexpr std::size_t kAtomicAlignment = 8;
	const std::size_t span = region_.end() - region_.begin();
	piece_.offset = (region_.begin() + random.below(span / 2)) & ~(kAtomicAlignment - 1);
	piece_.offset = std::max(piece_.offset, region_.begin());
	piece_.length = static_cast<std::uint32_t>(random.between(span / 4, region_.end() - piece_.offset));
	const BindableRange range = region_.bindable(piece_, random);
	binding_ = {range.mr, range.address, piece_.length, kAccess};
	if (random.chance(30))
		binding_.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	state_ = State::kBinding;
	region_.set_in_window(true);
	// what other keys it had is gone; so that no two bindings have the same
	mw_->rkey = ibv_inc_rkey(mw_->rkey);
	return mw_->rkey;
}

std::uint32_t Window::start_invalidation()
{
	state_ = State::kInvalidating;
	return mw_->rkey;
}

void Window::finish_bind()
{
	state_ = State::kBound;
}

void Window::finish_invalidation()
{
	state_ = State::kFree;
	region_.set_in_window(false);
}

bool Window::try_use()
{
	if (state_ != State::kBound)
		return false;
	state_ = State::kUsed;
	return true;
}

void Window::end_use(bool invalidated)
{
	if (invalidated)
		finish_invalidation();
	else
		state_ = State::kBound;
}

std::uint64_t Window::address_of(const Piece &piece) const
{
	const std::uint64_t start = (binding_.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : binding_.addr;
	return start + (piece.offset - piece_.offset);
}

}  // namespace verbs_test
