// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class ResponderSend : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		ready();
	}
	Segment incoming_send(uint32_t psn, uint32_t length)
	{
		Segment segment = incoming(SegmentKind::kSend, psn);
		segment.psn_count = packet_count(length, kLogMtu);
		return segment;
	}
};

// OHCA-RQ-D2
TEST_F(ResponderSend, FillsTheScatterList)
{
	const Bytes data = pattern(300, 1);
	host.post_receive(*qp, 7, {{memory, 100, key}, {memory, 0, 0xdead}, {memory + 1000, 400, key}});
	send(0, incoming_send(kRqPsn, 300), data);
	expect_receive(7);
	EXPECT_EQ(completion.byte_length, 300u);
	EXPECT_EQ(int{completion.opcode}, OHCA_WR_SEND);
	EXPECT_EQ(int{completion.flags}, OHCA_CQE_RECEIVE);
	EXPECT_EQ(completion.src_qp, kPeerQpn);
	EXPECT_EQ(bytes_at(0, 100), Bytes(data.begin(), data.begin() + 100));
	EXPECT_EQ(bytes_at(1000, 200), Bytes(data.begin() + 100, data.end()));
	EXPECT_EQ(bytes_at(1200, 200), Bytes(200));
	expect(0, want_ack(kRqPsn + 1));
}

// OHCA-RQ-D1
TEST_F(ResponderSend, ReceivesAreUsedInOrder)
{
	for (uint32_t tag = 1; tag <= 3; tag++)
		post_receive(tag, 100, tag * 100);
	for (uint32_t i = 0; i < 3; i++)
		send(0, incoming_send(kRqPsn + i, 10), pattern(10, static_cast<uint8_t>(i)));
	for (uint32_t tag = 1; tag <= 3; tag++) {
		expect_receive(tag);
		EXPECT_EQ(bytes_at(tag * 100, 10), pattern(10, static_cast<uint8_t>(tag - 1)));
	}
}

TEST_F(ResponderSend, KeepsTheReceiveThroughSeveralPackets)
{
	const Bytes data = pattern(600, 1);
	post_receive(1, 600);
	Segment first = incoming(SegmentKind::kSend, kRqPsn, true, false);
	send(0, first, {data.begin(), data.begin() + 256});
	// The application overwrites its ring slot meanwhile.
	std::memset(host.rq_slot(*qp, 0), 0xff, 512);
	send(0, incoming(SegmentKind::kSend, kRqPsn + 1, false, false), {data.begin() + 256, data.begin() + 512});
	expect_no_completion();
	Segment last = incoming(SegmentKind::kSend, kRqPsn + 2, false, true);
	last.has_immediate = true;
	last.immediate_be = 0xaabbccdd;
	last.solicited = true;
	send(0, last, {data.begin() + 512, data.end()});
	expect_receive(1);
	EXPECT_EQ(completion.byte_length, 600u);
	EXPECT_EQ(completion.immediate, 0xaabbccddu);
	EXPECT_EQ(int{completion.opcode}, OHCA_WR_SEND_IMM);
	EXPECT_EQ(int{completion.flags}, OHCA_CQE_RECEIVE | OHCA_CQE_WITH_IMM | OHCA_CQE_SOLICITED);
	EXPECT_EQ(bytes_at(0, 600), data);
}

TEST_F(ResponderSend, EmptyMessageNeedsNoBuffer)
{
	host.post_receive(*qp, 3, {});
	send(0, incoming_send(kRqPsn, 0));
	expect_receive(3);
	EXPECT_EQ(completion.byte_length, 0u);
}

// OHCA-RQ-D4
TEST_F(ResponderSend, NoReceiveIsNotReady)
{
	send(0, incoming_send(kRqPsn, 4), pattern(4, 1));
	expect(0, want_nak(kRqPsn, kAethClassRnr | 12));
	// What follows is dropped without a NAK of its own.
	send(1, incoming_send(kRqPsn + 1, 4), pattern(4, 1));
	expect_nothing(1);
	post_receive(1, 4);
	send(2, incoming_send(kRqPsn, 4), pattern(4, 9));
	expect_receive(1);
	EXPECT_EQ(bytes_at(0, 4), pattern(4, 9));
	expect(2, want_ack(kRqPsn));
	EXPECT_EQ(host.counter(OHCA_COUNTER_RNR_NAKS_SENT), 1u);
}

// OHCA-RC-D8
TEST_F(ResponderSend, DuplicateIsNotDeliveredTwice)
{
	post_receive(1, 4);
	post_receive(2, 4);
	send(0, incoming_send(kRqPsn, 4), pattern(4, 1));
	send(1, incoming_send(kRqPsn, 4), pattern(4, 1));
	expect_receive(1);
	expect_no_completion();
	expect(1, want_ack(kRqPsn));
}

// OHCA-ERR-D1
TEST_F(ResponderSend, BufferTooSmall)
{
	post_receive(1, 99);
	post_receive(2, 100);
	send(0, incoming_send(kRqPsn, 100), pattern(100, 1));
	expect_receive(1, OHCA_CQE_STATUS_LOCAL_LENGTH);
	expect_receive(2, OHCA_CQE_STATUS_FLUSHED);
	expect(0, want_nak(kRqPsn, kAethNakInvalidRequest));
	expect_no_event(); // the completion says it
	expect_broken();
	EXPECT_EQ(bytes_at(0, 100), Bytes(100));
}

TEST_F(ResponderSend, BufferTooSmallForALaterPacket)
{
	post_receive(1, 300);
	send(0, incoming(SegmentKind::kSend, kRqPsn, true, false), pattern(256, 1));
	send(0, incoming(SegmentKind::kSend, kRqPsn + 1, false, true), pattern(45, 1));
	expect_receive(1, OHCA_CQE_STATUS_LOCAL_LENGTH);
	expect(0, want_nak(kRqPsn + 1, kAethNakInvalidRequest));
}

// OHCA-RQ-D5
TEST_F(ResponderSend, BadLocalKey)
{
	host.post_receive(*qp, 1, {{memory, 100, key ^ 1}});
	send(0, incoming_send(kRqPsn, 100), pattern(100, 1));
	expect_receive(1, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	EXPECT_EQ(completion.vendor_error, uint32_t{OHCA_VENDOR_ERROR_KEY_STALE});
	expect(0, want_nak(kRqPsn, kAethNakRemoteOperation));
	expect_broken();
}

TEST_F(ResponderSend, BufferWithoutLocalWrite)
{
	host.post_receive(*qp, 1, {{memory, 100, host.create_key(pd, memory, 4096, OHCA_ACCESS_REMOTE_READ)}});
	send(0, incoming_send(kRqPsn, 100), pattern(100, 1));
	expect_receive(1, OHCA_CQE_STATUS_LOCAL_PROTECTION);
}

TEST_F(ResponderSend, OnlyWhatTheMessageFillsMustBeInTheRegion)
{
	const uint32_t small = host.create_key(pd, memory, 128, OHCA_ACCESS_LOCAL_WRITE);
	for (uint32_t tag : {1u, 2u})
		host.post_receive(*qp, tag, {{memory + 28, 200, small}});
	send(0, incoming_send(kRqPsn, 100), pattern(100, 1));
	expect_receive(1);
	send(1, incoming_send(kRqPsn + 1, 101), pattern(101, 1));
	expect_receive(2, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	EXPECT_EQ(completion.vendor_error, uint32_t{OHCA_VENDOR_ERROR_KEY_RANGE});
}

TEST_F(ResponderSend, UnusedElementsAreNotChecked)
{
	host.post_receive(*qp, 1, {{memory, 100, key}, {memory, 100, 0xdead}});
	send(0, incoming_send(kRqPsn, 100), pattern(100, 1));
	expect_receive(1);
}

// OHCA-RQ-D5
TEST_F(ResponderSend, MalformedReceiveRequest)
{
	host.post_receive(*qp, 1, {{memory, 100, key}});
	host.rq_slot(*qp, 0)[0] = std::byte{200}; // elements
	send(0, incoming_send(kRqPsn, 4), pattern(4, 1));
	expect_receive(1, OHCA_CQE_STATUS_LOCAL_QP_OPERATION);
	expect(0, want_nak(kRqPsn, kAethNakRemoteOperation));
}

// OHCA-RQ-D6
TEST_F(ResponderSend, ProducerBeyondTheRingIsFatal)
{
	host.record(*qp).rq_producer = 1000;
	send(0, incoming_send(kRqPsn, 4), pattern(4, 1));
	expect_event(OHCA_EVENT_QP_FATAL);
	expect(0, want_nak(kRqPsn, kAethNakRemoteOperation));
	expect_broken();
}

TEST_F(ResponderSend, BrokenMessageCompletesItsReceiveInError)
{
	post_receive(1, 600);
	send(0, incoming(SegmentKind::kSend, kRqPsn, true, false), pattern(256, 1));
	send(0, incoming_send(kRqPsn + 1, 4), pattern(4, 1)); // another one begins
	expect_receive(1, OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST);
	expect(0, want_nak(kRqPsn + 1, kAethNakInvalidRequest));
}

// OHCA-ERR-D1
TEST_F(ResponderSend, InvalidationOfAnOrdinaryKeyIsRefused)
{
	post_receive(1, 4);
	Segment segment = incoming_send(kRqPsn, 4);
	segment.has_invalidate = true;
	segment.immediate_be = key;
	send(0, segment, pattern(4, 1));
	expect_receive(1, OHCA_CQE_STATUS_REMOTE_ACCESS);
	expect(0, want_nak(kRqPsn, kAethNakRemoteAccess));
	EXPECT_NE(function().context().mkey(key >> 8), nullptr);
	expect_broken();
}

} // namespace
} // namespace ohca::core::test
