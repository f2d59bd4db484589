// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "../ring.hh"

#include <gtest/gtest.h>

#include "../lock.hh"
#include "../wqe.hh"

namespace ohca::test {
namespace {

constexpr Index kLast = 0xffffffff;

TEST(Ring, SlotStaysContinuousWhenTheIndexWraps)
{
	EXPECT_EQ(slot_of(kLast, 15), 15u);
	EXPECT_EQ(slot_of(kLast + 1, 15), 0u);
}

TEST(Ring, RangeIsHalfOpenAndMayWrap)
{
	EXPECT_TRUE(is_within(5, 5, 6));
	EXPECT_FALSE(is_within(6, 5, 6));
	EXPECT_FALSE(is_within(4, 5, 6));
	EXPECT_FALSE(is_within(5, 5, 5));
	EXPECT_TRUE(is_within(kLast, kLast, 2));
	EXPECT_TRUE(is_within(1, kLast, 2));
	EXPECT_FALSE(is_within(2, kLast, 2));
}

TEST(Ring, PhaseIsOneInTheFirstPassAndToggles)
{
	EXPECT_EQ(phase_of(0, 4), 1);
	EXPECT_EQ(phase_of(3, 4), 1);
	EXPECT_EQ(phase_of(4, 4), 0);
	EXPECT_EQ(phase_of(8, 4), 1);
	EXPECT_EQ(phase_of(kLast, 4), 0);
	EXPECT_EQ(phase_of(kLast + 1, 4), 1);
	EXPECT_EQ(phase_of(0, 1), 1);
	EXPECT_EQ(phase_of(1, 1), 0);
}

TEST(Ring, Log2RoundsUp)
{
	EXPECT_EQ(log2_ceil(0), 0);
	EXPECT_EQ(log2_ceil(1), 0);
	EXPECT_EQ(log2_ceil(2), 1);
	EXPECT_EQ(log2_ceil(3), 2);
	EXPECT_EQ(log2_ceil(0x80000000), 31);
}

TEST(SpinLock, SingleThreadedOneIsNeverTaken)
{
	SpinLock lock;
	lock.set_single_threaded(true);
	lock.lock();
	lock.lock(); // would hang
	lock.unlock();
}

TEST(Wqe, FlagsAreTranslated)
{
	EXPECT_EQ(wqe_flags(0), 0);
	EXPECT_EQ(wqe_flags(IBV_SEND_SIGNALED), OHCA_WQE_SIGNALED);
	EXPECT_EQ(wqe_flags(IBV_SEND_SOLICITED), OHCA_WQE_SOLICITED);
	EXPECT_EQ(wqe_flags(IBV_SEND_FENCE), OHCA_WQE_FENCE);
	EXPECT_EQ(wqe_flags(IBV_SEND_IP_CSUM | IBV_SEND_INLINE), 0);
}

} // namespace
} // namespace ohca::test
