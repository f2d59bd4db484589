// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// cmd/eq.cc, uar.cc, pd.cc, mkey.cc, cq.cc.
#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

using EqCommand = CommandTest;
using UarCommand = CommandTest;
using PdCommand = CommandTest;
using MkeyCommand = CommandTest;
using CqCommand = CommandTest;

ohca_cmd_create_eq_in eq_request(FakeFunction &host)
{
	ohca_cmd_create_eq_in in{};
	in.pages = host.contiguous(host.allocate(4096), 4096);
	in.log_depth = 4;
	in.type = OHCA_EQ_COMPLETION;
	return in;
}

TEST_F(EqCommand, Refusals)
{
	auto refused = [this](auto change, uint8_t status, uint32_t detail) {
		ohca_cmd_create_eq_in in = eq_request(host);
		change(in);
		expect_refused<ohca_cmd_handle>(OHCA_CMD_CREATE_EQ, in, status, detail);
	};
	refused([](auto &in) { in.type = 2; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_TYPE);
	refused([](auto &in) { in.type = OHCA_EQ_ASYNC; }, OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_EQ);
	refused([](auto &in) { in.log_depth = kLogEqDepthMax + 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	refused([](auto &in) { in.log_depth = 255; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	refused([](auto &in) { in.vector = 8; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_EQ);
	refused([](auto &in) { in.vector = 0xffff; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_EQ);
	refused([](auto &in) { in.reserved_e0 = 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	refused([](auto &in) { in.log_depth = 8; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	refused([](auto &in) { in.pages.first_page_offset = 32; }, OHCA_CMD_STATUS_BAD_PARAMETER,
		OHCA_CMD_DETAIL_PAGE_LIST);
}

TEST_F(EqCommand, FillsTheTable)
{
	ohca_cmd_create_eq_in in = eq_request(host);
	ohca_cmd_handle out;
	for (int i = 0; i < 62; i++)
		expect(host.command(OHCA_CMD_CREATE_EQ, in, out), OHCA_CMD_STATUS_OK);
	expect_refused<ohca_cmd_handle>(OHCA_CMD_CREATE_EQ, in, OHCA_CMD_STATUS_NO_RESOURCES, OHCA_CMD_DETAIL_EQ);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, out.handle), OHCA_CMD_STATUS_OK);
	expect(host.command(OHCA_CMD_CREATE_EQ, in, out), OHCA_CMD_STATUS_OK);
}

TEST_F(EqCommand, DestroyInOrder) // OHCA-CMD-D11
{
	FakeCq cq = host.create_cq();
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, 0), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_EQ);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, 77), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_EQ);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, 0xffffffff), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_EQ);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, host.completion_eq.handle), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_EQ);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, host.async_eq.handle), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_EQ);
	expect(host.destroy(OHCA_CMD_DESTROY_CQ, cq.cqn), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, host.completion_eq.handle), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, host.async_eq.handle), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, host.async_eq.handle), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_EQ);
	// And again.
	host.async_eq = host.create_eq(OHCA_EQ_ASYNC, 0);
}

TEST_F(EqCommand, MustExistFirst) // OHCA-EQ-D8
{
	expect(host.destroy(OHCA_CMD_DESTROY_EQ, host.async_eq.handle), OHCA_CMD_STATUS_OK);
	uint32_t pd = host.create_pd();
	ohca_cmd_create_cq_in cq{};
	cq.pages = host.contiguous(host.allocate(8192), 8192);
	cq.eq = host.completion_eq.handle;
	expect_refused<ohca_cmd_handle>(OHCA_CMD_CREATE_CQ, cq, OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_EQ);
	ohca_cmd_create_mkey_in key = FakeFunction::mkey_request(pd, {}, 0, 0);
	expect_refused<ohca_cmd_create_mkey_out>(OHCA_CMD_CREATE_MKEY, key, OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_EQ);
	ohca_cmd_create_qp_in qp{};
	qp.type = OHCA_QP_TYPE_RC;
	expect_refused<ohca_cmd_create_qp_out>(OHCA_CMD_CREATE_QP, qp, OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_EQ);
}

// OHCA-GEN-D2
TEST_F(EqCommand, RefusesReservedInHandles)
{
	ohca_cmd_handle in{};
	in.handle = 1;
	in.reserved_20 = 1;
	for (uint16_t opcode : std::initializer_list<uint16_t>{OHCA_CMD_DESTROY_EQ, OHCA_CMD_DESTROY_UAR, OHCA_CMD_DESTROY_PD, OHCA_CMD_DESTROY_MKEY,
				OHCA_CMD_DESTROY_CQ, OHCA_CMD_DESTROY_QP})
		expect(host.command(opcode, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
}

TEST_F(UarCommand, PagesAreZeroedAndCounted) // OHCA-DB-D6
{
	std::memset(static_cast<void *>(&host.uar(1)), 0xaa, OHCA_UAR_SIZE);
	EXPECT_EQ(host.create_uar(), 1u);
	EXPECT_EQ(host.uar(1).notify[5], 0u);
	EXPECT_EQ(host.uar(1).device_state, 0u); // RUNNING is for the driver to write
	for (uint32_t i = 2; i < 64; i++)
		EXPECT_EQ(host.create_uar(), i);
	ohca_cmd_handle out;
	expect(host.query(OHCA_CMD_CREATE_UAR, out), OHCA_CMD_STATUS_NO_RESOURCES, OHCA_CMD_DETAIL_UAR);
	EXPECT_EQ(host.function().live_uars().size(), 64u);
	expect(host.destroy(OHCA_CMD_DESTROY_UAR, 30), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(host.function().live_uars().size(), 63u);
	EXPECT_EQ(host.create_uar(), 30u);
}

TEST_F(UarCommand, DestroyRefusals)
{
	expect(host.destroy(OHCA_CMD_DESTROY_UAR, 0), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_UAR);
	expect(host.destroy(OHCA_CMD_DESTROY_UAR, 5), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_UAR);
	expect(host.destroy(OHCA_CMD_DESTROY_UAR, 0xffffffff), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_UAR);
}

// OHCA-CMD-D11
TEST_F(PdCommand, InUseByAKey)
{
	uint32_t pd = host.create_pd();
	uint32_t key = host.register_memory(pd, host.allocate(4096), 4096);
	expect(host.destroy(OHCA_CMD_DESTROY_PD, pd), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_PD);
	expect(host.destroy(OHCA_CMD_DESTROY_MKEY, key), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_PD, pd), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_PD, pd), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_PD);
}

TEST_F(MkeyCommand, Refusals)
{
	uint32_t pd = host.create_pd();
	uint64_t buffer = host.allocate(8192);
	auto refused = [&](auto change, uint8_t status, uint32_t detail) {
		ohca_cmd_create_mkey_in in = FakeFunction::mkey_request(pd, host.contiguous(buffer, 8192), buffer, 8192);
		change(in);
		expect_refused<ohca_cmd_create_mkey_out>(OHCA_CMD_CREATE_MKEY, in, status, detail);
	};
	refused([](auto &in) { in.flags = 2; }, OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_NONE);
	refused([](auto &in) { in.flags = 0x80; }, OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_NONE);
	refused([](auto &in) { in.reserved_198 = 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	refused([](auto &in) { in.list_entry_max = 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	refused([](auto &in) { in.access = OHCA_ACCESS_ZERO_BASED; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ACCESS);
	refused([](auto &in) { in.access = OHCA_ACCESS_REMOTE_WRITE; }, OHCA_CMD_STATUS_BAD_PARAMETER,
		OHCA_CMD_DETAIL_ACCESS);
	refused([](auto &in) { in.access = OHCA_ACCESS_REMOTE_ATOMIC; }, OHCA_CMD_STATUS_BAD_PARAMETER,
		OHCA_CMD_DETAIL_ACCESS);
	refused([](auto &in) { in.pd = 99; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_PD);
	refused([](auto &in) { in.pd = 0; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_PD);
	refused([](auto &in) { in.length = kMrSizeMax + 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_LENGTH);
	refused([](auto &in) { in.start = UINT64_MAX - 8190; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_LENGTH);
	refused([](auto &in) { in.length = 8193; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	refused([](auto &in) { in.pages.first_page_offset = 1; }, OHCA_CMD_STATUS_BAD_PARAMETER,
		OHCA_CMD_DETAIL_PAGE_LIST);
}

// OHCA-REG-D10
TEST_F(MkeyCommand, AtomicAccessNeedsTheFeature)
{
	uint32_t pd = host.create_pd();
	host.function().state().features = OHCA_FEATURE_RC;
	ohca_cmd_create_mkey_in in = FakeFunction::mkey_request(pd, {}, 0, 0);
	expect_refused<ohca_cmd_create_mkey_out>(OHCA_CMD_CREATE_MKEY, in, OHCA_CMD_STATUS_UNSUPPORTED,
						 OHCA_CMD_DETAIL_ACCESS);
}

TEST_F(MkeyCommand, EdgesOfTheAddressSpace)
{
	uint32_t pd = host.create_pd();
	uint64_t buffer = host.allocate(8192);
	ohca_cmd_create_mkey_out out;
	// Ends at the last address there is.
	auto in = FakeFunction::mkey_request(pd, host.contiguous(buffer, 8192), UINT64_MAX - 8191, 8192);
	expect(host.command(OHCA_CMD_CREATE_MKEY, in, out), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(out.key & 0xff, 0x42u);
	EXPECT_NE(out.key >> 8, 0u);
	// Empty: the page list is not looked at.
	in = FakeFunction::mkey_request(pd, {}, 0x1000, 0);
	expect(host.command(OHCA_CMD_CREATE_MKEY, in, out), OHCA_CMD_STATUS_OK);
	// Access 0 is local read.
	in = FakeFunction::mkey_request(pd, host.contiguous(buffer, 8192), 0, 8192, 0);
	expect(host.command(OHCA_CMD_CREATE_MKEY, in, out), OHCA_CMD_STATUS_OK);
}

TEST_F(MkeyCommand, DestroyNamesTheWholeKey)
{
	uint32_t pd = host.create_pd();
	uint32_t key = host.register_memory(pd, host.allocate(4096), 4096);
	expect(host.destroy(OHCA_CMD_DESTROY_MKEY, key ^ 1), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_KEY);
	expect(host.destroy(OHCA_CMD_DESTROY_MKEY, key + 0x100), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_KEY);
	expect(host.destroy(OHCA_CMD_DESTROY_MKEY, 0xffffffff), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_KEY);
	expect(host.destroy(OHCA_CMD_DESTROY_MKEY, key), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_MKEY, key), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_KEY);
}

TEST_F(CqCommand, Refusals)
{
	auto refused = [&](auto change, uint8_t status, uint32_t detail) {
		ohca_cmd_create_cq_in in{};
		in.pages = host.contiguous(host.allocate(8192), 8192);
		in.eq = host.completion_eq.handle;
		in.log_depth = 6;
		change(in);
		expect_refused<ohca_cmd_handle>(OHCA_CMD_CREATE_CQ, in, status, detail);
	};
	refused([](auto &in) { in.flags = 2; }, OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_NONE);
	refused([](auto &in) { in.reserved_f0 = 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	refused([](auto &in) { in.eq = 0; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_EQ);
	refused([](auto &in) { in.eq = 50; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_EQ);
	refused([&](auto &in) { in.eq = host.async_eq.handle; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_EQ);
	refused([](auto &in) { in.log_depth = kLogCqDepthMax + 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	refused([](auto &in) { in.log_depth = 7; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	// 64 + 64 * 64 bytes: one page is not enough.
	refused([](auto &in) { in.pages.page_count = 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
}

// OHCA-CMD-D11
TEST_F(CqCommand, InUseByAQueuePair)
{
	FakeCq send = host.create_cq();
	FakeCq recv = host.create_cq();
	FakeQpOptions options;
	options.pd = host.create_pd();
	options.send_cq = send.cqn;
	options.recv_cq = recv.cqn;
	FakeQp qp = host.create_qp(options);
	expect(host.destroy(OHCA_CMD_DESTROY_CQ, send.cqn), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_CQ);
	expect(host.destroy(OHCA_CMD_DESTROY_CQ, recv.cqn), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_CQ);
	expect(host.destroy(OHCA_CMD_DESTROY_PD, options.pd), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_PD);
	expect(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_CQ, send.cqn), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_CQ, recv.cqn), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_CQ, recv.cqn), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_CQ);
	expect(host.destroy(OHCA_CMD_DESTROY_PD, options.pd), OHCA_CMD_STATUS_OK);
}

} // namespace
} // namespace ohca::core::test
