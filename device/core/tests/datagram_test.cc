// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// UD and GSI between functions of one engine.
#include "core/tests/datagram_test.hh"

#include <random>

namespace ohca::core::test {
namespace {

struct UnreliableDatagram : DatagramTest {};

void fill(DatagramQp &it, uint32_t length, uint32_t seed)
{
	std::mt19937 random(seed);
	for (uint32_t i = 0; i < length; i++)
		it.at(i)[0] = static_cast<std::byte>(random());
}

// As Linux does in ib_get_rdma_header_version(): an IPv4 header is one whose checksum is right.
uint32_t ones_complement_sum(const std::byte *bytes, uint32_t length)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < length; i += 2)
		sum += std::to_integer<uint32_t>(bytes[i]) * 256 + std::to_integer<uint32_t>(bytes[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

// OHCA-UD-D1 OHCA-UD-D5 OHCA-UD-D6
TEST_F(UnreliableDatagram, ArrivesBehindItsHeader)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	fill(a, 1000, 1);
	b.post_receive(77, 2000);
	ohca_wqe_datagram to = address(a, b);
	to.flow_label = 0x54321;
	to.traffic_class = 0xab;
	to.service_level = 5;
	ohca_sq_wqe wqe = header(OHCA_WR_SEND_IMM, OHCA_WQE_SIGNALED | OHCA_WQE_SOLICITED);
	wqe.immediate = 0x04030201;
	post(a, to, 1000, wqe);
	net.run();
	expect_sent(0, 0);
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->wqe_index, 77u);
	EXPECT_EQ(cqe->byte_length, 1040u);
	EXPECT_EQ(cqe->immediate, 0x04030201u);
	EXPECT_EQ(cqe->src_qp, a.qp.qpn);
	EXPECT_EQ(cqe->qpn, b.qp.qpn);
	EXPECT_EQ(int{cqe->opcode}, OHCA_WR_SEND_IMM);
	EXPECT_EQ(int{cqe->flags}, OHCA_CQE_RECEIVE | OHCA_CQE_WITH_IMM | OHCA_CQE_SOLICITED | OHCA_CQE_WITH_GRH);
	EXPECT_EQ(std::memcmp(cqe->source_mac, &net[0].options().mac, 6), 0);
	EXPECT_EQ(cqe->vlan_id, OHCA_VLAN_NONE);
	EXPECT_EQ(cqe->service_level, 5);
	EXPECT_EQ(cqe->network_header, OHCA_NETWORK_HEADER_IPV6);
	EXPECT_EQ(cqe->pkey_index, 0);
	EXPECT_EQ(std::memcmp(b.at(DatagramQp::kReceive + 40), a.at(0), 1000), 0);

	const auto *grh = reinterpret_cast<const uint8_t *>(b.at(DatagramQp::kReceive));
	EXPECT_EQ(grh[0], 0x6a); // version, traffic class, flow label
	EXPECT_EQ(grh[1], 0xb5);
	EXPECT_EQ(grh[2], 0x43);
	EXPECT_EQ(grh[3], 0x21);
	EXPECT_EQ(grh[4] << 8 | grh[5], 8 + 12 + 8 + 4 + 1000 + 4);
	EXPECT_EQ(grh[6], 17);
	EXPECT_EQ(grh[7], 64);
	EXPECT_EQ(grh[8], 0xfd);
	EXPECT_EQ(grh[23], net[0].gid_byte());
	EXPECT_EQ(grh[24], 0xfd);
	EXPECT_EQ(grh[39], net[1].gid_byte());
}

// OHCA-UD-D6
TEST_F(UnreliableDatagram, Ipv4HeaderHasItsChecksum)
{
	auto set_ipv4 = [this](uint32_t function, uint8_t last) {
		ohca_cmd_set_gid_in in{};
		in.gid[10] = in.gid[11] = 0xff;
		in.gid[12] = 10;
		in.gid[15] = last;
		in.index = 3;
		std::memcpy(in.mac, &net[function].options().mac, sizeof(in.mac));
		in.vlan_id = OHCA_VLAN_NONE;
		FakeFunction::must(net[function].command(OHCA_CMD_SET_GID, in));
	};
	set_ipv4(0, 1);
	set_ipv4(1, 2);
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	b.post_receive(1, 2000);
	ohca_wqe_datagram to = address(a, b);
	to.sgid_index = 3;
	to.traffic_class = 0x12;
	std::memset(to.dgid, 0, sizeof(to.dgid));
	to.dgid[10] = to.dgid[11] = 0xff;
	to.dgid[12] = 10;
	to.dgid[15] = 2;
	post(a, to, 99);
	net.run();
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->network_header, OHCA_NETWORK_HEADER_IPV4);
	const std::byte *ip = b.at(DatagramQp::kReceive + 20);
	const auto *bytes = reinterpret_cast<const uint8_t *>(ip);
	EXPECT_EQ(bytes[0], 0x45);
	EXPECT_EQ(bytes[1], 0x12);
	EXPECT_EQ(bytes[2] << 8 | bytes[3], 20 + 8 + 12 + 8 + 100 + 4);
	EXPECT_EQ(bytes[8], 64);
	EXPECT_EQ(bytes[9], 17);
	EXPECT_EQ(bytes[12], 10);
	EXPECT_EQ(bytes[15], 1);
	EXPECT_EQ(bytes[16], 10);
	EXPECT_EQ(bytes[19], 2);
	EXPECT_EQ(ones_complement_sum(ip, 20), 0xffffu);
	EXPECT_NE(std::to_integer<int>(*b.at(DatagramQp::kReceive)) >> 4, 6); // not an IPv6 header
}

// OHCA-UD-D1
TEST_F(UnreliableDatagram, OneQueuePairSpeaksToMany)
{
	DatagramQp a = ready(0);
	std::vector<DatagramQp> peers;
	for (uint32_t i = 0; i < 10; i++) {
		peers.push_back(ready(i % 2));
		peers[i].post_receive(i, 1000);
		fill(a, 8, i);
		std::memcpy(a.at(16 * i), a.at(0), 8);
	}
	for (uint32_t i = 0; i < 10; i++)
		post(a, address(a, peers[i]), 8, header(OHCA_WR_SEND, 0), 16 * i);
	net.run();
	for (uint32_t i = 0; i < 10; i++)
		EXPECT_EQ(std::memcmp(peers[i].at(DatagramQp::kReceive + 40), a.at(16 * i), 8), 0) << i;
	EXPECT_EQ(net[0].counter(OHCA_COUNTER_CQES) + net[1].counter(OHCA_COUNTER_CQES), 10u); // receives only
}

// OHCA-UD-D1
TEST_F(UnreliableDatagram, InlineAndEmptyAndOneself)
{
	DatagramQp a = ready(0);
	a.post_receive(1, 100);
	a.post_receive(2, 40, 1000);
	ohca_wqe_datagram to = address(a, a);
	std::byte inline_bytes[sizeof(to) + 13];
	std::memcpy(inline_bytes, &to, sizeof(to));
	std::memset(inline_bytes + sizeof(to), 0x5a, 13);
	ohca_sq_wqe wqe = header(OHCA_WR_SEND, OHCA_WQE_SIGNALED | OHCA_WQE_INLINE);
	wqe.inline_length = 13;
	std::memcpy(a.qp.sq_slot(0), &wqe, sizeof(wqe));
	std::memcpy(a.qp.sq_slot(0) + sizeof(wqe), inline_bytes, sizeof(inline_bytes));
	std::atomic_ref(a.qp.record().sq_producer).store(++a.qp.sq_producer);
	post(a, to, 0);
	net.run();
	std::optional<ohca_cqe> cqe = poll(0);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->wqe_index, 1u);
	EXPECT_EQ(cqe->byte_length, 53u);
	EXPECT_EQ(a.at(DatagramQp::kReceive + 52)[0], std::byte{0x5a});
	expect_sent(0, 0);
	cqe = poll(0);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->byte_length, 40u);
	expect_sent(0, 1);
}

// OHCA-UD-D3 OHCA-UD-D4
TEST_F(UnreliableDatagram, WhatCannotBePlacedIsDropped)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	ohca_wqe_datagram to = address(a, b);
	post(a, to, 8); // no WQE
	net.run();
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DATAGRAMS_DROPPED), 1u);
	b.post_receive(1, 40 + 99);
	post(a, to, 100); // too small
	net.run();
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DATAGRAMS_DROPPED), 2u);
	to.remote_qkey = kQkey + 1;
	post(a, to, 8);
	net.run();
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_QKEY_VIOLATIONS), 1u);
	to.remote_qkey = kQkey;
	to.remote_qpn = 0x1234;
	post(a, to, 8);
	to.remote_qpn = OHCA_QPN_MULTICAST; // with a unicast address
	post(a, to, 8);
	to = address(a, b);
	to.dgid[15] = 99; // nobody's
	post(a, to, 8);
	net.run();
	for (uint32_t i = 0; i < 6; i++)
		expect_sent(0, i); // the sender never learns
	EXPECT_FALSE(poll(1));
	post(a, address(a, b), 99); // the WQE is still there
	net.run();
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->wqe_index, 1u);
	EXPECT_EQ(cqe->byte_length, 139u);
}

// OHCA-LINK-D1
TEST_F(UnreliableDatagram, ASlowReceiverPausesItsSender)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	begin_to_receive(a, b);
	for (uint32_t i = 0; i < 3; i++)
		post(a, address(a, b), 8 + i);
	for (uint32_t i = 0; i < 3; i++) {
		net.advance(kPauseMaxNs / 2);
		EXPECT_FALSE(poll(0));
		b.post_receive(i, 100);
		net.advance(2 * kPauseNs); // timers have ticks
		expect_sent(0, i + 1);
		std::optional<ohca_cqe> cqe = poll(1);
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->wqe_index, i);
		EXPECT_EQ(cqe->byte_length, OHCA_GRH_SIZE + 8 + i);
	}
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DATAGRAMS_DROPPED), 0u);
	EXPECT_EQ(net[0].counter(OHCA_COUNTER_TX_BYTES), 8u + 9u + 10u);
}

// OHCA-LINK-D2
TEST_F(UnreliableDatagram, NobodyWaitsForOneThatDoesNotReceive)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	post(a, address(a, b), 8);
	net.run();
	expect_sent(0, 0);
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DATAGRAMS_DROPPED), 1u);
}

// OHCA-LINK-D1: or not for long.
TEST_F(UnreliableDatagram, AReceiverThatStaysEmptyLosesDatagrams)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	begin_to_receive(a, b);
	for (uint32_t i = 0; i < 3; i++)
		post(a, address(a, b), 8);
	starve();
	for (uint32_t i = 1; i <= 3; i++) // together: they wait for the same
		expect_sent(0, i);
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DATAGRAMS_DROPPED), 3u);
	b.post_receive(1, 100);
	post(a, address(a, b), 8);
	post(a, address(a, b), 8);
	net.run();
	expect_sent(0, 4);
	EXPECT_FALSE(poll(0)); // a new period
	starve();
	expect_sent(0, 5);
}

// OHCA-LINK-D1
TEST_F(UnreliableDatagram, AResetEndsAPause)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	begin_to_receive(a, b);
	post(a, address(a, b), 8);
	net.run();
	FakeFunction::must(net[0].modify(a.qp.qpn, OHCA_QP_STATE_ERR, 0));
	net.run();
	expect_sent(0, 1, OHCA_CQE_STATUS_FLUSHED);
	b.post_receive(1, 100);
	starve();
	EXPECT_FALSE(poll(1));
}

// OHCA-UD-D2
TEST_F(UnreliableDatagram, OwnQkeyIsSentForPrivilegedOnes)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	DatagramQp gsi = ready(1, OHCA_QP_TYPE_GSI);
	ASSERT_EQ(gsi.qp.qpn, unsigned{OHCA_QPN_GSI});
	b.post_receive(1, 100);
	gsi.post_receive(2, 400);
	ohca_wqe_datagram to = address(a, b);
	to.remote_qkey = 0x80000000;
	post(a, to, 8);
	to = address(a, gsi);
	to.remote_qkey = kGsiQkey; // an application tries
	post(a, to, 8);
	net.run();
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->wqe_index, 1u);
	EXPECT_FALSE(poll(1));
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_QKEY_VIOLATIONS), 1u);

	DatagramQp own = ready(0, OHCA_QP_TYPE_GSI);
	to = address(own, gsi);
	to.remote_qkey = kGsiQkey;
	post(own, to, 256);
	net.run();
	cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->src_qp, unsigned{OHCA_QPN_GSI});
	EXPECT_EQ(cqe->byte_length, 296u);
}

// OHCA-UD-D7 OHCA-SQE-D1
TEST_F(UnreliableDatagram, ErrorsOfTheSenderStopItsSendQueueOnly)
{
	struct Case {
		void (*spoil)(ohca_wqe_datagram &);
		uint32_t length;
		uint8_t status;
		uint32_t vendor_error;
	};
	const Case cases[] = {
		{[](auto &to) { to.pd++; }, 8, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_ADDRESS_HANDLE},
		{[](auto &to) { to.sgid_index = 7; }, 8, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_ADDRESS_HANDLE},
		{[](auto &) {}, 4097, OHCA_CQE_STATUS_LOCAL_LENGTH, OHCA_VENDOR_ERROR_MTU},
		{[](auto &to) { to.remote_qpn = 0x1000000; }, 8, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS},
		{[](auto &to) { to.flow_label = 0x100000; }, 8, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS},
		{[](auto &to) { to.service_level = 16; }, 8, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS},
		{[](auto &to) { to.pkey_index = 1; }, 8, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS},
		{[](auto &to) { to.reserved_170[1] = 1; }, 8, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS},
		{[](auto &) {}, DatagramQp::kMemorySize * 2, OHCA_CQE_STATUS_LOCAL_LENGTH, OHCA_VENDOR_ERROR_MTU},
	};
	for (const Case &it : cases) {
		DatagramQp a = ready(0);
		DatagramQp b = ready(1);
		ohca_wqe_datagram bad = address(a, b);
		it.spoil(bad);
		post(a, bad, it.length);
		post(a, address(a, b), 8, header(OHCA_WR_SEND, 0));
		net.run();
		expect_sent(0, 0, it.status, it.vendor_error);
		expect_sent(0, 1, OHCA_CQE_STATUS_FLUSHED);
		EXPECT_EQ(int{state(a)}, OHCA_QP_STATE_SQE);
		post(a, address(a, b), 8);
		net.run();
		expect_sent(0, 2, OHCA_CQE_STATUS_FLUSHED); // posted later
		a.post_receive(5, 100); // receiving goes on
		post(b, address(b, a), 8);
		net.run();
		expect_sent(1, 0);
		std::optional<ohca_cqe> cqe = poll(0);
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->wqe_index, 5u);
		FakeFunction::must(net[0].modify(a.qp.qpn, OHCA_QP_STATE_RTS, 0));
		post(a, address(a, b), 8);
		net.run();
		expect_sent(0, 3);
	}
}

// OHCA-SQ-D2
TEST_F(UnreliableDatagram, OnlySends)
{
	for (int opcode : {OHCA_WR_WRITE, OHCA_WR_READ, OHCA_WR_SEND_INV, OHCA_WR_CAS}) {
		DatagramQp a = ready(0);
		post(a, address(a, a), 8, header(static_cast<uint8_t>(opcode)));
		net.run();
		expect_sent(0, 0, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_OPCODE);
	}
}

// OHCA-UD-D7
TEST_F(UnreliableDatagram, KeysOfTheSender)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	ohca_sge element = a.sge(0, 8);
	element.lkey ^= 1;
	a.qp.post_datagram(header(), address(a, b), {&element, 1});
	a.qp.ring();
	net.run();
	expect_sent(0, 0, OHCA_CQE_STATUS_LOCAL_PROTECTION, OHCA_VENDOR_ERROR_KEY_STALE);
	EXPECT_EQ(int{state(a)}, OHCA_QP_STATE_SQE);
}

// OHCA-UD-D8
TEST_F(UnreliableDatagram, KeysOfTheReceiver)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	ohca_sge element = b.sge(0, 1000);
	element.lkey ^= 1;
	b.qp.post_receive(9, {&element, 1});
	b.post_receive(10, 100);
	post(a, address(a, b), 8);
	net.run();
	expect_sent(0, 0);
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->wqe_index, 9u);
	EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_EQ(int{state(b)}, OHCA_QP_STATE_ERR);
}

// OHCA-UD-D9
TEST_F(UnreliableDatagram, PeersInOtherVlansAreNotReached)
{
	auto set_gid = [this](uint32_t function, uint8_t last, uint16_t vlan) {
		ohca_cmd_set_gid_in in{};
		in.gid[0] = 0xfd;
		in.gid[14] = 1;
		in.gid[15] = last;
		in.index = 2;
		in.vlan_id = vlan;
		FakeFunction::must(net[function].command(OHCA_CMD_SET_GID, in));
	};
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	b.post_receive(1, 100);
	ohca_wqe_datagram to = address(a, b);
	to.sgid_index = 2;
	to.dgid[14] = 1;
	set_gid(0, net[0].gid_byte(), 100);
	set_gid(1, net[1].gid_byte(), 200);
	post(a, to, 8);
	net.run();
	EXPECT_FALSE(poll(1));
	set_gid(1, net[1].gid_byte(), 100);
	post(a, to, 8);
	net.run();
	std::optional<ohca_cqe> cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->vlan_id, 100u);
}

// OHCA-UD-D1
TEST_F(UnreliableDatagram, ServicesDoNotHearEachOther)
{
	DatagramQp a = ready(0);
	auto [c, d] = net.connected_pair(0, 1);
	ohca_wqe_datagram to = address(a, a);
	to.remote_qpn = d.qpn;
	to.dgid[15] = net[1].gid_byte();
	post(a, to, 8);
	net.run();
	expect_sent(0, 0);
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_PACKETS_DROPPED), 1u);
}

// OHCA-QP-D4
TEST_F(UnreliableDatagram, SendQueueDrains)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	ohca_qp_attributes attributes{};
	attributes.sq_drained_event = 1;
	FakeFunction::must(
		net[0].modify(a.qp.qpn, OHCA_QP_STATE_SQD, OHCA_QP_ATTR_SQ_DRAINED_EVENT, attributes));
	std::optional<ohca_eqe> event = net[0].async_eq.poll();
	ASSERT_TRUE(event);
	EXPECT_EQ(event->type, OHCA_EVENT_SQ_DRAINED);
	post(a, address(a, b), 8);
	net.run();
	EXPECT_FALSE(poll(0));
	b.post_receive(1, 100);
	FakeFunction::must(net[0].modify(a.qp.qpn, OHCA_QP_STATE_RTS, 0));
	net.run();
	expect_sent(0, 0);
}

// OHCA-QP-D3
TEST_F(UnreliableDatagram, ErrorFlushesBothQueues)
{
	DatagramQp a = ready(0);
	a.post_receive(3, 100);
	FakeFunction::must(net[0].modify(a.qp.qpn, OHCA_QP_STATE_ERR, 0));
	post(a, address(a, a), 8);
	net.run();
	std::optional<ohca_cqe> cqe = poll(0);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->wqe_index, 3u);
	EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_FLUSHED);
	expect_sent(0, 0, OHCA_CQE_STATUS_FLUSHED);
}

// OHCA-UD-D7
TEST_F(UnreliableDatagram, ManyAreSentInTurns)
{
	DatagramQp a = ready(0);
	DatagramQp b = ready(1);
	for (uint32_t i = 0; i < 40; i++)
		b.post_receive(i, 40 + 4096, i * 4200);
	for (uint32_t i = 0; i < 40; i++)
		post(a, address(a, b), 4096);
	net.run();
	for (uint32_t i = 0; i < 40; i++) {
		expect_sent(0, i);
		EXPECT_TRUE(poll(1));
	}
}

} // namespace
} // namespace ohca::core::test
