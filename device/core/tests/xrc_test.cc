// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// XRC: initiators, targets, and the SRQs that requests name.
#include <gtest/gtest.h>

#include "core/tests/fake_srq.hh"
#include "core/tests/loopback.hh"
#include "core/transport/transport.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kLong = 3 << 20; // several segments, and several passes of the engine
constexpr uint64_t kBuffer = uint64_t{4} << 20;

// Host 0 initiates. Host 1 has a domain with two SRQs, each with its own PD, CQ and memory.
struct XrcTest : testing::Test {
	struct Queue {
		uint32_t pd;
		FakeCq cq;
		FakeSrq srq;
		uint64_t memory;
		uint32_t key;
	};

	XrcTest()
	{
		xrcd = create_xrcd(net[1]);
		for (Queue &queue : queues)
			queue = make_queue(xrcd);
		from = net[0].allocate(kBuffer);
		from_key = net[0].register_memory(net.pd(0), from, kBuffer);
		for (uint64_t i = 0; i < kBuffer; i++)
			*net[0].host(from + i) = static_cast<std::byte>(i * 11 + (i >> 10));
		std::tie(initiator, target) = connected();
	}

	Queue make_queue(uint32_t domain)
	{
		Queue queue;
		queue.pd = net[1].create_pd();
		queue.cq = net[1].create_cq();
		queue.srq = create_srq(net[1], {.pd = queue.pd, .xrcd = domain, .cq = queue.cq.cqn});
		queue.memory = net[1].allocate(kBuffer);
		queue.key = net[1].register_memory(queue.pd, queue.memory, kBuffer);
		return queue;
	}
	std::pair<FakeQp, FakeQp> connected(const ConnectOptions &o = {})
	{
		FakeQp a = create_xrc_initiator(net[0], net.qp_options(0));
		FakeQp b = create_xrc_target(net[1], xrcd);
		connect_xrc(a, b, o);
		return {a, b};
	}
	static void post(Queue &queue, uint32_t tag, uint32_t length)
	{
		queue.srq.post(tag, ohca_sge{.address = queue.memory, .length = length, .lkey = queue.key});
	}
	ohca_sq_wqe request(uint8_t opcode, const Queue &queue)
	{
		ohca_sq_wqe wqe{};
		wqe.opcode = opcode;
		wqe.flags = OHCA_WQE_SIGNALED;
		wqe.remote_srqn = queue.srq.srqn;
		if (opcode != OHCA_WR_SEND && opcode != OHCA_WR_SEND_IMM) {
			wqe.remote_address = queue.memory;
			wqe.rkey = queue.key;
		}
		return wqe;
	}
	void post_send(const ohca_sq_wqe &wqe, uint32_t length)
	{
		ohca_sge sge{.address = from, .length = length, .lkey = from_key};
		initiator.post_send(wqe, {&sge, length ? 1u : 0u});
		initiator.ring();
	}
	void send(const ohca_sq_wqe &wqe, uint32_t length)
	{
		post_send(wqe, length);
		net.run();
	}
	void run_until_taken(const FakeSrq &queue)
	{
		while (net[1].function().context().srq(queue.srqn)->consumer == 0)
			net.engine.run(net.now);
	}
	void expect_sent(uint8_t status = OHCA_CQE_STATUS_SUCCESS)
	{
		auto cqe = net.cq(0).poll();
		ASSERT_TRUE(cqe.has_value());
		EXPECT_EQ(int{cqe->status}, int{status});
	}
	void expect_received(Queue &queue, uint32_t tag, uint8_t status = OHCA_CQE_STATUS_SUCCESS)
	{
		auto cqe = queue.cq.poll();
		ASSERT_TRUE(cqe.has_value());
		EXPECT_EQ(cqe->wqe_index, tag);
		EXPECT_EQ(cqe->qpn, target.qpn);
		EXPECT_EQ(int{cqe->status}, int{status});
		EXPECT_TRUE(cqe->flags & OHCA_CQE_FROM_SRQ);
		EXPECT_EQ(cqe->srqn, queue.srq.srqn);
		if (!status) {
			EXPECT_EQ(cqe->src_qp, initiator.qpn);
		}
	}
	void expect_event(uint8_t type, uint32_t number, uint32_t detail = OHCA_VENDOR_ERROR_NONE)
	{
		auto event = net[1].async_eq.poll();
		while (event && event->type == OHCA_EVENT_COMM_ESTABLISHED)
			event = net[1].async_eq.poll();
		ASSERT_TRUE(event.has_value());
		EXPECT_EQ(int{event->type}, int{type});
		EXPECT_EQ(event->number, number);
		EXPECT_EQ(event->detail, detail);
	}
	// The request has ended the connection because of the SRQ it names.
	void expect_violation()
	{
		expect_sent(OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST);
		expect_event(OHCA_EVENT_QP_REQUEST_ERROR, target.qpn, OHCA_VENDOR_ERROR_SRQ);
		expect_event(OHCA_EVENT_QP_LAST_WQE, target.qpn);
		EXPECT_EQ(int{context().state}, OHCA_QP_STATE_ERR);
		for (Queue &queue : queues)
			EXPECT_FALSE(queue.cq.poll().has_value());
	}
	QpContext &context() { return *net[1].function().context().qp(target.qpn); }
	bool arrived(const Queue &queue, uint32_t length)
	{
		return std::memcmp(net[0].host(from), net[1].host(queue.memory), length) == 0;
	}

	Loopback net{2};
	uint32_t xrcd = 0;
	std::array<Queue, 2> queues;
	uint64_t from = 0;
	uint32_t from_key = 0;
	FakeQp initiator;
	FakeQp target;
	TransmitScratch scratch;
};

// OHCA-XRC-D1, OHCA-XRC-D3: one queue pair reaches every SRQ of the domain.
TEST_F(XrcTest, RequestsChooseTheSrq)
{
	post(queues[0], 10, 64);
	post(queues[1], 20, kLong);
	post(queues[0], 11, 64);
	send(request(OHCA_WR_SEND, queues[1]), kLong);
	expect_received(queues[1], 20);
	EXPECT_TRUE(arrived(queues[1], kLong));
	send(request(OHCA_WR_SEND, queues[0]), 64);
	expect_received(queues[0], 10);
	EXPECT_TRUE(arrived(queues[0], 64));
	ohca_sq_wqe wqe = request(OHCA_WR_WRITE_IMM, queues[0]);
	send(wqe, 128);
	expect_received(queues[0], 11);
	EXPECT_TRUE(arrived(queues[0], 128));
	for (int i = 0; i < 3; i++)
		expect_sent();
	EXPECT_FALSE(queues[1].cq.poll().has_value());
}

// OHCA-XRC-D2: R_Keys are those of the named SRQ's PD, for every kind of request.
TEST_F(XrcTest, RemoteKeysAreOfTheSrqsDomain)
{
	send(request(OHCA_WR_WRITE, queues[0]), kLong);
	expect_sent();
	EXPECT_TRUE(arrived(queues[0], kLong));
	std::memset(net[0].host(from), 0, kBuffer);
	send(request(OHCA_WR_READ, queues[0]), kLong);
	expect_sent();
	EXPECT_TRUE(arrived(queues[0], kLong));
	net[1].at<uint64_t>(queues[1].memory) = 40;
	ohca_sq_wqe add = request(OHCA_WR_FADD, queues[1]);
	initiator.post_atomic(add, {.operand = 2, .compare = 0}, {.address = from, .length = 8, .lkey = from_key});
	initiator.ring();
	net.run();
	expect_sent();
	EXPECT_EQ(net[1].at<uint64_t>(queues[1].memory), 42u);
	EXPECT_EQ(net[0].at<uint64_t>(from), 40u);

	add.rkey = queues[0].key; // the key of the other SRQ's PD
	initiator.post_atomic(add, {.operand = 2, .compare = 0}, {.address = from, .length = 8, .lkey = from_key});
	initiator.ring();
	net.run();
	expect_sent(OHCA_CQE_STATUS_REMOTE_ACCESS);
	EXPECT_EQ(net[1].at<uint64_t>(queues[1].memory), 42u);
}

// OHCA-XRC-D2: an answer to a READ is checked against the SRQ that the READ named.
TEST_F(XrcTest, ReadsKeepTheirSrq)
{
	std::memset(net[1].host(queues[0].memory), 0x5a, kBuffer);
	ohca_sq_wqe read = request(OHCA_WR_READ, queues[0]);
	for (int i = 0; i < 4; i++) {
		post_send(read, kLong);
		post_send(request(OHCA_WR_WRITE, queues[1]), 8);
	}
	net.run();
	for (int i = 0; i < 8; i++)
		expect_sent();
	EXPECT_EQ(*net[0].host(from + kLong - 1), std::byte{0x5a});
}

// OHCA-XRC-D3: L_Keys, too.
TEST_F(XrcTest, LocalKeysAreOfTheSrqsDomain)
{
	queues[0].srq.post(1, ohca_sge{.address = queues[1].memory, .length = 64, .lkey = queues[1].key});
	send(request(OHCA_WR_SEND, queues[0]), 8);
	expect_received(queues[0], 1, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	expect_sent(OHCA_CQE_STATUS_REMOTE_OPERATION);
}

// OHCA-XRC-D4
TEST_F(XrcTest, NoSuchSrq)
{
	ohca_sq_wqe wqe = request(OHCA_WR_SEND, queues[0]);
	wqe.remote_srqn = 999;
	send(wqe, 8);
	expect_violation();
}

// OHCA-XRC-D4
TEST_F(XrcTest, NoSrqAtAll)
{
	ohca_sq_wqe wqe = request(OHCA_WR_WRITE, queues[0]);
	wqe.remote_srqn = 0;
	send(wqe, 8);
	expect_violation();
}

// OHCA-XRC-D4: basic SRQs are not of the domain.
TEST_F(XrcTest, BasicSrqsAreOutOfReach)
{
	FakeSrq basic = create_srq(net[1], {.pd = queues[0].pd});
	basic.post(1);
	ohca_sq_wqe wqe = request(OHCA_WR_SEND, queues[0]);
	wqe.remote_srqn = basic.srqn;
	send(wqe, 0);
	expect_violation();
	EXPECT_EQ(basic.query().consumer, 0u);
}

// OHCA-XRC-D4: nor are the SRQs, or through them the memory, of another domain.
TEST_F(XrcTest, ForeignDomainsAreOutOfReach)
{
	Queue foreign = make_queue(create_xrcd(net[1]));
	post(foreign, 1, 64);
	std::memset(net[1].host(foreign.memory), 0x77, 64);
	send(request(OHCA_WR_WRITE, foreign), 8);
	expect_violation();
	EXPECT_EQ(*net[1].host(foreign.memory), std::byte{0x77});
	std::tie(initiator, target) = connected();
	send(request(OHCA_WR_SEND, foreign), 8);
	expect_violation();
	EXPECT_EQ(foreign.srq.query().consumer, 0u);
	EXPECT_FALSE(foreign.cq.poll().has_value());
}

// OHCA-XRC-D5
TEST_F(XrcTest, EmptyIsReceiverNotReady)
{
	send(request(OHCA_WR_SEND, queues[0]), 8);
	EXPECT_FALSE(net.cq(0).poll().has_value());
	post(queues[1], 1, 64); // not the one that is asked for
	net.advance(1'000'000);
	EXPECT_FALSE(net.cq(0).poll().has_value());
	post(queues[0], 2, 64);
	net.advance(1'000'000);
	expect_sent();
	expect_received(queues[0], 2);
}

// OHCA-XRC-D6: the message in progress has nowhere to complete any more.
TEST_F(XrcTest, SrqDestroyedInTheMiddleOfAMessage)
{
	post(queues[0], 1, kLong);
	post_send(request(OHCA_WR_SEND, queues[0]), kLong);
	run_until_taken(queues[0].srq);
	ASSERT_TRUE(context().responder.recv_active);
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_SRQ, queues[0].srq.srqn));
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_CQ, queues[0].cq.cqn));
	net.run();
	expect_violation();
}

// OHCA-XRC-D6: the SRQ of somebody else does not matter.
TEST_F(XrcTest, AnotherSrqDestroyedInTheMiddleOfAMessage)
{
	post(queues[0], 1, kLong);
	post_send(request(OHCA_WR_SEND, queues[0]), kLong);
	run_until_taken(queues[0].srq);
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_SRQ, queues[1].srq.srqn));
	net.run();
	expect_sent();
	expect_received(queues[0], 1);
}

// OHCA-SRQ-D7
TEST_F(XrcTest, ErrorFlushesTheWqeInUse)
{
	post(queues[0], 1, kLong);
	post(queues[0], 2, kLong);
	post_send(request(OHCA_WR_SEND, queues[0]), kLong);
	run_until_taken(queues[0].srq);
	FakeFunction::must(net[1].modify(target.qpn, OHCA_QP_STATE_ERR, 0));
	expect_received(queues[0], 1, OHCA_CQE_STATUS_FLUSHED);
	expect_event(OHCA_EVENT_QP_LAST_WQE, target.qpn);
	net.advance(1'000'000'000);
	EXPECT_FALSE(queues[0].cq.poll().has_value());
	EXPECT_EQ(queues[0].srq.query().consumer, 1u);
}

// OHCA-SRQ-D11: in the CQ of the SRQ, which outlives the target.
TEST_F(XrcTest, TargetDestroyedInTheMiddleOfAMessage)
{
	post(queues[0], 1, kLong);
	post_send(request(OHCA_WR_SEND, queues[0]), kLong);
	run_until_taken(queues[0].srq);
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_QP, target.qpn));
	expect_received(queues[0], 1, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_FALSE(queues[0].cq.poll().has_value());
}

// A target has no rings, record or slot; no state may look at them.
TEST_F(XrcTest, TargetsGoThroughAllStates)
{
	FakeQp qp = create_xrc_target(net[1], xrcd);
	FakeFunction::must(net[1].modify(qp.qpn, OHCA_QP_STATE_ERR, 0));
	FakeFunction::must(net[1].modify(qp.qpn, OHCA_QP_STATE_RESET, 0));
	connect_xrc(create_xrc_initiator(net[0], net.qp_options(0)), qp);
	ohca_qp_attributes a{};
	a.ack_timeout = 14;
	FakeFunction::must(
		net[1].modify(qp.qpn, OHCA_QP_STATE_RTS, OHCA_QP_ATTR_SQ_PSN | OHCA_QP_ATTR_ACK_TIMEOUT, a));
	net.advance(100'000'000);
	FakeFunction::must(net[1].modify(qp.qpn, OHCA_QP_STATE_SQD, 0));
	FakeFunction::must(net[1].modify(qp.qpn, OHCA_QP_STATE_RTS, 0));
	FakeFunction::must(net[1].modify(qp.qpn, OHCA_QP_STATE_ERR, 0));
	net.advance(1'000'000'000);
	EXPECT_EQ(net.engine.poll_timeout(), kNever);
	ohca_cmd_handle in{};
	in.handle = qp.qpn;
	ohca_cmd_query_qp_out out;
	FakeFunction::must(net[1].command(OHCA_CMD_QUERY_QP, in, out));
	EXPECT_EQ(int{out.attributes.state}, OHCA_QP_STATE_ERR);
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DOORBELLS_BAD), 0u);
}

// D3: another engine finishes the message, with the WQE that was taken for it.
TEST_F(XrcTest, AnotherEngineGoesOn)
{
	post(queues[0], 1, kLong);
	post(queues[0], 2, kLong);
	post_send(request(OHCA_WR_SEND, queues[0]), kLong);
	run_until_taken(queues[0].srq);
	Engine restarted;
	restarted.add_function(net[0].function().resources());
	restarted.add_function(net[1].function().resources());
	for (int i = 0; i < 100; i++)
		restarted.run(net.now += 100);
	expect_sent();
	expect_received(queues[0], 1);
	EXPECT_TRUE(arrived(queues[0], kLong));
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_DOORBELLS_BAD), 0u);
}

TEST_F(XrcTest, ResetForgetsSrqsAndDomains)
{
	net.engine.reset(1);
	net[1].bring_up(2);
	uint32_t pd = net[1].create_pd();
	EXPECT_EQ(create_xrcd(net[1]), 1u);
	FakeSrq srq = create_srq(net[1], {.pd = pd});
	EXPECT_EQ(srq.srqn, 1u);
	EXPECT_EQ(srq.query().consumer, 0u);
}

// OHCA-XRC-D7: an initiator serves nobody, whatever its access flags and PSNs allow.
TEST_F(XrcTest, InitiatorsHearNoRequests)
{
	Function &function = net[0].function();
	QpContext &qp = *function.context().qp(initiator.qpn);
	Segment segment;
	segment.kind = SegmentKind::kSend;
	segment.service = Service::kExtendedReliableConnection;
	segment.first = segment.last = segment.ack_request = true;
	segment.source_qpn = target.qpn;
	segment.psn = qp.responder.expected_psn;
	uint64_t dropped = function.context().counters()[OHCA_COUNTER_PACKETS_DROPPED];
	handle_segment(function, qp, segment, net.now);
	EXPECT_EQ(function.context().counters()[OHCA_COUNTER_PACKETS_DROPPED], dropped + 1);
	EXPECT_EQ(qp.responder.expected_psn, segment.psn);
	EXPECT_EQ(int{qp.state}, OHCA_QP_STATE_RTS);
	Segment answer;
	EXPECT_FALSE(poll_transmit(function, qp, net.now, {}, scratch, answer));
}

// OHCA-XRC-D7
TEST_F(XrcTest, TargetsHearNoAnswers)
{
	Function &function = net[1].function();
	Segment segment;
	segment.kind = SegmentKind::kAcknowledge;
	segment.service = Service::kExtendedReliableConnection;
	segment.first = segment.last = true;
	segment.source_qpn = initiator.qpn;
	uint64_t dropped = function.context().counters()[OHCA_COUNTER_PACKETS_DROPPED];
	handle_segment(function, context(), segment, net.now);
	EXPECT_EQ(function.context().counters()[OHCA_COUNTER_PACKETS_DROPPED], dropped + 1);
}

// OHCA-XRC-D7: RC and XRC queue pairs that name each other do not hear each other.
TEST_F(XrcTest, OtherServicesAreNotHeard)
{
	FakeQp rc = net[0].create_qp(net.qp_options(0));
	FakeQp other = create_xrc_target(net[1], xrcd);
	ConnectOptions impatient;
	impatient.ack_timeout = 6;
	impatient.retry_count = 1;
	net[0].connect(rc, other, impatient);
	connect_target(rc, other);
	initiator = rc;
	post(queues[0], 1, 64);
	ohca_sq_wqe wqe = request(OHCA_WR_SEND, queues[0]);
	wqe.remote_srqn = 0;
	send(wqe, 8);
	net.advance(1'000'000'000);
	expect_sent(OHCA_CQE_STATUS_RETRY_EXCEEDED);
	EXPECT_EQ(int{net[1].function().context().qp(other.qpn)->state}, OHCA_QP_STATE_RTR);
}

} // namespace
} // namespace ohca::core::test
