// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "../doorbell.hh"

#include <cstring>

#include <gtest/gtest.h>

namespace ohca::test {
namespace {

class DoorbellTest : public testing::Test {
protected:
	ohca_uar uar_{};
	std::uint32_t kick_ = 0;
	__le32 record_ = 0;
	Doorbell doorbell_{&uar_, &kick_, 130};
};

// OHCA-DB-H2
TEST_F(DoorbellTest, SetsTheBitOfTheSlotAndOfItsWord)
{
	doorbell_.ring(record_, 5);
	EXPECT_EQ(record_, 5u);
	EXPECT_EQ(uar_.notify[2], 1u << 2);
	EXPECT_EQ(uar_.summary, 1u << 2);
	EXPECT_EQ(kick_, 0u);
}

// OHCA-DB-H4
TEST_F(DoorbellTest, LeavesOtherBitsAlone)
{
	uar_.notify[2] = 1;
	uar_.summary = 1;
	doorbell_.ring(record_, 5);
	EXPECT_EQ(uar_.notify[2], 5u);
	EXPECT_EQ(uar_.summary, 5u);
}

// The device has not been there since the last ring: summary is set or about to
// be by whoever set the bit.
// OHCA-DB-H2
TEST_F(DoorbellTest, SetsSummaryEvenIfTheBitWasSet)
{
	uar_.notify[2] = 1 << 2;
	doorbell_.ring(record_, 5);
	EXPECT_EQ(record_, 5u);
	EXPECT_EQ(uar_.notify[2], 1u << 2);
	EXPECT_EQ(uar_.summary, 1u << 2);
}

// OHCA-DB-H3
TEST_F(DoorbellTest, KicksOnlyASleepingDevice)
{
	uar_.need_wakeup = 1;
	doorbell_.ring(record_, 1);
	EXPECT_NE(kick_, 0u);
	kick_ = 0;
	uar_.need_wakeup = 0;
	doorbell_.ring(record_, 2);
	EXPECT_EQ(kick_, 0u);
}

// Also if the bit was set: the device may have gone to sleep meanwhile.
// OHCA-DB-H3
TEST_F(DoorbellTest, KicksASleepingDeviceIfTheBitWasSet)
{
	uar_.need_wakeup = 1;
	uar_.notify[2] = 1 << 2;
	doorbell_.ring(record_, 1);
	EXPECT_NE(kick_, 0u);
}

// OHCA-DB-H4
TEST_F(DoorbellTest, TouchesNothingButItsWords)
{
	ohca_uar before = uar_;
	doorbell_.ring(record_, 1);
	before.notify[2] = uar_.notify[2];
	before.summary = uar_.summary;
	EXPECT_EQ(std::memcmp(&before, &uar_, sizeof(uar_)), 0);
}

TEST_F(DoorbellTest, LastSlot)
{
	Doorbell doorbell(&uar_, &kick_, OHCA_UAR_SLOT_COUNT - 1);
	doorbell.ring(record_, 1);
	EXPECT_EQ(uar_.notify[63], std::uint64_t{1} << 63);
	EXPECT_EQ(uar_.summary, std::uint64_t{1} << 63);
}

// OHCA-DB-H7
TEST_F(DoorbellTest, SeesAFailedDevice)
{
	uar_.device_state = OHCA_UAR_DEVICE_RUNNING;
	EXPECT_FALSE(doorbell_.has_device_failed());
	uar_.device_state = OHCA_UAR_DEVICE_FAILED;
	EXPECT_TRUE(doorbell_.has_device_failed());
}

} // namespace
} // namespace ohca::test
