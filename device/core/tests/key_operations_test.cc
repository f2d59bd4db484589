// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// mem/fast_registration.cc, mem/memory_window.cc, mem/invalidate.cc: what work requests do to keys.
#include "core/mem/fast_registration.hh"
#include "core/mem/invalidate.hh"
#include "core/mem/memory_window.hh"
#include "core/tests/command_test.hh"

#include <algorithm>
#include <span>

namespace ohca::core::test {
namespace {

constexpr uint32_t kBindable = OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_WINDOW_BIND;

struct KeyOperations : CommandTest {
	KeyOperations()
	{
		pd = host.create_pd();
		FakeCq cq = host.create_cq();
		FakeQpOptions options;
		options.pd = pd;
		options.send_cq = options.recv_cq = cq.cqn;
		qp = host.create_qp(options);
		other_qp = host.create_qp(options);
		options.pd = host.create_pd();
		stranger = host.create_qp(options);
		buffer = host.allocate(0x10000);
		list = host.allocate(0x1000);
	}
	QpContext &context(const FakeQp &of) { return *host.function().context().qp(of.qpn); }
	MkeyContext &mkey(uint32_t key) { return *host.function().context().mkey(key >> 8); }
	FunctionMemory &memory() { return host.function().memory(); }
	uint32_t create(uint8_t type, uint32_t entries = 0)
	{
		ohca_cmd_create_mkey_in in{};
		in.pd = pd;
		in.type = type;
		in.list_entry_max = entries;
		ohca_cmd_create_mkey_out out;
		FakeFunction::must(host.command(OHCA_CMD_CREATE_MKEY, in, out));
		return out.key;
	}
	uint32_t region(uint32_t access) { return host.register_memory(pd, buffer, 0x4000, access); }

	// --- fast registration ---
	ohca_wqe_register pages(std::initializer_list<uint64_t> addresses, uint64_t length, uint64_t offset = 0)
	{
		std::ranges::copy(std::as_bytes(std::span(addresses.begin(), addresses.size())), host.host(list));
		ohca_wqe_register request{};
		request.start = 0x7000'0000;
		request.length = length;
		request.list_address = list;
		request.first_page_offset = offset;
		request.entry_count = static_cast<uint32_t>(addresses.size());
		request.access = OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_READ;
		request.log_page_size = 12;
		return request;
	}
	ohca_wqe_register blocks(std::initializer_list<ohca_block> given, uint64_t length)
	{
		ohca_wqe_register request = pages({}, length);
		std::ranges::copy(std::as_bytes(std::span(given.begin(), given.size())), host.host(list));
		request.entry_count = static_cast<uint32_t>(given.size());
		request.log_page_size = 0;
		return request;
	}
	uint32_t reg(uint32_t key, const ohca_wqe_register &request)
	{
		return register_list(host.function(), pd, key, request);
	}
	void expect_bytes(uint32_t key, std::initializer_list<std::pair<uint64_t, uint64_t>> at)
	{
		for (auto [offset, address] : at)
			EXPECT_EQ(memory().bus_range(mkey(key), mkey(key).start + offset, 1).address, address) << offset;
	}

	// --- windows ---
	ohca_wqe_bind range(uint32_t lkey, uint64_t address, uint64_t length, uint32_t access = OHCA_ACCESS_REMOTE_READ)
	{
		ohca_wqe_bind request{};
		request.address = address;
		request.length = length;
		request.lkey = lkey;
		request.access = access;
		return request;
	}
	uint32_t bind(const FakeQp &by, uint32_t key, const ohca_wqe_bind &request)
	{
		return bind_window(host.function(), context(by), key, request);
	}
	uint32_t check(const FakeQp &at, uint32_t key, uint64_t address, uint64_t length, uint32_t access)
	{
		return memory().check_remote_key(key, context(at), address, length, access).vendor_error;
	}
	uint32_t invalidate(const FakeQp &by, uint32_t key) { return invalidate_key(host.function(), context(by), key); }

	FakeQp qp, other_qp, stranger;
	uint32_t pd = 0;
	uint64_t buffer = 0;
	uint64_t list = 0;
};

// OHCA-MEM-D18
TEST_F(KeyOperations, RegistersPagesAnywhere)
{
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 16) | 0x55;
	EXPECT_EQ(reg(key, pages({buffer + 0x3000, buffer, buffer + 0x1000}, 0x2800, 0x800)), 0u);
	EXPECT_EQ(memory().check_key(key, pd, 0x7000'0000, 0x2800, OHCA_ACCESS_LOCAL_WRITE).vendor_error, 0u);
	EXPECT_EQ(check(qp, key, 0x7000'0000, 0x2801, OHCA_ACCESS_REMOTE_READ), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	EXPECT_EQ(check(qp, key, 0x7000'0000, 1, OHCA_ACCESS_REMOTE_WRITE), unsigned{OHCA_VENDOR_ERROR_KEY_ACCESS});
	EXPECT_EQ(check(stranger, key, 0x7000'0000, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
	expect_bytes(key, {{0, buffer + 0x3800}, {0x7ff, buffer + 0x3fff}, {0x800, buffer}, {0x27ff, buffer + 0x1fff}});
	EXPECT_EQ(host.counter(OHCA_COUNTER_REGISTRATIONS), 1u);
}

// OHCA-MEM-D18 OHCA-MEM-D22
TEST_F(KeyOperations, RegistrationAllocatesNothing)
{
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 512);
	uint64_t bytes = host.function().context().block_bytes_in_use();
	for (uint32_t round = 0; round < 1000; round++) {
		key = (key & ~0xffu) | (round & 0xff);
		ASSERT_EQ(reg(key, round % 2 ? pages({buffer, buffer + 0x2000}, 0x2000)
					     : pages({buffer, buffer + 0x1000}, 0x2000)),
			  0u);
		EXPECT_EQ(mkey(key).pages.contiguous, round % 2 == 0);
		ASSERT_EQ(invalidate(qp, key), 0u);
	}
	EXPECT_EQ(host.function().context().block_bytes_in_use(), bytes);
	EXPECT_EQ(host.counter(OHCA_COUNTER_INVALIDATIONS), 1000u);
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_MKEY, key).ok());
}

// OHCA-MEM-D18
TEST_F(KeyOperations, RegistersLargePagesAndFromZero)
{
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 4);
	ohca_wqe_register request = pages({uint64_t{1} << 40, uint64_t{7} << 40}, 0x1000, (uint64_t{1} << 40) - 0x800);
	request.log_page_size = 40;
	request.access |= OHCA_ACCESS_ZERO_BASED;
	ASSERT_EQ(reg(key, request), 0u);
	EXPECT_EQ(mkey(key).start, 0u);
	expect_bytes(key, {{0, (uint64_t{2} << 40) - 0x800}, {0x800, uint64_t{7} << 40}});
	EXPECT_EQ(check(qp, key, 0, 0x1000, 0), 0u);
	EXPECT_EQ(check(qp, key, 0x7000'0000, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
}

// OHCA-MEM-D18
TEST_F(KeyOperations, RegistersBlocksOfAnyLength)
{
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 16);
	ASSERT_EQ(reg(key, blocks({{buffer + 1, 3}, {buffer + 100, 1000}, {buffer + 1100, 50}, {buffer, 1}}, 1054)), 0u);
	expect_bytes(key, {{0, buffer + 1}, {2, buffer + 3}, {3, buffer + 100}, {1002, buffer + 1099},
			   {1003, buffer + 1100}, {1052, buffer + 1149}, {1053, buffer}});
	// Neighbours on the bus are one piece.
	EXPECT_EQ(memory().bus_range(mkey(key), 0x7000'0003, 5000).length, 1050u);
	EXPECT_EQ(memory().bus_range(mkey(key), 0x7000'0000, 5000).length, 3u);
	EXPECT_EQ(memory().bus_range(mkey(key), 0x7000'0000 + 1054, 1).length, 0u);
}

// OHCA-MEM-D18
TEST_F(KeyOperations, RefusesRegistrations)
{
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 3);
	auto refused = [&](ohca_wqe_register request, auto change, uint32_t error) {
		change(request);
		EXPECT_EQ(reg(key, request), error);
		EXPECT_EQ(check(qp, key, 0x7000'0000, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	};
	auto good = [&] { return pages({buffer, buffer + 0x2000}, 0x2000); };
	refused(good(), [](auto &r) { r.entry_count = 4; }, OHCA_VENDOR_ERROR_LENGTH);
	refused(good(), [](auto &r) { r.length = 0x2001; }, OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(good(), [](auto &r) { r.first_page_offset = 1; }, OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(good(), [](auto &r) { r.first_page_offset = 0x1000; }, OHCA_VENDOR_ERROR_ALIGNMENT);
	refused(good(), [](auto &r) { r.length = uint64_t{0} - 1; }, OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(good(), [](auto &r) { r.start = uint64_t{0} - 0x1000; }, OHCA_VENDOR_ERROR_KEY_RANGE);
	for (uint8_t size : {uint8_t{1}, uint8_t{11}, uint8_t{64}, uint8_t{255}})
		refused(good(), [=](auto &r) { r.log_page_size = size; }, OHCA_VENDOR_ERROR_FLAGS);
	refused(good(), [](auto &r) { r.list_address = 0x10; }, OHCA_VENDOR_ERROR_DMA);
	refused(good(), [](auto &r) { r.access = OHCA_ACCESS_REMOTE_WRITE; }, OHCA_VENDOR_ERROR_KEY_ACCESS);
	refused(good(), [](auto &r) { r.access = OHCA_ACCESS_FLUSH_PERSISTENT; }, OHCA_VENDOR_ERROR_KEY_ACCESS);
	refused(good(), [](auto &r) { r.access = 0x40; }, OHCA_VENDOR_ERROR_KEY_ACCESS);
	refused(pages({buffer, buffer + 0x800}, 0x2000), [](auto &) {}, OHCA_VENDOR_ERROR_ALIGNMENT);
	refused(blocks({{buffer, 8}}, 9), [](auto &) {}, OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(blocks({{buffer, 8}, {buffer, 0}}, 8), [](auto &) {}, OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(blocks({{buffer, ~uint64_t{0}}, {buffer, 2}}, 8), [](auto &) {}, OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(blocks({{~uint64_t{0}, 2}}, 1), [](auto &) {}, OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(blocks({{buffer, 8}}, 8), [](auto &r) { r.first_page_offset = 1; }, OHCA_VENDOR_ERROR_FLAGS);
	EXPECT_EQ(register_list(host.function(), context(stranger).pd, key, good()), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
	EXPECT_EQ(reg(create(OHCA_MKEY_TYPE_WINDOW_1), good()), unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
	EXPECT_EQ(reg(region(kBindable), good()), unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
	EXPECT_EQ(reg(0xffffff00, good()), unsigned{OHCA_VENDOR_ERROR_KEY_INDEX});
	ASSERT_EQ(reg(key, good()), 0u);
	EXPECT_EQ(reg(key, good()), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
	host.function().state().features &= ~OHCA_FEATURE_SG_GAPS;
	ASSERT_EQ(invalidate(qp, key), 0u);
	refused(blocks({{buffer, 8}}, 8), [](auto &) {}, OHCA_VENDOR_ERROR_FLAGS);
}

// OHCA-MEM-D16 OHCA-MEM-D17
TEST_F(KeyOperations, WindowOfType1)
{
	uint32_t key = region(kBindable);
	uint32_t window = create(OHCA_MKEY_TYPE_WINDOW_1) | 0x10;
	ASSERT_EQ(bind(qp, window, range(key, buffer + 0x100, 0x200)), 0u);
	EXPECT_EQ(mkey(key).window_count, 1u);
	// It belongs to the PD: any queue pair of it may be addressed with it.
	for (const FakeQp *at : {&qp, &other_qp})
		EXPECT_EQ(check(*at, window, buffer + 0x100, 0x200, OHCA_ACCESS_REMOTE_READ), 0u);
	EXPECT_EQ(check(stranger, window, buffer + 0x100, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
	EXPECT_EQ(check(qp, window, buffer + 0x100, 1, OHCA_ACCESS_REMOTE_WRITE), unsigned{OHCA_VENDOR_ERROR_KEY_ACCESS});
	EXPECT_EQ(check(qp, window, buffer + 0xff, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	EXPECT_EQ(check(qp, window, buffer + 0x100, 0x201, 0), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	EXPECT_EQ(memory().bus_range(mkey(window), buffer + 0x180, 0x1000).address, buffer + 0x180);
	EXPECT_EQ(memory().bus_range(mkey(window), buffer + 0x180, 0x1000).length, 0x180u);
	// Never as an lkey.
	EXPECT_EQ(memory().check_key(window, pd, buffer + 0x100, 1, 0).vendor_error, unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
	// Bound anew, by another queue pair, to another region; the old key is dead.
	uint32_t second = region(kBindable);
	ASSERT_EQ(bind(other_qp, window + 1, range(second, buffer, 0x10, OHCA_ACCESS_REMOTE_WRITE)), 0u);
	EXPECT_EQ(mkey(key).window_count, 0u);
	EXPECT_EQ(mkey(second).window_count, 1u);
	EXPECT_EQ(check(qp, window, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(check(qp, window + 1, buffer, 16, OHCA_ACCESS_REMOTE_WRITE), 0u);
	// Length 0 unbinds; again it is no error.
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(bind(qp, window + 2, range(0, 0, 0)), 0u);
		EXPECT_EQ(mkey(second).window_count, 0u);
		EXPECT_EQ(check(qp, window + 2, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	}
	EXPECT_EQ(invalidate(qp, window + 2), unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
}

// OHCA-MEM-D16 OHCA-MEM-D17 OHCA-MEM-D20
TEST_F(KeyOperations, WindowsOfType2BBelongToTheirQueuePair)
{
	uint32_t key = region(kBindable);
	uint32_t windows[4];
	for (uint32_t &window : windows) {
		window = create(OHCA_MKEY_TYPE_WINDOW_2B) | 0x20;
		ASSERT_EQ(bind(qp, window, range(key, buffer, 0x100)), 0u);
		EXPECT_EQ(check(qp, window, buffer, 0x100, OHCA_ACCESS_REMOTE_READ), 0u);
		EXPECT_EQ(check(other_qp, window, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_QP});
		EXPECT_EQ(check(stranger, window, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
		EXPECT_EQ(bind(qp, window + 1, range(key, buffer, 0x100)), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
		EXPECT_EQ(invalidate(other_qp, window), unsigned{OHCA_VENDOR_ERROR_KEY_QP});
		EXPECT_EQ(bind(qp, window, range(0, 0, 0)), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
	}
	EXPECT_EQ(mkey(key).window_count, 4u);
	EXPECT_EQ(host.destroy(OHCA_CMD_DESTROY_MKEY, key).detail, unsigned{OHCA_CMD_DETAIL_WINDOWS});
	// One from the middle of the list is invalidated, one destroyed, the rest end with the queue pair.
	EXPECT_EQ(invalidate(qp, windows[1]), 0u);
	EXPECT_EQ(check(qp, windows[1], buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(invalidate(qp, windows[1]), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_MKEY, windows[2]).ok());
	EXPECT_EQ(mkey(key).window_count, 2u);
	ASSERT_EQ(bind(other_qp, windows[1] + 1, range(key, buffer, 0x100)), 0u);
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn).ok());
	EXPECT_EQ(mkey(key).window_count, 1u);
	EXPECT_EQ(check(other_qp, windows[1] + 1, buffer, 1, 0), 0u);
	FakeFunction::must(host.to_init(other_qp.qpn));
	FakeFunction::must(host.modify(other_qp.qpn, OHCA_QP_STATE_RESET, 0));
	EXPECT_EQ(mkey(key).window_count, 0u);
	EXPECT_EQ(check(other_qp, windows[1] + 1, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_MKEY, key).ok());
}

// OHCA-MEM-D17
TEST_F(KeyOperations, ZeroBasedWindow)
{
	uint32_t key = region(kBindable);
	uint32_t window = create(OHCA_MKEY_TYPE_WINDOW_2B);
	ASSERT_EQ(bind(qp, window, range(key, buffer + 0x123, 0x100, OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_ZERO_BASED)), 0u);
	EXPECT_EQ(check(qp, window, 0, 0x100, OHCA_ACCESS_REMOTE_READ), 0u);
	EXPECT_EQ(check(qp, window, 0, 0x101, 0), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	EXPECT_EQ(memory().bus_range(mkey(window), 0x10, 1).address, buffer + 0x133);
}

// OHCA-MEM-D17
TEST_F(KeyOperations, RefusesBinds)
{
	uint32_t key = region(kBindable);
	uint32_t window = create(OHCA_MKEY_TYPE_WINDOW_1);
	auto refused = [&](const ohca_wqe_bind &request, uint32_t error) {
		EXPECT_EQ(bind(qp, window, request), error);
		EXPECT_EQ(check(qp, window, buffer, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
		EXPECT_EQ(mkey(key).window_count, 0u);
	};
	refused(range(region(OHCA_ACCESS_LOCAL_WRITE), buffer, 1), OHCA_VENDOR_ERROR_KEY_ACCESS);
	for (int access : {OHCA_ACCESS_REMOTE_WRITE, OHCA_ACCESS_REMOTE_ATOMIC})
		refused(range(region(OHCA_ACCESS_WINDOW_BIND), buffer, 1, static_cast<uint32_t>(access)), OHCA_VENDOR_ERROR_KEY_ACCESS);
	for (int access : {OHCA_ACCESS_LOCAL_WRITE, OHCA_ACCESS_WINDOW_BIND, OHCA_ACCESS_FLUSH_PERSISTENT, 0x40})
		refused(range(key, buffer, 1, static_cast<uint32_t>(access)), OHCA_VENDOR_ERROR_KEY_ACCESS);
	refused(range(key, buffer - 1, 2), OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(range(key, buffer, 0x4001), OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(range(key, buffer + 0x3fff, ~uint64_t{0}), OHCA_VENDOR_ERROR_KEY_RANGE);
	refused(range(key ^ 1, buffer, 1), OHCA_VENDOR_ERROR_KEY_STALE);
	refused(range(0xffffff00, buffer, 1), OHCA_VENDOR_ERROR_KEY_INDEX);
	refused(range(window, buffer, 1), OHCA_VENDOR_ERROR_KEY_STALE);
	ohca_cmd_create_mkey_in in = FakeFunction::mkey_request(pd, {}, 0, 0, kBindable);
	in.flags = OHCA_MKEY_LINEAR;
	ohca_cmd_create_mkey_out linear;
	FakeFunction::must(host.command(OHCA_CMD_CREATE_MKEY, in, linear));
	refused(range(linear.key, buffer, 1), OHCA_VENDOR_ERROR_KEY_TYPE);
	EXPECT_EQ(bind(stranger, window, range(key, buffer, 1)), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
	uint32_t foreign = host.register_memory(context(stranger).pd, buffer, 0x1000, kBindable);
	refused(range(foreign, buffer, 1), OHCA_VENDOR_ERROR_KEY_PD);
	EXPECT_EQ(bind(qp, key, range(key, buffer, 1)), unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
	EXPECT_EQ(bind(qp, 0xffffff00, range(key, buffer, 1)), unsigned{OHCA_VENDOR_ERROR_KEY_INDEX});
	EXPECT_EQ(bind(qp, create(OHCA_MKEY_TYPE_WINDOW_2B), range(key, buffer, 0)), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	// A window that is bound stays so if it cannot be bound anew.
	ASSERT_EQ(bind(qp, window, range(key, buffer, 1)), 0u);
	EXPECT_NE(bind(qp, window + 1, range(key, buffer, 0x4001)), 0u);
	EXPECT_EQ(check(qp, window, buffer, 1, OHCA_ACCESS_REMOTE_READ), 0u);
}

// OHCA-MEM-D19
TEST_F(KeyOperations, Invalidates)
{
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 4) | 3;
	EXPECT_EQ(invalidate(qp, key), unsigned{OHCA_VENDOR_ERROR_KEY_STALE}); // still has its first key
	EXPECT_EQ(invalidate(qp, key & ~0xffu), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
	ohca_wqe_register request = pages({buffer}, 0x1000);
	request.access = kBindable;
	ASSERT_EQ(reg(key, request), 0u);
	EXPECT_EQ(invalidate(stranger, key), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
	EXPECT_EQ(invalidate(qp, key ^ 1), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(invalidate(qp, 0xffffff00), unsigned{OHCA_VENDOR_ERROR_KEY_INDEX});
	uint32_t window = create(OHCA_MKEY_TYPE_WINDOW_2B);
	ASSERT_EQ(bind(qp, window, range(key, 0x7000'0000, 0x10)), 0u);
	EXPECT_EQ(memory().bus_range(mkey(window), 0x7000'0001, 1).address, buffer + 1);
	EXPECT_EQ(invalidate(qp, key), unsigned{OHCA_VENDOR_ERROR_KEY_BOUND});
	EXPECT_EQ(invalidate(qp, window), 0u);
	EXPECT_EQ(invalidate(qp, key), 0u);
	EXPECT_EQ(check(qp, key, 0x7000'0000, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(invalidate(qp, key), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
	EXPECT_EQ(invalidate(qp, region(kBindable)), unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
	ASSERT_EQ(reg(key + 1, request), 0u); // and used again
	EXPECT_EQ(check(qp, key, 0x7000'0000, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(check(qp, key + 1, 0x7000'0000, 1, 0), 0u);
}

// OHCA-MEM-D25
TEST_F(KeyOperations, CommandMakesKeysFree)
{
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 3) | 0x21;
	ASSERT_EQ(reg(key, pages({buffer, buffer + 0x2000}, 0x2000)), 0u);
	ASSERT_EQ(check(qp, key, 0x7000'0000, 1, 0), 0u);
	// The driver does not know the consumer key.
	expect(host.destroy(OHCA_CMD_INVALIDATE_MKEY, key & ~0xffu), OHCA_CMD_STATUS_OK);
	EXPECT_NE(check(qp, key, 0x7000'0000, 1, 0), 0u);
	EXPECT_EQ(host.counter(OHCA_COUNTER_INVALIDATIONS), 1u);
	expect(host.destroy(OHCA_CMD_INVALIDATE_MKEY, key), OHCA_CMD_STATUS_OK); // is free
	EXPECT_EQ(host.counter(OHCA_COUNTER_INVALIDATIONS), 1u);
	EXPECT_EQ(reg(key, pages({buffer, buffer + 0x2000}, 0x2000)), 0u);

	uint32_t target = region(kBindable | OHCA_ACCESS_REMOTE_READ);
	uint32_t window = create(OHCA_MKEY_TYPE_WINDOW_2B) | 0x11;
	ASSERT_EQ(bind(qp, window, range(target, buffer, 0x1000)), 0u);
	EXPECT_EQ(mkey(target).window_count, 1u);
	expect(host.destroy(OHCA_CMD_INVALIDATE_MKEY, window), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(mkey(target).window_count, 0u);
	EXPECT_EQ(context(qp).window_head, 0u);
}

// OHCA-CMD-D14
TEST_F(KeyOperations, CommandRefusesToInvalidate)
{
	expect(host.destroy(OHCA_CMD_INVALIDATE_MKEY, 0xffffff00), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_KEY);
	expect(host.destroy(OHCA_CMD_INVALIDATE_MKEY, region(kBindable)), OHCA_CMD_STATUS_BAD_PARAMETER,
	       OHCA_CMD_DETAIL_TYPE);
	uint32_t key = create(OHCA_MKEY_TYPE_FAST_REGION, 3);
	mkey(key).window_count = 1;
	expect(host.destroy(OHCA_CMD_INVALIDATE_MKEY, key), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_WINDOWS);
	mkey(key).window_count = 0;
	host.function().state().features &= ~OHCA_FEATURE_RECYCLE;
	expect(host.destroy(OHCA_CMD_INVALIDATE_MKEY, key), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
}

} // namespace
} // namespace ohca::core::test
