// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include "core/tests/fake_host.hh"

namespace ohca::core::test {
namespace {

struct FunctionMemoryTest : testing::Test {
	FunctionMemoryTest()
	{
		host.bring_up();
		pd = host.create_pd();
		buffer = host.allocate(0x10000);
	}
	FunctionMemory &memory() { return host.function().memory(); }
	uint32_t check(uint32_t key, uint32_t use_pd, uint64_t address, uint64_t length, uint32_t access)
	{
		KeyCheck result = memory().check_key(key, use_pd, address, length, access);
		EXPECT_EQ(result.mkey == nullptr, result.vendor_error != 0);
		return result.vendor_error;
	}
	// Pages in the order given, 4 KiB each.
	ohca_page_list list_of(std::vector<uint64_t> pages, uint64_t first_page_offset = 0)
	{
		uint64_t table = host.allocate(pages.size() * 8);
		std::memcpy(host.host(table), pages.data(), pages.size() * 8);
		ohca_page_list list{};
		list.address = table;
		list.first_page_offset = first_page_offset;
		list.page_count = static_cast<uint32_t>(pages.size());
		list.log_page_size = 12;
		list.levels = 1;
		return list;
	}
	uint32_t create(const ohca_cmd_create_mkey_in &in)
	{
		ohca_cmd_create_mkey_out out;
		FakeFunction::must(host.command(OHCA_CMD_CREATE_MKEY, in, out));
		return out.key;
	}

	FakeFunction host;
	uint32_t pd = 0;
	uint64_t buffer = 0;
};

TEST_F(FunctionMemoryTest, ChecksKeysInOrder) // OHCA-MEM-D4
{
	constexpr uint32_t kAccess = OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_READ;
	uint32_t key = host.register_memory(pd, buffer, 0x1000, kAccess);
	EXPECT_EQ(check(key, pd, buffer, 0x1000, 0), 0u);
	EXPECT_EQ(check(key, pd, buffer, 0x1000, kAccess), 0u);
	EXPECT_EQ(check(key + (100 << 8), pd, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_INDEX});
	EXPECT_EQ(check(0xffffffff, pd, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_INDEX});
	EXPECT_EQ(check(0, pd, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(check(key ^ 1, pd, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(check(key, pd + 1, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
	EXPECT_EQ(check(key, pd, buffer, 1, OHCA_ACCESS_REMOTE_WRITE), unsigned{OHCA_VENDOR_ERROR_KEY_ACCESS});
	EXPECT_EQ(check(key, pd, buffer, 1, OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ),
		  unsigned{OHCA_VENDOR_ERROR_KEY_ACCESS});
	EXPECT_EQ(check(key, pd, buffer, 1, OHCA_ACCESS_REMOTE_ATOMIC), unsigned{OHCA_VENDOR_ERROR_KEY_ACCESS});
	host.destroy(OHCA_CMD_DESTROY_MKEY, key);
	EXPECT_EQ(check(key, pd, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
}

TEST_F(FunctionMemoryTest, ChecksTheRangeToTheByte) // OHCA-MEM-D5
{
	uint32_t key = host.register_memory(pd, buffer + 10, 0x1000);
	uint64_t start = buffer + 10;
	struct Case {
		uint64_t address, length;
		bool ok;
	};
	for (const Case &c : std::initializer_list<Case>{
		     {start, 0x1000, true},
		     {start, 0x1001, false},
		     {start - 1, 1, false},
		     {start + 0xfff, 1, true},
		     {start + 0xfff, 2, false},
		     {start + 0x1000, 0, true},
		     {start + 0x1000, 1, false},
		     {start + 0x1001, 0, false},
		     {start, UINT64_MAX, false},
		     {start + 1, UINT64_MAX, false},
		     {UINT64_MAX, 1, false},
		     {0, 1, false},
	     })
		EXPECT_EQ(check(key, pd, c.address, c.length, 0), c.ok ? 0u : unsigned{OHCA_VENDOR_ERROR_KEY_RANGE})
			<< std::hex << c.address << " " << c.length;
}

TEST_F(FunctionMemoryTest, LinearKeyCoversAllAddressesWithoutWrap)
{
	ohca_cmd_create_mkey_in in = FakeFunction::mkey_request(pd, {}, 0, 0);
	in.flags = OHCA_MKEY_LINEAR;
	uint32_t key = create(in);
	EXPECT_EQ(check(key, pd, 0, UINT64_MAX, 0), 0u);
	EXPECT_EQ(check(key, pd, UINT64_MAX, 1, 0), 0u);
	EXPECT_EQ(check(key, pd, UINT64_MAX, 2, 0), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	auto range = memory().bus_range(*memory().check_key(key, pd, buffer, 10, 0).mkey, buffer, 10);
	EXPECT_EQ(range.address, buffer);
	EXPECT_EQ(range.length, 10u);
}

TEST_F(FunctionMemoryTest, SplitsAtPagesAndMergesNeighbours)
{
	// Pages 3, 4, 0, 1: two runs.
	uint64_t p = buffer;
	ohca_page_list list = list_of({p + 0x3000, p + 0x4000, p, p + 0x1000}, 0x10);
	uint32_t key = create(FakeFunction::mkey_request(pd, list, 0x7000'0010, 0x3000));
	const MkeyContext &mkey = *memory().check_key(key, pd, 0x7000'0010, 0x3000, 0).mkey;
	auto first = memory().bus_range(mkey, 0x7000'0010, 0x3000);
	EXPECT_EQ(first.address, p + 0x3010);
	EXPECT_EQ(first.length, 0x1ff0u);
	auto second = memory().bus_range(mkey, 0x7000'0010 + 0x1ff0, 0x3000 - 0x1ff0);
	EXPECT_EQ(second.address, p);
	EXPECT_EQ(second.length, 0x1010u);
	auto last = memory().bus_range(mkey, 0x7000'0010 + 0x2fff, 1);
	EXPECT_EQ(last.address, p + 0x100f);
	EXPECT_EQ(last.length, 1u);
	EXPECT_EQ(memory().bus_range(mkey.pages, 0x3000, 1).length, 0u); // outside
}

TEST_F(FunctionMemoryTest, ReadsAndWritesThroughPageLists)
{
	uint64_t p = buffer;
	uint32_t key = create(FakeFunction::mkey_request(pd, list_of({p + 0x2000, p}), 0, 0x2000));
	const PageRange &pages = memory().check_key(key, pd, 0, 1, 0).mkey->pages;
	uint8_t data[64];
	for (uint8_t i = 0; i < 64; i++)
		data[i] = i;
	EXPECT_TRUE(memory().write(pages, 0x1000 - 32, data, 64));
	EXPECT_EQ(host.at<uint8_t>(p + 0x2fff), 31);
	EXPECT_EQ(host.at<uint8_t>(p), 32);
	uint8_t back[64] = {};
	EXPECT_TRUE(memory().read(pages, 0x1000 - 32, back, 64));
	EXPECT_EQ(std::memcmp(data, back, 64), 0);
	EXPECT_FALSE(memory().read(pages, 0x2000 - 32, back, 64));
	EXPECT_EQ(memory().pointer(pages, 0x1000 - 32, 64, true), nullptr); // crosses
	EXPECT_EQ(memory().pointer(pages, 0x1000, 64, true), host.host(p));
}

// OHCA-MEM-D9
TEST_F(FunctionMemoryTest, Atomics)
{
	uint32_t key = host.register_memory(pd, buffer, 0x1000);
	const MkeyContext &mkey = *memory().check_key(key, pd, buffer, 8, 0).mkey;
	host.at<uint64_t>(buffer + 8) = 40;
	uint64_t original = 0;
	EXPECT_TRUE(memory().fetch_add(mkey, buffer + 8, 2, original));
	EXPECT_EQ(original, 40u);
	EXPECT_TRUE(memory().compare_swap(mkey, buffer + 8, 41, 7, original)); // differs: no change
	EXPECT_EQ(original, 42u);
	EXPECT_TRUE(memory().compare_swap(mkey, buffer + 8, 42, 7, original));
	EXPECT_EQ(original, 42u);
	EXPECT_EQ(host.at<uint64_t>(buffer + 8), 7u);
	EXPECT_TRUE(memory().fetch_add(mkey, buffer + 8, UINT64_MAX, original)); // wraps
	EXPECT_EQ(host.at<uint64_t>(buffer + 8), 6u);
	EXPECT_FALSE(memory().fetch_add(mkey, buffer + 4, 1, original)); // not aligned
	EXPECT_FALSE(memory().fetch_add(mkey, buffer + 0xffc, 1, original));
	host.dma.clear();
	EXPECT_FALSE(memory().fetch_add(mkey, buffer + 8, 1, original)); // gone
}

} // namespace
} // namespace ohca::core::test
