// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "core/mem/dma_space.hh"

namespace ohca::core::test {
namespace {

// Bus memory behind a message protocol.
struct FakeInBand final : InBandDma {
	std::map<uint64_t, std::byte> bytes;
	DmaSpace *space = nullptr;
	std::vector<std::byte> late;     // mapped at `late_address` by the next refresh
	uint64_t late_address = 0;
	int refreshes = 0;
	bool broken = false;

	bool read(uint64_t address, std::span<std::byte> to) override
	{
		for (std::byte &byte : to)
			byte = bytes[address++];
		return !broken;
	}
	bool write(uint64_t address, std::span<const std::byte> from) override
	{
		for (std::byte byte : from)
			bytes[address++] = byte;
		return !broken;
	}
	bool refresh() override
	{
		refreshes++;
		if (late.empty() || !space->map(late_address, late.size(), late.data(), true))
			return false;
		return true;
	}
};

struct DmaSpaceTest : testing::Test {
	DmaSpaceTest() : space(&in_band, &faults) { in_band.space = &space; }

	FakeInBand in_band;
	std::atomic<uint64_t> faults = 0;
	DmaSpace space;
	std::vector<std::byte> memory = std::vector<std::byte>(0x10000);
};

TEST_F(DmaSpaceTest, RefusesEmptyWrappingAndOverlapping)
{
	EXPECT_FALSE(space.map(0x1000, 0, memory.data(), true));
	EXPECT_FALSE(space.map(UINT64_MAX - 10, 100, memory.data(), true));
	EXPECT_TRUE(space.map(0x2000, 0x1000, memory.data(), true));
	EXPECT_FALSE(space.map(0x2000, 0x1000, memory.data(), true));
	EXPECT_FALSE(space.map(0x1fff, 2, memory.data(), true));
	EXPECT_FALSE(space.map(0x2fff, 0x1000, memory.data(), true));
	EXPECT_FALSE(space.map(0x1000, 0x4000, memory.data(), true));
	EXPECT_FALSE(space.map(0x2800, 1, memory.data(), true));
	EXPECT_TRUE(space.map(0x1000, 0x1000, memory.data(), true));
	EXPECT_TRUE(space.map(0x3000, 0x1000, memory.data(), true));
	EXPECT_TRUE(space.map(UINT64_MAX - 0xfff, 0x1000, memory.data(), true));
}

TEST_F(DmaSpaceTest, TranslatesUpToTheBorderAndHonoursWritable)
{
	space.map(0x2000, 0x1000, memory.data(), false);
	auto piece = space.translate(0x2ff0, 0x100, false);
	EXPECT_EQ(piece.data(), memory.data() + 0xff0);
	EXPECT_EQ(piece.size(), 0x10u);
	EXPECT_TRUE(space.translate(0x2ff0, 0x100, true).empty());
	EXPECT_TRUE(space.translate(0x1fff, 1, false).empty());
	EXPECT_TRUE(space.translate(0x3000, 1, false).empty());
}

// OHCA-MEM-D11
TEST_F(DmaSpaceTest, GenerationChangesWithTheMap)
{
	uint64_t generation = space.generation();
	EXPECT_NE(generation, 0u);
	space.map(0, 0x1000, memory.data(), true);
	EXPECT_NE(space.generation(), generation);
	generation = space.generation();
	space.unmap(0, 0x1000);
	EXPECT_NE(space.generation(), generation);
	generation = space.generation();
	space.clear();
	EXPECT_NE(space.generation(), generation);
}

TEST_F(DmaSpaceTest, UnmapCutsWhatSticksOut)
{
	space.map(0x1000, 0x4000, memory.data(), true);
	ASSERT_FALSE(space.translate(0x2000, 1, true).empty());
	space.unmap(0x2000, 0x1000);
	EXPECT_EQ(space.translate(0x1000, 0x9000, true).size(), 0x1000u);
	EXPECT_TRUE(space.translate(0x2000, 1, true).empty());
	EXPECT_TRUE(space.translate(0x2fff, 1, true).empty());
	auto rest = space.translate(0x3000, 0x9000, true);
	EXPECT_EQ(rest.data(), memory.data() + 0x2000);
	EXPECT_EQ(rest.size(), 0x2000u);
	space.unmap(0, UINT64_MAX);
	EXPECT_TRUE(space.translate(0x1000, 1, true).empty());
	space.unmap(0x1000, 0); // nothing
}

TEST_F(DmaSpaceTest, CopiesAcrossMappings)
{
	// Neighbours on the bus, not in memory.
	space.map(0x1000, 0x1000, memory.data() + 0x8000, true);
	space.map(0x2000, 0x1000, memory.data(), true);
	std::vector<std::byte> data(0x1800);
	for (size_t i = 0; i < data.size(); i++)
		data[i] = static_cast<std::byte>(i * 31);
	EXPECT_TRUE(space.write(0x1400, data));
	std::vector<std::byte> back(data.size());
	EXPECT_TRUE(space.read(0x1400, back));
	EXPECT_EQ(back, data);
	EXPECT_EQ(memory[0x8400], data[0]);
	EXPECT_EQ(memory[0], data[0xc00]);
	EXPECT_FALSE(space.read(0x2800, std::span(data).first(0x801)));
	EXPECT_FALSE(space.write(0x2800, std::span(data).first(0x801)));
}

TEST_F(DmaSpaceTest, ReachesRangesWithoutMemoryInBand)
{
	space.map(0x1000, 0x1000, memory.data(), true);
	space.map(0x2000, 0x1000, nullptr, true);
	EXPECT_TRUE(space.translate(0x2000, 8, false).empty());
	std::vector<std::byte> data(0x100, std::byte{0x5a});
	EXPECT_TRUE(space.write(0x1f80, data));
	EXPECT_EQ(memory[0xf80], std::byte{0x5a});
	EXPECT_EQ(in_band.bytes[0x207f], std::byte{0x5a});
	std::vector<std::byte> back(0x100);
	EXPECT_TRUE(space.read(0x1f80, back));
	EXPECT_EQ(back, data);
	in_band.broken = true;
	EXPECT_FALSE(space.read(0x1f80, back));
	EXPECT_FALSE(space.write(0x1f80, back));
}

TEST_F(DmaSpaceTest, AsksForMapChangesOnAMissOnly)
{
	space.map(0x1000, 0x1000, memory.data(), true);
	EXPECT_FALSE(space.translate(0x1000, 8, true).empty());
	EXPECT_EQ(in_band.refreshes, 0);
	in_band.late.resize(0x1000);
	in_band.late_address = 0x5000;
	EXPECT_EQ(space.translate(0x5010, 8, true).data(), in_band.late.data() + 0x10);
	EXPECT_EQ(in_band.refreshes, 1);
	EXPECT_TRUE(space.translate(0x9000, 8, true).empty());
}

TEST_F(DmaSpaceTest, FailsAccessesDuringWhichAFaultWasCounted)
{
	struct Faulting final : InBandDma {
		std::atomic<uint64_t> *faults = nullptr;
		bool read(uint64_t, std::span<std::byte>) override { return ++*faults != 0; }
		bool write(uint64_t, std::span<const std::byte>) override { return ++*faults != 0; }
		bool refresh() override { return false; }
	} faulting;
	faulting.faults = &faults;
	DmaSpace with_faults(&faulting, &faults);
	with_faults.map(0, 0x1000, nullptr, true);
	std::byte byte{};
	EXPECT_FALSE(with_faults.read(0, {&byte, 1}));
	EXPECT_FALSE(with_faults.write(0, {&byte, 1}));
}

TEST_F(DmaSpaceTest, AgreesWithASimpleModel)
{
	std::mt19937_64 random(7);
	constexpr uint64_t kPages = 64;
	std::array<std::byte *, kPages> model{};
	for (int step = 0; step < 20'000; step++) {
		uint64_t page = random() % kPages;
		uint64_t count = 1 + random() % 8;
		count = std::min(count, kPages - page);
		switch (random() % 3) {
		case 0: {
			bool free = std::all_of(model.begin() + static_cast<long>(page),
						model.begin() + static_cast<long>(page + count),
						[](std::byte *p) { return p == nullptr; });
			// memory is reused under many addresses; only addresses matter here
			std::byte *base = memory.data() + random() % 16;
			ASSERT_EQ(space.map(page * 4096, count * 4096, base, true), free);
			for (uint64_t i = 0; free && i < count; i++)
				model[page + i] = base + i * 4096;
			break;
		}
		case 1:
			space.unmap(page * 4096, count * 4096);
			std::fill_n(model.begin() + static_cast<long>(page), count, nullptr);
			break;
		default: {
			uint64_t offset = random() % 4096;
			auto piece = space.translate(page * 4096 + offset, 1, true);
			ASSERT_EQ(piece.empty(), model[page] == nullptr);
			if (model[page]) {
				ASSERT_EQ(piece.data(), model[page] + offset);
			}
		}
		}
	}
}

} // namespace
} // namespace ohca::core::test
