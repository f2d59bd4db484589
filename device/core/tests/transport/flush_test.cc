// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class Flush : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		ready();
	}
};

// OHCA-ERR-D3 OHCA-QP-D3
TEST_F(Flush, BothQueuesInOrder)
{
	for (uint32_t i = 0; i < 3; i++) {
		SendRequest unsignaled = write(1);
		unsignaled.flags = 0;
		host.post_send(*qp, unsignaled);
		post_receive(100 + i, 8);
	}
	to(OHCA_QP_STATE_ERR);
	for (uint32_t i = 0; i < 3; i++) {
		expect_send(i, OHCA_CQE_STATUS_FLUSHED); // unsignaled ones as well
		expect_receive(100 + i, OHCA_CQE_STATUS_FLUSHED);
	}
	expect_no_completion();
	expect_nothing(0);
	expect_no_event();
}

// OHCA-ERR-D2
TEST_F(Flush, OutstandingBeforePosted)
{
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	host.post_send(*qp, write(1));
	to(OHCA_QP_STATE_ERR);
	expect_send(0, OHCA_CQE_STATUS_FLUSHED);
	expect_send(1, OHCA_CQE_STATUS_FLUSHED);
	// A late ACK is dropped.
	send(1, ack(kSqPsn));
	expect_no_completion();
}

TEST_F(Flush, ReceiveInUseComesFirst)
{
	post_receive(1, 600);
	post_receive(2, 600);
	send(0, incoming(SegmentKind::kSend, kRqPsn, true, false), pattern(256, 1));
	to(OHCA_QP_STATE_ERR);
	expect_receive(1, OHCA_CQE_STATUS_FLUSHED);
	expect_receive(2, OHCA_CQE_STATUS_FLUSHED);
	expect_no_completion();
}

// OHCA-ERR-D3
TEST_F(Flush, DoorbellFlushesWhatIsPostedLater)
{
	to(OHCA_QP_STATE_ERR);
	expect_no_completion();
	post_receive(5, 8);
	post(write(1));
	expect_send(0, OHCA_CQE_STATUS_FLUSHED);
	expect_receive(5, OHCA_CQE_STATUS_FLUSHED);
}

// OHCA-ERR-D6
TEST_F(Flush, TimerFlushesReceivesThatArePostedLater)
{
	to(OHCA_QP_STATE_ERR);
	post_receive(5, 8);
	expect_nothing(900);
	expect_no_completion();
	expect_nothing(1000);
	expect_receive(5, OHCA_CQE_STATUS_FLUSHED);
}

TEST_F(Flush, TimerSlowsDown)
{
	to(OHCA_QP_STATE_ERR);
	uint32_t looks = 0;
	for (; now_ns < 10'000'000'000; looks++) {
		now_ns = poll_timeout(*qp);
		handle_timeout(function(), *qp, now_ns);
	}
	EXPECT_LT(looks, 170u); // 64 ms apart in the end
	// Something posted: fast again.
	post_receive(5, 8);
	now_ns = poll_timeout(*qp);
	handle_timeout(function(), *qp, now_ns);
	expect_receive(5, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_EQ(poll_timeout(*qp), now_ns + 1'000'000);
}

TEST_F(Flush, WorkIsBounded)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = send_cq;
	options.recv_cq = recv_cq;
	options.log_sq_depth = 9;
	options.log_sq_stride = 7;
	create(options);
	ready();
	now_ns = 1000;
	for (int i = 0; i < 500; i++)
		host.post_send(*qp, write(1));
	to(OHCA_QP_STATE_ERR);
	uint32_t index = 0;
	for (int step = 0; step < 8; step++) {
		uint32_t count = 0;
		while (const auto cqe = host.poll(send_cq)) {
			EXPECT_EQ(cqe->wqe_index, index++);
			count++;
		}
		EXPECT_LE(count, 64u);
		EXPECT_LE(poll_timeout(*qp), now_ns + (index < 500 ? 0u : 1'000'000u));
		handle_timeout(function(), *qp, now_ns);
	}
	EXPECT_EQ(index, 500u);
}

TEST_F(Flush, RefusalIsStillTransmitted)
{
	Segment bad = incoming_write(kRqPsn, 1);
	bad.rkey ^= 1;
	send(0, bad, pattern(1, 1));
	expect_broken();
	expect(10, want_nak(kRqPsn, kAethNakRemoteAccess));
	expect_nothing(10);
}

TEST_F(Flush, ApplicationsErrorDropsAnswers)
{
	send(0, incoming_write(kRqPsn, 0));
	send(0, incoming_read(kRqPsn + 1, 100));
	to(OHCA_QP_STATE_ERR);
	expect_nothing(0);
}

// OHCA-RC-D11
TEST_F(Flush, NothingIsReceivedInError)
{
	post_receive(1, 8);
	to(OHCA_QP_STATE_ERR);
	expect_receive(1, OHCA_CQE_STATUS_FLUSHED);
	post_receive(2, 8);
	send(0, incoming(SegmentKind::kSend, kRqPsn), pattern(4, 1));
	expect_no_completion();
	expect_nothing(0);
}

TEST_F(Flush, FullCqDoesNotStopIt)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = host.create_cq(1);
	options.recv_cq = recv_cq;
	create(options);
	ready();
	for (int i = 0; i < 5; i++)
		host.post_send(*qp, write(1));
	post_receive(1, 8);
	to(OHCA_QP_STATE_ERR);
	EXPECT_EQ(qp->requester.complete_index, 5u);
	expect_receive(1, OHCA_CQE_STATUS_FLUSHED);
	expect_event(OHCA_EVENT_CQ_ERROR);
	expect_no_event();
}

// OHCA-ERR-D3
TEST_F(Flush, MalformedRequestsAreFlushedToo)
{
	host.post_send(*qp, message(0x77, 8));
	to(OHCA_QP_STATE_ERR);
	expect_send(0, OHCA_CQE_STATUS_FLUSHED);
}

} // namespace
} // namespace ohca::core::test
