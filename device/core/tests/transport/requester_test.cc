// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

using Requester = RcScript;

// OHCA-RC-D2
TEST_F(Requester, CutsMessagesAtThePathMtu)
{
	ready();
	put(0, pattern(600, 1));
	post(message(OHCA_WR_SEND, 600));
	// Expect: first, middle and a short last packet; only the last asks for an ACK.
	expect(0, part(SegmentKind::kSend, kSqPsn, true, false));
	EXPECT_FALSE(got.ack_request);
	EXPECT_EQ(got_payload, bytes_at(0, 256));
	expect(0, part(SegmentKind::kSend, kSqPsn + 1, false, false));
	EXPECT_EQ(got_payload, bytes_at(256, 256));
	expect(0, part(SegmentKind::kSend, kSqPsn + 2, false, true));
	EXPECT_TRUE(got.ack_request);
	EXPECT_EQ(got_payload, bytes_at(512, 88));
	expect_nothing(0);
}

// OHCA-RC-D2
TEST_F(Requester, CountsPacketsInLargeSegments)
{
	ready();
	limits.segment_payload_max = kSegmentPayloadMax;
	post(write(600));
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn, 3));
	EXPECT_EQ(got.payload_length, 600u);
	expect(0, request(SegmentKind::kWrite, kSqPsn + 3));
}

TEST_F(Requester, CutsSegmentsAtTheirMaximum)
{
	ready();
	limits.segment_payload_max = 1000; // is rounded down to three packets
	post(write(768 + 10));
	expect(0, part(SegmentKind::kWrite, kSqPsn, true, false, 3));
	EXPECT_EQ(got.payload_length, 768u);
	expect(0, part(SegmentKind::kWrite, kSqPsn + 3, false, true));
	EXPECT_EQ(got.payload_length, 10u);
}

TEST_F(Requester, AsksForAcknowledgementsWithinLongMessages)
{
	ready();
	post(write(128 * 1024));
	for (uint32_t packet = 0; packet < 512; packet++) {
		expect(0, part(SegmentKind::kWrite, kSqPsn + packet, packet == 0, packet == 511));
		EXPECT_EQ(got.ack_request, packet % 256 == 255) << packet;
	}
}

TEST_F(Requester, EmptyMessagesAreOnePacket)
{
	ready();
	post(message(OHCA_WR_SEND, 0));
	SendRequest wrong_key = message(OHCA_WR_WRITE, 0);
	wrong_key.sges.push_back({memory, 0, 0xdead}); // an empty element needs no key
	post(wrong_key);
	expect(0, request(SegmentKind::kSend, kSqPsn));
	EXPECT_EQ(got.payload_length, 0u);
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	EXPECT_EQ(got.dma_length, 0u);
}

// OHCA-SQ-D4
TEST_F(Requester, GathersThirtyElements)
{
	SendRequest gathered = message(OHCA_WR_SEND, 0);
	Bytes expected;

	ready();
	limits.segment_payload_max = 4096;
	put(0, pattern(30 * 64, 9));
	for (uint32_t i = 0; i < 30; i++) {
		const uint64_t offset = uint64_t{29 - i} * 64;
		gathered.sges.push_back({memory + offset, i, key});
		for (std::byte byte : bytes_at(offset, i))
			expected.push_back(byte);
	}
	post(gathered);
	expect(0, request(SegmentKind::kSend, kSqPsn, 2));
	EXPECT_EQ(got_payload, expected);
}

// OHCA-GEN-D3
TEST_F(Requester, KeepsInlineDataForRetransmission)
{
	ready();
	SendRequest inlined = message(OHCA_WR_SEND, 0);
	inlined.flags = OHCA_WQE_SIGNALED | OHCA_WQE_INLINE;
	inlined.inline_data = pattern(300, 5);
	post(inlined);
	expect(0, part(SegmentKind::kSend, kSqPsn, true, false));
	// The application overwrites its ring slot while the message is under way.
	std::memset(host.sq_slot(*qp, 0), 0xff, 512);
	expect(0, part(SegmentKind::kSend, kSqPsn + 1, false, true));
	EXPECT_EQ(got_payload, Bytes(inlined.inline_data.begin() + 256, inlined.inline_data.end()));
	send(1, nak(kSqPsn, kAethNakSequence));
	expect(1, part(SegmentKind::kSend, kSqPsn, true, false));
	EXPECT_EQ(got_payload, Bytes(inlined.inline_data.begin(), inlined.inline_data.begin() + 256));
}

TEST_F(Requester, PutsAddressAndKeyIntoTheFirstPacket)
{
	ready();
	SendRequest request_ = write(300);
	request_.opcode = OHCA_WR_WRITE_IMM;
	request_.flags |= OHCA_WQE_SOLICITED;
	request_.immediate_be = 0x11223344;
	post(request_);
	expect(0, part(SegmentKind::kWrite, kSqPsn, true, false));
	EXPECT_EQ(got.remote_address, 0x5000u);
	EXPECT_EQ(got.rkey, 0x77u);
	EXPECT_EQ(got.dma_length, 300u);
	EXPECT_FALSE(got.has_immediate);
	EXPECT_FALSE(got.solicited);
	expect(0, part(SegmentKind::kWrite, kSqPsn + 1, false, true));
	EXPECT_TRUE(got.has_immediate);
	EXPECT_TRUE(got.solicited);
	EXPECT_EQ(got.immediate_be, 0x11223344u);
}

TEST_F(Requester, SendWithInvalidateNamesTheKey)
{
	ready();
	SendRequest request_ = message(OHCA_WR_SEND_INV, 8);
	request_.invalidate_key = 0xabc;
	post(request_);
	expect(0, request(SegmentKind::kSend, kSqPsn));
	EXPECT_TRUE(got.has_invalidate);
	EXPECT_FALSE(got.has_immediate);
	EXPECT_EQ(got.immediate_be, 0xabcu);
}

TEST_F(Requester, AtomicsCarryTheirOperands)
{
	ready();
	SendRequest swap = message(OHCA_WR_CAS, 8);
	swap.operand = 1;
	swap.compare = 2;
	post(swap);
	post(fetch_add(3));
	expect(0, request(SegmentKind::kCompareSwap, kSqPsn));
	EXPECT_EQ(got.operand, 1u);
	EXPECT_EQ(got.compare, 2u);
	EXPECT_EQ(got.remote_address, 0x5000u);
	expect(0, request(SegmentKind::kFetchAdd, kSqPsn + 1));
	EXPECT_EQ(got.operand, 3u);
}

// OHCA-RC-D2
TEST_F(Requester, ReadsTakeThePsnsOfTheirResponses)
{
	ready();
	post(read(600));
	post(write(1));
	expect(0, request(SegmentKind::kReadRequest, kSqPsn, 3));
	EXPECT_EQ(got.dma_length, 600u);
	expect(0, request(SegmentKind::kWrite, kSqPsn + 3));
}

// OHCA-RC-D4
TEST_F(Requester, LimitsOutstandingReadsAndAtomics)
{
	ready();
	qp->attributes.max_read_atomic = 2;
	post(fetch_add(1));
	post(fetch_add(1));
	post(fetch_add(1));
	expect(0, request(SegmentKind::kFetchAdd, kSqPsn));
	expect(0, request(SegmentKind::kFetchAdd, kSqPsn + 1));
	expect_nothing(0);
	Segment answer = ack(kSqPsn);
	answer.kind = SegmentKind::kAtomicAcknowledge;
	send(1, answer);
	expect(1, request(SegmentKind::kFetchAdd, kSqPsn + 2));
}

// OHCA-ERR-D1
TEST_F(Requester, RefusesReadsWithoutDepth)
{
	ready();
	qp->attributes.max_read_atomic = 0;
	post(write(1));
	post(read(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect_nothing(0);
	expect_no_completion(); // in order: not before the WRITE
	send(1, ack(kSqPsn));
	expect_nothing(1);
	expect_send(0);
	expect_send(1, OHCA_CQE_STATUS_LOCAL_QP_OPERATION);
	EXPECT_EQ(completion.vendor_error, uint32_t{OHCA_VENDOR_ERROR_READ_ATOMIC_DEPTH});
	expect_broken();
}

// OHCA-SQ-D8
TEST_F(Requester, FenceWaitsForReads)
{
	ready();
	post(read(1));
	SendRequest fenced = write(1);
	fenced.flags |= OHCA_WQE_FENCE;
	post(fenced);
	expect(0, request(SegmentKind::kReadRequest, kSqPsn));
	expect_nothing(0);
	Segment answer = incoming(SegmentKind::kReadResponse, kSqPsn);
	send(1, answer, pattern(1, 1));
	expect(1, request(SegmentKind::kWrite, kSqPsn + 1));
}

TEST_F(Requester, FenceDoesNotWaitForWrites)
{
	ready();
	post(write(1));
	SendRequest fenced = write(1);
	fenced.flags |= OHCA_WQE_FENCE;
	post(fenced);
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
}

TEST_F(Requester, HoldsNoMoreThanItsWindow)
{
	ready();
	for (int i = 0; i < 64; i++)
		post(write(1));
	const uint32_t window = 16; // slots of 512 bytes: the smallest window
	for (uint32_t i = 0; i < window; i++)
		expect(0, request(SegmentKind::kWrite, kSqPsn + i));
	expect_nothing(0);
	EXPECT_EQ(qp->requester.window_count, window);
	send(1, ack(kSqPsn + 1));
	expect(1, request(SegmentKind::kWrite, kSqPsn + window));
	expect(1, request(SegmentKind::kWrite, kSqPsn + window + 1));
	expect_nothing(1);
}

TEST_F(Requester, AnIdleQueuePairHasNoWindow)
{
	ready();
	expect_nothing(0);
	EXPECT_EQ(qp->requester.window, 0u);
	EXPECT_EQ(poll_timeout(*qp), kNever);
}

TEST_F(Requester, PsnsWrap)
{
	qp->attributes.sq_psn = 0xfffffe;
	ready();
	post(write(600));
	post(write(1));
	expect(0, part(SegmentKind::kWrite, 0xfffffe, true, false));
	expect(0, part(SegmentKind::kWrite, 0xffffff, false, false));
	expect(0, part(SegmentKind::kWrite, 0, false, true));
	expect(0, request(SegmentKind::kWrite, 1));
	send(1, ack(0));
	expect_send(0);
	expect_no_completion();
	send(1, ack(1));
	expect_send(1);
}

// OHCA-ERR-D2 OHCA-MEM-D4
TEST_F(Requester, BadLocalKeyFailsInItsTurn)
{
	ready();
	post(write(1));
	SendRequest bad = write(1);
	bad.sges[0].lkey ^= 1;
	post(bad);
	post(write(1));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect_nothing(0);
	expect_no_completion();
	send(1, ack(kSqPsn));
	expect_nothing(1);
	expect_send(0);
	expect_send(1, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	EXPECT_EQ(completion.vendor_error, uint32_t{OHCA_VENDOR_ERROR_KEY_STALE});
	expect_send(2, OHCA_CQE_STATUS_FLUSHED);
	expect_broken();
}

// OHCA-MEM-D6
TEST_F(Requester, KeyThatVanishesWithinAMessageFails)
{
	ready();
	post(write(600));
	expect(0, part(SegmentKind::kWrite, kSqPsn, true, false));
	host.destroy_key(key);
	expect_nothing(0);
	expect_send(0, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	expect_broken();
}

TEST_F(Requester, ReadsNeedALocalBufferThatMayBeWritten)
{
	ready();
	SendRequest bad = read(8);
	bad.sges[0].lkey = host.create_key(pd, memory, 4096, OHCA_ACCESS_REMOTE_READ);
	post(bad);
	expect_nothing(0);
	expect_send(0, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	EXPECT_EQ(completion.vendor_error, uint32_t{OHCA_VENDOR_ERROR_KEY_ACCESS});
}

// OHCA-ERR-D2
TEST_F(Requester, MalformedRequestFails)
{
	ready();
	post(message(0x55, 8));
	expect_nothing(0);
	expect_send(0, OHCA_CQE_STATUS_LOCAL_QP_OPERATION);
	expect_broken();
}

// OHCA-SQ-D9
TEST_F(Requester, ProducerBeyondTheRingIsFatal)
{
	ready();
	host.record(*qp).sq_producer = 1000;
	handle_doorbell(function(), *qp, now_ns);
	expect_nothing(0);
	expect_event(OHCA_EVENT_QP_FATAL);
	expect_broken();
}

// OHCA-MEM-D8
TEST_F(Requester, UnreadablePayloadFailsInItsTurn)
{
	ready();
	post(write(1));
	post(write(2));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	handle_payload_fault(function(), *qp, got, now_ns);
	expect_nothing(0);
	expect_no_completion();
	send(1, ack(kSqPsn));
	expect_nothing(1);
	expect_send(0);
	expect_send(1, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	EXPECT_EQ(completion.vendor_error, uint32_t{OHCA_VENDOR_ERROR_DMA});
}

// OHCA-SQ-D6
TEST_F(Requester, SignalAllSignalsEverything)
{
	QpOptions options;
	options.pd = pd;
	options.send_cq = send_cq;
	options.recv_cq = recv_cq;
	options.flags = OHCA_QP_SIGNAL_ALL;
	create(options);
	ready();
	SendRequest unsignaled = write(1);
	unsignaled.flags = 0;
	post(unsignaled);
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	send(1, ack(kSqPsn));
	expect_send(0);
}

} // namespace
} // namespace ohca::core::test
