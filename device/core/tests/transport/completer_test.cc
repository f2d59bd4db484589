// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class Completer : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		ready();
	}
	void transmit_all()
	{
		Segment segment;
		while (poll_transmit(function(), *qp, now_ns, limits, scratch, segment))
			;
	}
	Segment response(uint32_t psn, bool first, bool last)
	{
		return incoming(SegmentKind::kReadResponse, psn, first, last);
	}
	Segment atomic_answer(uint32_t psn, uint64_t original)
	{
		Segment segment = incoming(SegmentKind::kAtomicAcknowledge, psn);
		segment.operand = original;
		return segment;
	}
};

// OHCA-SQ-D7 OHCA-RC-D3
TEST_F(Completer, OneAckCompletesSeveralInOrder)
{
	for (int i = 0; i < 3; i++)
		post(write(1));
	transmit_all();
	send(1, ack(kSqPsn + 2));
	for (uint32_t i = 0; i < 3; i++)
		expect_send(i);
	expect_no_completion();
	EXPECT_EQ(poll_timeout(*qp), kNever);
}

// OHCA-SQ-D6
TEST_F(Completer, UnsignaledRequestsCompleteSilently)
{
	SendRequest unsignaled = write(1);
	unsignaled.flags = 0;
	post(unsignaled);
	post(write(1));
	transmit_all();
	send(1, ack(kSqPsn + 1));
	expect_send(1);
	expect_no_completion();
}

TEST_F(Completer, DuplicateAckIsIgnored)
{
	post(write(1));
	post(write(1));
	transmit_all();
	send(1, ack(kSqPsn));
	send(2, ack(kSqPsn));
	expect_send(0);
	expect_no_completion();
	send(3, ack(kSqPsn + 1));
	send(3, ack(kSqPsn));
	expect_send(1);
	expect_no_completion();
	expect_nothing(4);
}

TEST_F(Completer, GhostAckIsIgnored)
{
	post(write(1));
	transmit_all();
	// Receive ACKs and NAKs of packets that were never sent.
	send(1, ack(kSqPsn + 1));
	send(1, ack(kSqPsn + 0x7fffff));
	send(1, nak(kSqPsn + 5, kAethNakRemoteAccess));
	send(1, ack(kSqPsn - 1));
	expect_no_completion();
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
	send(2, ack(kSqPsn));
	expect_send(0);
}

TEST_F(Completer, AckOfUntransmittedPartIsAGhost)
{
	post(write(600));
	expect(0, part(SegmentKind::kWrite, kSqPsn, true, false));
	send(1, ack(kSqPsn + 2));
	expect_no_completion();
	expect(1, part(SegmentKind::kWrite, kSqPsn + 1, false, false));
}

// OHCA-RC-D3
TEST_F(Completer, AckWithinAMessageCompletesNothing)
{
	post(write(600));
	transmit_all();
	send(1, ack(kSqPsn + 1));
	expect_no_completion();
	// What is left is retransmitted from there.
	advance(1100);
	expect(1100, part(SegmentKind::kWrite, kSqPsn + 2, false, true));
	send(1101, ack(kSqPsn + 2));
	expect_send(0);
}

// OHCA-ERR-D1
TEST_F(Completer, NakCodesBecomeStatuses)
{
	const std::pair<uint8_t, uint8_t> codes[] = {
		{kAethNakInvalidRequest, OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST},
		{kAethNakRemoteAccess, OHCA_CQE_STATUS_REMOTE_ACCESS},
		{kAethNakRemoteOperation, OHCA_CQE_STATUS_REMOTE_OPERATION},
	};
	for (const auto &[syndrome, status] : codes) {
		QpOptions options;
		options.pd = pd;
		options.send_cq = send_cq;
		options.recv_cq = recv_cq;
		create(options);
		ready();
		for (int i = 0; i < 3; i++)
			post(write(1));
		transmit_all();
		// A NAK acknowledges what is before it.
		send(1, nak(kSqPsn + 1, syndrome));
		expect_send(0);
		expect_send(1, status);
		EXPECT_EQ(completion.vendor_error, uint32_t{OHCA_VENDOR_ERROR_NAK});
		expect_send(2, OHCA_CQE_STATUS_FLUSHED);
		expect_broken();
	}
}

// OHCA-RC-D17
TEST_F(Completer, ReadDataIsScattered)
{
	const Bytes data = pattern(600, 3);
	SendRequest scattered = read(0);
	scattered.sges = {{memory, 100, key}, {memory + 4096, 500, key}};
	post(scattered);
	transmit_all();
	send(1, response(kSqPsn, true, false), {data.begin(), data.begin() + 256});
	send(1, response(kSqPsn + 1, false, false), {data.begin() + 256, data.begin() + 512});
	expect_no_completion();
	send(1, response(kSqPsn + 2, false, true), {data.begin() + 512, data.end()});
	expect_send(0);
	EXPECT_EQ(completion.byte_length, 600u);
	EXPECT_EQ(int{completion.opcode}, OHCA_WR_READ);
	EXPECT_EQ(bytes_at(0, 100), Bytes(data.begin(), data.begin() + 100));
	EXPECT_EQ(bytes_at(4096, 500), Bytes(data.begin() + 100, data.end()));
}

TEST_F(Completer, ReadDataMayComeInOneSegment)
{
	const Bytes data = pattern(600, 4);
	post(read(600));
	transmit_all();
	Segment segment = response(kSqPsn, true, true);
	segment.psn_count = 3;
	send(1, segment, data);
	expect_send(0);
	EXPECT_EQ(bytes_at(0, 600), data);
}

TEST_F(Completer, EmptyReadCompletes)
{
	post(read(0));
	transmit_all();
	send(1, response(kSqPsn, true, true));
	expect_send(0);
	EXPECT_EQ(completion.byte_length, 0u);
}

TEST_F(Completer, LostReadResponseIsRequestedAgain)
{
	const Bytes data = pattern(600, 3);
	post(read(600));
	transmit_all();
	send(1, response(kSqPsn, true, false), {data.begin(), data.begin() + 256});
	// Lost: the second. Receive the third.
	send(2, response(kSqPsn + 2, false, true), {data.begin() + 512, data.end()});
	// Expect: a request for the rest, from the second packet on.
	expect(2, request(SegmentKind::kReadRequest, kSqPsn + 1, 2));
	EXPECT_EQ(got.remote_address, 0x5000u + 256);
	EXPECT_EQ(got.dma_length, 600u - 256);
	expect_nothing(2);
	// Receive another one of the first flight / Expect: nothing, it has been noticed.
	send(3, response(kSqPsn + 2, false, true), {data.begin() + 512, data.end()});
	expect_nothing(3);
	send(4, response(kSqPsn + 1, true, false), {data.begin() + 256, data.begin() + 512});
	send(4, response(kSqPsn + 2, false, true), {data.begin() + 512, data.end()});
	expect_send(0);
	EXPECT_EQ(bytes_at(0, 600), data);
}

// OHCA-RC-D1
TEST_F(Completer, DuplicateReadResponseIsIgnored)
{
	post(read(300));
	transmit_all();
	send(1, response(kSqPsn, true, false), pattern(256, 1));
	send(1, response(kSqPsn, true, false), pattern(256, 99));
	send(1, response(kSqPsn + 1, false, true), pattern(44, 2));
	expect_send(0);
	EXPECT_EQ(bytes_at(0, 256), pattern(256, 1));
}

// OHCA-RC-D3
TEST_F(Completer, AckBehindAReadImpliesItsLoss)
{
	post(write(1));
	post(read(8));
	post(write(1));
	transmit_all();
	// Receive: the ACK of the last, without the data of the READ.
	send(1, ack(kSqPsn + 2));
	expect_send(0);
	expect_no_completion();
	expect(1, request(SegmentKind::kReadRequest, kSqPsn + 1));
	expect(1, request(SegmentKind::kWrite, kSqPsn + 2));
	send(2, response(kSqPsn + 1, true, true), pattern(8, 1));
	send(2, ack(kSqPsn + 2));
	expect_send(1);
	expect_send(2);
}

TEST_F(Completer, FatalNakBehindAReadImpliesItsLoss)
{
	post(read(8));
	post(write(1));
	transmit_all();
	send(1, nak(kSqPsn + 1, kAethNakRemoteAccess));
	expect_no_completion();
	expect(1, request(SegmentKind::kReadRequest, kSqPsn));
}

TEST_F(Completer, ReadResponseAcknowledgesEarlierRequests)
{
	post(write(1));
	post(read(8));
	transmit_all();
	send(1, response(kSqPsn + 1, true, true), pattern(8, 1));
	expect_send(0);
	expect_send(1);
}

TEST_F(Completer, WrongLengthOfReadResponseBreaks)
{
	post(read(300));
	transmit_all();
	send(1, response(kSqPsn, true, false), pattern(255, 1));
	expect_send(0, OHCA_CQE_STATUS_BAD_RESPONSE);
	expect_broken();
}

// OHCA-RC-D15
TEST_F(Completer, TooMuchReadDataBreaks)
{
	post(read(100));
	transmit_all();
	send(1, response(kSqPsn, true, true), pattern(101, 1));
	expect_send(0, OHCA_CQE_STATUS_BAD_RESPONSE);
	EXPECT_EQ(bytes_at(0, 101), Bytes(101));
}

TEST_F(Completer, ReadDataForAnAtomicBreaks)
{
	post(fetch_add(1));
	transmit_all();
	send(1, response(kSqPsn, true, true), pattern(8, 1));
	expect_send(0, OHCA_CQE_STATUS_BAD_RESPONSE);
}

TEST_F(Completer, ReadDataForAWriteBreaks)
{
	post(write(8));
	transmit_all();
	send(1, response(kSqPsn, true, true), pattern(8, 1));
	expect_send(0, OHCA_CQE_STATUS_BAD_RESPONSE);
}

// OHCA-RC-D17
TEST_F(Completer, AtomicResultIsStored)
{
	post(fetch_add(1));
	transmit_all();
	send(1, atomic_answer(kSqPsn, 0x1122334455667788));
	expect_send(0);
	EXPECT_EQ(completion.byte_length, 8u);
	EXPECT_EQ(host.load64(memory), 0x1122334455667788u);
}

TEST_F(Completer, LostAtomicAnswerIsRequestedAgain)
{
	post(fetch_add(1));
	post(fetch_add(1));
	transmit_all();
	send(1, atomic_answer(kSqPsn + 1, 6));
	expect(1, request(SegmentKind::kFetchAdd, kSqPsn));
	expect(1, request(SegmentKind::kFetchAdd, kSqPsn + 1));
	expect_no_completion();
}

// OHCA-MEM-D6
TEST_F(Completer, BufferThatVanishesBeforeTheAnswerFails)
{
	post(read(8));
	post(write(1));
	transmit_all();
	host.destroy_key(key);
	send(1, response(kSqPsn, true, true), pattern(8, 1));
	expect_send(0, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	expect_send(1, OHCA_CQE_STATUS_FLUSHED);
	expect_broken();
}

TEST_F(Completer, UnreadableReadDataIsReported)
{
	post(read(8));
	transmit_all();
	Segment segment = response(kSqPsn, true, true);
	// The responder's memory is gone: its range leads nowhere.
	const uint32_t gone = host.create_key(pd, uint64_t{1} << 50, 4096, kAllRemote);
	SgRange range = {&function().memory(), function().context().mkey(gone >> 8), uint64_t{1} << 50, nullptr, 8};
	segment.source_qpn = kPeerQpn;
	segment.payload = {&range, 1, 0, 0};
	segment.payload_length = 8;
	EXPECT_EQ(handle_segment(function(), *qp, segment, 0), Delivery::kSourceFault);
	expect_no_completion();
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
}

// OHCA-CQ-D3
TEST_F(Completer, CqOverrunTakesTheQueuePairWithIt)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = host.create_cq(1);
	options.recv_cq = recv_cq;
	create(options);
	ready();
	for (int i = 0; i < 3; i++)
		post(write(1));
	transmit_all();
	send(1, ack(kSqPsn + 2));
	expect_event(OHCA_EVENT_CQ_ERROR);
	expect_event(OHCA_EVENT_QP_FATAL);
	expect_broken();
}

} // namespace
} // namespace ohca::core::test
