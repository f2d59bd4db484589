// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the poll loop does when there is nothing to do: spin, nap, sleep.
//
// The engine shares few processors with the virtual CPUs it serves, and those
// often spin on a completion queue themselves.  A spin that takes a virtual
// CPU's processor delays the very work it waits for; a sleep that needs a kick
// costs a trapped access.  Between the two are naps of a few microseconds
// without need_wakeup: the processor is free, and work is found at the next
// nap's end without any help from the guest.
//
// Pure: time and load come in as arguments.
#pragma once

#include <cstdint>

namespace ohca::run {

struct PolicyOptions {
	uint64_t spin_ns = 100'000;          // after the last work, with a processor to spare
	uint64_t contended_spin_ns = 0;      // likewise, without
	uint64_t nap_ns = 2'000;             // the first nap; they grow
	uint64_t nap_max_ns = 50'000;
	uint64_t idle_ns = 5'000'000;        // after that without work: deep sleep
	bool realtime = true;
};

class IdlePolicy {
public:
	enum class Step : uint8_t { kSpin, kNap, kSleep };

	explicit IdlePolicy(const PolicyOptions &options) : options_(options), nap_ns_(options.nap_ns) {}

	// After each pass.
	Step next(uint64_t now_ns, bool busy, bool contended)
	{
		if (busy) {
			last_work_ns_ = now_ns;
			nap_ns_ = options_.nap_ns;
			return Step::kSpin;
		}
		const uint64_t idle_ns = now_ns - last_work_ns_;
		if (idle_ns < (contended ? options_.contended_spin_ns : options_.spin_ns))
			return Step::kSpin;
		return idle_ns < options_.idle_ns ? Step::kNap : Step::kSleep;
	}
	// The length of the nap to be taken now.
	uint64_t take_nap()
	{
		const uint64_t nap_ns = nap_ns_;
		const uint64_t longer_ns = nap_ns_ + nap_ns_ / 8 + 1;
		nap_ns_ = longer_ns < options_.nap_max_ns ? longer_ns : options_.nap_max_ns;
		return nap_ns;
	}
	// A kick is the promise of work: look for it a while before sleeping again.
	void woken(uint64_t now_ns)
	{
		last_work_ns_ = now_ns;
		nap_ns_ = options_.nap_ns;
	}

private:
	PolicyOptions options_;
	uint64_t last_work_ns_ = 0;
	uint64_t nap_ns_;
};

} // namespace ohca::run
