// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Multicast: cmd/multicast.cc, and delivery between functions.
#include "core/tests/datagram_test.hh"

namespace ohca::core::test {
namespace {

struct Multicast : DatagramTest {
	Multicast() : DatagramTest(3) {}

	static ohca_cmd_multicast_in request(uint32_t qpn, uint8_t group = 1)
	{
		ohca_cmd_multicast_in in{};
		in.qpn = qpn;
		in.gid[0] = 0xff;
		in.gid[1] = 0x0e;
		in.gid[15] = group;
		return in;
	}
	static CommandResult attach(DatagramQp &it, uint8_t group = 1)
	{
		return it.qp.host->command(OHCA_CMD_ATTACH_MULTICAST, request(it.qp.qpn, group));
	}
	static CommandResult detach(DatagramQp &it, uint8_t group = 1)
	{
		return it.qp.host->command(OHCA_CMD_DETACH_MULTICAST, request(it.qp.qpn, group));
	}
	ohca_wqe_datagram group_address(const DatagramQp &from, uint8_t group = 1)
	{
		ohca_wqe_datagram to = address(from, from);
		to.remote_qpn = OHCA_QPN_MULTICAST;
		std::memcpy(to.dgid, request(0, group).gid, sizeof(to.dgid));
		return to;
	}
	uint32_t received(uint32_t function)
	{
		uint32_t count = 0;
		while (std::optional<ohca_cqe> cqe = poll(function))
			count += (cqe->flags & OHCA_CQE_RECEIVE) != 0;
		return count;
	}
	static void expect(CommandResult result, uint8_t status, uint32_t detail = OHCA_CMD_DETAIL_NONE)
	{
		EXPECT_EQ(int{result.status}, int{status});
		EXPECT_EQ(result.detail, detail);
	}
};

// OHCA-MC-D1 OHCA-MC-D2
TEST_F(Multicast, EachAttachedQueuePairGetsACopy)
{
	DatagramQp sender = ready(0);
	std::vector<DatagramQp> members;
	for (uint32_t i = 0; i < 9; i++) {
		members.push_back(ready(i % 3));
		members[i].post_receive(i, 200);
		FakeFunction::must(attach(members[i]));
	}
	DatagramQp stranger = ready(1);
	stranger.post_receive(1, 200);
	FakeFunction::must(attach(stranger, 2));
	std::memset(sender.at(0), 0x77, 100);
	post(sender, group_address(sender), 100, header(OHCA_WR_SEND, 0));
	net.run();
	for (uint32_t function = 0; function < 3; function++) {
		EXPECT_EQ(received(function), 3u);
		EXPECT_EQ(net[function].counter(OHCA_COUNTER_MULTICAST_RECEIVED), 3u);
	}
	for (DatagramQp &it : members) {
		EXPECT_EQ(it.at(DatagramQp::kReceive + 40 + 99)[0], std::byte{0x77});
		EXPECT_EQ(it.at(DatagramQp::kReceive + 24)[0], std::byte{0xff}); // GRH: the group
	}
}

// OHCA-MC-D3
TEST_F(Multicast, OwnCopiesUnlessBlocked)
{
	DatagramQp sender = ready(0);
	DatagramQp blocked = ready(0, OHCA_QP_TYPE_UD, OHCA_QP_BLOCK_MULTICAST_LOOPBACK);
	DatagramQp elsewhere = ready(1, OHCA_QP_TYPE_UD, OHCA_QP_BLOCK_MULTICAST_LOOPBACK);
	for (DatagramQp *it : {&sender, &blocked, &elsewhere}) {
		it->post_receive(it->qp.qpn, 200);
		FakeFunction::must(attach(*it));
	}
	post(sender, group_address(sender), 8, header(OHCA_WR_SEND, 0));
	net.run();
	std::optional<ohca_cqe> cqe = poll(0);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->qpn, sender.qp.qpn);
	EXPECT_FALSE(poll(0));
	EXPECT_EQ(received(1), 1u);
}

// OHCA-MC-D1
TEST_F(Multicast, QkeyAndStateAndPortOfEachReceiver)
{
	DatagramQp sender = ready(0);
	DatagramQp other_qkey = create(1);
	to_rts(other_qkey, kQkey + 1);
	DatagramQp not_ready = create(1);
	DatagramQp empty = ready(1);
	DatagramQp good = ready(1);
	DatagramQp down = ready(2);
	for (DatagramQp *it : {&other_qkey, &not_ready, &good, &down})
		it->post_receive(1, 200);
	for (DatagramQp *it : {&other_qkey, &not_ready, &empty, &good, &down})
		FakeFunction::must(attach(*it));
	ohca_cmd_set_port_in port{};
	port.max_mtu = 4096;
	FakeFunction::must(net[2].command(OHCA_CMD_SET_PORT, port));
	post(sender, group_address(sender), 8);
	net.run();
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->qpn, good.qp.qpn);
	EXPECT_FALSE(poll(1));
	EXPECT_FALSE(poll(2));
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_QKEY_VIOLATIONS), 1u);
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DATAGRAMS_DROPPED), 1u);
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_PACKETS_DROPPED), 1u);
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_MULTICAST_RECEIVED), 1u);
}

// OHCA-MC-D1: only functions that have an address in the sender's VLAN.
TEST_F(Multicast, StaysInItsVlan)
{
	auto set_gid = [this](uint32_t function, uint16_t vlan) {
		ohca_cmd_set_gid_in in{};
		in.gid[0] = 0xfd;
		in.gid[14] = 1;
		in.index = 2;
		in.vlan_id = vlan;
		FakeFunction::must(net[function].command(OHCA_CMD_SET_GID, in));
	};
	DatagramQp sender = ready(0);
	DatagramQp member = ready(1);
	member.post_receive(1, 200);
	FakeFunction::must(attach(member));
	set_gid(0, 7);
	ohca_wqe_datagram to = group_address(sender);
	to.sgid_index = 2;
	post(sender, to, 8);
	net.run();
	EXPECT_EQ(received(1), 0u);
	set_gid(1, 7);
	post(sender, to, 8);
	net.run();
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->vlan_id, 7u);
}

// OHCA-MC-D4 OHCA-CMD-D11
TEST_F(Multicast, AttachAndDetach)
{
	DatagramQp it = ready(0);
	FakeFunction &host = net[0];
	FakeFunction::must(attach(it));
	FakeFunction::must(attach(it)); // counts once
	FakeFunction::must(attach(it, 2));
	expect(host.destroy(OHCA_CMD_DESTROY_QP, it.qp.qpn), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_QP);
	FakeFunction::must(detach(it));
	expect(detach(it), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_GID);
	expect(detach(it, 3), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_GID);
	it.post_receive(1, 100);
	post(it, group_address(it), 8, header(OHCA_WR_SEND, 0));
	net.run();
	EXPECT_EQ(received(0), 0u);
	FakeFunction::must(detach(it, 2));
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, it.qp.qpn));
	EXPECT_EQ(host.function().context().multicast_group(1), nullptr);
}

// OHCA-CMD-D14
TEST_F(Multicast, Refusals)
{
	DatagramQp it = ready(0);
	FakeFunction &host = net[0];
	for (int opcode : {OHCA_CMD_ATTACH_MULTICAST, OHCA_CMD_DETACH_MULTICAST}) {
		auto refused = [&](auto change, uint8_t status, uint32_t detail) {
			ohca_cmd_multicast_in in = request(it.qp.qpn);
			change(in);
			expect(host.command(static_cast<uint16_t>(opcode), in), status, detail);
		};
		refused([](auto &in) { in.reserved_20 = 1; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
		refused([](auto &in) { in.qpn = 999; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_QP);
		refused([](auto &in) { in.gid[0] = 0xfe; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_GID);
		FakeQp rc = host.create_qp(net.qp_options(0));
		refused([&](auto &in) { in.qpn = rc.qpn; }, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_TYPE);
	}
	ohca_cmd_multicast_in ipv4{};
	ipv4.qpn = it.qp.qpn;
	ipv4.gid[10] = ipv4.gid[11] = 0xff;
	ipv4.gid[12] = 239;
	FakeFunction::must(host.command(OHCA_CMD_ATTACH_MULTICAST, ipv4));
	ipv4.gid[12] = 240;
	expect(host.command(OHCA_CMD_ATTACH_MULTICAST, ipv4), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_GID);
}

// OHCA-MC-D5
TEST_F(Multicast, TablesAreBounded)
{
	ohca_cmd_query_device_out device;
	FakeFunction::must(net[0].query(OHCA_CMD_QUERY_DEVICE, device));
	FakeQpOptions options = net.qp_options(0);
	options.type = OHCA_QP_TYPE_UD;
	options.log_sq_depth = options.log_rq_depth = 0;
	DatagramQp it;
	for (uint32_t i = 0; i < device.max_multicast_qps; i++) {
		it.qp = net[0].create_qp(options);
		FakeFunction::must(attach(it));
	}
	DatagramQp more;
	more.qp = net[0].create_qp(options);
	expect(attach(more), OHCA_CMD_STATUS_NO_RESOURCES, OHCA_CMD_DETAIL_QP);
	FakeFunction::must(detach(it));
	FakeFunction::must(attach(more));

	ohca_cmd_multicast_in in = request(more.qp.qpn);
	for (uint32_t i = 1; i < device.max_multicast_groups; i++) {
		std::memcpy(&in.gid[4], &i, sizeof(i));
		FakeFunction::must(net[0].command(OHCA_CMD_ATTACH_MULTICAST, in));
	}
	in.gid[3] = 1;
	expect(net[0].command(OHCA_CMD_ATTACH_MULTICAST, in), OHCA_CMD_STATUS_NO_RESOURCES, OHCA_CMD_DETAIL_GID);
	in.gid[3] = 0;
	FakeFunction::must(net[0].command(OHCA_CMD_DETACH_MULTICAST, in));
	in.gid[3] = 1;
	FakeFunction::must(net[0].command(OHCA_CMD_ATTACH_MULTICAST, in));
}

// OHCA-MC-D6
TEST_F(Multicast, ACrowdDoesNotStopOthers)
{
	DatagramQp sender = ready(0);
	FakeQpOptions options = net.qp_options(1);
	options.type = OHCA_QP_TYPE_UD;
	options.log_sq_depth = 0;
	uint64_t memory = net[1].allocate(8192);
	uint32_t key = net[1].register_memory(net.pd(1), memory, 8192);
	for (uint32_t i = 0; i < 200; i++) {
		DatagramQp it;
		it.qp = net[1].create_qp(options);
		to_rts(it, kQkey);
		FakeFunction::must(attach(it));
		for (uint32_t tag = 0; tag < 4; tag++) {
			ohca_sge sge{.address = memory, .length = 8192, .lkey = key};
			it.qp.post_receive(tag, {&sge, 1});
		}
	}
	for (uint32_t i = 0; i < 4; i++)
		post(sender, group_address(sender), 4096);
	net.engine.run(net.now);
	EXPECT_GE(net[1].counter(OHCA_COUNTER_MULTICAST_RECEIVED), 200u);
	EXPECT_LE(net[1].counter(OHCA_COUNTER_MULTICAST_RECEIVED), 400u); // not all four in one pass
	net.run();
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_MULTICAST_RECEIVED), 800u);
}

} // namespace
} // namespace ohca::core::test
