// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run/policy.hh"

#include <gtest/gtest.h>

namespace ohca::run {
namespace {

using Step = IdlePolicy::Step;

constexpr PolicyOptions kOptions{.spin_ns = 100,
				 .contended_spin_ns = 10,
				 .nap_ns = 2,
				 .nap_max_ns = 50,
				 .idle_ns = 5000,
				 .realtime = false};

TEST(IdlePolicy, SpinsThenNapsThenSleeps)
{
	IdlePolicy policy(kOptions);
	EXPECT_EQ(policy.next(1000, true, false), Step::kSpin);
	EXPECT_EQ(policy.next(1099, false, false), Step::kSpin);
	EXPECT_EQ(policy.next(1100, false, false), Step::kNap);
	EXPECT_EQ(policy.next(5999, false, false), Step::kNap);
	EXPECT_EQ(policy.next(6000, false, false), Step::kSleep);
}

TEST(IdlePolicy, SpinsLessWhenProcessorsAreScarce)
{
	IdlePolicy policy(kOptions);
	policy.next(1000, true, true);
	EXPECT_EQ(policy.next(1009, false, true), Step::kSpin);
	EXPECT_EQ(policy.next(1010, false, true), Step::kNap);
}

TEST(IdlePolicy, NapsGrowToALimitAndWorkMakesThemShort)
{
	IdlePolicy policy(kOptions);
	policy.next(1000, true, false);
	uint64_t last = 0;
	for (int i = 0; i < 100; i++) {
		const uint64_t nap = policy.take_nap();
		EXPECT_GE(nap, last);
		EXPECT_LE(nap, kOptions.nap_max_ns);
		last = nap;
	}
	EXPECT_EQ(last, kOptions.nap_max_ns);
	policy.next(2000, true, false);
	EXPECT_EQ(policy.take_nap(), kOptions.nap_ns);
}

TEST(IdlePolicy, AKickIsLikeWork)
{
	IdlePolicy policy(kOptions);
	EXPECT_EQ(policy.next(100'000, false, false), Step::kSleep);
	policy.woken(100'000);
	EXPECT_EQ(policy.next(100'050, false, false), Step::kSpin);
	EXPECT_EQ(policy.next(100'200, false, false), Step::kNap);
}

} // namespace
} // namespace ohca::run
