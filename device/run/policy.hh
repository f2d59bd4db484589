// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the poll loop does when there is nothing to do: spin, nap, sleep.
//
// With a processor to spare the engine spins for a while after work, which costs
// nobody anything.  It rarely has one: the virtual CPUs it serves often spin on
// completion queues themselves, and a spin that keeps a virtual CPU from running
// delays the very work it waits for.  A sleep that needs a kick, on the other
// hand, costs a trapped access.  Between the two are naps without need_wakeup:
// the processor is free, and work is found at the nap's end without help from
// the guest.
//
// A nap is not free either: where the host is a virtual machine itself,
// programming and taking the timer costs 13 us.  Whether to spin or to nap after
// work depends on who has to run next, which the engine cannot see, but the
// pattern repeats: in a ping-pong the answer of one side comes at once (it has a
// processor) and that of the other only after a nap (it shares ours).  So scarce
// processors are spun on only where a small predictor, as those for branches,
// expects success.
//
// Where an interrupt announces the work, none of that helps: tens of microseconds
// pass before the guest looks at its completions, and more for each until new work
// requests come of them.  A nap meanwhile only takes the processor from it.  So that
// nap is as long as there are completions to be digested.  What is posted until its
// end is announced by one interrupt, not by many: with many operations outstanding
// that doubles what gets done, and with one the nap stays short.
//
// Pure: time and load come in as arguments.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace ohca::run {

struct PolicyOptions {
	uint64_t spin_ns = 100'000;          // after the last work, with a processor to spare
	uint64_t contended_spin_ns = 5'000;  // likewise without, if expected to succeed
	uint64_t nap_ns = 8'000;             // the first nap, to begin with: it adapts
	uint64_t nap_max_ns = 50'000;        // naps in a row grow up to this
	uint64_t nap_per_completion_ns = 30'000; // the first nap after an interrupt was raised
	uint64_t interrupt_nap_max_ns = 320'000;
	uint64_t idle_ns = 5'000'000;        // after that without work: deep sleep
	bool realtime = true;
};

// Whether a short spin will find work, by what happened after the same four outcomes before.
class SpinPredictor {
public:
	bool predict()
	{
		// Once in a while try anyway: a nap never shows that a spin would have been better.
		tried_ = counters_[history_] >= kSuccess || ++refusals_ % kTryEvery == 0;
		return tried_;
	}
	// found: work came without a nap. A prediction that was not tried teaches nothing.
	void learn(bool found)
	{
		uint8_t &counter = counters_[history_];
		if (tried_ && found)
			counter = std::min<uint8_t>(counter + kSuccess, kMax);
		else if (tried_ && counter > 0)
			counter--;
		history_ = (history_ << 1 | (found ? 1u : 0u)) & (kHistories - 1);
	}

private:
	static constexpr uint32_t kHistories = 16;
	// A spin in vain costs a fraction of the nap that a successful one saves.
	static constexpr uint8_t kSuccess = 3;
	static constexpr uint8_t kMax = 9;
	// Odd, or it would always be the same side of a ping-pong.
	static constexpr uint32_t kTryEvery = 17;

	std::array<uint8_t, kHistories> counters_{};
	uint32_t history_ = 0;
	uint32_t refusals_ = 0;
	bool tried_ = false;
};

// What the policy is told after each pass of the engine.
struct Pass {
	uint64_t now_ns = 0;
	bool busy = false;
	bool contended = false;   // more threads want to run than there are processors
	// Completions written since the last interrupt, if this pass raised one; else 0.
	uint64_t announced = 0;
};

class IdlePolicy {
public:
	enum class Step : uint8_t { kSpin, kNap, kSleep };

	explicit IdlePolicy(const PolicyOptions &options) : options_(options), first_nap_ns_(options.nap_ns) {}

	Step next(const Pass &pass)
	{
		const uint64_t idle_ns = pass.now_ns - last_work_ns_;
		if (pass.busy) {
			if (interrupt_nap_ns_ == 0) {
				predictor_.learn(naps_ == 0);
				adapt_naps(idle_ns);
			}
			woken(pass.now_ns);
			choose(pass);
			return Step::kSpin;
		}
		if (idle_ns < spin_ns_)
			return Step::kSpin;
		return idle_ns < options_.idle_ns ? Step::kNap : Step::kSleep;
	}
	// The length of the nap to be taken now.
	uint64_t take_nap()
	{
		const uint64_t first_ns = std::max(first_nap_ns_, interrupt_nap_ns_);
		nap_ns_ = naps_++ == 0 ? first_ns : nap_ns_ + nap_ns_ / 2;
		nap_ns_ = std::min(nap_ns_, std::max(options_.nap_max_ns, interrupt_nap_ns_));
		return nap_ns_;
	}
	// A kick is the promise of work: look for it a while before sleeping again.
	void woken(uint64_t now_ns)
	{
		last_work_ns_ = now_ns;
		naps_ = 0;
	}
	uint64_t first_nap_ns() const { return first_nap_ns_; }

private:
	// How to wait for what follows from this work.
	void choose(const Pass &pass)
	{
		interrupt_nap_ns_ = 0;
		spin_ns_ = options_.spin_ns;
		if (!pass.contended)
			return;
		if (pass.announced == 0) {
			spin_ns_ = predictor_.predict() ? options_.contended_spin_ns : 0;
			return;
		}
		spin_ns_ = 0;
		const uint64_t count = std::min<uint64_t>(pass.announced, options_.interrupt_nap_max_ns);
		interrupt_nap_ns_ = std::min(count * options_.nap_per_completion_ns, options_.interrupt_nap_max_ns);
	}

	// The best first nap is just as long as the virtual CPU that was let run needs to get
	// its work out: too short, and it takes a second one; too long, and the work waits.
	void adapt_naps(uint64_t idle_ns)
	{
		if (naps_ == 1)
			first_nap_ns_ -= first_nap_ns_ / 64;
		else if (naps_ > 1 && idle_ns < kSameFlowNs)
			first_nap_ns_ += first_nap_ns_ / 8;
		first_nap_ns_ = std::clamp(first_nap_ns_, options_.nap_ns / 4, options_.nap_max_ns / 2);
	}

	// After a longer silence the work is no answer to what was done before.
	static constexpr uint64_t kSameFlowNs = 200'000;

	PolicyOptions options_;
	SpinPredictor predictor_;
	uint64_t last_work_ns_ = 0;
	uint64_t first_nap_ns_;
	uint64_t nap_ns_ = 0;
	uint64_t spin_ns_ = 0;
	uint64_t interrupt_nap_ns_ = 0; // the first nap, if an interrupt announced the last work
	uint32_t naps_ = 0; // since the last work
};

} // namespace ohca::run
