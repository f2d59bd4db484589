// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/tests/fake_host.hh"

namespace ohca::core::test {
namespace {

class ContextMemoryTest : public testing::Test {
protected:
	ContextMemoryTest() : memory(ContextMemory::size()), context(memory.bytes()) { context.format(); }

	FakeMemory memory;
	ContextMemory context;
};

TEST_F(ContextMemoryTest, RefusesMemoryOfAnotherLayout)
{
	FakeMemory other(ContextMemory::size());
	other.bytes()[0] = std::byte{0x55};
	EXPECT_FALSE(ContextMemory(other.bytes()).format());
	EXPECT_FALSE(ContextMemory(other.bytes().first(4096)).format());
}

// OHCA-CMD-D15
TEST_F(ContextMemoryTest, NumbersStartAboveTheReservedOnes)
{
	EXPECT_EQ(context.allocate_qp(), 2u);
	EXPECT_EQ(context.allocate_cq(), 1u);
	EXPECT_EQ(context.allocate_eq(), 1u);
	EXPECT_EQ(context.allocate_pd(), 1u);
	EXPECT_EQ(context.allocate_mkey(), 1u);
	EXPECT_EQ(context.allocate_uar(8), 1u);
	EXPECT_EQ(context.qp(0), nullptr);
	EXPECT_EQ(context.qp(1), nullptr);
	ASSERT_NE(context.qp(2), nullptr);
	EXPECT_EQ(context.qp(3), nullptr);
	EXPECT_EQ(context.qp(UINT32_MAX), nullptr);
	EXPECT_EQ(context.mkey(kMkeyCountMax), nullptr);
	EXPECT_EQ(context.object_count(), 5u); // all but the EQ
}

// OHCA-MEM-D7
TEST_F(ContextMemoryTest, ReusesIndicesLate)
{
	uint32_t first = context.allocate_pd();
	context.free_pd(first);
	EXPECT_EQ(context.pd(first), nullptr);
	for (int i = 0; i < 1000; i++) {
		uint32_t index = context.allocate_pd();
		EXPECT_NE(index, first);
		context.free_pd(index);
	}
	// In the end the oldest comes again, zeroed.
	bool reused = false;
	for (int i = 0; i < 100 && !reused; i++) {
		uint32_t index = context.allocate_pd();
		reused = index == first;
		EXPECT_EQ(context.pd(index)->reference_count, 0u);
		context.pd(index)->reference_count = 7;
		context.free_pd(index);
	}
	EXPECT_TRUE(reused);
}

TEST_F(ContextMemoryTest, FullTableRefusesAndRecovers)
{
	std::vector<uint32_t> all;
	for (uint32_t index; (index = context.allocate_eq()) != ContextMemory::kNoIndex;)
		all.push_back(index);
	EXPECT_EQ(all.size(), kEqCountMax - 1);
	context.free_eq(all[10]);
	context.free_eq(all[5]);
	EXPECT_EQ(context.allocate_eq(), all[10]);
	EXPECT_EQ(context.allocate_eq(), all[5]);
	EXPECT_EQ(context.allocate_eq(), ContextMemory::kNoIndex);
	EXPECT_EQ(context.allocate_uar(2), 1u);
	EXPECT_EQ(context.allocate_uar(2), ContextMemory::kNoIndex);
}

TEST_F(ContextMemoryTest, BlocksAreAlignedZeroedAndDisjoint)
{
	std::mt19937_64 random(1);
	struct Block {
		BlockOffset offset;
		uint64_t size;
		uint8_t fill;
	};
	std::vector<Block> blocks;
	for (int step = 0; step < 4000; step++) {
		if (blocks.size() < 100 || random() % 2) {
			uint64_t size = 1 + random() % (uint64_t{1} << (random() % 18));
			BlockOffset offset = context.allocate_block(size);
			ASSERT_NE(offset, 0u);
			ASSERT_EQ(offset % 64, 0u);
			std::byte *bytes = context.block(offset);
			ASSERT_TRUE(std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; }));
			auto fill = static_cast<uint8_t>(1 + random() % 255);
			std::memset(bytes, fill, size);
			blocks.push_back({offset, size, fill});
		} else {
			size_t which = random() % blocks.size();
			Block block = blocks[which];
			std::byte *bytes = context.block(block.offset);
			ASSERT_TRUE(std::all_of(bytes, bytes + block.size,
						[&](std::byte b) { return b == std::byte{block.fill}; }));
			context.free_block(block.offset, block.size);
			blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(which));
		}
	}
	for (const Block &block : blocks)
		context.free_block(block.offset, block.size);
	EXPECT_EQ(context.block_bytes_in_use(), 0u);
}

TEST_F(ContextMemoryTest, FreedBigBlocksMergeAndServeAgain)
{
	constexpr uint64_t kBig = uint64_t{16} << 20;
	for (int i = 0; i < 8; i++) {
		BlockOffset whole = context.allocate_block(kBig);
		ASSERT_NE(whole, 0u);
		context.free_block(whole, kBig);
		BlockOffset parts[4];
		for (BlockOffset &part : parts) {
			part = context.allocate_block(kBig / 4);
			ASSERT_NE(part, 0u);
			ASSERT_LT(part, whole + kBig); // in the same place, so that the used part stays compact
		}
		for (BlockOffset part : parts)
			context.free_block(part, kBig / 4);
	}
}

TEST_F(ContextMemoryTest, RefusesBlocksBeyondThePool)
{
	EXPECT_EQ(context.allocate_block(0), 0u);
	EXPECT_EQ(context.allocate_block(kPoolSize + 1), 0u);
	BlockOffset small = context.allocate_block(64);
	EXPECT_EQ(context.allocate_block(kPoolSize), 0u);
	EXPECT_NE(context.allocate_block(kPoolSize / 2), 0u);
	EXPECT_EQ(context.allocate_block(kPoolSize / 2), 0u);
	EXPECT_NE(context.allocate_block(kPoolSize / 4), 0u);
	context.free_block(small, 64);
}

// OHCA-RST-D3
TEST_F(ContextMemoryTest, ResetLeavesNoTrace)
{
	uint32_t qpn = context.allocate_qp();
	context.qp(qpn)->pd = 99;
	context.gid(3)->live = 1;
	context.counters()[0] = 5;
	context.function().enabled = 1;
	BlockOffset small = context.allocate_block(64);
	BlockOffset large = context.allocate_block(100'000);
	std::memset(context.block(small), 0xaa, 64);
	std::memset(context.block(large), 0xaa, 100'000);
	context.reset();
	EXPECT_EQ(context.qp(qpn), nullptr);
	EXPECT_EQ(context.gid(3)->live, 0u);
	EXPECT_EQ(context.counters()[0], 0u);
	EXPECT_EQ(context.function().enabled, 0u);
	EXPECT_EQ(context.object_count(), 0u);
	EXPECT_EQ(context.allocate_qp(), qpn);
	EXPECT_EQ(context.qp(qpn)->pd, 0u);
	for (uint64_t size : {uint64_t{64}, uint64_t{100'000}}) {
		std::byte *bytes = context.block(context.allocate_block(size));
		EXPECT_TRUE(std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; }));
	}
}

} // namespace
} // namespace ohca::core::test
