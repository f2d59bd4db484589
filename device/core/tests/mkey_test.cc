// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// cmd/mkey.cc, cmd/mkey_modify.cc: types of keys, and changes of regions.
#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

struct MkeyTest : CommandTest {
	MkeyTest()
	{
		pd = host.create_pd();
		buffer = host.allocate(0x4000);
	}
	ohca_cmd_create_mkey_in region(uint32_t access = OHCA_ACCESS_LOCAL_WRITE)
	{
		return FakeFunction::mkey_request(pd, host.contiguous(buffer, 0x2000), buffer, 0x2000, access);
	}
	ohca_cmd_create_mkey_in free_key(uint8_t type, uint32_t entries = 0)
	{
		ohca_cmd_create_mkey_in in{};
		in.pd = pd;
		in.type = type;
		in.consumer_key = 7;
		in.list_entry_max = entries;
		return in;
	}
	uint32_t create(const ohca_cmd_create_mkey_in &in)
	{
		ohca_cmd_create_mkey_out out;
		FakeFunction::must(host.command(OHCA_CMD_CREATE_MKEY, in, out));
		return out.key;
	}
	void refused(const ohca_cmd_create_mkey_in &in, uint8_t status, uint32_t detail)
	{
		uint64_t bytes = host.function().context().block_bytes_in_use();
		ohca_cmd_create_mkey_out out;
		CommandResult result = host.command(OHCA_CMD_CREATE_MKEY, in, out);
		EXPECT_EQ(result.status, status);
		EXPECT_EQ(result.detail, detail);
		EXPECT_EQ(host.function().context().block_bytes_in_use(), bytes);
	}
	ohca_cmd_modify_mkey_in change(uint32_t key, uint32_t mask)
	{
		ohca_cmd_modify_mkey_in in{};
		in.region.consumer_key = 0x99;
		in.key = key;
		in.mask = mask;
		return in;
	}
	CommandResult modify(const ohca_cmd_modify_mkey_in &in, uint32_t *key = nullptr)
	{
		ohca_cmd_create_mkey_out out{};
		CommandResult result = host.command(OHCA_CMD_MODIFY_MKEY, in, out);
		if (key)
			*key = out.key;
		return result;
	}
	void modify_refused(const ohca_cmd_modify_mkey_in &in, uint8_t status, uint32_t detail)
	{
		MkeyContext before = context(in.key);
		CommandResult result = modify(in);
		EXPECT_EQ(result.status, status);
		EXPECT_EQ(result.detail, detail);
		EXPECT_EQ(std::memcmp(&before, &context(in.key), sizeof(before)), 0);
	}
	MkeyContext &context(uint32_t key) { return *host.function().context().mkey(key >> 8); }
	uint32_t check(uint32_t key, uint32_t use_pd, uint64_t address, uint64_t length, uint32_t access)
	{
		return host.function().memory().check_key(key, use_pd, address, length, access).vendor_error;
	}

	uint32_t pd = 0;
	uint64_t buffer = 0;
};

// OHCA-MEM-D12
TEST_F(MkeyTest, CreatesFreeKeys)
{
	for (uint8_t type : std::initializer_list<uint8_t>{OHCA_MKEY_TYPE_FAST_REGION, OHCA_MKEY_TYPE_WINDOW_1,
							   OHCA_MKEY_TYPE_WINDOW_2B, OHCA_MKEY_TYPE_INTEGRITY}) {
		const bool has_list = type == OHCA_MKEY_TYPE_FAST_REGION || type == OHCA_MKEY_TYPE_INTEGRITY;
		uint32_t key = create(free_key(type, has_list ? 256 : 0));
		EXPECT_EQ(key & 0xff, 7u);
		EXPECT_EQ(check(key, pd, 0, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
		// The driver does not see what work requests make of the consumer key.
		EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_MKEY, key ^ 1).ok());
	}
	EXPECT_EQ(host.function().context().block_bytes_in_use(), 0u);
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_PD, pd).ok());
}

// OHCA-MEM-D14
TEST_F(MkeyTest, RefusesOddTypes)
{
	refused(free_key(OHCA_MKEY_TYPE_INTEGRITY + 1), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_TYPE);
	for (uint8_t type : std::initializer_list<uint8_t>{OHCA_MKEY_TYPE_WINDOW_1, OHCA_MKEY_TYPE_WINDOW_2B})
		refused(free_key(type, 1), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	for (uint32_t entries : {0u, 65537u, 0xffffffffu})
		for (uint8_t type : std::initializer_list<uint8_t>{OHCA_MKEY_TYPE_FAST_REGION, OHCA_MKEY_TYPE_INTEGRITY})
			refused(free_key(type, entries), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_LENGTH);
	auto changed = [this](auto change) {
		ohca_cmd_create_mkey_in in = free_key(OHCA_MKEY_TYPE_FAST_REGION, 16);
		change(in);
		refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	};
	changed([](auto &in) { in.start = 1; });
	changed([](auto &in) { in.length = 1; });
	changed([](auto &in) { in.access = 1; });
	changed([](auto &in) { in.flags = OHCA_MKEY_LINEAR; });
	changed([](auto &in) { in.pages.page_count = 1; });
	ohca_cmd_create_mkey_in in = region();
	in.list_entry_max = 1;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	in = free_key(OHCA_MKEY_TYPE_FAST_REGION, 16);
	in.pd = 999;
	refused(in, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_PD);
}

// OHCA-REG-D10
TEST_F(MkeyTest, TypesAndAccessNeedTheirFeature)
{
	host.function().state().features = OHCA_FEATURE_RC;
	refused(free_key(OHCA_MKEY_TYPE_FAST_REGION, 16), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
	refused(free_key(OHCA_MKEY_TYPE_INTEGRITY, 16), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
	refused(free_key(OHCA_MKEY_TYPE_WINDOW_1), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
	refused(free_key(OHCA_MKEY_TYPE_WINDOW_2B), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
	for (int access : {OHCA_ACCESS_WINDOW_BIND, OHCA_ACCESS_FLUSH_GLOBAL, OHCA_ACCESS_FLUSH_PERSISTENT,
			   OHCA_ACCESS_REMOTE_ATOMIC | OHCA_ACCESS_LOCAL_WRITE})
		refused(region(static_cast<uint32_t>(access)), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_ACCESS);
	refused(region(OHCA_ACCESS_ZERO_BASED), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ACCESS);
}

// OHCA-MEM-D15
TEST_F(MkeyTest, ModifiesWhatTheMaskNames)
{
	uint32_t other = host.create_pd();
	uint64_t elsewhere = host.allocate(0x3000);
	for (uint32_t mask = 1; mask <= OHCA_MKEY_MODIFY_ALL; mask++) {
		uint32_t key = create(region());
		ohca_cmd_modify_mkey_in in = change(key, mask);
		in.region.pages = host.contiguous(elsewhere, 0x3000);
		in.region.start = 0x7000;
		in.region.length = 0x3000;
		in.region.pd = other;
		in.region.access = OHCA_ACCESS_REMOTE_READ;
		uint32_t fresh = 0;
		ASSERT_TRUE(modify(in, &fresh).ok());
		EXPECT_EQ(fresh, (key & ~0xffu) | 0x99);
		bool moved = mask & OHCA_MKEY_MODIFY_TRANSLATION;
		uint32_t now_pd = mask & OHCA_MKEY_MODIFY_PD ? other : pd;
		bool readable = mask & OHCA_MKEY_MODIFY_ACCESS;
		EXPECT_EQ(check(fresh, now_pd, moved ? 0x7000 : buffer, moved ? 0x3000 : 0x2000,
				readable ? OHCA_ACCESS_REMOTE_READ : OHCA_ACCESS_LOCAL_WRITE),
			  0u);
		EXPECT_EQ(check(key, now_pd, moved ? 0x7000 : buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
		EXPECT_EQ(check(fresh, now_pd == pd ? other : pd, 0, 0, 0), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
		FunctionMemory &memory = host.function().memory();
		EXPECT_EQ(memory.bus_range(context(fresh), moved ? 0x7000 : buffer, 1).address,
			  moved ? elsewhere : buffer);
		EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_MKEY, fresh).ok());
	}
	// No reference is left.
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_PD, pd).ok());
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_PD, other).ok());
}

// OHCA-MEM-D15
TEST_F(MkeyTest, RefusedChangeChangesNothing)
{
	uint32_t key = create(region());
	modify_refused(change(key, 0), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	modify_refused(change(key, 8), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	ohca_cmd_modify_mkey_in in = change(key, OHCA_MKEY_MODIFY_PD);
	in.region.pd = 999;
	modify_refused(in, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_PD);
	in = change(key, OHCA_MKEY_MODIFY_ALL);
	in.region.pd = pd;
	in.region.length = 0x1000;
	in.region.pages.log_page_size = 5;
	modify_refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	in.region.access = OHCA_ACCESS_REMOTE_WRITE;
	modify_refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ACCESS);
	in = change(key, OHCA_MKEY_MODIFY_TRANSLATION);
	in.region.length = (uint64_t{1} << 63) + 1;
	modify_refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_LENGTH);
	in = change(key, OHCA_MKEY_MODIFY_ACCESS);
	in.region.reserved_198 = 1;
	modify_refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	in = change(key, OHCA_MKEY_MODIFY_ACCESS);
	in.region.type = OHCA_MKEY_TYPE_WINDOW_1;
	modify_refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_TYPE);
	modify_refused(change(key ^ 1, OHCA_MKEY_MODIFY_ACCESS), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_KEY);
	EXPECT_EQ(modify(change(999 << 8, OHCA_MKEY_MODIFY_ACCESS)).status, OHCA_CMD_STATUS_BAD_HANDLE);
	uint32_t window = create(free_key(OHCA_MKEY_TYPE_WINDOW_1));
	modify_refused(change(window, OHCA_MKEY_MODIFY_ACCESS), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_TYPE);
}

// OHCA-CMD-D9
TEST_F(MkeyTest, UndeliverableOutputChangesNothing)
{
	uint32_t key = create(region());
	ohca_cmd_modify_mkey_in in = change(key, OHCA_MKEY_MODIFY_ACCESS);
	std::memcpy(host.host(host.input()), &in, sizeof(in));
	ohca_cmd_entry entry{};
	entry.opcode = OHCA_CMD_MODIFY_MKEY;
	entry.slot = static_cast<uint16_t>(host.producer() & 31);
	entry.input_address = host.input();
	entry.input_length = sizeof(in);
	entry.output_address = 0x10;
	entry.output_length = sizeof(ohca_cmd_create_mkey_out);
	host.push_entry(entry);
	host.ring_commands();
	host.step();
	EXPECT_EQ(host.poll_completion()->status, OHCA_CMD_STATUS_DMA_FAULT);
	EXPECT_EQ(check(key, pd, buffer, 1, OHCA_ACCESS_LOCAL_WRITE), 0u);
}

// OHCA-MEM-D13
TEST_F(MkeyTest, RegionWithWindowsIsInUse)
{
	uint32_t key = create(region());
	context(key).window_count = 1;
	CommandResult result = host.destroy(OHCA_CMD_DESTROY_MKEY, key);
	EXPECT_EQ(result.status, OHCA_CMD_STATUS_IN_USE);
	EXPECT_EQ(result.detail, unsigned{OHCA_CMD_DETAIL_WINDOWS});
	modify_refused(change(key, OHCA_MKEY_MODIFY_ACCESS), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_WINDOWS);
	context(key).window_count = 0;
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_MKEY, key).ok());
}

} // namespace
} // namespace ohca::core::test
