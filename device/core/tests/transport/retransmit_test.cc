// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/tests/transport/rc_script.hh"
#include "core/transport/timers.hh"

namespace ohca::core::test {
namespace {

constexpr uint64_t kTimeout = 1049; // us, just after the ACK timeout of the script

class Retransmit : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		ready();
	}
};

TEST(Timers, AckTimeoutIsAPowerOfTwo)
{
	EXPECT_EQ(ack_timeout_ns(0), 0u); // no timeout
	EXPECT_EQ(ack_timeout_ns(1), 8192u);
	EXPECT_EQ(ack_timeout_ns(14), 67'108'864u);
	EXPECT_EQ(ack_timeout_ns(31), 4096ull << 31);
}

TEST(Timers, RnrTimerFollowsTheTable)
{
	EXPECT_EQ(rnr_timer_ns(0), 655'360'000u);
	EXPECT_EQ(rnr_timer_ns(1), 10'000u);
	EXPECT_EQ(rnr_timer_ns(12), 640'000u);
	EXPECT_EQ(rnr_timer_ns(31), 491'520'000u);
	for (uint8_t code = 2; code < 32; code++)
		EXPECT_GT(rnr_timer_ns(code), rnr_timer_ns(static_cast<uint8_t>(code - 1)));
}

TEST_F(Retransmit, SequenceNakGoesBackToItsPsn)
{
	post(write(600));
	post(write(1));
	for (uint32_t i = 0; i < 3; i++)
		expect(0, part(SegmentKind::kWrite, kSqPsn + i, i == 0, i == 2));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 3));
	// The middle was lost.
	send(1, nak(kSqPsn + 1, kAethNakSequence));
	expect(1, part(SegmentKind::kWrite, kSqPsn + 1, false, false));
	expect(1, part(SegmentKind::kWrite, kSqPsn + 2, false, true));
	expect(1, request(SegmentKind::kWrite, kSqPsn + 3));
	expect_nothing(1);
	send(2, ack(kSqPsn + 3));
	expect_send(0);
	expect_send(1);
}

// OHCA-RC-D1
TEST_F(Retransmit, LostAckIsRecoveredByTheTimer)
{
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect_nothing(1048);
	expect(kTimeout, request(SegmentKind::kWrite, kSqPsn));
	send(kTimeout + 1, ack(kSqPsn));
	expect_send(0);
	expect_nothing(100'000);
	EXPECT_EQ(host.counter(OHCA_COUNTER_ACK_TIMEOUTS), 1u);
}

// OHCA-RC-D5
TEST_F(Retransmit, RetriesAreLimited)
{
	post(write(1));
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	for (uint64_t retry = 1; retry <= 3; retry++) {
		expect(retry * kTimeout, request(SegmentKind::kWrite, kSqPsn));
		expect(retry * kTimeout, request(SegmentKind::kWrite, kSqPsn + 1));
		expect_no_completion();
	}
	expect_nothing(4 * kTimeout);
	expect_send(0, OHCA_CQE_STATUS_RETRY_EXCEEDED);
	expect_send(1, OHCA_CQE_STATUS_FLUSHED);
	expect_broken();
	EXPECT_EQ(host.counter(OHCA_COUNTER_RETRY_EXCEEDED), 1u);
}

// OHCA-RC-D5
TEST_F(Retransmit, RetryCountZeroFailsAtOnce)
{
	qp->attributes.retry_count = 0;
	qp->requester.retries_left = 0;
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	send(1, nak(kSqPsn, kAethNakSequence));
	expect_send(0, OHCA_CQE_STATUS_RETRY_EXCEEDED);
}

TEST_F(Retransmit, ProgressReloadsTheCounter)
{
	post(write(1));
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	for (uint64_t retry = 1; retry <= 3; retry++) {
		expect(retry * kTimeout, request(SegmentKind::kWrite, kSqPsn));
		expect(retry * kTimeout, request(SegmentKind::kWrite, kSqPsn + 1));
	}
	send(3 * kTimeout + 1, ack(kSqPsn));
	expect_send(0);
	for (uint64_t retry = 4; retry <= 6; retry++)
		expect(retry * kTimeout + 2, request(SegmentKind::kWrite, kSqPsn + 1));
	expect_no_completion();
	send(6 * kTimeout + 3, ack(kSqPsn + 1));
	expect_send(1);
}

TEST_F(Retransmit, TimeoutZeroWaitsForEver)
{
	qp->attributes.ack_timeout = 0;
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	EXPECT_EQ(poll_timeout(*qp), kNever);
	expect_nothing(1'000'000'000);
}

TEST_F(Retransmit, SkipsWhatIsAcknowledgedMeanwhile)
{
	post(write(600));
	post(write(1));
	for (uint32_t i = 0; i < 3; i++)
		expect(0, part(SegmentKind::kWrite, kSqPsn + i, i == 0, i == 2));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 3));
	expect(kTimeout, part(SegmentKind::kWrite, kSqPsn, true, false));
	// Receive the late ACK of the first transmission.
	send(kTimeout, ack(kSqPsn + 2));
	expect_send(0);
	expect(kTimeout, request(SegmentKind::kWrite, kSqPsn + 3));
	expect_nothing(kTimeout);
}

TEST_F(Retransmit, NewRequestsFollowRetransmittedOnes)
{
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	post(write(1));
	send(1, nak(kSqPsn, kAethNakSequence));
	expect(1, request(SegmentKind::kWrite, kSqPsn));
	expect(1, request(SegmentKind::kWrite, kSqPsn + 1));
}

TEST_F(Retransmit, GoesBackAcrossTheWrap)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = send_cq;
	options.recv_cq = recv_cq;
	create(options);
	qp->attributes.sq_psn = 0xfffffe;
	ready();
	post(write(1024));
	for (uint32_t i = 0; i < 4; i++)
		expect(0, part(SegmentKind::kWrite, psn_add(0xfffffe, i), i == 0, i == 3));
	send(1, nak(0xffffff, kAethNakSequence));
	expect(1, part(SegmentKind::kWrite, 0xffffff, false, false));
	expect(1, part(SegmentKind::kWrite, 0, false, false));
	send(2, ack(0));
	expect(2, part(SegmentKind::kWrite, 1, false, true));
	send(3, ack(1));
	expect_send(0);
}

TEST_F(Retransmit, PartialReadIsRequestedFromWhereItStopped)
{
	post(read(600));
	expect(0, request(SegmentKind::kReadRequest, kSqPsn, 3));
	send(1, incoming(SegmentKind::kReadResponse, kSqPsn, true, false), pattern(256, 1));
	expect(kTimeout + 2, request(SegmentKind::kReadRequest, kSqPsn + 1, 2));
	EXPECT_EQ(got.dma_length, 344u);
	EXPECT_EQ(got.remote_address, 0x5000u + 256);
}

TEST_F(Retransmit, ImpliedNakCountsAsARetry)
{
	qp->requester.retries_left = 0;
	post(read(600));
	expect(0, request(SegmentKind::kReadRequest, kSqPsn, 3));
	send(1, incoming(SegmentKind::kReadResponse, kSqPsn + 1, false, false), pattern(256, 1));
	expect_send(0, OHCA_CQE_STATUS_RETRY_EXCEEDED);
}

// OHCA-RC-D7
TEST_F(Retransmit, RnrNakWaitsAndRepeats)
{
	post(message(OHCA_WR_SEND, 1));
	post(write(1));
	expect(0, request(SegmentKind::kSend, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	send(10, rnr_nak(kSqPsn, 12)); // 0.64 ms
	// New requests wait, too: they come after it.
	post(write(1));
	expect_nothing(649);
	expect(650, request(SegmentKind::kSend, kSqPsn));
	expect(650, request(SegmentKind::kWrite, kSqPsn + 1));
	expect(650, request(SegmentKind::kWrite, kSqPsn + 2));
	send(651, ack(kSqPsn + 2));
	for (uint32_t i = 0; i < 3; i++)
		expect_send(i);
}

// OHCA-RC-D6
TEST_F(Retransmit, RnrRetriesAreLimited)
{
	post(message(OHCA_WR_SEND, 1));
	post(write(1));
	expect(0, request(SegmentKind::kSend, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	for (uint64_t retry = 0; retry < 2; retry++) {
		send(retry * 1000, rnr_nak(kSqPsn, 1)); // 10 us
		expect(retry * 1000 + 10, request(SegmentKind::kSend, kSqPsn));
		expect(retry * 1000 + 10, request(SegmentKind::kWrite, kSqPsn + 1));
	}
	send(2000, rnr_nak(kSqPsn, 1));
	expect_send(0, OHCA_CQE_STATUS_RNR_RETRY_EXCEEDED);
	expect_send(1, OHCA_CQE_STATUS_FLUSHED);
	expect_broken();
}

// OHCA-RC-D6
TEST_F(Retransmit, RnrRetrySevenIsWithoutLimit)
{
	qp->attributes.rnr_retry = 7;
	post(message(OHCA_WR_SEND, 1));
	expect(0, request(SegmentKind::kSend, kSqPsn));
	for (uint64_t retry = 0; retry < 100; retry++) {
		send(retry * 100, rnr_nak(kSqPsn, 1));
		expect(retry * 100 + 10, request(SegmentKind::kSend, kSqPsn));
	}
	expect_no_completion();
}

TEST_F(Retransmit, RepeatedRnrNakDuringTheWaitIsIgnored)
{
	post(message(OHCA_WR_SEND, 1));
	expect(0, request(SegmentKind::kSend, kSqPsn));
	send(0, rnr_nak(kSqPsn, 1));
	for (int i = 0; i < 10; i++)
		send(5, rnr_nak(kSqPsn, 12));
	send(5, nak(kSqPsn, kAethNakSequence));
	expect_nothing(9);
	expect(10, request(SegmentKind::kSend, kSqPsn));
}

TEST_F(Retransmit, RnrNakAcknowledgesWhatIsBeforeIt)
{
	post(write(1));
	post(message(OHCA_WR_SEND, 1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kSend, kSqPsn + 1));
	send(1, rnr_nak(kSqPsn + 1, 1));
	expect_send(0);
	expect(11, request(SegmentKind::kSend, kSqPsn + 1));
}

TEST_F(Retransmit, LateAckEndsTheRnrWait)
{
	post(message(OHCA_WR_SEND, 1));
	expect(0, request(SegmentKind::kSend, kSqPsn));
	send(1, rnr_nak(kSqPsn, 12));
	send(2, ack(kSqPsn));
	expect_send(0);
	post(write(1));
	expect(2, request(SegmentKind::kWrite, kSqPsn + 1));
}

} // namespace
} // namespace ohca::core::test
