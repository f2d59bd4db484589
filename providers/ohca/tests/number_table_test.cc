// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "../number_table.hh"

#include <cerrno>

#include <gtest/gtest.h>

namespace ohca {
struct QueuePair;
}

namespace ohca::test {
namespace {

QueuePair *pointer(std::uintptr_t value)
{
	return reinterpret_cast<QueuePair *>(value);
}

TEST(NumberTable, FindsWhatWasInserted)
{
	NumberTable<QueuePair> table;
	EXPECT_EQ(table.insert(2, pointer(0x1000)), 0);
	EXPECT_EQ(table.insert(0xffffff, pointer(0x2000)), 0);
	EXPECT_EQ(table.find(2), pointer(0x1000));
	EXPECT_EQ(table.find(0xffffff), pointer(0x2000));
	table.remove(2);
	EXPECT_EQ(table.find(2), nullptr);
}

TEST(NumberTable, AnyNumberMayBeLookedUp)
{
	NumberTable<QueuePair> table;
	EXPECT_EQ(table.insert(0x123456, pointer(0x1000)), 0);
	EXPECT_EQ(table.find(0), nullptr);
	EXPECT_EQ(table.find(0x123457), nullptr);
	EXPECT_EQ(table.find(0xff123456), nullptr);
	EXPECT_EQ(table.find(0xffffffff), nullptr);
	table.remove(0xffffffff);
	table.remove(0x345678);
}

TEST(NumberTable, RefusesATakenOrImpossibleNumber)
{
	NumberTable<QueuePair> table;
	EXPECT_EQ(table.insert(7, pointer(0x1000)), 0);
	EXPECT_EQ(table.insert(7, pointer(0x2000)), EINVAL);
	EXPECT_EQ(table.insert(1u << 24, pointer(0x2000)), EINVAL);
	EXPECT_EQ(table.find(7), pointer(0x1000));
}

} // namespace
} // namespace ohca::test
