// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// UC and UD queue pairs that receive from an SRQ.
#include "core/tests/datagram_test.hh"
#include "core/tests/fake_srq.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kLong = 3 << 20; // several passes of the engine
constexpr uint64_t kBuffer = uint64_t{4} << 20;

struct SrqUnreliable : DatagramTest {
	SrqUnreliable()
	{
		srq_pd = net[1].create_pd();
		srq = create_srq(net[1], {.pd = srq_pd});
		to = net[1].allocate(2 * kBuffer);
		to_key = net[1].register_memory(srq_pd, to, 2 * kBuffer);
		from = net[0].allocate(kBuffer);
		from_key = net[0].register_memory(net.pd(0), from, kBuffer);
		for (uint64_t i = 0; i < kBuffer; i++)
			*net[0].host(from + i) = static_cast<std::byte>(i * 7 + (i >> 8));
	}

	void post_receive(uint32_t tag, uint32_t length, uint64_t offset = 0)
	{
		srq.post(tag, ohca_sge{.address = to + offset, .length = length, .lkey = to_key});
	}
	void expect_received(const FakeQp &qp, uint32_t tag, uint32_t length)
	{
		auto cqe = poll(1);
		ASSERT_TRUE(cqe) << "no completion";
		EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_SUCCESS);
		EXPECT_EQ(cqe->qpn, qp.qpn);
		EXPECT_EQ(cqe->wqe_index, tag);
		EXPECT_EQ(cqe->byte_length, length);
		EXPECT_TRUE(cqe->flags & OHCA_CQE_FROM_SRQ);
		EXPECT_EQ(cqe->srqn, srq.srqn);
	}
	void expect_event(uint8_t type, uint32_t number)
	{
		auto event = net[1].async_eq.poll();
		while (event && event->type == OHCA_EVENT_COMM_ESTABLISHED)
			event = net[1].async_eq.poll();
		ASSERT_TRUE(event);
		EXPECT_EQ(int{event->type}, int{type});
		EXPECT_EQ(event->number, number);
	}
	DatagramQp datagram_receiver()
	{
		DatagramQp it;
		it.qp = create_qp_on(net[1], net.qp_options(1), srq.srqn, OHCA_QP_TYPE_UD);
		to_rts(it, kQkey);
		return it;
	}

	static void connect_uc(const FakeQp &qp, const FakeQp &peer)
	{
		ohca_qp_attributes a = connect_attributes(*peer.host, peer.qpn, {});
		FakeFunction::must(qp.host->to_init(qp.qpn));
		FakeFunction::must(qp.host->modify(qp.qpn, OHCA_QP_STATE_RTR, kConnectMask, a));
		FakeFunction::must(qp.host->modify(qp.qpn, OHCA_QP_STATE_RTS, OHCA_QP_ATTR_SQ_PSN, a));
	}
	void make_uc_pair()
	{
		FakeQpOptions o = net.qp_options(0);
		o.type = OHCA_QP_TYPE_UC;
		uc_sender = net[0].create_qp(o);
		uc_receiver = create_qp_on(net[1], net.qp_options(1), srq.srqn, OHCA_QP_TYPE_UC);
		connect_uc(uc_sender, uc_receiver);
		connect_uc(uc_receiver, uc_sender);
	}
	void send_uc(uint32_t length)
	{
		ohca_sge sge{.address = from, .length = length, .lkey = from_key};
		uc_sender.post_send(header(), {&sge, 1});
		uc_sender.ring();
	}
	uint32_t consumer() { return net[1].function().context().srq(srq.srqn)->consumer; }
	// A message of which the end never comes: its sender is reset on the way.
	void send_half()
	{
		send_uc(kLong);
		while (consumer() == 0)
			net.engine.run(net.now);
		FakeFunction::must(net[0].modify(uc_sender.qpn, OHCA_QP_STATE_RESET, 0));
		uc_sender.record() = {};
		uc_sender.sq_producer = 0;
		net.run();
		ASSERT_FALSE(poll(1));
	}

	uint32_t srq_pd = 0;
	FakeSrq srq;
	uint64_t to = 0;
	uint64_t from = 0;
	uint32_t to_key = 0;
	uint32_t from_key = 0;
	FakeQp uc_sender, uc_receiver;
};

// OHCA-SRQ-D1, OHCA-SRQ-D4
TEST_F(SrqUnreliable, DatagramsOfManyQueuePairs)
{
	DatagramQp sender = ready(0);
	DatagramQp one = datagram_receiver();
	DatagramQp two = datagram_receiver();
	for (uint32_t tag = 1; tag <= 3; tag++)
		post_receive(tag, 1024);
	post(sender, address(sender, two), 100);
	net.run();
	expect_received(two.qp, 1, 100 + OHCA_GRH_SIZE);
	post(sender, address(sender, one), 200);
	net.run();
	expect_received(one.qp, 2, 200 + OHCA_GRH_SIZE);
	EXPECT_EQ(std::memcmp(net[1].host(to + OHCA_GRH_SIZE), sender.at(0), 200), 0);
}

// OHCA-SRQ-D2, OHCA-SRQ-D5: what is dropped takes nothing.
TEST_F(SrqUnreliable, DroppedDatagramsTakeNothing)
{
	DatagramQp sender = ready(0);
	DatagramQp receiver = datagram_receiver();
	post(sender, address(sender, receiver), 8); // empty
	net.run();
	post_receive(1, 64);
	post(sender, address(sender, receiver), 25); // too long
	net.run();
	ohca_wqe_datagram wrong = address(sender, receiver);
	wrong.remote_qkey = kQkey + 1;
	post(sender, wrong, 8);
	net.run();
	EXPECT_FALSE(poll(1));
	EXPECT_EQ(consumer(), 0u);
	post(sender, address(sender, receiver), 24);
	net.run();
	expect_received(receiver.qp, 1, 64);
}

// OHCA-SRQ-D8
TEST_F(SrqUnreliable, ABrokenSrqBreaksDatagramQueuePairs)
{
	DatagramQp sender = ready(0);
	DatagramQp receiver = datagram_receiver();
	srq.record().producer = 1000;
	post(sender, address(sender, receiver), 8);
	net.run();
	expect_event(OHCA_EVENT_SRQ_ERROR, srq.srqn);
	expect_event(OHCA_EVENT_QP_FATAL, receiver.qp.qpn);
	expect_event(OHCA_EVENT_QP_LAST_WQE, receiver.qp.qpn);
	expect_sent(0, 0);
}

// OHCA-SRQ-D1
TEST_F(SrqUnreliable, UnreliableConnection)
{
	make_uc_pair();
	send_uc(8); // empty: lost
	net.run();
	post_receive(1, kLong);
	post_receive(2, 64);
	send_uc(kLong);
	net.run();
	expect_received(uc_receiver, 1, kLong);
	EXPECT_EQ(std::memcmp(net[1].host(to), net[0].host(from), kLong), 0);
	send_uc(8);
	net.run();
	expect_received(uc_receiver, 2, 8);
}

// OHCA-SRQ-D2: the WQE of a message that was lost on the way serves the next message.
TEST_F(SrqUnreliable, UcKeepsTheWqeOfALostMessage)
{
	make_uc_pair();
	post_receive(1, kLong);
	post_receive(2, kLong, kBuffer);
	ASSERT_NO_FATAL_FAILURE(send_half());
	connect_uc(uc_sender, uc_receiver);
	send_uc(100);
	net.run();
	expect_received(uc_receiver, 1, 100);
	send_uc(kLong);
	net.run();
	expect_received(uc_receiver, 2, kLong);
	EXPECT_EQ(std::memcmp(net[1].host(to + kBuffer), net[0].host(from), kLong), 0);
	EXPECT_EQ(consumer(), 2u);
}

// OHCA-SRQ-D11: or goes back by a flush when the queue pair is reset.
TEST_F(SrqUnreliable, UcResetFlushesTheWqeOfALostMessage)
{
	make_uc_pair();
	post_receive(1, kLong);
	ASSERT_NO_FATAL_FAILURE(send_half());
	FakeFunction::must(net[1].modify(uc_receiver.qpn, OHCA_QP_STATE_RESET, 0));
	auto cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_EQ(cqe->wqe_index, 1u);
	EXPECT_FALSE(poll(1));
	EXPECT_EQ(consumer(), 1u);
}

// OHCA-SRQ-D7: or is flushed.
TEST_F(SrqUnreliable, UcFlushesTheWqeOfALostMessage)
{
	make_uc_pair();
	post_receive(1, kLong);
	post_receive(2, kLong);
	ASSERT_NO_FATAL_FAILURE(send_half());
	FakeFunction::must(net[1].modify(uc_receiver.qpn, OHCA_QP_STATE_ERR, 0));
	auto cqe = poll(1);
	ASSERT_TRUE(cqe);
	EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_EQ(cqe->wqe_index, 1u);
	EXPECT_FALSE(poll(1));
	expect_event(OHCA_EVENT_QP_LAST_WQE, uc_receiver.qpn);
	EXPECT_EQ(consumer(), 1u);
}

} // namespace
} // namespace ohca::core::test
