// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run/policy.hh"

#include <gtest/gtest.h>

namespace ohca::run {
namespace {

using Step = IdlePolicy::Step;

constexpr PolicyOptions kOptions{.spin_ns = 100'000,
				 .contended_spin_ns = 5'000,
				 .nap_ns = 8'000,
				 .nap_max_ns = 50'000,
				 .nap_per_completion_ns = 30'000,
				 .interrupt_nap_max_ns = 320'000,
				 .idle_ns = 5'000'000,
				 .realtime = false};
constexpr uint64_t kStart = 1'000'000'000;

TEST(IdlePolicy, SpinsThenNapsThenSleeps)
{
	IdlePolicy policy(kOptions);
	EXPECT_EQ(policy.next({kStart, true, false}), Step::kSpin);
	EXPECT_EQ(policy.next({kStart + 99'999, false, false}), Step::kSpin);
	EXPECT_EQ(policy.next({kStart + 100'000, false, false}), Step::kNap);
	EXPECT_EQ(policy.next({kStart + 4'999'999, false, false}), Step::kNap);
	EXPECT_EQ(policy.next({kStart + 5'000'000, false, false}), Step::kSleep);
}

TEST(IdlePolicy, NapsGrowToALimitAndWorkMakesThemShort)
{
	IdlePolicy policy(kOptions);
	policy.next({kStart, true, false});
	EXPECT_EQ(policy.take_nap(), 8'000u);
	uint64_t last = 0;
	for (int i = 0; i < 20; i++) {
		const uint64_t nap = policy.take_nap();
		EXPECT_GE(nap, last);
		last = nap;
	}
	EXPECT_EQ(last, kOptions.nap_max_ns);
	policy.next({kStart + 1'000'000, true, false});
	EXPECT_LE(policy.take_nap(), 8'000u);
}

TEST(IdlePolicy, FirstNapLearnsHowLongItMustBe)
{
	IdlePolicy policy(kOptions);
	uint64_t now = kStart;
	// The other side needs 14 us of processor time for its answer.
	for (int i = 0; i < 2000; i++) {
		policy.next({now, true, true});
		for (uint64_t slept = 0; slept < 14'000;) {
			const uint64_t nap = policy.take_nap();
			slept += nap;
			now += nap;
		}
	}
	EXPECT_GE(policy.first_nap_ns(), 12'000u);
	EXPECT_LE(policy.first_nap_ns(), 18'000u);
	// A long silence teaches nothing.
	const uint64_t before = policy.first_nap_ns();
	policy.take_nap();
	policy.take_nap();
	policy.next({now + 1'000'000, true, true});
	EXPECT_EQ(policy.first_nap_ns(), before);
}

// One side answers after 1 us, the other only while the engine naps: what two spinning
// virtual CPUs and the engine do on two processors.
TEST(IdlePolicy, LearnsThePatternOfAPingPong)
{
	IdlePolicy policy(kOptions);
	uint64_t now = kStart;
	uint64_t spun_in_vain_ns = 0;
	int naps_for_the_fast_side = 0;
	for (int round = 0; round < 2000; round++) {
		const bool counts = round >= 200;
		policy.next({now, true, true});
		if (policy.next({now + 1'000, false, true}) == Step::kSpin) {
			now += 1'000;
		} else {
			now += policy.take_nap();
			naps_for_the_fast_side += counts;
		}
		policy.next({now, true, true});
		while (policy.next({now + 500, false, true}) == Step::kSpin) {
			now += 500;
			spun_in_vain_ns += counts ? 500 : 0;
		}
		now += policy.take_nap();
	}
	EXPECT_LT(naps_for_the_fast_side, 90) << "of 1800";
	EXPECT_LT(spun_in_vain_ns, uint64_t{1800} * 1'000);
}

TEST(IdlePolicy, DoesNotSpinInVainWhenProcessorsAreScarce)
{
	IdlePolicy policy(kOptions);
	int spins = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		const uint64_t now = kStart + i * 100'000;
		policy.next({now, true, true});
		spins += policy.next({now + 1'000, false, true}) == Step::kSpin;
		policy.take_nap();
	}
	EXPECT_LT(spins, 100);
}

TEST(IdlePolicy, NapsForEachCompletionThatAnInterruptAnnounces)
{
	IdlePolicy policy(kOptions);
	policy.next({.now_ns = kStart, .busy = true, .contended = true, .announced = 4});
	EXPECT_EQ(policy.next({.now_ns = kStart + 100, .contended = true}), Step::kNap) << "spinning is in vain";
	EXPECT_EQ(policy.take_nap(), 120'000u);
	EXPECT_EQ(policy.take_nap(), 120'000u) << "longer than the longest of the others: it does not grow";
	policy.next({.now_ns = kStart + 200'000, .busy = true, .contended = true, .announced = 1});
	EXPECT_EQ(policy.take_nap(), 30'000u);
	EXPECT_EQ(policy.take_nap(), 45'000u);
	policy.next({.now_ns = kStart + 300'000, .busy = true, .contended = true, .announced = UINT64_MAX});
	EXPECT_EQ(policy.take_nap(), 320'000u);
	policy.next({.now_ns = kStart + 700'000, .busy = true, .contended = true});
	EXPECT_LE(policy.take_nap(), 8'000u) << "somebody polls";
}

TEST(IdlePolicy, SpinsAfterAnInterruptWithAProcessorToSpare)
{
	IdlePolicy policy(kOptions);
	policy.next({.now_ns = kStart, .busy = true, .contended = false, .announced = 4});
	EXPECT_EQ(policy.next({.now_ns = kStart + 99'999}), Step::kSpin);
}

// How long such a nap takes is no hint for the answers of those who poll.
TEST(IdlePolicy, LearnsNothingFromNapsAfterInterrupts)
{
	IdlePolicy policy(kOptions);
	const uint64_t before = policy.first_nap_ns();
	for (uint64_t i = 0; i < 1000; i++) {
		policy.next({.now_ns = kStart + i * 150'000, .busy = true, .contended = true, .announced = 1});
		policy.take_nap();
		policy.take_nap();
		policy.take_nap();
	}
	EXPECT_EQ(policy.first_nap_ns(), before);
}

TEST(IdlePolicy, AKickIsLikeWork)
{
	IdlePolicy policy(kOptions);
	policy.next({kStart, true, false});
	EXPECT_EQ(policy.next({kStart + 10'000'000, false, false}), Step::kSleep);
	policy.woken(kStart + 10'000'000);
	EXPECT_EQ(policy.next({kStart + 10'050'000, false, false}), Step::kSpin);
	EXPECT_EQ(policy.next({kStart + 10'200'000, false, false}), Step::kNap);
}

} // namespace
} // namespace ohca::run
