// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class QpState : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		ready();
		qp->attributes.sq_drained_event = 1;
	}
};

// OHCA-QP-D5
TEST_F(QpState, NothingIsSentBeforeRts)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = send_cq;
	options.recv_cq = recv_cq;
	create(options);
	to(OHCA_QP_STATE_INIT);
	post(write(1));
	expect_nothing(0);
	to(OHCA_QP_STATE_RTR);
	post(write(1));
	expect_nothing(0);
	to(OHCA_QP_STATE_RTS);
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
}

// OHCA-QP-D4
TEST_F(QpState, SqdFinishesTheMessageUnderWay)
{
	post(write(600));
	post(write(1));
	expect(0, part(SegmentKind::kWrite, kSqPsn, true, false));
	to(OHCA_QP_STATE_SQD);
	expect(0, part(SegmentKind::kWrite, kSqPsn + 1, false, false));
	expect(0, part(SegmentKind::kWrite, kSqPsn + 2, false, true));
	expect_nothing(0);
	expect_no_event();
	EXPECT_EQ(qp->requester.draining, 1);
	send(1, ack(kSqPsn + 2));
	expect_send(0);
	expect_event(OHCA_EVENT_SQ_DRAINED);
	EXPECT_EQ(qp->requester.draining, 0);
	post(write(1));
	expect_nothing(2);
	to(OHCA_QP_STATE_RTS);
	expect(2, request(SegmentKind::kWrite, kSqPsn + 3));
	expect(2, request(SegmentKind::kWrite, kSqPsn + 4));
}

// OHCA-QP-D4
TEST_F(QpState, SqdOfAnIdleQueueIsDrainedAtOnce)
{
	to(OHCA_QP_STATE_SQD);
	expect_event(OHCA_EVENT_SQ_DRAINED);
	to(OHCA_QP_STATE_RTS);
	expect_no_event();
}

// OHCA-QP-D4
TEST_F(QpState, SqdReportsOnlyOnRequest)
{
	qp->attributes.sq_drained_event = 0;
	to(OHCA_QP_STATE_SQD);
	expect_no_event();
	EXPECT_EQ(qp->requester.draining, 0);
}

// OHCA-QP-D4
TEST_F(QpState, SqdStillRetransmits)
{
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	to(OHCA_QP_STATE_SQD);
	send(1, nak(kSqPsn, kAethNakSequence));
	expect(1, request(SegmentKind::kWrite, kSqPsn));
	send(2, ack(kSqPsn));
	expect_send(0);
	expect_event(OHCA_EVENT_SQ_DRAINED);
}

// OHCA-QP-D4
TEST_F(QpState, SqdKeepsAFetchedRequest)
{
	SendRequest fenced = write(1);
	fenced.flags |= OHCA_WQE_FENCE;
	post(read(1));
	post(fenced);
	expect(0, request(SegmentKind::kReadRequest, kSqPsn));
	expect_nothing(0); // fetched, waiting for the fence
	to(OHCA_QP_STATE_SQD);
	send(1, incoming(SegmentKind::kReadResponse, kSqPsn), pattern(1, 1));
	expect_nothing(1);
	expect_event(OHCA_EVENT_SQ_DRAINED);
	to(OHCA_QP_STATE_RTS);
	expect(1, request(SegmentKind::kWrite, kSqPsn + 1));
}

TEST_F(QpState, SqdStillResponds)
{
	to(OHCA_QP_STATE_SQD);
	send(0, incoming_write(kRqPsn, 4), pattern(4, 1));
	expect(0, want_ack(kRqPsn));
}

TEST_F(QpState, AttributesMayChangeInRts)
{
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	qp->attributes.retry_count = 7;
	to(OHCA_QP_STATE_RTS);
	EXPECT_EQ(qp->requester.next_psn, kSqPsn + 1);
	send(1, ack(kSqPsn));
	expect_send(0);
}

// OHCA-QP-D2
TEST_F(QpState, ResetForgetsEverything)
{
	post(write(1));
	post(read(8));
	post_receive(1, 600);
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	send(0, incoming(SegmentKind::kSend, kRqPsn, true, false), pattern(256, 1));
	send(0, incoming_read(kRqPsn + 1, 4)); // breaks the message, and the queue pair
	expect_broken();
	const uint64_t blocks = function().context().block_bytes_in_use();
	to(OHCA_QP_STATE_RESET);
	EXPECT_LT(function().context().block_bytes_in_use(), blocks);
	EXPECT_EQ(poll_timeout(*qp), kNever);
	expect_nothing(0);
	while (host.poll(send_cq) || host.poll(recv_cq))
		;
	host.record(*qp) = {}; // as the provider does
	ready();
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	send(0, incoming_write(kRqPsn, 1), pattern(1, 1));
	expect(0, want_ack(kRqPsn));
	EXPECT_EQ(got.msn, 1u);
	send(0, ack(kSqPsn));
	expect_send(0);
}

TEST_F(QpState, NoMemoryIsLeaked)
{
	const uint64_t before = function().context().block_bytes_in_use();
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	post_receive(1, 600);
	send(0, incoming_read(kRqPsn, 4));
	send(0, incoming(SegmentKind::kSend, kRqPsn + 1, true, false), pattern(256, 1));
	EXPECT_GT(function().context().block_bytes_in_use(), before);
	release_resources(function(), *qp);
	EXPECT_EQ(function().context().block_bytes_in_use(), before);
}

} // namespace
} // namespace ohca::core::test
