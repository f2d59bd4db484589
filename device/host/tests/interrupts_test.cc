// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/interrupts.hh"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ohca::host {
namespace {

struct Interrupts : testing::Test {
	InterruptBits bits{};
	InterruptTable table{8, bits};

	// A new eventfd for the vector; the returned one is the client's.
	UniqueFd connect(uint32_t vector, InterruptTable *to = nullptr)
	{
		UniqueFd fd(eventfd(0, EFD_NONBLOCK));
		(to ? to : &table)->set_fd(vector, UniqueFd(dup(fd.get())));
		return fd;
	}
	static uint64_t count(const UniqueFd &fd)
	{
		uint64_t value = 0;
		return read(fd.get(), &value, sizeof(value)) == sizeof(value) ? value : 0;
	}
};

TEST_F(Interrupts, AreDelivered)
{
	const UniqueFd fd = connect(3);
	table.raise(3);
	table.raise(3);
	EXPECT_EQ(count(fd), 2u);
	EXPECT_EQ(table.pending(), 0u);
}

// OHCA-PCI-D8
TEST_F(Interrupts, AreLatchedWithoutAnEventfd)
{
	table.raise(2);
	table.raise(2);
	EXPECT_EQ(table.pending(), 4u);
	EXPECT_EQ(count(connect(2)), 1u);
	EXPECT_EQ(table.pending(), 0u);
}

// OHCA-PCI-D8
TEST_F(Interrupts, AreLatchedWhileMasked)
{
	const UniqueFd fd = connect(0);
	table.mask(0);
	table.raise(0);
	EXPECT_EQ(count(fd), 0u);
	table.unmask(0);
	EXPECT_EQ(count(fd), 1u);
	table.unmask(0);
	EXPECT_EQ(count(fd), 0u);
}

// OHCA-PCI-D8
TEST_F(Interrupts, AreLatchedAgainAfterTheEventfdIsTakenAway)
{
	const UniqueFd fd = connect(1);
	table.set_fd(1, {});
	table.raise(1);
	EXPECT_EQ(count(fd), 0u);
	EXPECT_EQ(table.pending(), 2u);
}

TEST_F(Interrupts, OfOneProcessAreDeliveredByTheOther)
{
	InterruptTable other(8, bits);
	table.raise(5);
	EXPECT_EQ(count(connect(5, &other)), 1u);
	EXPECT_EQ(table.pending(), 0u);
}

TEST_F(Interrupts, ResetDropsWhatIsLatched)
{
	table.raise(4);
	table.drop_pending();
	EXPECT_EQ(count(connect(4)), 0u);
}

TEST_F(Interrupts, OutOfRangeIsIgnored)
{
	table.raise(8);
	table.raise(UINT32_MAX);
	table.set_fd(8, UniqueFd(eventfd(0, 0)));
	EXPECT_EQ(table.pending(), 0u);
}

TEST_F(Interrupts, AFullCounterDoesNotBlock)
{
	const UniqueFd fd = connect(0);
	const uint64_t almost = UINT64_MAX - 1;
	ASSERT_EQ(write(fd.get(), &almost, sizeof(almost)), 8);
	table.raise(0);
	EXPECT_EQ(count(fd), almost);
}

} // namespace
} // namespace ohca::host
