// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/dma_map.hh"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <tuple>

namespace ohca::host {
namespace {

using Range = std::tuple<uint64_t, uint64_t, uint64_t>; // address, size, offset

struct Dma : testing::Test {
	BackingFiles files;
	DmaMap map{files};
	UniqueFd memory = make_memory(1 << 20);

	static UniqueFd make_memory(off_t size)
	{
		UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
		EXPECT_EQ(ftruncate(fd.get(), size), 0);
		return fd;
	}
	FileId acquire(const UniqueFd &fd)
	{
		bool added;
		return files.acquire(UniqueFd(dup(fd.get())), added);
	}
	int add(uint64_t address, uint64_t size, uint64_t offset, FileId file = kNoFile)
	{
		return map.map({address, size, offset, file, true});
	}
	std::vector<Range> ranges() const
	{
		std::vector<Range> all;
		for (const auto &[address, range] : map.ranges()) {
			EXPECT_EQ(address, range.address);
			all.emplace_back(address, range.size, range.file_offset);
		}
		return all;
	}
};

TEST_F(Dma, RefusesOverlaps)
{
	EXPECT_EQ(add(0x2000, 0x2000, 0), 0);
	EXPECT_EQ(add(0x2000, 0x2000, 0), EEXIST);
	EXPECT_EQ(add(0x1000, 0x1001, 0), EEXIST);
	EXPECT_EQ(add(0x3fff, 1, 0), EEXIST);
	EXPECT_EQ(add(0, 0x10000, 0), EEXIST);
	EXPECT_EQ(add(0x1000, 0x1000, 0), 0);
	EXPECT_EQ(add(0x4000, 0x1000, 0), 0);
	EXPECT_EQ(map.ranges().size(), 3u);
}

TEST_F(Dma, UnmapOfTheMiddleLeavesBothEnds)
{
	const FileId file = acquire(memory);
	add(0x10000, 0x10000, 0x40000, file);
	map.unmap(0x14000, 0x4000);
	EXPECT_EQ(ranges(), (std::vector<Range>{{0x10000, 0x4000, 0x40000}, {0x18000, 0x8000, 0x48000}}));
	EXPECT_EQ(files.files().at(file).ranges, 2u);
	map.unmap(0, UINT64_MAX);
	EXPECT_EQ(files.files().at(file).ranges, 0u);
}

TEST_F(Dma, UnmapAcrossRangesCutsTheOuterOnes)
{
	add(0x1000, 0x1000, 0x100000);
	add(0x2000, 0x1000, 0x200000);
	add(0x3000, 0x1000, 0x300000);
	map.unmap(0x1800, 0x2000);
	EXPECT_EQ(ranges(), (std::vector<Range>{{0x1000, 0x800, 0x100000}, {0x3800, 0x800, 0x300800}}));
}

TEST_F(Dma, UnmapOfNothingDoesNothing)
{
	add(0x1000, 0x1000, 0);
	map.unmap(0x2000, 0x1000);
	map.unmap(0, 0x1000);
	EXPECT_EQ(map.ranges().size(), 1u);
}

TEST_F(Dma, ReachesTheEndOfTheAddressSpace)
{
	EXPECT_EQ(add(UINT64_MAX - 0xfff, 0x1000, 0), 0);
	EXPECT_EQ(add(UINT64_MAX, 1, 0), EEXIST);
	map.unmap(UINT64_MAX - 0x7ff, 0x800);
	EXPECT_EQ(ranges(), (std::vector<Range>{{UINT64_MAX - 0xfff, 0x800, 0}}));
	map.unmap(1, UINT64_MAX);
	EXPECT_TRUE(map.ranges().empty());
}

TEST_F(Dma, KnowsAFileByItsInode)
{
	const UniqueFd again(dup(memory.get()));
	const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
	const UniqueFd opened(open(path.c_str(), O_RDWR | O_CLOEXEC));
	bool added = false;
	const FileId id = files.acquire(UniqueFd(dup(memory.get())), added);
	EXPECT_TRUE(added);
	EXPECT_EQ(files.acquire(UniqueFd(dup(opened.get())), added), id);
	EXPECT_FALSE(added);
	EXPECT_NE(acquire(make_memory(4096)), id);
	EXPECT_TRUE(files.contains(id, 0, 1 << 20));
	EXPECT_FALSE(files.contains(id, 1, 1 << 20));
	EXPECT_FALSE(files.contains(id, UINT64_MAX, 2));
}

TEST_F(Dma, ReadOnlyFilesAreKnownAsSuch)
{
	const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
	const UniqueFd opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
	EXPECT_FALSE(files.files().at(acquire(opened)).writable);
	EXPECT_TRUE(files.files().at(acquire(memory)).writable);
}

TEST_F(Dma, WhatCannotBeMappedIsNoFile)
{
	int ends[2];
	ASSERT_EQ(pipe(ends), 0);
	const UniqueFd read_end(ends[0]);
	bool added;
	EXPECT_EQ(files.acquire(UniqueFd(ends[1]), added), kNoFile);
	EXPECT_FALSE(added);
}

TEST_F(Dma, KeepsTheYoungestUnusedFiles)
{
	std::vector<FileId> ids;
	for (int i = 0; i < 4; i++)
		ids.push_back(acquire(make_memory(4096)));
	add(0x1000, 0x1000, 0, ids[0]);
	EXPECT_TRUE(files.collect(3).empty());
	EXPECT_EQ(files.collect(1), (std::vector<FileId>{ids[1], ids[2]}));
	map.clear();
	EXPECT_EQ(files.collect(0), (std::vector<FileId>{ids[0], ids[3]}));
}

} // namespace
} // namespace ohca::host
