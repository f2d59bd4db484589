// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// How long to nap while others wait for interrupts and processors are scarce.
//
// An interrupt costs a virtual machine tens of microseconds, and so does every
// nap that it interrupts.  Who polls wants his answer at once; who sleeps until
// the interrupt may be served better by a longer nap, after which one interrupt
// announces many completions: with 32 NVMe commands outstanding, twice as many
// are done per second.  With a single one outstanding each microsecond of nap
// is lost.  What is outstanding the engine cannot see.  So it does what drivers
// do with the interrupt moderation of a NIC: it tries, and keeps the nap with
// which more work is done; of equal ones the shorter.
//
// Pure: time comes in as arguments.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace ohca::run {

class InterruptPacer {
public:
	// The first nap after an interrupt was raised. Later ones grow.
	uint64_t nap_ns() const { return kNapNs[level_]; }

	// A nap of that kind has ended. work: how much has ever been done.
	void napped(uint64_t now_ns, uint64_t work)
	{
		naps_++;
		const uint64_t window_ns = now_ns - begin_ns_;
		if (window_ns < kWindowNs)
			return;
		// What was seldom interrupted says nothing about interrupts.
		if (window_ns > 2 * kWindowNs || naps_ < kNapsMin)
			start_again();
		else
			judge(static_cast<double>(work - begin_work_) / static_cast<double>(window_ns));
		begin_ns_ = now_ns;
		begin_work_ = work;
		naps_ = 0;
	}

private:
	static constexpr std::array<uint64_t, 6> kNapNs{10'000, 20'000, 40'000, 80'000, 160'000, 320'000};
	static constexpr unsigned kFirstLevel = 1;
	static constexpr uint64_t kWindowNs = 50'000'000;
	static constexpr uint32_t kNapsMin = 25;
	// Less of a difference is noise. Going down needs no gain: a shorter nap is one by itself.
	static constexpr double kNoise = 0.05;
	// Windows for which what was found to be best is kept.
	static constexpr uint32_t kKeep = 40;

	void start_again()
	{
		level_ = kFirstLevel;
		explore();
	}
	void explore()
	{
		up_ = level_ + 1 < kNapNs.size();
		first_ = true;
		turns_ = 0;
		keep_ = 0;
	}
	// The work per time of the window at this level, compared with the level before.
	void judge(double rate)
	{
		if (keep_ > 0) {
			if (--keep_ == 0 || rate < rate_ / 2 || rate > rate_ * 2)
				explore();
			return;
		}
		const bool better = first_ || (up_ ? rate > rate_ * (1 + kNoise) : rate > rate_ * (1 - kNoise));
		// A descent is measured by where it began, or small losses would add up.
		rate_ = better && !up_ && !first_ ? std::max(rate_, rate) : rate;
		first_ = false;
		if (!better) {
			up_ = !up_;
			turns_++;
		}
		const bool at_end = up_ ? level_ + 1 == kNapNs.size() : level_ == 0;
		if (!at_end)
			level_ = up_ ? level_ + 1 : level_ - 1;
		// Twice turned: this is the level that was better than both its neighbours.
		if (at_end || turns_ == 2)
			keep_ = kKeep;
	}

	uint64_t begin_ns_ = 0;
	uint64_t begin_work_ = 0;
	double rate_ = 0;
	unsigned level_ = kFirstLevel;
	uint32_t naps_ = 0;
	uint32_t keep_ = 0;
	uint32_t turns_ = 0;
	bool up_ = true;
	bool first_ = true;
};

} // namespace ohca::run
