// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// BIND_MW, REG_MR and LOCAL_INV in the send queue; READ_INV; SEND_INV at the responder.
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class LocalOperation : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		fast = host.create_free_key(pd, OHCA_MKEY_TYPE_FAST_REGION, 16);
		window = host.create_free_key(pd, OHCA_MKEY_TYPE_WINDOW_2B);
		bindable = host.create_key(pd, memory, 4096, OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_WINDOW_BIND);
		list = host.allocate(4096);
		host.store64(list, memory);
		ready();
	}
	SendRequest registration(uint32_t as, uint8_t flags = OHCA_WQE_SIGNALED)
	{
		SendRequest request;
		request.opcode = OHCA_WR_REG_MR;
		request.flags = flags;
		request.rkey = as;
		ohca_wqe_register body{};
		body.start = memory;
		body.length = 4096;
		body.list_address = list;
		body.entry_count = 1;
		body.access = OHCA_ACCESS_LOCAL_WRITE | kAllRemote;
		body.log_page_size = 12;
		request.carry(body);
		return request;
	}
	SendRequest invalidation(uint32_t of, uint8_t flags = OHCA_WQE_SIGNALED)
	{
		SendRequest request;
		request.opcode = OHCA_WR_LOCAL_INV;
		request.flags = flags;
		request.invalidate_key = of;
		return request;
	}
	SendRequest bind(uint32_t as, uint64_t length = 64)
	{
		SendRequest request;
		request.opcode = OHCA_WR_BIND_MW;
		request.rkey = as;
		ohca_wqe_bind body{};
		body.address = memory;
		body.length = length;
		body.lkey = bindable;
		body.access = OHCA_ACCESS_REMOTE_READ;
		request.carry(body);
		return request;
	}
	SendRequest with_key(SendRequest request, uint32_t lkey)
	{
		request.sges[0].lkey = lkey;
		return request;
	}
	Segment read_response(uint32_t psn, bool first = true, bool last = true)
	{
		Segment segment = ack(psn);
		segment.kind = SegmentKind::kReadResponse;
		segment.first = first;
		segment.last = last;
		return segment;
	}
	bool valid(uint32_t k) { return function().memory().check_remote_key(k, *qp, memory, 1, 0).mkey != nullptr; }

	uint32_t fast = 0;
	uint32_t window = 0;
	uint32_t bindable = 0;
	uint64_t list = 0;
};

// OHCA-MEM-D21
TEST_F(LocalOperation, TakesEffectInOrderAndNeedsNoPsn)
{
	put(0, pattern(16, 1));
	post(registration(fast | 1));
	post(with_key(write(16), fast | 1)); // uses it at once
	post(invalidation(fast | 1));
	post(registration(fast | 2));
	post(with_key(write(16), fast | 2));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	EXPECT_EQ(got_payload, bytes_at(0, 16));
	expect_send(0);
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	expect_nothing(0);
	// What is carried out completes behind what is not yet acknowledged.
	expect_no_completion();
	EXPECT_FALSE(valid(fast | 1));
	EXPECT_TRUE(valid(fast | 2));
	send(1, ack(kSqPsn));
	expect_send(1);
	expect_send(2);
	expect_send(3);
	expect_no_completion();
	send(1, ack(kSqPsn + 1));
	expect_send(4);
}

// OHCA-MEM-D21
TEST_F(LocalOperation, IsNotRepeatedByARetransmission)
{
	post(registration(fast | 1));
	post(write(16));
	post(invalidation(fast | 1));
	post(bind(window | 1));
	post(write(16));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kWrite, kSqPsn + 1));
	expect_nothing(0);
	expect_send(0);
	EXPECT_TRUE(valid(window | 1));
	expect(1100, request(SegmentKind::kWrite, kSqPsn)); // the ACK timer has expired
	expect(1100, request(SegmentKind::kWrite, kSqPsn + 1));
	expect_nothing(1100);
	EXPECT_EQ(function().context().counters()[OHCA_COUNTER_REGISTRATIONS], 2u);
	EXPECT_EQ(function().context().counters()[OHCA_COUNTER_INVALIDATIONS], 1u);
	send(1101, ack(kSqPsn + 1)); // of both, with one ACK
	for (uint32_t index = 1; index <= 4; index++)
		expect_send(index);
}

// OHCA-MEM-D21
TEST_F(LocalOperation, AlsoAtTheEndOfTheQueueCompletesWithWhatIsBefore)
{
	post(write(16));
	post(registration(fast | 1, 0));
	post(invalidation(fast | 1, 0));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect_nothing(0);
	send(1, ack(kSqPsn));
	expect_send(0);
	expect_no_completion(); // unsignaled
	EXPECT_EQ(qp->requester.complete_index, 3u);
	EXPECT_EQ(qp->requester.transmit_index, 3u);
	post(write(16));
	expect(1, request(SegmentKind::kWrite, kSqPsn + 1));
}

// OHCA-MEM-D21 OHCA-SQ-D8
TEST_F(LocalOperation, FenceWaitsForReads)
{
	post(read(16));
	post(registration(fast | 1, OHCA_WQE_SIGNALED | OHCA_WQE_FENCE));
	expect(0, request(SegmentKind::kReadRequest, kSqPsn));
	expect_nothing(0);
	EXPECT_FALSE(valid(fast | 1));
	send(1, read_response(kSqPsn), pattern(16, 1));
	expect_nothing(1);
	EXPECT_TRUE(valid(fast | 1));
	expect_send(0);
	expect_send(1);
}

// OHCA-MEM-D21
TEST_F(LocalOperation, UnfencedRegistrationDoesNotWait)
{
	post(read(16));
	post(registration(fast | 1));
	expect(0, request(SegmentKind::kReadRequest, kSqPsn));
	expect_nothing(0);
	EXPECT_TRUE(valid(fast | 1));
	expect_no_completion(); // but completes in its turn
	send(1, read_response(kSqPsn), pattern(16, 1));
	expect_send(0);
	expect_send(1);
}

// OHCA-MEM-D21
TEST_F(LocalOperation, UnfencedInvalidationRunsAheadAndBreaksTheRead)
{
	post(registration(fast | 1));
	post(with_key(read(16), fast | 1));
	post(invalidation(fast | 1));
	expect(0, request(SegmentKind::kReadRequest, kSqPsn));
	expect_nothing(0);
	expect_send(0);
	EXPECT_FALSE(valid(fast | 1));
	send(1, read_response(kSqPsn), pattern(16, 1));
	expect_send(1, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	expect_send(2, OHCA_CQE_STATUS_FLUSHED);
}

// OHCA-MEM-D21
TEST_F(LocalOperation, FencedInvalidationWaitsForEverything)
{
	post(registration(fast | 1));
	post(with_key(write(16), fast | 1));
	post(with_key(read(16), fast | 1));
	post(invalidation(fast | 1, OHCA_WQE_SIGNALED | OHCA_WQE_FENCE));
	post(write(16));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	expect(0, request(SegmentKind::kReadRequest, kSqPsn + 1));
	expect_nothing(0);
	expect_send(0);
	send(1, ack(kSqPsn));
	expect_send(1);
	expect_nothing(1);
	EXPECT_TRUE(valid(fast | 1));
	send(2, read_response(kSqPsn + 1), pattern(16, 1));
	expect(2, request(SegmentKind::kWrite, kSqPsn + 2));
	EXPECT_FALSE(valid(fast | 1));
	expect_send(2);
	expect_send(3);
}

// OHCA-MEM-D17 OHCA-MEM-D18 OHCA-MEM-D19 OHCA-ERR-D1
TEST_F(LocalOperation, FailureComesInItsTurnAndBreaksTheQueuePair)
{
	const std::pair<SendRequest, uint32_t> bad[] = {
		{invalidation(fast), OHCA_VENDOR_ERROR_KEY_STATE},
		{invalidation(key), OHCA_VENDOR_ERROR_KEY_TYPE},
		{registration(key), OHCA_VENDOR_ERROR_KEY_TYPE},
		{bind(window, 5000), OHCA_VENDOR_ERROR_KEY_RANGE},
		{bind(fast), OHCA_VENDOR_ERROR_KEY_TYPE},
	};
	for (const auto &[request_, vendor_error] : bad) {
		to(OHCA_QP_STATE_RESET);
		host.record(*qp).sq_producer = 0;
		ready();
		post(write(16));
		post(request_);
		post(write(16));
		expect(now_ns / 1000, request(SegmentKind::kWrite, kSqPsn));
		expect_nothing(now_ns / 1000);
		expect_no_completion(); // it waits until the WRITE before it is complete
		send(now_ns / 1000, ack(kSqPsn));
		expect_send(0);
		expect_nothing(now_ns / 1000);
		expect_send(1, OHCA_CQE_STATUS_MW_BIND);
		EXPECT_EQ(completion.vendor_error, vendor_error);
		expect_send(2, OHCA_CQE_STATUS_FLUSHED);
		expect_broken();
	}
}

// OHCA-MEM-D21
TEST_F(LocalOperation, ManyInARowLetOthersHaveTheirTurn)
{
	for (uint32_t i = 0; i < 32; i++) {
		post(registration(fast | i, 0));
		post(invalidation(fast | i, i == 31 ? OHCA_WQE_SIGNALED : 0));
	}
	expect_nothing(0);
	expect_send(63);
	EXPECT_EQ(function().context().counters()[OHCA_COUNTER_INVALIDATIONS], 32u);
}

TEST_F(LocalOperation, WaitsInSqd)
{
	post(write(16));
	expect(0, request(SegmentKind::kWrite, kSqPsn));
	qp->attributes.sq_drained_event = 1;
	post(registration(fast | 1));
	to(OHCA_QP_STATE_SQD);
	expect_nothing(0);
	send(1, ack(kSqPsn));
	expect_send(0);
	expect_event(OHCA_EVENT_SQ_DRAINED);
	expect_nothing(1);
	EXPECT_FALSE(valid(fast | 1));
	to(OHCA_QP_STATE_RTS);
	expect_nothing(1);
	expect_send(1);
	EXPECT_TRUE(valid(fast | 1));
}

// OHCA-MEM-D24
TEST_F(LocalOperation, ReadInvalidatesAfterTheData)
{
	post(registration(fast | 1, 0));
	SendRequest request_ = with_key(read(300), fast | 1);
	request_.opcode = OHCA_WR_READ_INV;
	request_.invalidate_key = fast | 1;
	post(request_);
	expect(0, request(SegmentKind::kReadRequest, kSqPsn, 2));
	send(1, read_response(kSqPsn, true, false), pattern(256, 1));
	EXPECT_TRUE(valid(fast | 1));
	send(1, read_response(kSqPsn + 1, false, true), pattern(44, 2));
	EXPECT_FALSE(valid(fast | 1));
	expect_send(1);
	EXPECT_EQ(completion.byte_length, 300u);
	EXPECT_EQ(bytes_at(256, 44), pattern(44, 2));
	// The key is not the one of the elements, and not valid: the READ fails at its end.
	request_ = read(8);
	request_.opcode = OHCA_WR_READ_INV;
	request_.invalidate_key = fast | 1;
	post(request_);
	expect(2, request(SegmentKind::kReadRequest, kSqPsn + 2));
	send(2, read_response(kSqPsn + 2), pattern(8, 1));
	expect_send(2, OHCA_CQE_STATUS_MW_BIND);
	expect_broken();
}

// OHCA-MEM-D23
TEST_F(LocalOperation, SendInvalidatesAtTheReceiver)
{
	post(registration(fast | 1));
	post(bind(window | 7));
	expect_nothing(0);
	expect_send(0);
	expect_send(1);
	uint32_t psn = kRqPsn;
	for (uint32_t victim : {fast | 1, window | 7}) {
		post_receive(5, 4);
		Segment segment = incoming(SegmentKind::kSend, psn);
		segment.has_invalidate = true;
		segment.immediate_be = victim;
		send(1, segment, pattern(4, 1));
		expect_receive(5);
		EXPECT_EQ(completion.opcode, OHCA_WR_SEND_INV);
		EXPECT_EQ(completion.invalidated_rkey, victim);
		EXPECT_EQ(int{completion.flags}, OHCA_CQE_RECEIVE | OHCA_CQE_WITH_INV);
		EXPECT_FALSE(valid(victim));
		expect(1, want_ack(psn));
		// A duplicate is acknowledged again and does not look at the key.
		send(2, segment, pattern(4, 1));
		expect(2, want_ack(psn));
		psn++;
	}
	post_receive(6, 4);
	Segment segment = incoming(SegmentKind::kSend, psn);
	segment.has_invalidate = true;
	segment.immediate_be = window | 7; // free by now
	send(3, segment, pattern(4, 1));
	expect_receive(6, OHCA_CQE_STATUS_REMOTE_ACCESS);
	EXPECT_EQ(completion.vendor_error, unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
	expect(3, want_nak(psn, kAethNakRemoteAccess));
	expect_broken();
}

} // namespace
} // namespace ohca::core::test
