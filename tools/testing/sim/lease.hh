// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Access to memory that its owner grants by a work request, REG_MR or BIND_MW, and withdraws by
// LOCAL_INV, or the user by SEND_INV.  From the completion of the one until the posting of the
// other the key must work; afterwards it never may.
//
//   FREE -> ASKED -> GRANTING -> GRANTED -> RETURNED -> WITHDRAWING -> FREE
//                                GRANTED -> WITHDRAWING -> FREE             (SEND_INV)
//
// Its owner may post what is due() at any time, the user decides on everything else.
#pragma once

#include <cstdint>
#include <optional>

#include "host_model.hh"

namespace ohca::sim {

class Lease {
public:
	// A window of type 2B over the region whose key is `region.key()`, or a fast registration of the same memory.
	Lease(RcHost &owner, Prng &prng, uint32_t pd, Region &region, uint32_t access);

	uint32_t key() const { return key_; }
	// Address of the region's first byte in the address space of the key.
	uint64_t address() const { return zero_based_ ? 0 : region_.address(); }

	// --- the user ---
	bool free() const { return state_ == State::kFree; }
	bool granted() const { return state_ == State::kGranted; }
	void ask();
	// Request `index` uses the key; it waits for an answer that carries data, or for none.
	void used(uint32_t index, bool reads);
	// Nothing uses the key any more.
	void give_back() { state_ = State::kReturned; }
	// A SEND_INV that has it withdrawn has been posted.
	void withdrawing() { state_ = State::kWithdrawing; }
	std::optional<uint32_t> last_use() const { return last_use_; }
	std::optional<uint32_t> last_read() const { return last_read_; }
	uint32_t uses() const { return uses_; }
	void withdrawn();
	// A key that was valid once and is not now; 0: none.
	uint32_t stale_key() const { return stale_key_; }

	// --- the owner ---
	// The work request to post on the queue pair whose peer is the user.
	std::optional<core::test::SendRequest> due();
	// It is over.
	void done();

private:
	enum class State : uint8_t { kFree, kAsked, kGranting, kGranted, kReturned, kWithdrawing };

	Prng &prng_;
	Region &region_;
	uint32_t access_;
	bool window_;
	bool zero_based_ = false;
	State state_ = State::kFree;
	uint32_t key_;
	uint32_t stale_key_ = 0;
	uint32_t uses_ = 0;
	std::optional<uint32_t> last_use_;
	std::optional<uint32_t> last_read_;
};

} // namespace ohca::sim
