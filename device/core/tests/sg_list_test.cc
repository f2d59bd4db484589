// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include <random>

#include "core/mem/sg_list.hh"
#include "core/tests/fake_host.hh"

namespace ohca::core::test {
namespace {

struct SgListTest : testing::Test {
	SgListTest()
	{
		host.bring_up();
		pd = host.create_pd();
		buffer = host.allocate(kSize);
		// All pages of the buffer in random order: address space 0 .. kSize.
		std::vector<uint64_t> pages;
		for (uint64_t at = 0; at < kSize; at += 4096)
			pages.push_back(buffer + at);
		std::mt19937_64 random(3);
		std::ranges::shuffle(pages, random);
		uint64_t table = host.allocate(pages.size() * 8);
		std::memcpy(host.host(table), pages.data(), pages.size() * 8);
		ohca_page_list list{};
		list.address = table;
		list.page_count = static_cast<uint32_t>(pages.size());
		list.log_page_size = 12;
		list.levels = 1;
		ohca_cmd_create_mkey_out out;
		FakeFunction::must(host.command(OHCA_CMD_CREATE_MKEY, FakeFunction::mkey_request(pd, list, 0, kSize), out));
		mkey = memory().check_key(out.key, pd, 0, kSize, 0).mkey;
	}
	FunctionMemory &memory() { return host.function().memory(); }
	SgRange range(uint64_t address, uint64_t length) { return {&memory(), mkey, address, nullptr, length}; }
	std::vector<uint8_t> read(uint64_t address, uint64_t length)
	{
		std::vector<uint8_t> bytes(length);
		EXPECT_TRUE(memory().read(mkey->pages, address, bytes.data(), length));
		return bytes;
	}
	void write(uint64_t address, const std::vector<uint8_t> &bytes)
	{
		EXPECT_TRUE(memory().write(mkey->pages, address, bytes.data(), bytes.size()));
	}

	static constexpr uint64_t kSize = 64 * 4096;
	FakeFunction host;
	uint32_t pd = 0;
	uint64_t buffer = 0;
	const MkeyContext *mkey = nullptr;
};

std::vector<uint8_t> noise(std::mt19937_64 &random, size_t size)
{
	std::vector<uint8_t> bytes(size);
	for (uint8_t &byte : bytes)
		byte = static_cast<uint8_t>(random());
	return bytes;
}

TEST_F(SgListTest, SkipsOverRanges)
{
	SgRange ranges[] = {range(0, 10), range(100, 0), range(200, 5)};
	SgCursor cursor{ranges, 3};
	cursor.skip(9);
	EXPECT_EQ(cursor.index, 0u);
	EXPECT_EQ(cursor.offset, 9u);
	cursor.skip(1);
	EXPECT_EQ(cursor.index, 2u);
	EXPECT_EQ(cursor.offset, 0u);
	cursor.skip(100);
	EXPECT_EQ(cursor.index, 3u);
}

TEST_F(SgListTest, CopiesBetweenAnyShapes)
{
	std::mt19937_64 random(11);
	for (int round = 0; round < 300; round++) {
		uint64_t total = 1 + random() % 30'000;
		std::vector<uint8_t> data = noise(random, total);
		write(0, data);
		// The halves of the space: source below, destination above.
		auto split = [&](uint64_t base) {
			std::vector<SgRange> ranges;
			for (uint64_t at = 0; at < total;) {
				uint64_t length = std::min<uint64_t>(total - at, random() % 9000);
				ranges.push_back(range(base + at, length));
				at += length;
			}
			return ranges;
		};
		uint64_t base = kSize / 2 + random() % 5000;
		std::vector<SgRange> from = split(0), to = split(base);
		SgCursor source{from.data(), static_cast<uint32_t>(from.size())};
		SgCursor destination{to.data(), static_cast<uint32_t>(to.size())};
		uint64_t first = random() % (total + 1);
		ASSERT_EQ(copy(destination, source, first), CopyResult::kOk);
		ASSERT_EQ(copy(destination, source, total - first), CopyResult::kOk);
		ASSERT_EQ(read(base, total), data);
	}
}

TEST_F(SgListTest, CopiesToAndFromPlainBytes)
{
	for (uint64_t size = 1; size <= 40; size++) {
		std::mt19937_64 random(size);
		std::vector<uint8_t> data = noise(random, size), back(size + 1, 0xee);
		SgRange bytes{nullptr, nullptr, 0, reinterpret_cast<std::byte *>(data.data()), size};
		SgRange place = range(4090, size); // crosses a page
		SgCursor source{&bytes, 1}, destination{&place, 1};
		ASSERT_EQ(copy(destination, source, size), CopyResult::kOk);
		ASSERT_EQ(read(4090, size), data);
		SgRange out{nullptr, nullptr, 0, reinterpret_cast<std::byte *>(back.data()), size};
		source = {&place, 1};
		destination = {&out, 1};
		ASSERT_EQ(copy(destination, source, size), CopyResult::kOk);
		ASSERT_TRUE(std::equal(data.begin(), data.end(), back.begin()));
		ASSERT_EQ(back[size], 0xee);
	}
}

// OHCA-MEM-D5
TEST_F(SgListTest, NeverLeavesTheRanges)
{
	std::vector<std::byte> bytes(100);
	SgRange from{nullptr, nullptr, 0, bytes.data(), 100};
	SgRange to = range(0, 50);
	SgCursor source{&from, 1}, destination{&to, 1};
	write(50, {1, 2, 3});
	EXPECT_EQ(copy(destination, source, 60), CopyResult::kDestinationFault);
	EXPECT_EQ(read(50, 3), (std::vector<uint8_t>{1, 2, 3}));
	SgRange big = range(0, 1000);
	source = {&from, 1};
	destination = {&big, 1};
	EXPECT_EQ(copy(destination, source, 101), CopyResult::kSourceFault);
}

TEST_F(SgListTest, OverlapWithinAPieceActsLikeMemmove)
{
	for (int64_t shift : {-100, -9, -8, -1, 1, 7, 8, 9, 100}) {
		for (uint64_t size : {2u, 9u, 15u, 16u, 17u, 24u, 1000u}) {
			std::mt19937_64 random(size);
			std::vector<uint8_t> data = noise(random, size);
			write(200, data);
			auto target = static_cast<uint64_t>(200 + shift);
			SgRange from = range(200, size), to = range(target, size);
			SgCursor source{&from, 1}, destination{&to, 1};
			ASSERT_EQ(copy(destination, source, size), CopyResult::kOk);
			ASSERT_EQ(read(target, size), data) << shift << " " << size;
		}
	}
}

// OHCA-MEM-D8
TEST_F(SgListTest, TellsWhichSideIsGone)
{
	std::vector<std::byte> bytes(100);
	SgRange plain{nullptr, nullptr, 0, bytes.data(), 100};
	SgRange mapped = range(0, 100);
	host.dma.clear();
	SgCursor source{&mapped, 1}, destination{&plain, 1};
	EXPECT_EQ(copy(destination, source, 100), CopyResult::kSourceFault);
	source = {&plain, 1};
	destination = {&mapped, 1};
	EXPECT_EQ(copy(destination, source, 100), CopyResult::kDestinationFault);
}

TEST_F(SgListTest, DestinationMustBeWritable)
{
	std::vector<std::byte> bytes(100);
	SgRange plain{nullptr, nullptr, 0, bytes.data(), 100};
	SgRange mapped = range(0, 100);
	std::byte *base = host.host(host.options().bus_base);
	host.dma.clear();
	host.dma.map(host.options().bus_base, host.options().memory_size, base, false);
	SgCursor source{&plain, 1}, destination{&mapped, 1};
	EXPECT_EQ(copy(destination, source, 100), CopyResult::kDestinationFault);
	source = {&mapped, 1};
	destination = {&plain, 1};
	EXPECT_EQ(copy(destination, source, 100), CopyResult::kOk);
}

TEST_F(SgListTest, UsesInBandWhereThereIsNoMemory)
{
	struct Bus final : InBandDma {
		FakeFunction *host = nullptr;
		bool read(uint64_t address, std::span<std::byte> to) override
		{
			std::memcpy(to.data(), host->host(address), to.size());
			return true;
		}
		bool write(uint64_t address, std::span<const std::byte> from) override
		{
			std::memcpy(host->host(address), from.data(), from.size());
			return true;
		}
		bool refresh() override { return false; }
	} bus;
	bus.host = &host;
	DmaSpace space(&bus);
	// The upper half in band only.
	uint64_t half = host.options().memory_size / 2;
	space.map(host.options().bus_base, half, host.host(host.options().bus_base), true);
	space.map(host.options().bus_base + half, half, nullptr, true);
	FunctionMemory split(host.function().context(), space);
	MkeyContext linear{};
	linear.flags = OHCA_MKEY_LINEAR;
	uint64_t low = host.allocate(20'000);
	uint64_t high = host.options().bus_base + half;
	std::mt19937_64 random(5);
	std::vector<uint8_t> data = noise(random, 20'000);
	std::memcpy(host.host(low), data.data(), data.size());

	SgRange from{&split, &linear, low, nullptr, 20'000}, to{&split, &linear, high + 3, nullptr, 20'000};
	SgCursor source{&from, 1}, destination{&to, 1};
	EXPECT_EQ(copy(destination, source, 20'000), CopyResult::kOk);
	EXPECT_EQ(std::memcmp(host.host(high + 3), data.data(), data.size()), 0);
	std::memset(host.host(low), 0, data.size());
	SgRange both{&split, &linear, high + 3, nullptr, 20'000};
	source = {&both, 1};
	SgRange back{&split, &linear, low, nullptr, 20'000};
	destination = {&back, 1};
	EXPECT_EQ(copy(destination, source, 20'000), CopyResult::kOk);
	EXPECT_EQ(std::memcmp(host.host(low), data.data(), data.size()), 0);
}

} // namespace
} // namespace ohca::core::test
