// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// UC between two queue pairs, over a network that loses what the test wants.
#include <gtest/gtest.h>

#include <set>

#include "core/tests/transport/rc_host.hh"
#include "core/transport/psn.hh"

namespace ohca::core::test {
namespace {

constexpr uint8_t kLogMtu = 10;
constexpr uint32_t kMtu = 1 << kLogMtu;
constexpr uint64_t kMemorySize = 1 << 20;
constexpr uint64_t kTo = kMemorySize / 2; // where messages arrive

class UnreliableConnection : public testing::Test {
protected:
	void SetUp() override
	{
		options.pd = pd = host.create_pd();
		options.send_cq = send_cq = host.create_cq();
		options.recv_cq = recv_cq = host.create_cq();
		memory = host.allocate(kMemorySize);
		key = host.create_key(pd, memory, kMemorySize, OHCA_REGION_ACCESS_ALL);
		a = &host.create_qp(options);
		b = &host.create_qp(options);
		for (QpContext *qp : {a, b}) {
			qp->type = OHCA_QP_TYPE_UC;
			qp->attributes.path_mtu = kLogMtu;
			qp->attributes.access = OHCA_ACCESS_REMOTE_WRITE;
			qp->attributes.dest_qpn = (qp == a ? b : a)->qpn;
			qp->attributes.sq_psn = 0xfffffe;
			qp->attributes.rq_psn = 0xfffffe;
			for (int state : {OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS})
				host.modify(*qp, static_cast<uint8_t>(state));
		}
		limits.segment_payload_max = kMtu; // one packet per segment
	}
	// Everything that `a` has; packets whose number (of this call) is in `lost` do not arrive.
	uint32_t run(const std::set<uint32_t> &lost = {})
	{
		uint32_t number = 0;
		for (Segment segment; poll_transmit(host.function(), *a, 0, limits, scratch, segment);
		     segment = Segment(), number++) {
			EXPECT_EQ(segment.service, Service::kUnreliableConnection);
			if (lost.contains(number))
				continue;
			if (handle_segment(host.function(), *b, segment, 0) == Delivery::kSourceFault)
				handle_payload_fault(host.function(), *a, segment, 0);
		}
		return number;
	}
	SendRequest message(uint8_t opcode, uint32_t length, uint64_t offset = 0)
	{
		SendRequest request;
		request.opcode = opcode;
		request.sges = {{memory + offset, length, key}};
		request.immediate_be = 0x11223344;
		if (opcode == OHCA_WR_WRITE || opcode == OHCA_WR_WRITE_IMM) {
			request.immediate_be = opcode == OHCA_WR_WRITE ? 0 : request.immediate_be;
			request.remote_address = memory + kTo;
			request.rkey = key;
		} else if (opcode == OHCA_WR_SEND) {
			request.immediate_be = 0;
		}
		return request;
	}
	void post_receive(uint32_t tag, uint32_t length) { host.post_receive(*b, tag, {{memory + kTo, length, key}}); }
	void expect_sent(uint32_t index, uint8_t status = OHCA_CQE_STATUS_SUCCESS)
	{
		const auto cqe = host.poll(send_cq);
		ASSERT_TRUE(cqe.has_value()) << "no completion";
		EXPECT_EQ(cqe->wqe_index, index);
		EXPECT_EQ(int{cqe->status}, int{status});
	}
	void expect_received(uint32_t tag, uint32_t length, uint8_t status = OHCA_CQE_STATUS_SUCCESS)
	{
		const auto cqe = host.poll(recv_cq);
		ASSERT_TRUE(cqe.has_value()) << "no completion";
		EXPECT_EQ(cqe->wqe_index, tag);
		EXPECT_EQ(int{cqe->status}, int{status});
		if (status == OHCA_CQE_STATUS_SUCCESS) {
			EXPECT_EQ(cqe->byte_length, length);
			EXPECT_EQ(cqe->src_qp, a->qpn);
		}
	}
	void expect_nothing_received() { EXPECT_FALSE(host.poll(recv_cq).has_value()); }
	bool arrived(uint64_t offset, uint64_t length)
	{
		return std::memcmp(host.at(memory + offset), host.at(memory + kTo), length) == 0;
	}
	uint64_t lost() { return host.counter(OHCA_COUNTER_UC_MESSAGES_LOST); }

	RcHost host{0};
	QpOptions options;
	uint32_t pd = 0;
	uint32_t send_cq = 0;
	uint32_t recv_cq = 0;
	uint64_t memory = 0;
	uint32_t key = 0;
	QpContext *a = nullptr;
	QpContext *b = nullptr;
	TransportLimits limits;
	TransmitScratch scratch;
};

// OHCA-UC-D1 OHCA-UC-D2
TEST_F(UnreliableConnection, MessagesArriveWithoutAnswer)
{
	host.fill(memory, 10 * kMtu, 3);
	post_receive(1, 10 * kMtu);
	post_receive(2, 10 * kMtu);
	host.post_send(*a, message(OHCA_WR_SEND, 5 * kMtu + 1));
	EXPECT_EQ(run(), 6u);
	expect_sent(0);
	expect_received(1, 5 * kMtu + 1);
	EXPECT_TRUE(arrived(0, 5 * kMtu + 1));
	host.post_send(*a, message(OHCA_WR_SEND_IMM, 0));
	EXPECT_EQ(run(), 1u);
	expect_sent(1);
	const auto cqe = host.poll(recv_cq);
	ASSERT_TRUE(cqe.has_value());
	EXPECT_EQ(cqe->immediate, 0x11223344u);
	EXPECT_EQ(int{cqe->opcode}, OHCA_WR_SEND_IMM);
	Segment segment;
	EXPECT_FALSE(poll_transmit(host.function(), *b, 0, limits, scratch, segment));
	EXPECT_EQ(poll_timeout(*a), kNever);
}

// OHCA-UC-D1
TEST_F(UnreliableConnection, WritesArrive)
{
	host.fill(memory, 4 * kMtu, 9);
	host.post_send(*a, message(OHCA_WR_WRITE, 3 * kMtu));
	run();
	expect_sent(0);
	EXPECT_TRUE(arrived(0, 3 * kMtu));
	expect_nothing_received();
	post_receive(7, 0);
	host.post_send(*a, message(OHCA_WR_WRITE_IMM, 2 * kMtu, kMtu));
	run();
	expect_received(7, 2 * kMtu);
	EXPECT_TRUE(arrived(kMtu, 2 * kMtu));
	EXPECT_EQ(lost(), 0u);
}

// OHCA-UC-D3: whichever packet is lost, the message is, and the next one gets its receive WQE.
TEST_F(UnreliableConnection, ALostPacketLosesItsMessageOnly)
{
	for (uint32_t packet = 0; packet < 4; packet++) {
		for (int opcode : {OHCA_WR_SEND, OHCA_WR_SEND_IMM, OHCA_WR_WRITE_IMM}) {
			const uint64_t before = lost();
			post_receive(packet, 4 * kMtu);
			host.post_send(*a, message(static_cast<uint8_t>(opcode), 4 * kMtu));
			EXPECT_EQ(run({packet}), 4u);
			ASSERT_TRUE(host.poll(send_cq).has_value());
			expect_nothing_received();
			host.fill(memory, 4 * kMtu, static_cast<uint8_t>(packet * 16 + static_cast<uint32_t>(opcode)));
			host.post_send(*a, message(static_cast<uint8_t>(opcode), 3 * kMtu));
			run();
			ASSERT_TRUE(host.poll(send_cq).has_value());
			expect_received(packet, 3 * kMtu);
			EXPECT_TRUE(arrived(0, 3 * kMtu));
			EXPECT_EQ(lost(), before + 1);
		}
	}
}

// OHCA-UC-D3: the end of one message and the beginning of the next may not become one.
TEST_F(UnreliableConnection, PartsOfTwoMessagesAreNotJoined)
{
	post_receive(1, 8 * kMtu);
	host.post_send(*a, message(OHCA_WR_SEND, 4 * kMtu));
	host.post_send(*a, message(OHCA_WR_SEND, 4 * kMtu));
	run({2, 3, 4, 5});
	expect_nothing_received();
	EXPECT_EQ(b->responder.in_message, 0);
	host.post_send(*a, message(OHCA_WR_SEND, kMtu));
	run();
	expect_received(1, kMtu);
}

// OHCA-UC-D3: 2^24 PSNs later a packet has the expected PSN again; a first packet still begins anew.
TEST_F(UnreliableConnection, FirstPacketInTheMiddleBeginsAnew)
{
	post_receive(1, 4 * kMtu);
	host.post_send(*a, message(OHCA_WR_SEND, 2 * kMtu));
	run({1});
	b->responder.expected_psn = a->requester.next_psn;
	host.post_send(*a, message(OHCA_WR_SEND, 10));
	run();
	expect_received(1, 10);
	EXPECT_EQ(lost(), 1u);
}

// OHCA-UC-D4
TEST_F(UnreliableConnection, WithoutReceiveWqeTheMessageIsLost)
{
	host.post_send(*a, message(OHCA_WR_SEND, 3 * kMtu));
	host.post_send(*a, message(OHCA_WR_WRITE_IMM, 3 * kMtu));
	run();
	expect_sent(0);
	expect_sent(1);
	EXPECT_EQ(lost(), 2u);
	EXPECT_EQ(int{b->state}, OHCA_QP_STATE_RTS);
	EXPECT_FALSE(host.poll_event().has_value());
}

// OHCA-UC-D5
TEST_F(UnreliableConnection, WhatThePeerDoesWrongIsDropped)
{
	post_receive(1, kMtu);
	host.post_send(*a, message(OHCA_WR_SEND, kMtu + 1)); // too long
	host.post_send(*a, message(OHCA_WR_SEND, 3 * kMtu));
	SendRequest bad_key = message(OHCA_WR_WRITE, 3 * kMtu);
	bad_key.rkey ^= 1;
	host.post_send(*a, bad_key);
	SendRequest range = message(OHCA_WR_WRITE, 2 * kMtu);
	range.remote_address = memory + kMemorySize - kMtu;
	host.fill(range.remote_address, kMtu, 77);
	const std::byte last = *host.at(memory + kMemorySize - kMtu);
	host.post_send(*a, range);
	b->attributes.access = 0;
	host.post_send(*a, message(OHCA_WR_WRITE, 8));
	run();
	for (uint32_t i = 0; i < 5; i++)
		expect_sent(i);
	expect_nothing_received();
	EXPECT_EQ(lost(), 5u);
	EXPECT_EQ(*host.at(memory + kMemorySize - kMtu), last);
	EXPECT_EQ(int{b->state}, OHCA_QP_STATE_RTS);
	host.post_send(*a, message(OHCA_WR_SEND, kMtu));
	run();
	expect_received(1, kMtu);
}

// OHCA-UC-D6
TEST_F(UnreliableConnection, ErrorsOfTheReceiverBreakIt)
{
	host.post_receive(*b, 5, {{memory, kMtu, key ^ 1}});
	post_receive(6, kMtu);
	host.post_send(*a, message(OHCA_WR_SEND, 8));
	run();
	expect_sent(0);
	expect_received(5, 0, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	expect_received(6, 0, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_EQ(int{b->state}, OHCA_QP_STATE_ERR);
	EXPECT_EQ(int{a->state}, OHCA_QP_STATE_RTS);
}

// OHCA-SQE-D1
TEST_F(UnreliableConnection, ErrorsOfTheSenderStopItsSendQueueOnly)
{
	post_receive(1, 8 * kMtu);
	SendRequest half = message(OHCA_WR_SEND, 2 * kMtu);
	half.sges.push_back({memory, kMtu, key ^ 1});
	host.post_send(*a, half);
	host.post_send(*a, message(OHCA_WR_SEND, 8));
	run();
	expect_sent(0, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	expect_sent(1, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_EQ(int{a->state}, OHCA_QP_STATE_SQE);
	host.post_send(*a, message(OHCA_WR_SEND, 8));
	handle_doorbell(host.function(), *a, 0);
	expect_sent(2, OHCA_CQE_STATUS_FLUSHED);
	host.modify(*a, OHCA_QP_STATE_RTS);
	host.post_send(*a, message(OHCA_WR_SEND, 16));
	run();
	expect_sent(3);
	expect_received(1, 16);
}

// OHCA-SQE-D1: more than one step of flushing.
TEST_F(UnreliableConnection, LongQueuesAreFlushedInSteps)
{
	options.log_sq_depth = 8;
	QpContext &qp = host.create_qp(options);
	qp.type = OHCA_QP_TYPE_UC;
	qp.attributes.path_mtu = kLogMtu;
	for (int state : {OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS})
		host.modify(qp, static_cast<uint8_t>(state));
	for (uint32_t i = 0; i < 200; i++)
		host.post_send(qp, message(OHCA_WR_READ, 8));
	Segment segment;
	EXPECT_FALSE(poll_transmit(host.function(), qp, 5, limits, scratch, segment));
	for (TimeNs now = poll_timeout(qp); now != kNever; now = poll_timeout(qp))
		handle_timeout(host.function(), qp, now);
	expect_sent(0, OHCA_CQE_STATUS_LOCAL_QP_OPERATION);
	for (uint32_t i = 1; i < 200; i++)
		expect_sent(i, OHCA_CQE_STATUS_FLUSHED);
}

// OHCA-QP-D4
TEST_F(UnreliableConnection, SqdFinishesWhatHasBegun)
{
	post_receive(1, 8 * kMtu);
	host.post_send(*a, message(OHCA_WR_SEND, 2 * kMtu));
	host.post_send(*a, message(OHCA_WR_SEND, 8));
	Segment segment;
	ASSERT_TRUE(poll_transmit(host.function(), *a, 0, limits, scratch, segment));
	handle_segment(host.function(), *b, segment, 0);
	a->attributes.sq_drained_event = 1;
	host.modify(*a, OHCA_QP_STATE_SQD);
	EXPECT_FALSE(host.poll_event().has_value());
	EXPECT_EQ(run(), 1u);
	expect_sent(0);
	expect_received(1, 2 * kMtu);
	const auto event = host.poll_event();
	ASSERT_TRUE(event.has_value());
	EXPECT_EQ(int{event->type}, OHCA_EVENT_SQ_DRAINED);
	host.modify(*a, OHCA_QP_STATE_RTS);
	post_receive(2, 8);
	run();
	expect_sent(1);
	expect_received(2, 8);
}

// OHCA-SQ-D1 OHCA-MEM-D21: between messages, in order; an error stops the send queue as any other.
TEST_F(UnreliableConnection, KeysAreRegisteredAndInvalidatedInTurn)
{
	const uint32_t fast = host.create_free_key(pd, OHCA_MKEY_TYPE_FAST_REGION, 1);
	const uint64_t list = host.allocate(4096);
	host.store64(list, memory);
	SendRequest registration;
	registration.opcode = OHCA_WR_REG_MR;
	registration.rkey = fast;
	ohca_wqe_register body{};
	body.start = 0x1000;
	body.length = 4096;
	body.list_address = list;
	body.entry_count = 1;
	body.log_page_size = 12;
	registration.carry(body);
	SendRequest send = message(OHCA_WR_SEND, 0);
	send.sges = {{0x1000, 16, fast}};
	SendRequest invalidation;
	invalidation.opcode = OHCA_WR_LOCAL_INV;
	invalidation.invalidate_key = fast;
	post_receive(1, kMtu);
	host.post_send(*a, registration);
	host.post_send(*a, send);
	host.post_send(*a, invalidation);
	host.post_send(*a, invalidation); // it is free now
	EXPECT_EQ(run(), 1u);
	expect_sent(0);
	expect_sent(1);
	expect_received(1, 16);
	expect_sent(2);
	expect_sent(3, OHCA_CQE_STATUS_MW_BIND);
	EXPECT_EQ(int{a->state}, OHCA_QP_STATE_SQE);
}

// OHCA-UC-D2: memory that vanishes under a message that is being transmitted.
TEST_F(UnreliableConnection, UnreachablePayload)
{
	const uint64_t hole = RcHost::kRamBase + (uint64_t{1} << 40);
	const uint32_t bad = host.create_key(pd, hole, 4096, OHCA_REGION_ACCESS_ALL);
	post_receive(1, 8 * kMtu);
	for (uint32_t front : {0u, kMtu}) {
		SendRequest request = message(OHCA_WR_SEND, front);
		request.sges.push_back({hole, 8, bad});
		const uint32_t index = host.post_send(*a, request);
		run();
		expect_sent(index, OHCA_CQE_STATUS_LOCAL_PROTECTION);
		EXPECT_EQ(int{a->state}, OHCA_QP_STATE_SQE);
		host.modify(*a, OHCA_QP_STATE_RTS);
	}
	host.post_send(*a, message(OHCA_WR_SEND, 8));
	run();
	expect_sent(2);
	expect_received(1, 8);
}

} // namespace
} // namespace ohca::core::test
