// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lease.hh"

namespace ohca::sim {

Lease::Lease(RcHost &owner, Prng &prng, uint32_t pd, Region &region, uint32_t access)
	: prng_(prng), region_(region), access_(access), window_(prng.chance(0.5)),
	  key_(owner.create_free_key(pd, window_ ? OHCA_MKEY_TYPE_WINDOW_2B : OHCA_MKEY_TYPE_FAST_REGION,
				     window_ ? 0 : static_cast<uint32_t>(region.page_count())))
{
}

void Lease::ask()
{
	state_ = State::kAsked;
	key_ = (key_ & ~0xffu) | ((key_ + 1) & 0xff); // the old one must not work again
	zero_based_ = prng_.chance(0.5);
	uses_ = 0;
	last_use_.reset();
	last_read_.reset();
}

void Lease::used(uint32_t index, bool reads)
{
	uses_++;
	last_use_ = index;
	if (reads)
		last_read_ = index;
}

void Lease::withdrawn()
{
	state_ = State::kFree;
	stale_key_ = key_;
}

std::optional<core::test::SendRequest> Lease::due()
{
	const uint32_t access = access_ | (zero_based_ ? OHCA_ACCESS_ZERO_BASED : 0);
	core::test::SendRequest request;

	request.rkey = request.invalidate_key = key_;
	if (state_ == State::kReturned) {
		request.opcode = OHCA_WR_LOCAL_INV;
		state_ = State::kWithdrawing;
		return request;
	}
	if (state_ != State::kAsked)
		return std::nullopt;
	state_ = State::kGranting;
	if (!window_) {
		request.opcode = OHCA_WR_REG_MR;
		request.carry(region_.registration(access | OHCA_ACCESS_LOCAL_WRITE));
		return request;
	}
	ohca_wqe_bind body{};
	body.address = region_.address();
	body.length = region_.length();
	body.lkey = region_.key();
	body.access = access;
	request.opcode = OHCA_WR_BIND_MW;
	request.carry(body);
	return request;
}

void Lease::done()
{
	if (state_ == State::kGranting)
		state_ = State::kGranted;
	else
		withdrawn();
}

} // namespace ohca::sim
