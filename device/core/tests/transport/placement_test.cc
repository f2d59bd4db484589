// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Masked atomics, ATOMIC_WRITE and FLUSH, at both sides.
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class Placement : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		qp->attributes.access = kAllRemote | OHCA_ACCESS_FLUSH_GLOBAL;
		flushable = host.create_key(pd, memory, 4096, OHCA_ACCESS_FLUSH_GLOBAL);
		ready();
	}
	Want empty_response(uint32_t psn) { return {SegmentKind::kReadResponse, psn, 1, true, true, kAethAck}; }
	Want answer(uint32_t psn) { return {SegmentKind::kAtomicAcknowledge, psn, 1, true, true, kAethAck}; }
	Segment incoming_masked(SegmentKind kind, uint32_t psn, const ohca_wqe_masked_atomic &operands)
	{
		Segment segment = incoming_add(psn, operands.operand);
		segment.kind = kind;
		segment.compare = operands.compare;
		segment.swap_mask = operands.swap_mask;
		segment.compare_mask = operands.compare_mask;
		return segment;
	}
	Segment incoming_atomic_write(uint32_t psn, uint64_t offset = 0)
	{
		Segment segment = incoming_write(psn, 8, offset);
		segment.kind = SegmentKind::kAtomicWrite;
		return segment;
	}
	Segment incoming_flush(uint32_t psn, uint32_t length, uint8_t selectivity = OHCA_FLUSH_RANGE)
	{
		Segment segment = incoming_write(psn, length);
		segment.kind = SegmentKind::kFlush;
		segment.psn_count = 1;
		segment.rkey = flushable;
		segment.flush_placement = OHCA_FLUSH_GLOBAL;
		segment.flush_selectivity = selectivity;
		return segment;
	}
	void restart()
	{
		to(OHCA_QP_STATE_RESET);
		ready();
		while (host.poll_event())
			;
	}

	uint32_t flushable = 0;
};

// OHCA-RC-D18
TEST_F(Placement, MaskedAtomics)
{
	host.store64(memory, 0x1122334455667788);
	// Only the low half is compared, only bits 8 to 15 are replaced.
	send(0, incoming_masked(SegmentKind::kMaskedCompareSwap, kRqPsn, {0xffff, 0x55667788, {0xff00}, 0xffffffff}));
	EXPECT_EQ(host.load64(memory), 0x112233445566ff88u);
	expect(0, answer(kRqPsn));
	EXPECT_EQ(got.operand, 0x1122334455667788u);
	send(0, incoming_masked(SegmentKind::kMaskedCompareSwap, kRqPsn + 1, {0, 1, {~0ull}, 1}));
	EXPECT_EQ(host.load64(memory), 0x112233445566ff88u); // bit 0 differs
	expect(0, answer(kRqPsn + 1));
	// Four fields of 16 bits: the carry of each is dropped.
	host.store64(memory, 0xffff'0001'ffff'ffff);
	send(0, incoming_masked(SegmentKind::kMaskedFetchAdd, kRqPsn + 2,
				{0x0001'0001'0002'0001, 0, {0x8000'8000'8000'8000}, 0}));
	EXPECT_EQ(host.load64(memory), 0x0000'0002'0001'0000u);
	expect(0, answer(kRqPsn + 2));
	EXPECT_EQ(got.operand, 0xffff'0001'ffff'ffffu);
	// Without a boundary it is an ordinary addition.
	send(0, incoming_masked(SegmentKind::kMaskedFetchAdd, kRqPsn + 3, {~0ull, 0, {0}, 0}));
	EXPECT_EQ(host.load64(memory), 0x0000'0002'0000'ffffu);
	expect(0, answer(kRqPsn + 3));
}

// OHCA-RC-D8 OHCA-RC-D9
TEST_F(Placement, DuplicatesAreNotExecutedAgain)
{
	const Bytes value = pattern(8, 1);
	send(0, incoming_masked(SegmentKind::kMaskedFetchAdd, kRqPsn, {5, 0, {0}, 0}));
	send(0, incoming_atomic_write(kRqPsn + 1, 8), value);
	send(0, incoming_flush(kRqPsn + 2, 64));
	expect(0, answer(kRqPsn));
	expect(0, empty_response(kRqPsn + 1));
	expect(0, empty_response(kRqPsn + 2));
	expect_nothing(0);
	put(8, pattern(8, 99)); // somebody else has written meanwhile
	send(1, incoming_masked(SegmentKind::kMaskedFetchAdd, kRqPsn, {5, 0, {0}, 0}));
	send(1, incoming_atomic_write(kRqPsn + 1, 8), value);
	send(1, incoming_flush(kRqPsn + 2, 64));
	expect(1, answer(kRqPsn));
	EXPECT_EQ(got.operand, 0u);
	expect(1, empty_response(kRqPsn + 1));
	expect(1, empty_response(kRqPsn + 2));
	expect_nothing(1);
	EXPECT_EQ(host.load64(memory), 5u);
	EXPECT_EQ(bytes_at(8, 8), pattern(8, 99));
	// A duplicate of another kind is dropped.
	send(2, incoming_flush(kRqPsn + 1, 64));
	send(2, incoming_add(kRqPsn, 5));
	expect_nothing(2);
}

// OHCA-RC-D19
TEST_F(Placement, AtomicWriteIsOrderedAndAnsweredLikeARead)
{
	put(0, pattern(64, 3));
	send(0, incoming_read(kRqPsn, 8));
	send(0, incoming_atomic_write(kRqPsn + 1, 16), pattern(8, 9));
	send(0, incoming_write(kRqPsn + 2, 0));
	EXPECT_EQ(bytes_at(16, 8), pattern(8, 9));
	expect(0, empty_response(kRqPsn)); // the READ's data
	EXPECT_EQ(got.payload_length, 8u);
	expect(0, empty_response(kRqPsn + 1));
	EXPECT_EQ(got.payload_length, 0u);
	EXPECT_EQ(got.msn, 3u);
	expect(0, want_ack(kRqPsn + 2));
}

// OHCA-RC-D13 OHCA-RC-D19 OHCA-ERR-D1
TEST_F(Placement, AtomicWriteIsRefused)
{
	auto refused = [this](auto change, const Bytes &payload, uint8_t syndrome) {
		Segment segment = incoming_atomic_write(kRqPsn);
		change(segment);
		send(0, segment, payload);
		expect(0, want_nak(kRqPsn, syndrome));
		expect_broken();
		EXPECT_EQ(host.load64(memory), 0u);
		restart();
	};
	refused([](auto &) {}, pattern(4, 1), kAethNakInvalidRequest);
	refused([](auto &) {}, pattern(16, 1), kAethNakInvalidRequest);
	refused([](auto &s) { s.remote_address += 4; }, pattern(8, 1), kAethNakInvalidRequest);
	refused([](auto &s) { s.rkey ^= 1; }, pattern(8, 1), kAethNakRemoteAccess);
	refused([this](auto &s) { s.rkey = flushable; }, pattern(8, 1), kAethNakRemoteAccess);
	refused([](auto &s) { s.remote_address += 1 << 20; }, pattern(8, 1), kAethNakRemoteAccess);
	qp->attributes.max_dest_read_atomic = 0;
	refused([](auto &) {}, pattern(8, 1), kAethNakInvalidRequest);
	qp->attributes.max_dest_read_atomic = 4;
	qp->attributes.access = OHCA_ACCESS_REMOTE_READ;
	refused([](auto &) {}, pattern(8, 1), kAethNakInvalidRequest);
}

// OHCA-RC-D20
TEST_F(Placement, FlushNeedsAccessOfKeyAndQueuePair)
{
	uint32_t psn = kRqPsn;
	auto answered = [&](Segment segment) {
		segment.psn = psn;
		send(0, segment);
		expect(0, empty_response(psn++));
	};
	answered(incoming_flush(0, 4096));
	answered(incoming_flush(0, 0, OHCA_FLUSH_REGION));
	Segment anywhere = incoming_flush(0, 0, OHCA_FLUSH_REGION);
	anywhere.remote_address = 3; // is not looked at
	answered(anywhere);
	restart();
	auto refused = [this](auto change, uint8_t syndrome) {
		Segment segment = incoming_flush(kRqPsn, 64);
		change(segment);
		send(0, segment);
		expect(0, want_nak(kRqPsn, syndrome));
		restart();
	};
	refused([](auto &s) { s.dma_length = 4097; }, kAethNakRemoteAccess);
	refused([this](auto &s) { s.rkey = key; }, kAethNakRemoteAccess);
	refused([](auto &s) { s.rkey ^= 1; }, kAethNakRemoteAccess);
	refused([](auto &s) { s.rkey ^= 1; s.flush_selectivity = OHCA_FLUSH_REGION; }, kAethNakRemoteAccess);
	refused([](auto &s) { s.rkey = 0xffffffff; s.flush_selectivity = OHCA_FLUSH_REGION; }, kAethNakRemoteAccess);
	refused([](auto &s) { s.flush_placement = 0; }, kAethNakInvalidRequest);
	refused([](auto &s) { s.flush_placement = 5; }, kAethNakInvalidRequest);
	refused([](auto &s) { s.flush_selectivity = 2; }, kAethNakInvalidRequest);
	// The queue pair does not allow it, then it does and no key can.
	refused([](auto &s) { s.flush_placement = OHCA_FLUSH_PERSISTENT; }, kAethNakInvalidRequest);
	qp->attributes.access |= OHCA_ACCESS_FLUSH_PERSISTENT;
	refused([](auto &s) { s.flush_placement = OHCA_FLUSH_PERSISTENT; }, kAethNakRemoteAccess);
}

// --- requester ---

// OHCA-RC-D18
TEST_F(Placement, RequestsMaskedAtomics)
{
	SendRequest swap = message(OHCA_WR_MASKED_CAS, 8);
	swap.carry(ohca_wqe_masked_atomic{1, 2, {3}, 4});
	post(swap);
	SendRequest add = message(OHCA_WR_MASKED_FADD, 8);
	add.carry(ohca_wqe_masked_atomic{5, 0, {6}, 0});
	post(add);
	expect(0, request(SegmentKind::kMaskedCompareSwap, kSqPsn));
	EXPECT_EQ(got.operand, 1u);
	EXPECT_EQ(got.compare, 2u);
	EXPECT_EQ(got.swap_mask, 3u);
	EXPECT_EQ(got.compare_mask, 4u);
	expect(0, request(SegmentKind::kMaskedFetchAdd, kSqPsn + 1));
	EXPECT_EQ(got.operand, 5u);
	EXPECT_EQ(got.swap_mask, 6u);
	for (uint32_t i = 0; i < 2; i++) {
		Segment response = ack(kSqPsn + i);
		response.kind = SegmentKind::kAtomicAcknowledge;
		response.operand = 0x77 + i;
		send(1, response);
		expect_send(i);
		EXPECT_EQ(host.load64(memory), 0x77u + i);
	}
}

// OHCA-RC-D4 OHCA-RC-D19 OHCA-RC-D20
TEST_F(Placement, RequestsPlacementWithinTheDepth)
{
	qp->attributes.max_read_atomic = 2;
	put(0, pattern(8, 4));
	post(message(OHCA_WR_ATOMIC_WRITE, 8));
	SendRequest flush = message(OHCA_WR_FLUSH, 0);
	ohca_wqe_flush body{};
	body.length = 0x1000;
	body.placement = OHCA_FLUSH_GLOBAL;
	flush.carry(body);
	post(flush);
	SendRequest inlined = message(OHCA_WR_ATOMIC_WRITE, 0);
	inlined.flags |= OHCA_WQE_INLINE;
	inlined.inline_data = pattern(8, 6);
	post(inlined);
	expect(0, request(SegmentKind::kAtomicWrite, kSqPsn));
	EXPECT_EQ(got_payload, pattern(8, 4));
	EXPECT_EQ(got.remote_address, 0x5000u);
	expect(0, request(SegmentKind::kFlush, kSqPsn + 1));
	EXPECT_EQ(got.dma_length, 0x1000u);
	EXPECT_EQ(got.flush_placement, OHCA_FLUSH_GLOBAL);
	expect_nothing(0); // two are outstanding
	Segment response = ack(kSqPsn);
	response.kind = SegmentKind::kReadResponse;
	send(1, response);
	expect_send(0);
	expect(1, request(SegmentKind::kAtomicWrite, kSqPsn + 2));
	EXPECT_EQ(got_payload, pattern(8, 6));
	// The answer to the FLUSH is lost: a later one is an implied NAK.
	response.psn = kSqPsn + 2;
	send(2, response);
	expect(2, request(SegmentKind::kFlush, kSqPsn + 1));
	expect(2, request(SegmentKind::kAtomicWrite, kSqPsn + 2));
	response.psn = kSqPsn + 1;
	send(3, response);
	response.psn = kSqPsn + 2;
	send(3, response);
	expect_send(1);
	expect_send(2);
}

// OHCA-RC-D15
TEST_F(Placement, DataInTheAnswerIsABadResponse)
{
	post(message(OHCA_WR_ATOMIC_WRITE, 8));
	expect(0, request(SegmentKind::kAtomicWrite, kSqPsn));
	Segment response = ack(kSqPsn);
	response.kind = SegmentKind::kReadResponse;
	send(1, response, pattern(8, 1));
	expect_send(0, OHCA_CQE_STATUS_BAD_RESPONSE);
	expect_broken();
}

TEST_F(Placement, NeedsReadAtomicDepth)
{
	qp->attributes.max_read_atomic = 0;
	post(message(OHCA_WR_ATOMIC_WRITE, 8));
	expect_nothing(0);
	expect_send(0, OHCA_CQE_STATUS_LOCAL_QP_OPERATION);
	EXPECT_EQ(completion.vendor_error, unsigned{OHCA_VENDOR_ERROR_READ_ATOMIC_DEPTH});
}

} // namespace
} // namespace ohca::core::test
