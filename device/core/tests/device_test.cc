// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

using DeviceCommand = CommandTest;

TEST_F(DeviceCommand, QueryDeviceTellsLimits)
{
	ohca_cmd_query_device_out out;
	expect(host.query(OHCA_CMD_QUERY_DEVICE, out), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(out.features, OHCA_FEATURES_ALL);
	EXPECT_EQ(out.log_max_sq_depth, 15);
	EXPECT_EQ(out.log_max_rq_depth, 15);
	EXPECT_EQ(out.max_send_sge, 30);
	EXPECT_EQ(out.max_recv_sge, 30);
	EXPECT_EQ(out.max_inline, 1024u);
	EXPECT_EQ(out.max_message_size, 0x80000000u);
	EXPECT_EQ(out.max_read_atomic_initiator, 16);
	EXPECT_EQ(out.max_read_atomic_responder, 16);
	EXPECT_EQ(out.page_size_mask, ~uint64_t{0xfff});
	EXPECT_EQ(out.max_gid, 256u);
	EXPECT_EQ(out.max_uar, host.options().uar_count);
	EXPECT_EQ(out.core_clock_khz, 1'000'000u);
	EXPECT_EQ(out.counter_count, unsigned{OHCA_COUNTER_COUNT});
	EXPECT_EQ(out.device_clock_ns, host.now);
	// A maximal WQE fits the largest stride.
	EXPECT_LE(sizeof(ohca_sq_wqe) + out.max_inline, size_t{OHCA_SQ_STRIDE_MAX});
	EXPECT_LE(sizeof(ohca_rq_wqe) + out.max_recv_sge * sizeof(ohca_sge), size_t{OHCA_RQ_STRIDE_MAX});
}

TEST_F(DeviceCommand, SetPort)
{
	ohca_cmd_set_port_in in{};
	for (uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
		in.max_mtu = mtu;
		expect(host.command(OHCA_CMD_SET_PORT, in), OHCA_CMD_STATUS_OK);
		EXPECT_EQ(host.function().state().port_active, 0u);
	}
	for (uint32_t mtu : {0u, 128u, 1500u, 4095u, 8192u, 0x80000000u}) {
		in.max_mtu = mtu;
		expect(host.command(OHCA_CMD_SET_PORT, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	}
	in.max_mtu = 1024;
	in.active = 2;
	expect(host.command(OHCA_CMD_SET_PORT, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	in.active = 1;
	in.reserved_8[2] = 1;
	expect(host.command(OHCA_CMD_SET_PORT, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	EXPECT_EQ(host.function().state().port_max_mtu, 4096u); // the last good one
}

TEST_F(DeviceCommand, QueryCounters)
{
	uint64_t counters[OHCA_COUNTER_COUNT];
	host.function().count(OHCA_COUNTER_CQES, 17);
	expect(host.query(OHCA_CMD_QUERY_COUNTERS, counters), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(counters[OHCA_COUNTER_CQES], 17u);
	EXPECT_EQ(counters[OHCA_COUNTER_COMMANDS], 4u); // of bring_up(): 2 EQs, port, GID
}

TEST_F(DeviceCommand, SetGid)
{
	ohca_cmd_set_gid_in in{};
	in.gid[0] = 0xfe;
	in.index = 255;
	in.vlan_id = 4095;
	expect(host.command(OHCA_CMD_SET_GID, in), OHCA_CMD_STATUS_OK);
	EXPECT_TRUE(host.function().context().gid(255)->live);
	in.gid[0] = 0; // all zero: clears
	expect(host.command(OHCA_CMD_SET_GID, in), OHCA_CMD_STATUS_OK);
	EXPECT_FALSE(host.function().context().gid(255)->live);
	in.gid[15] = 1;
	in.index = 256;
	expect(host.command(OHCA_CMD_SET_GID, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_GID);
	in.index = 0xffffffff;
	expect(host.command(OHCA_CMD_SET_GID, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_GID);
	in.index = 1;
	in.vlan_id = 4096;
	expect(host.command(OHCA_CMD_SET_GID, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_GID);
	in.vlan_id = OHCA_VLAN_NONE;
	in.reserved_e0 = 1;
	expect(host.command(OHCA_CMD_SET_GID, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
}

} // namespace
} // namespace ohca::core::test
