// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Messages into shared receive queues, from post to poll.
#include <gtest/gtest.h>

#include "core/tests/fake_srq.hh"
#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kLong = 3 << 20; // several segments, and several passes of the engine
constexpr uint64_t kBuffer = uint64_t{4} << 20;

struct SrqTest : testing::Test {
	SrqTest()
	{
		srq_pd = net[1].create_pd();
		srq = create_srq(net[1], {.pd = srq_pd});
		from = net[0].allocate(kBuffer);
		to = net[1].allocate(4 * kBuffer);
		from_key = net[0].register_memory(net.pd(0), from, kBuffer);
		to_key = net[1].register_memory(srq_pd, to, 4 * kBuffer);
		for (uint64_t i = 0; i < kBuffer; i++)
			*net[0].host(from + i) = static_cast<std::byte>(i * 13 + (i >> 9));
	}

	// Host 0 sends, host 1 receives from an SRQ.
	std::pair<FakeQp, FakeQp> pair_on(const FakeSrq &queue, const ConnectOptions &o = {})
	{
		FakeQp a = net[0].create_qp(net.qp_options(0));
		FakeQp b = create_qp_on(net[1], net.qp_options(1), queue.srqn);
		net[0].connect(a, b, o);
		net[1].connect(b, a, o);
		return {a, b};
	}
	ohca_sge room(uint32_t index, uint32_t length)
	{
		return {.address = to + index * kBuffer, .length = length, .lkey = to_key};
	}
	void post_send(FakeQp &qp, uint32_t length, uint8_t opcode = OHCA_WR_SEND)
	{
		ohca_sq_wqe wqe{};
		wqe.opcode = opcode;
		wqe.flags = OHCA_WQE_SIGNALED;
		ohca_sge sge{.address = from, .length = length, .lkey = from_key};
		qp.post_send(wqe, {&sge, length ? 1u : 0u});
		qp.ring();
	}
	void send(FakeQp &qp, uint32_t length, uint8_t opcode = OHCA_WR_SEND)
	{
		post_send(qp, length, opcode);
		net.run();
	}
	bool arrived(uint32_t index, uint32_t length)
	{
		return std::memcmp(net[0].host(from), net[1].host(to + index * kBuffer), length) == 0;
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
	ohca_cqe expect_received(const FakeQp &qp, uint32_t tag, uint8_t status = OHCA_CQE_STATUS_SUCCESS)
	{
		auto cqe = net.cq(1).poll();
		EXPECT_TRUE(cqe.has_value());
		if (!cqe)
			return {};
		EXPECT_EQ(cqe->wqe_index, tag);
		EXPECT_EQ(cqe->qpn, qp.qpn);
		EXPECT_EQ(int{cqe->status}, int{status});
		EXPECT_EQ(cqe->flags & (OHCA_CQE_RECEIVE | OHCA_CQE_FROM_SRQ), OHCA_CQE_RECEIVE | OHCA_CQE_FROM_SRQ);
		EXPECT_EQ(cqe->srqn, srq.srqn);
		return *cqe;
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
	void expect_no_event()
	{
		auto event = net[1].async_eq.poll();
		EXPECT_FALSE(event.has_value()) << int{event->type};
	}
	uint8_t state(const FakeQp &qp) { return qp.host->function().context().qp(qp.qpn)->state; }

	Loopback net{2};
	uint32_t srq_pd = 0;
	FakeSrq srq;
	uint64_t from = 0;
	uint64_t to = 0;
	uint32_t from_key = 0;
	uint32_t to_key = 0;
};

// OHCA-SRQ-D1, OHCA-SRQ-D4
TEST_F(SrqTest, QueuePairsShareInTheOrderOfArrival)
{
	auto [a1, b1] = pair_on(srq);
	auto [a2, b2] = pair_on(srq);
	for (uint32_t i = 0; i < 4; i++)
		srq.post(100 + i, room(i, 64));
	send(a2, 8);
	EXPECT_EQ(expect_received(b2, 100).byte_length, 8u);
	send(a1, 64);
	expect_received(b1, 101);
	send(a1, 16);
	send(a2, 32, OHCA_WR_SEND_IMM);
	expect_received(b1, 102);
	EXPECT_EQ(int{expect_received(b2, 103).opcode}, OHCA_WR_SEND_IMM);
	EXPECT_TRUE(arrived(0, 8) && arrived(1, 64) && arrived(2, 16) && arrived(3, 32));
	EXPECT_EQ(srq.query().consumer, 4u);
	for (int i = 0; i < 4; i++)
		expect_sent();
}

// OHCA-SRQ-D1: a WRITE with immediate takes one, and places nothing through it.
TEST_F(SrqTest, WriteWithImmediateTakesOne)
{
	auto [a, b] = pair_on(srq);
	uint32_t rkey = net[1].register_memory(net.pd(1), to, kBuffer);
	srq.post(7);
	ohca_sq_wqe wqe{};
	wqe.opcode = OHCA_WR_WRITE_IMM;
	wqe.immediate = 0x11223344;
	wqe.remote_address = to;
	wqe.rkey = rkey;
	ohca_sge sge{.address = from, .length = 100, .lkey = from_key};
	a.post_send(wqe, {&sge, 1});
	a.ring();
	net.run();
	ohca_cqe cqe = expect_received(b, 7);
	EXPECT_EQ(cqe.immediate, 0x11223344u);
	EXPECT_TRUE(arrived(0, 100));
	EXPECT_EQ(srq.query().consumer, 1u);
}

// OHCA-SRQ-D3: L_Keys belong to the SRQ's PD.
TEST_F(SrqTest, LocalKeysAreOfTheSrqsDomain)
{
	auto [a, b] = pair_on(srq);
	uint32_t key_of_qp = net[1].register_memory(net.pd(1), to, kBuffer);
	srq.post(1, ohca_sge{.address = to, .length = 64, .lkey = key_of_qp});
	send(a, 8);
	EXPECT_EQ(expect_received(b, 1, OHCA_CQE_STATUS_LOCAL_PROTECTION).vendor_error,
		  uint32_t{OHCA_VENDOR_ERROR_KEY_PD});
	expect_sent(OHCA_CQE_STATUS_REMOTE_OPERATION);
	EXPECT_EQ(int{state(b)}, OHCA_QP_STATE_ERR);
}

// OHCA-SRQ-D3: R_Keys belong to the queue pair's.
TEST_F(SrqTest, RemoteKeysAreOfTheQueuePairsDomain)
{
	auto [a, b] = pair_on(srq);
	Loopback::write(a, from, from_key, to, to_key, 8);
	a.ring();
	net.run();
	expect_sent(OHCA_CQE_STATUS_REMOTE_ACCESS);
}

// OHCA-SRQ-D2: the slot may be posted again as soon as the WQE is taken.
TEST_F(SrqTest, TakenWqesAreCopies)
{
	FakeSrq small = srq = create_srq(net[1], {.pd = srq_pd, .log_depth = 0});
	auto [a1, b1] = pair_on(small);
	auto [a2, b2] = pair_on(small);
	srq.post(1, room(0, kLong));
	post_send(a1, kLong);
	run_until_taken(srq);
	ASSERT_FALSE(net.cq(1).poll().has_value()); // in the middle of the message
	srq.post(2, room(1, kLong));                // the same slot
	send(a2, kLong);
	uint32_t tags = 0;
	for (int i = 0; i < 2; i++) {
		auto cqe = net.cq(1).poll();
		ASSERT_TRUE(cqe.has_value());
		EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_SUCCESS);
		EXPECT_EQ(cqe->qpn, cqe->wqe_index == 1 ? b1.qpn : b2.qpn);
		tags |= cqe->wqe_index;
	}
	EXPECT_EQ(tags, 3u);
	EXPECT_TRUE(arrived(0, kLong) && arrived(1, kLong));
}

// OHCA-SRQ-D5
TEST_F(SrqTest, EmptyIsReceiverNotReady)
{
	auto [a, b] = pair_on(srq);
	send(a, 8);
	EXPECT_FALSE(net.cq(0).poll().has_value());
	EXPECT_GE(net[1].counter(OHCA_COUNTER_RNR_NAKS_SENT), 1u);
	srq.post(5, room(0, 8));
	net.advance(100'000);
	expect_sent();
	expect_received(b, 5);
	EXPECT_EQ(srq.query().consumer, 1u);

	ConnectOptions impatient;
	impatient.rnr_retry = 0;
	auto [c, d] = pair_on(srq, impatient);
	send(c, 8);
	expect_sent(OHCA_CQE_STATUS_RNR_RETRY_EXCEEDED);
	EXPECT_EQ(int{state(d)}, OHCA_QP_STATE_RTS);
}

// OHCA-SRQ-D2: a message that does not fit takes its WQE with it, and none of anybody else's.
TEST_F(SrqTest, ErrorsAreTheQueuePairsOwn)
{
	auto [a1, b1] = pair_on(srq);
	auto [a2, b2] = pair_on(srq);
	srq.post(1, room(0, 10));
	srq.post(2, room(1, 10));
	send(a1, 11);
	expect_received(b1, 1, OHCA_CQE_STATUS_LOCAL_LENGTH);
	expect_sent(OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST);
	expect_event(OHCA_EVENT_QP_LAST_WQE, b1.qpn);
	send(a2, 10);
	expect_received(b2, 2);
	expect_sent();
	EXPECT_EQ(srq.query().consumer, 2u);
	expect_no_event();
}

// OHCA-SRQ-D2
TEST_F(SrqTest, MalformedWqesAreTakenAndFail)
{
	auto [a1, b1] = pair_on(srq);
	auto [a2, b2] = pair_on(srq);
	srq.post(1);
	reinterpret_cast<ohca_rq_wqe *>(srq.slot(0))->num_sge = 31;
	srq.post(2, room(0, 10));
	send(a1, 1);
	EXPECT_EQ(expect_received(b1, 1, OHCA_CQE_STATUS_LOCAL_QP_OPERATION).vendor_error,
		  uint32_t{OHCA_VENDOR_ERROR_SGE_COUNT});
	expect_sent(OHCA_CQE_STATUS_REMOTE_OPERATION);
	send(a2, 10);
	expect_received(b2, 2);
}

// OHCA-SRQ-D2: nothing has happened if the sender's memory is gone.
TEST_F(SrqTest, AFaultOfTheSenderTakesNothing)
{
	auto [a, b] = pair_on(srq);
	srq.post(1, room(0, 64));
	ohca_page_list nowhere{};
	nowhere.address = 0x7000'0000'0000;
	nowhere.page_count = 1;
	nowhere.log_page_size = 12;
	ohca_cmd_create_mkey_out key;
	FakeFunction::must(
		net[0].command(OHCA_CMD_CREATE_MKEY, FakeFunction::mkey_request(net.pd(0), nowhere, 0, 4096), key));
	from = 0;
	from_key = key.key;
	send(a, 8);
	expect_sent(OHCA_CQE_STATUS_LOCAL_PROTECTION);
	EXPECT_EQ(srq.query().consumer, 0u);
	EXPECT_EQ(int{state(b)}, OHCA_QP_STATE_RTS);
}

// OHCA-SRQ-D6
TEST_F(SrqTest, LimitIsReportedOnceByTheWqeThatGoesBelow)
{
	auto [a, b] = pair_on(srq);
	for (uint32_t i = 0; i < 5; i++)
		srq.post(i, room(0, 64));
	FakeFunction::must(srq.set_limit(3));
	send(a, 8);
	send(a, 8); // three are left
	while (auto event = net[1].async_eq.poll())
		EXPECT_EQ(int{event->type}, OHCA_EVENT_COMM_ESTABLISHED);
	srq.post(5, room(0, 64));
	send(a, 8); // three again
	expect_no_event();
	send(a, 8);
	expect_event(OHCA_EVENT_SRQ_LIMIT, srq.srqn);
	EXPECT_EQ(srq.query().limit, 0u);
	send(a, 8);
	expect_no_event();
}

// OHCA-SRQ-D8
TEST_F(SrqTest, AGarbageProducerBreaksTheSrqAndWhoNeedsIt)
{
	FakeSrq other = create_srq(net[1], {.pd = srq_pd});
	auto [a1, b1] = pair_on(srq);
	auto [a2, b2] = pair_on(srq);
	auto [a3, b3] = pair_on(other);
	srq.record().producer = 65;
	other.post(3, room(0, 8));
	send(a1, 8);
	expect_sent(OHCA_CQE_STATUS_REMOTE_OPERATION);
	expect_event(OHCA_EVENT_SRQ_ERROR, srq.srqn, OHCA_VENDOR_ERROR_RING_INDEX);
	expect_event(OHCA_EVENT_QP_FATAL, b1.qpn, OHCA_VENDOR_ERROR_RING_INDEX);
	expect_event(OHCA_EVENT_QP_LAST_WQE, b1.qpn);
	EXPECT_EQ(int{state(b2)}, OHCA_QP_STATE_RTS); // has not needed it yet
	send(a2, 8);
	expect_event(OHCA_EVENT_QP_FATAL, b2.qpn, OHCA_VENDOR_ERROR_RING_INDEX); // the SRQ is reported once
	expect_event(OHCA_EVENT_QP_LAST_WQE, b2.qpn);
	expect_sent(OHCA_CQE_STATUS_REMOTE_OPERATION);
	EXPECT_FALSE(net.cq(1).poll().has_value());
	send(a3, 8);
	expect_sent();
	srq = other;
	expect_received(b3, 3);
}

// OHCA-SRQ-D8
TEST_F(SrqTest, AnUnreachableRingBreaksTheSrq)
{
	FakeSrq gone;
	ohca_cmd_create_srq_in in = srq_request(net[1], {.pd = srq_pd}, gone);
	in.pages.address = 0x7000'0000'0000;
	ohca_cmd_handle out;
	FakeFunction::must(net[1].command(OHCA_CMD_CREATE_SRQ, in, out));
	gone.srqn = out.handle;
	auto [a, b] = pair_on(gone);
	send(a, 8);
	expect_sent(OHCA_CQE_STATUS_REMOTE_OPERATION);
	expect_event(OHCA_EVENT_SRQ_ERROR, gone.srqn, OHCA_VENDOR_ERROR_DMA);
	expect_event(OHCA_EVENT_QP_FATAL, b.qpn, OHCA_VENDOR_ERROR_DMA);
	expect_event(OHCA_EVENT_QP_LAST_WQE, b.qpn);
}

// OHCA-SRQ-D7: only the WQE in use is flushed.
TEST_F(SrqTest, ErrorFlushesTheWqeInUseOnly)
{
	auto [a, b] = pair_on(srq);
	srq.post(1, room(0, kLong));
	srq.post(2, room(1, kLong));
	post_send(a, kLong);
	run_until_taken(srq);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_ERR, 0));
	expect_received(b, 1, OHCA_CQE_STATUS_FLUSHED);
	expect_event(OHCA_EVENT_QP_LAST_WQE, b.qpn);
	net.advance(1'000'000'000);
	EXPECT_FALSE(net.cq(1).poll().has_value());
	EXPECT_EQ(srq.query().consumer, 1u);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_ERR, 0)); // once
	expect_no_event();
}

// OHCA-SRQ-D7: also when nothing is in use, from every state, and in each error anew.
TEST_F(SrqTest, LastWqeComesAlwaysAndOnlyWithAnSrq)
{
	FakeQp b = create_qp_on(net[1], net.qp_options(1), srq.srqn);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_ERR, 0));
	expect_event(OHCA_EVENT_QP_LAST_WQE, b.qpn);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_RESET, 0));
	expect_no_event();
	FakeFunction::must(net[1].to_init(b.qpn));
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_ERR, 0));
	expect_event(OHCA_EVENT_QP_LAST_WQE, b.qpn);
	FakeQp plain = net[1].create_qp(net.qp_options(1));
	FakeFunction::must(net[1].modify(plain.qpn, OHCA_QP_STATE_ERR, 0));
	expect_no_event();
}

// A queue pair without a receive queue has nothing to look for in ERR.
TEST_F(SrqTest, ErrorLeavesNoTimer)
{
	FakeQp b = create_qp_on(net[1], net.qp_options(1), srq.srqn);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_ERR, 0));
	net.run();
	net.advance(200'000'000); // the wheel is lazy
	EXPECT_EQ(net.engine.poll_timeout(), kNever);
	post_send(b, 0);
	net.run();
	auto cqe = net.cq(1).poll();
	ASSERT_TRUE(cqe.has_value());
	EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_FLUSHED);
}

// OHCA-CMD-D13 OHCA-SRQ-D11: what a queue pair that is destroyed had in use is flushed.
TEST_F(SrqTest, DestroyInTheMiddleOfAMessage)
{
	auto [a, b] = pair_on(srq);
	auto [c, d] = pair_on(srq);
	srq.post(1, room(0, kLong));
	srq.post(2, room(1, kLong));
	post_send(a, kLong);
	run_until_taken(srq);
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_QP, b.qpn));
	net.run();
	expect_received(b, 1, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_FALSE(net.cq(1).poll().has_value());
	send(c, kLong);
	expect_received(d, 2);
}

// OHCA-SRQ-D11: and of one that is reset, which then begins anew.
TEST_F(SrqTest, ResetInTheMiddleOfAMessage)
{
	auto [a, b] = pair_on(srq);
	srq.post(1, room(0, kLong));
	srq.post(2, room(1, kLong));
	post_send(a, kLong);
	run_until_taken(srq);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_RESET, 0));
	expect_received(b, 1, OHCA_CQE_STATUS_FLUSHED);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_RESET, 0)); // once
	EXPECT_FALSE(net.cq(1).poll().has_value());
	FakeFunction::must(net[0].modify(a.qpn, OHCA_QP_STATE_RESET, 0));
	net[0].connect(a, b);
	net[1].connect(b, a);
	send(a, kLong);
	expect_received(b, 2);
}

// OHCA-SRQ-D11: with nothing in use, or when that was flushed before, nothing comes.
TEST_F(SrqTest, ResetWithoutAMessage)
{
	auto [a, b] = pair_on(srq);
	srq.post(1, room(0, kLong));
	srq.post(2, room(1, kLong));
	send(a, 8);
	expect_received(b, 1);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_RESET, 0));
	EXPECT_FALSE(net.cq(1).poll().has_value());
	auto [c, d] = pair_on(srq);
	post_send(c, kLong);
	while (!net[1].function().context().qp(d.qpn)->responder.recv_active)
		net.engine.run(net.now);
	FakeFunction::must(net[1].modify(d.qpn, OHCA_QP_STATE_ERR, 0));
	expect_received(d, 2, OHCA_CQE_STATUS_FLUSHED);
	FakeFunction::must(net[1].modify(d.qpn, OHCA_QP_STATE_RESET, 0));
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_QP, d.qpn));
	EXPECT_FALSE(net.cq(1).poll().has_value());
}

// OHCA-SRQ-D11 OHCA-CQ-D3: a CQ that is full then overruns; the queue pair is reset all the same.
TEST_F(SrqTest, ResetWithAFullCq)
{
	auto [a, b] = pair_on(srq);
	srq.post(1, room(0, kLong));
	post_send(a, kLong);
	run_until_taken(srq);
	CqContext &cq = *net[1].function().context().cq(net.cq(1).cqn);
	cq.producer = cq.consumer_seen + (1u << cq.log_depth);
	FakeFunction::must(net[1].modify(b.qpn, OHCA_QP_STATE_RESET, 0));
	EXPECT_EQ(int{net[1].function().context().qp(b.qpn)->state}, OHCA_QP_STATE_RESET);
	expect_event(OHCA_EVENT_CQ_ERROR, net.cq(1).cqn, OHCA_VENDOR_ERROR_CQ_OVERRUN);
	expect_no_event();
}

// Many queue pairs, one SRQ of 64 entries, more messages than entries.
TEST_F(SrqTest, ManyQueuePairsManyMessages)
{
	std::vector<std::pair<FakeQp, FakeQp>> pairs;
	for (int i = 0; i < 50; i++)
		pairs.push_back(pair_on(srq));
	uint32_t posted = 0;
	uint32_t received = 0;
	for (; posted < 64; posted++)
		srq.post(posted, room(0, 64));
	for (int round = 0; round < 20; round++) {
		for (auto &[a, b] : pairs)
			post_send(a, 16);
		for (int i = 0; i < 200 && received < (static_cast<uint32_t>(round) + 1) * 50; i++) {
			net.advance(20'000);
			while (auto cqe = net.cq(1).poll()) {
				EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_SUCCESS);
				EXPECT_EQ(cqe->wqe_index, received++);
				srq.post(posted++, room(0, 64));
			}
		}
		while (net.cq(0).poll())
			;
	}
	EXPECT_EQ(received, 1000u);
}

} // namespace
} // namespace ohca::core::test
