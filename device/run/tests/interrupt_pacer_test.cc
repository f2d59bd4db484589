// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run/interrupt_pacer.hh"

#include <gtest/gtest.h>

#include <functional>

namespace ohca::run {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kLongestNs = 320'000;
constexpr uint64_t kShortestNs = 10'000;

// Work done in one round whose nap is as long as given, and how long the rest of the round takes.
struct Round {
	uint64_t work;
	uint64_t busy_ns;
};
using Load = std::function<Round(uint64_t nap_ns)>;

class InterruptPacerTest : public testing::Test {
protected:
	void run(uint64_t duration_ns, const Load &load)
	{
		for (const uint64_t end = now_ + duration_ns; now_ < end;) {
			const uint64_t nap_ns = pacer_.nap_ns();
			const Round round = load(nap_ns);
			now_ += nap_ns + round.busy_ns;
			work_ += round.work;
			pacer_.napped(now_, work_);
		}
	}

	InterruptPacer pacer_;
	uint64_t now_ = kSecondNs;
	uint64_t work_ = 0;
};

// Each round costs the guest an interrupt, and what is ready by then grows with the nap.
Round many_outstanding(uint64_t nap_ns)
{
	return {40 + nap_ns / 1'000, 100'000};
}

// The next operation begins when the last one has ended.
Round one_outstanding(uint64_t /*nap_ns*/)
{
	return {1, 100'000};
}

TEST_F(InterruptPacerTest, NapsLongWhenThatGetsMoreDone)
{
	run(kSecondNs, many_outstanding);
	EXPECT_EQ(pacer_.nap_ns(), kLongestNs);
}

TEST_F(InterruptPacerTest, NapsShortWhenOneOperationWaitsForTheOther)
{
	run(kSecondNs, one_outstanding);
	EXPECT_EQ(pacer_.nap_ns(), kShortestNs);
}

TEST_F(InterruptPacerTest, NapsShortWhenItMakesNoDifference)
{
	run(kSecondNs, [](uint64_t nap_ns) { return Round{100 + nap_ns / 1000, 100'000}; });
	EXPECT_EQ(pacer_.nap_ns(), kShortestNs);
}

TEST_F(InterruptPacerTest, FollowsALoadThatChanges)
{
	run(kSecondNs, many_outstanding);
	ASSERT_EQ(pacer_.nap_ns(), kLongestNs);
	run(4 * kSecondNs, one_outstanding);
	EXPECT_LE(pacer_.nap_ns(), 2 * kShortestNs);
	run(4 * kSecondNs, many_outstanding);
	EXPECT_GE(pacer_.nap_ns(), kLongestNs / 2);
}

TEST_F(InterruptPacerTest, FindsAMaximumInBetween)
{
	// more than 100 us of nap, and the peer runs dry
	run(kSecondNs, [](uint64_t nap_ns) { return Round{1 + std::min<uint64_t>(nap_ns, 90'000) / 10'000, 100'000}; });
	uint64_t most = 0;
	run(kSecondNs, [&](uint64_t nap_ns) {
		most = std::max(most, nap_ns);
		return Round{1 + std::min<uint64_t>(nap_ns, 90'000) / 10'000, 100'000};
	});
	EXPECT_EQ(pacer_.nap_ns(), 80'000u);
	EXPECT_LE(most, 160'000u);
}

TEST_F(InterruptPacerTest, ForgetsAfterASilence)
{
	const uint64_t begin_ns = InterruptPacer().nap_ns();
	run(kSecondNs, many_outstanding);
	now_ += kSecondNs;
	pacer_.napped(now_, work_);
	EXPECT_EQ(pacer_.nap_ns(), begin_ns);
	// Now and then a nap is no flow either.
	for (int i = 0; i < 1000; i++) {
		now_ += 10'000'000;
		pacer_.napped(now_, ++work_);
	}
	EXPECT_EQ(pacer_.nap_ns(), begin_ns);
}

} // namespace
} // namespace ohca::run
