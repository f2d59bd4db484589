// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A memory window of type 2 over the region that a queue pair's peer works on.
// The owner's send queue binds and invalidates it, in one flow of a pair; the
// peer uses it, and may invalidate it with a SEND, in the other one.
#pragma once

#include "data/region.hh"

namespace verbs_test {

class Window {
 public:
	// region: of `pd`; it outlives the window.
	Window(ibv_pd *pd, Region &region);
	~Window();
	Window(const Window &) = delete;
	Window &operator=(const Window &) = delete;

	// The owner plans ...
	bool can_bind() const { return state_ == State::kFree; }
	bool can_invalidate() const { return state_ == State::kBound; }
	// To a random range; returns the new rkey.
	std::uint32_t start_bind(Random &random);
	std::uint32_t start_invalidation();
	// ... and knows that it is done.
	void finish_bind();
	void finish_invalidation();

	// The peer takes it for a round, if it is bound,
	bool try_use();
	// and gives it back, bound or invalidated.
	void end_use(bool invalidated);

	// A queue pair that is reset leaves its windows unbound.
	void handle_reset() { finish_invalidation(); }

	ibv_mw *verbs() const { return mw_; }
	const ibv_mw_bind_info &binding() const { return binding_; }
	std::uint32_t rkey() const { return mw_->rkey; }
	bool covers(const Piece &piece) const
	{
		return piece.offset >= piece_.offset && piece.offset + piece.length <= piece_.offset + piece_.length;
	}
	std::uint64_t address_of(const Piece &piece) const;

 private:
	enum class State {
		kFree,
		kBinding,
		kBound,
		kInvalidating,
		kUsed,
	};

	Region &region_;
	ibv_mw *mw_;
	State state_ = State::kFree;
	Piece piece_{};
	ibv_mw_bind_info binding_{};
};

}  // namespace verbs_test
