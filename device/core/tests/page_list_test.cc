// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <random>

#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

struct PageListTest : CommandTest {
	// Puts the addresses into an array (levels 1) or into chunks (levels 2).
	ohca_page_list list_of(const std::vector<uint64_t> &pages, uint8_t levels, uint8_t log_page_size = 12,
			       uint64_t first_page_offset = 0)
	{
		ohca_page_list list{};
		list.first_page_offset = first_page_offset;
		list.page_count = static_cast<uint32_t>(pages.size());
		list.log_page_size = log_page_size;
		list.levels = levels;
		if (levels == 0) {
			list.address = pages[0];
		} else if (levels == 1) {
			list.address = host.allocate(pages.size() * 8);
			std::memcpy(host.host(list.address), pages.data(), pages.size() * 8);
		} else {
			size_t chunks = (pages.size() + 511) / 512;
			list.address = host.allocate(chunks * 8);
			for (size_t chunk = 0; chunk < chunks; chunk++) {
				uint64_t at = host.allocate(4096);
				host.at<uint64_t>(list.address + chunk * 8) = at;
				size_t count = std::min<size_t>(512, pages.size() - chunk * 512);
				std::memcpy(host.host(at), pages.data() + chunk * 512, count * 8);
			}
		}
		return list;
	}
	CommandResult take(const ohca_page_list &list, uint64_t length)
	{
		return copy_page_list(host.function(), list, length, range);
	}
	uint64_t blocks() { return host.function().context().block_bytes_in_use(); }
	void expect_addresses(const std::vector<uint64_t> &pages, uint8_t log_page_size, uint64_t offset, uint64_t length)
	{
		for (uint64_t at : {uint64_t{0}, uint64_t{1}, length / 3, length / 2, length - 1}) {
			auto bus = host.function().memory().bus_range(range, at, 1);
			uint64_t position = offset + at;
			EXPECT_EQ(bus.address, pages[position >> log_page_size] +
						       (position & ((uint64_t{1} << log_page_size) - 1)));
			EXPECT_EQ(bus.length, 1u);
		}
		EXPECT_EQ(host.function().memory().bus_range(range, length, 1).length, 0u);
	}

	PageRange range;
};

TEST_F(PageListTest, AllLevelsAndCounts) // OHCA-MEM-D1
{
	std::mt19937_64 random(9);
	for (size_t count : {1u, 2u, 511u, 512u, 513u, 1024u, 1500u}) {
		std::vector<uint64_t> pages(count);
		for (uint64_t &page : pages)
			page = (random() >> 16) & ~uint64_t{0xfff};
		for (uint8_t levels : std::initializer_list<uint8_t>{1, 2}) {
			uint64_t offset = random() % 4096;
			uint64_t length = count * 4096 - offset - random() % 4000;
			if (length > count * 4096 - offset)
				length = 1;
			ohca_page_list list = list_of(pages, levels, 12, offset);
			ASSERT_TRUE(take(list, length).ok());
			expect_addresses(pages, 12, offset, length);
			// The host may do what it likes with the list afterwards.
			if (levels == 1)
				std::memset(host.host(list.address), 0xff, count * 8);
			expect_addresses(pages, 12, offset, length);
			free_page_range(host.function(), range);
			EXPECT_EQ(blocks(), 0u);
		}
	}
}

TEST_F(PageListTest, NeighboursBecomeOneRange)
{
	std::vector<uint64_t> pages;
	for (uint64_t i = 0; i < 1300; i++)
		pages.push_back(0x40000000 + i * 4096);
	for (uint8_t levels : std::initializer_list<uint8_t>{0, 1, 2}) {
		ASSERT_TRUE(take(list_of(pages, levels, 12, 100), 1299 * 4096).ok());
		EXPECT_TRUE(range.contiguous);
		EXPECT_EQ(blocks(), 0u);
		auto bus = host.function().memory().bus_range(range, 0, UINT64_MAX);
		EXPECT_EQ(bus.address, 0x40000000u + 100);
		EXPECT_EQ(bus.length, 1299u * 4096);
	}
	// One that is not, at the very end: all are kept.
	pages.back() += 4096;
	for (uint8_t levels : std::initializer_list<uint8_t>{1, 2}) {
		ASSERT_TRUE(take(list_of(pages, levels), 1300 * 4096).ok());
		EXPECT_FALSE(range.contiguous);
		expect_addresses(pages, 12, 0, 1300 * 4096);
		free_page_range(host.function(), range);
	}
}

TEST_F(PageListTest, EveryPageSize) // OHCA-MEM-D2
{
	for (uint8_t log_page_size = 12; log_page_size < 62; log_page_size++) {
		std::vector<uint64_t> pages = {uint64_t{3} << log_page_size, uint64_t{1} << log_page_size};
		uint64_t offset = (uint64_t{1} << log_page_size) - 10;
		for (uint8_t levels : std::initializer_list<uint8_t>{1, 2}) {
			ASSERT_TRUE(take(list_of(pages, levels, log_page_size, offset), 20).ok());
			expect_addresses(pages, log_page_size, offset, 20);
			free_page_range(host.function(), range);
		}
	}
	// One page of 2^63 bytes.
	ASSERT_TRUE(take(list_of({0}, 0, 63), uint64_t{1} << 63).ok());
	ASSERT_TRUE(take(list_of({uint64_t{1} << 63}, 1, 63, 5), (uint64_t{1} << 63) - 5).ok());
}

TEST_F(PageListTest, Malformed) // OHCA-MEM-D3
{
	std::vector<uint64_t> pages = {0x1000, 0x5000};
	auto refused = [&](auto change, uint64_t length = 8192) {
		for (uint8_t levels : std::initializer_list<uint8_t>{0, 1, 2}) {
			ohca_page_list list = list_of(pages, levels);
			change(list);
			expect(take(list, length), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
			EXPECT_EQ(blocks(), 0u);
		}
	};
	refused([](auto &list) { list.levels = 3; });
	refused([](auto &list) { list.levels = 255; });
	refused([](auto &list) { list.log_page_size = 11; });
	refused([](auto &list) { list.log_page_size = 0; });
	refused([](auto &list) { list.log_page_size = 64; });
	refused([](auto &list) { list.log_page_size = 255; });
	refused([](auto &list) { list.page_count = 0; });
	refused([](auto &list) { list.page_count = 1; });
	refused([](auto &list) { list.first_page_offset = 1; });
	refused([](auto &list) { list.first_page_offset = 4096; });
	refused([](auto &list) { list.first_page_offset = UINT64_MAX; });
	refused([](auto &) {}, 8193);
	refused([](auto &) {}, uint64_t{1} << 63);
	ohca_page_list list = list_of(pages, 1);
	list.reserved_b0 = 1;
	expect(take(list, 8192), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
}

TEST_F(PageListTest, PagesMustBeAligned)
{
	expect(take(list_of({0x1001}, 0), 10), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	std::vector<uint64_t> pages(600, 0x1000);
	pages[599] = 0x1008;
	for (uint8_t levels : std::initializer_list<uint8_t>{1, 2}) {
		expect(take(list_of(pages, levels), 600 * 4096), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
		EXPECT_EQ(blocks(), 0u);
	}
	expect(take(list_of({0x1000}, 1, 21), 10), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	// A chunk must be a whole page.
	ohca_page_list list = list_of({0x1000}, 2);
	host.at<uint64_t>(list.address) += 8;
	expect(take(list, 10), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
}

TEST_F(PageListTest, ContiguousMustNotWrap)
{
	expect(take(list_of({uint64_t{0} - 4096}, 0), 4096), OHCA_CMD_STATUS_OK);
	ohca_page_list list = list_of({uint64_t{0} - 4096}, 0);
	list.page_count = 2;
	expect(take(list, 4097), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
}

TEST_F(PageListTest, UnreachableLists)
{
	std::vector<uint64_t> pages(1000, 0x1000);
	ohca_page_list list = list_of(pages, 1);
	list.address = 0xdead'0000;
	expect(take(list, 1000 * 4096), OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_PAGE_LIST);
	list = list_of(pages, 2);
	list.address = UINT64_MAX - 4;
	expect(take(list, 1000 * 4096), OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_PAGE_LIST);
	list = list_of(pages, 2);
	host.at<uint64_t>(list.address + 8) = 0xdead'0000; // the second chunk
	expect(take(list, 1000 * 4096), OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_PAGE_LIST);
	EXPECT_EQ(blocks(), 0u);
}

TEST_F(PageListTest, TooLongForTheDevice)
{
	ohca_page_list list = list_of({0x1000}, 1);
	list.page_count = UINT32_MAX;
	expect(take(list, uint64_t{UINT32_MAX} * 4096), OHCA_CMD_STATUS_NO_RESOURCES, OHCA_CMD_DETAIL_PAGE_LIST);
}

TEST_F(PageListTest, ReadsOnlyPagesThatTheRangeTouches)
{
	ohca_page_list list = list_of({0x1000}, 1);
	list.page_count = 1'000'000; // far more than the array has
	expect(take(list, 4096), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(range.page_count, 1u);
}

} // namespace
} // namespace ohca::core::test
