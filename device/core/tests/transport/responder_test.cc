// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Which requests are carried out, and what is answered: PSNs, sequence, keys, WRITE.
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class Responder : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		ready();
	}
	// The request is refused, and the queue pair with it.
	void expect_refused(uint32_t psn, uint8_t syndrome, uint8_t event,
			    std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect_refused");

		expect_broken();
		expect_event(event);
		expect(now_ns / 1000, want_nak(psn, syndrome));
		expect_nothing(now_ns / 1000);
	}
	void expect_invalid(std::source_location where = std::source_location::current())
	{
		expect_refused(kRqPsn, kAethNakInvalidRequest, OHCA_EVENT_QP_REQUEST_ERROR, where);
	}
	void expect_access(std::source_location where = std::source_location::current())
	{
		expect_refused(kRqPsn, kAethNakRemoteAccess, OHCA_EVENT_QP_ACCESS_ERROR, where);
	}
};

TEST_F(Responder, WriteIsPlacedAndAcknowledged)
{
	send(0, incoming_write(kRqPsn, 100, 50), pattern(100, 7));
	EXPECT_EQ(bytes_at(50, 100), pattern(100, 7));
	expect(0, want_ack(kRqPsn));
	EXPECT_EQ(got.msn, 1u);
	expect_nothing(0);
	expect_no_completion();
	expect_no_event();
}

TEST_F(Responder, AcknowledgesOnlyOnRequest)
{
	Segment quiet = incoming_write(kRqPsn, 1);
	quiet.ack_request = false;
	send(0, quiet, pattern(1, 1));
	expect_nothing(0);
}

TEST_F(Responder, OneAckAnswersSeveralRequests)
{
	for (uint32_t i = 0; i < 5; i++)
		send(0, incoming_write(kRqPsn + i, 1), pattern(1, 1));
	expect(0, want_ack(kRqPsn + 4));
	EXPECT_EQ(got.msn, 5u);
	expect_nothing(0);
}

TEST_F(Responder, WriteInSeveralPackets)
{
	const Bytes data = pattern(600, 1);
	Segment first = incoming_write(kRqPsn, 600, 10);
	first.last = first.ack_request = false;
	first.psn_count = 1;
	send(0, first, {data.begin(), data.begin() + 256});
	send(0, incoming(SegmentKind::kWrite, kRqPsn + 1, false, false), {data.begin() + 256, data.begin() + 512});
	expect_nothing(0);
	send(0, incoming(SegmentKind::kWrite, kRqPsn + 2, false, true), {data.begin() + 512, data.end()});
	expect(0, want_ack(kRqPsn + 2));
	EXPECT_EQ(got.msn, 1u);
	EXPECT_EQ(bytes_at(10, 600), data);
}

// OHCA-RC-D2
TEST_F(Responder, OneSegmentMayBeManyPackets)
{
	send(0, incoming_write(kRqPsn, 1000), pattern(1000, 3));
	expect(0, want_ack(kRqPsn + 3));
	EXPECT_EQ(bytes_at(0, 1000), pattern(1000, 3));
}

// OHCA-RC-D10
TEST_F(Responder, LostPacketGivesOneNak)
{
	send(0, incoming_write(kRqPsn, 1), pattern(1, 1));
	expect(0, want_ack(kRqPsn));
	// Lost: kRqPsn + 1. Receive the following ones.
	send(1, incoming_write(kRqPsn + 2, 1, 100), pattern(1, 2));
	send(1, incoming_write(kRqPsn + 3, 1, 100), pattern(1, 3));
	// Expect: one NAK, nothing carried out.
	expect(1, want_nak(kRqPsn + 1, kAethNakSequence));
	send(2, incoming_write(kRqPsn + 4, 1, 100), pattern(1, 4));
	expect_nothing(2);
	EXPECT_EQ(bytes_at(100, 1), Bytes(1));
	// Receive it again and everything behind it / Expect: all is well, and the next loss is NAKed again.
	send(3, incoming_write(kRqPsn + 1, 1), pattern(1, 1));
	expect(3, want_ack(kRqPsn + 1));
	send(4, incoming_write(kRqPsn + 3, 1), pattern(1, 1));
	expect(4, want_nak(kRqPsn + 2, kAethNakSequence));
	EXPECT_EQ(host.counter(OHCA_COUNTER_OUT_OF_SEQUENCE), 4u);
}

// OHCA-RC-D8
TEST_F(Responder, DuplicateWriteIsAcknowledgedNotCarriedOut)
{
	send(0, incoming_write(kRqPsn, 4), pattern(4, 1));
	send(0, incoming_write(kRqPsn + 1, 4), pattern(4, 50));
	expect(0, want_ack(kRqPsn + 1));
	// The first comes again, late.
	send(1, incoming_write(kRqPsn, 4), pattern(4, 1));
	expect(1, want_ack(kRqPsn + 1)); // of the most recent one
	EXPECT_EQ(bytes_at(0, 4), pattern(4, 50));
	EXPECT_EQ(host.counter(OHCA_COUNTER_DUPLICATE_REQUESTS), 1u);
}

TEST_F(Responder, HalfOfThePsnsAreDuplicates)
{
	send(0, incoming_write(psn_add(kRqPsn, kPsnWindow), 4), pattern(4, 1));
	EXPECT_EQ(host.counter(OHCA_COUNTER_DUPLICATE_REQUESTS), 1u);
	expect(0, want_ack(kRqPsn - 1));
	send(0, incoming_write(psn_add(kRqPsn, kPsnWindow - 1), 4), pattern(4, 1));
	EXPECT_EQ(host.counter(OHCA_COUNTER_OUT_OF_SEQUENCE), 1u);
	expect(0, want_nak(kRqPsn, kAethNakSequence));
}

TEST_F(Responder, DuplicateWithABadKeyIsJustADuplicate)
{
	send(0, incoming_write(kRqPsn, 4), pattern(4, 1));
	expect(0, want_ack(kRqPsn));
	Segment bad = incoming_write(kRqPsn, 4);
	bad.rkey ^= 1;
	send(1, bad, pattern(4, 1));
	expect(1, want_ack(kRqPsn)); // the PSN is checked first
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
}

TEST_F(Responder, PsnsWrap)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = send_cq;
	options.recv_cq = recv_cq;
	create(options);
	qp->attributes.rq_psn = 0xffffff;
	ready();
	send(0, incoming_write(0xffffff, 300), pattern(300, 1));
	expect(0, want_ack(0));
	send(0, incoming_write(0xffffff, 300), pattern(300, 1)); // duplicate across the wrap
	expect(0, want_ack(0));
	send(0, incoming_write(2, 1), pattern(1, 1));
	expect(0, want_nak(1, kAethNakSequence));
}

TEST_F(Responder, MiddleWithoutFirstIsInvalid)
{
	send(0, incoming(SegmentKind::kWrite, kRqPsn, false, false), pattern(256, 1));
	expect_invalid();
}

TEST_F(Responder, FirstWithinAMessageIsInvalid)
{
	Segment first = incoming_write(kRqPsn, 600);
	first.last = false;
	first.psn_count = 1;
	send(0, first, pattern(256, 1));
	send(0, incoming_write(kRqPsn + 1, 1), pattern(1, 1));
	expect_broken();
	expect_event(OHCA_EVENT_QP_REQUEST_ERROR);
	expect(0, want_nak(kRqPsn + 1, kAethNakInvalidRequest));
}

TEST_F(Responder, AnotherOperationWithinAMessageIsInvalid)
{
	Segment first = incoming_write(kRqPsn, 600);
	first.last = false;
	first.psn_count = 1;
	send(0, first, pattern(256, 1));
	send(0, incoming_add(kRqPsn + 1, 1));
	expect_broken();
	expect_event(OHCA_EVENT_QP_REQUEST_ERROR);
}

// OHCA-ERR-D1
TEST_F(Responder, OperationsMustBeEnabled)
{
	const SegmentKind kinds[] = {SegmentKind::kWrite, SegmentKind::kReadRequest, SegmentKind::kCompareSwap,
				     SegmentKind::kFetchAdd};
	for (SegmentKind kind : kinds) {
		QpOptions options;
		options.pd = pd;
		options.send_cq = send_cq;
		options.recv_cq = recv_cq;
		create(options);
		qp->attributes.access = static_cast<uint32_t>(
			kAllRemote & ~(kind == SegmentKind::kWrite         ? OHCA_ACCESS_REMOTE_WRITE
				       : kind == SegmentKind::kReadRequest ? OHCA_ACCESS_REMOTE_READ
									   : OHCA_ACCESS_REMOTE_ATOMIC));
		ready();
		Segment segment = incoming_write(kRqPsn, 0);
		segment.kind = kind;
		send(0, segment);
		expect_invalid();
	}
}

// OHCA-ERR-D1
TEST_F(Responder, WrongKeyIsAnAccessError)
{
	Segment bad = incoming_write(kRqPsn, 4);
	bad.rkey ^= 1;
	send(0, bad, pattern(4, 1));
	expect_access();
	EXPECT_EQ(bytes_at(0, 4), Bytes(4));
}

// OHCA-MEM-D4
TEST_F(Responder, KeyOfAnotherPdIsAnAccessError)
{
	Segment bad = incoming_write(kRqPsn, 4);
	bad.rkey = host.create_key(host.create_pd(), memory, 4096, kAllRemote);
	send(0, bad, pattern(4, 1));
	expect_access();
}

TEST_F(Responder, KeyWithoutTheRightIsAnAccessError)
{
	Segment bad = incoming_write(kRqPsn, 4);
	bad.rkey = host.create_key(pd, memory, 4096, OHCA_ACCESS_REMOTE_READ);
	send(0, bad, pattern(4, 1));
	expect_access();
}

// OHCA-RC-D12
TEST_F(Responder, RangeBeyondTheKeyIsAnAccessErrorAtTheFirstPacket)
{
	Segment bad = incoming_write(kRqPsn, 600, (1 << 20) - 300);
	bad.last = false;
	bad.psn_count = 1;
	send(0, bad, pattern(256, 1));
	expect_access();
	EXPECT_EQ(bytes_at((1 << 20) - 300, 256), Bytes(256));
}

// OHCA-MEM-D6
TEST_F(Responder, KeyThatVanishesWithinAMessageIsAnAccessError)
{
	Segment first = incoming_write(kRqPsn, 600);
	first.last = false;
	first.psn_count = 1;
	send(0, first, pattern(256, 1));
	host.destroy_key(key);
	send(0, incoming(SegmentKind::kWrite, kRqPsn + 1, false, false), pattern(256, 2));
	expect_broken();
	expect(0, want_nak(kRqPsn + 1, kAethNakRemoteAccess));
	// What was placed before stays.
	EXPECT_EQ(bytes_at(0, 256), pattern(256, 1));
}

TEST_F(Responder, EmptyWriteNeedsNoKey)
{
	Segment empty = incoming_write(kRqPsn, 0);
	empty.rkey = 0xdeadbeef;
	empty.remote_address = UINT64_MAX;
	send(0, empty);
	expect(0, want_ack(kRqPsn));
}

// OHCA-RC-D15
TEST_F(Responder, MoreDataThanAnnouncedIsInvalid)
{
	send(0, incoming_write(kRqPsn, 4), pattern(5, 1));
	expect_invalid();
	EXPECT_EQ(bytes_at(0, 5), Bytes(5));
}

TEST_F(Responder, LessDataThanAnnouncedIsInvalid)
{
	send(0, incoming_write(kRqPsn, 5), pattern(4, 1));
	expect_invalid();
}

TEST_F(Responder, AMessageThatDoesNotEndInTimeIsInvalid)
{
	Segment first = incoming_write(kRqPsn, 256);
	first.last = false;
	send(0, first, pattern(256, 1));
	expect_invalid();
}

TEST_F(Responder, ShortPacketBeforeTheLastIsInvalid)
{
	Segment first = incoming_write(kRqPsn, 600);
	first.last = false;
	first.psn_count = 1;
	send(0, first, pattern(255, 1));
	expect_invalid();
}

TEST_F(Responder, OversizedPacketIsInvalid)
{
	Segment segment = incoming_write(kRqPsn, 257);
	segment.psn_count = 1;
	send(0, segment, pattern(257, 1));
	expect_invalid();
}

TEST_F(Responder, EmptyLastPacketIsInvalid)
{
	Segment first = incoming_write(kRqPsn, 256);
	first.dma_length = 257;
	first.psn_count = 1;
	first.last = false;
	send(0, first, pattern(256, 1));
	send(0, incoming(SegmentKind::kWrite, kRqPsn + 1, false, true));
	expect_broken();
	expect(0, want_nak(kRqPsn + 1, kAethNakInvalidRequest));
}

TEST_F(Responder, AnnouncingMoreThanTwoGibibytesIsInvalid)
{
	Segment first = incoming_write(kRqPsn, 256);
	first.dma_length = 0x80000001;
	first.psn_count = 1;
	first.last = false;
	send(0, first, pattern(256, 1));
	expect_invalid();
}

// OHCA-RQ-D1
TEST_F(Responder, WriteWithImmediateUsesAReceive)
{
	post_receive(42, 0);
	const Bytes data = pattern(300, 1);
	Segment first = incoming_write(kRqPsn, 300);
	first.last = first.ack_request = false;
	first.psn_count = 1;
	send(0, first, {data.begin(), data.begin() + 256});
	Segment last = incoming(SegmentKind::kWrite, kRqPsn + 1, false, true);
	last.has_immediate = true;
	last.immediate_be = 0x12345678;
	last.solicited = true;
	send(0, last, {data.begin() + 256, data.end()});
	expect_receive(42);
	EXPECT_EQ(completion.byte_length, 300u);
	EXPECT_EQ(completion.immediate, 0x12345678u);
	EXPECT_EQ(int{completion.opcode}, OHCA_WR_WRITE_IMM);
	EXPECT_EQ(int{completion.flags}, OHCA_CQE_RECEIVE | OHCA_CQE_WITH_IMM | OHCA_CQE_SOLICITED);
	EXPECT_EQ(completion.src_qp, kPeerQpn);
	expect(0, want_ack(kRqPsn + 1));
}

TEST_F(Responder, WriteWithImmediateWithoutReceiveIsNotReady)
{
	Segment segment = incoming_write(kRqPsn, 4);
	segment.has_immediate = true;
	segment.rkey ^= 1; // the missing receive is noticed before the bad key
	send(0, segment, pattern(4, 1));
	expect(0, want_nak(kRqPsn, kAethClassRnr | 12));
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
	post_receive(1, 0);
	segment.rkey ^= 1;
	send(1000, segment, pattern(4, 1));
	expect_receive(1);
	expect(1000, want_ack(kRqPsn));
}

TEST_F(Responder, UnreadablePayloadChangesNothing)
{
	const uint32_t gone = host.create_key(pd, uint64_t{1} << 50, 4096, kAllRemote);
	SgRange range = {&function().memory(), function().context().mkey(gone >> 8), uint64_t{1} << 50, nullptr, 8};
	Segment segment = incoming_write(kRqPsn, 8);
	segment.source_qpn = kPeerQpn;
	segment.payload = {&range, 1, 0, 0};
	segment.payload_length = 8;
	EXPECT_EQ(handle_segment(function(), *qp, segment, 0), Delivery::kSourceFault);
	expect_nothing(0);
	send(1, incoming_write(kRqPsn, 8), pattern(8, 1));
	expect(1, want_ack(kRqPsn));
}

// OHCA-MEM-D8
TEST_F(Responder, UnwritableTargetIsARemoteOperationError)
{
	Segment segment = incoming_write(kRqPsn, 8);
	segment.rkey = host.create_key(pd, uint64_t{1} << 50, 4096, kAllRemote);
	segment.remote_address = uint64_t{1} << 50;
	send(0, segment, pattern(8, 1));
	expect_refused(kRqPsn, kAethNakRemoteOperation, OHCA_EVENT_QP_FATAL);
}

// OHCA-RC-D11
TEST_F(Responder, StrangersAreDropped)
{
	Segment segment = incoming_write(kRqPsn, 0);
	segment.source_qpn = kPeerQpn + 1;
	handle_segment(function(), *qp, segment, 0);
	expect_nothing(0);
	EXPECT_EQ(host.counter(OHCA_COUNTER_PACKETS_DROPPED), 1u);
}

// OHCA-RC-D11 OHCA-QP-D5
TEST_F(Responder, NothingIsReceivedInInit)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = send_cq;
	options.recv_cq = recv_cq;
	create(options);
	to(OHCA_QP_STATE_INIT);
	send(0, incoming_write(0, 0));
	expect_nothing(0);
	EXPECT_EQ(host.counter(OHCA_COUNTER_PACKETS_DROPPED), 1u);
}

// OHCA-RC-D14
TEST_F(Responder, FirstMessageInRtrIsReported)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = send_cq;
	options.recv_cq = recv_cq;
	create(options);
	to(OHCA_QP_STATE_INIT);
	to(OHCA_QP_STATE_RTR);
	send(0, incoming_write(kRqPsn, 1), pattern(1, 1));
	send(0, incoming_write(kRqPsn + 1, 1), pattern(1, 1));
	expect_event(OHCA_EVENT_COMM_ESTABLISHED);
	expect_no_event();
	expect(0, want_ack(kRqPsn + 1));
}

} // namespace
} // namespace ohca::core::test
