// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// READ, atomics, responder resources.
#include "core/tests/transport/rc_script.hh"

namespace ohca::core::test {
namespace {

class ResponderRead : public RcScript {
protected:
	void SetUp() override
	{
		RcScript::SetUp();
		ready();
		put(0, pattern(4096, 11));
	}
	Want data(uint32_t psn, bool first, bool last)
	{
		return {SegmentKind::kReadResponse, psn, 1, first, last, kAethAck};
	}
	Want answer(uint32_t psn) { return {SegmentKind::kAtomicAcknowledge, psn, 1, true, true, kAethAck}; }
};

TEST_F(ResponderRead, DataIsCutAtThePathMtu)
{
	send(0, incoming_read(kRqPsn, 600, 10));
	expect(0, data(kRqPsn, true, false));
	EXPECT_EQ(got_payload, bytes_at(10, 256));
	EXPECT_EQ(got.msn, 1u);
	expect(0, data(kRqPsn + 1, false, false));
	expect(0, data(kRqPsn + 2, false, true));
	EXPECT_EQ(got_payload, bytes_at(10 + 512, 88));
	expect_nothing(0); // the data is the acknowledgement
	send(1, incoming_write(kRqPsn + 3, 0));
	expect(1, want_ack(kRqPsn + 3));
}

// OHCA-MEM-D4
TEST_F(ResponderRead, EmptyReadNeedsNoKey)
{
	Segment empty = incoming_read(kRqPsn, 0);
	empty.rkey = 0xdead;
	send(0, empty);
	expect(0, data(kRqPsn, true, true));
	EXPECT_EQ(got.payload_length, 0u);
}

TEST_F(ResponderRead, AcknowledgementsComeAfterData)
{
	send(0, incoming_read(kRqPsn, 300));
	send(0, incoming_write(kRqPsn + 2, 0));
	send(0, incoming_add(kRqPsn + 3, 1, 4096));
	send(0, incoming_write(kRqPsn + 4, 0));
	expect(0, data(kRqPsn, true, false));
	expect(0, data(kRqPsn + 1, false, true));
	expect(0, answer(kRqPsn + 3));
	expect(0, want_ack(kRqPsn + 4));
	expect_nothing(0);
}

TEST_F(ResponderRead, RefusalComesAfterData)
{
	send(0, incoming_read(kRqPsn, 300));
	Segment bad = incoming_write(kRqPsn + 2, 1);
	bad.rkey ^= 1;
	send(0, bad, pattern(1, 1));
	expect_broken();
	expect(0, data(kRqPsn, true, false));
	expect(0, data(kRqPsn + 1, false, true));
	expect(0, want_nak(kRqPsn + 2, kAethNakRemoteAccess));
	expect_nothing(0);
}

// OHCA-ERR-D1 OHCA-RC-D12
TEST_F(ResponderRead, WrongKeyIsAnAccessError)
{
	Segment bad = incoming_read(kRqPsn, 4);
	bad.rkey = host.create_key(pd, memory, 4096, OHCA_ACCESS_REMOTE_WRITE);
	send(0, bad);
	expect_event(OHCA_EVENT_QP_ACCESS_ERROR);
	expect(0, want_nak(kRqPsn, kAethNakRemoteAccess));
	expect_broken();
}

// OHCA-MEM-D6
TEST_F(ResponderRead, KeyThatVanishesBeforeTheDataIsAnAccessError)
{
	send(0, incoming_read(kRqPsn, 600));
	send(0, incoming_write(kRqPsn + 3, 0));
	expect(0, data(kRqPsn, true, false));
	host.destroy_key(key);
	expect(0, want_nak(kRqPsn + 1, kAethNakRemoteAccess));
	expect_nothing(0);
	expect_event(OHCA_EVENT_QP_ACCESS_ERROR);
	expect_broken();
}

// OHCA-MEM-D8 OHCA-ERR-D1
TEST_F(ResponderRead, UnreadableMemoryIsARemoteOperationError)
{
	send(0, incoming_read(kRqPsn, 600));
	expect(0, data(kRqPsn, true, false));
	handle_payload_fault(function(), *qp, got, 0);
	expect(0, want_nak(kRqPsn, kAethNakRemoteOperation));
	expect_nothing(0);
	expect_event(OHCA_EVENT_QP_FATAL);
	expect_broken();
}

TEST_F(ResponderRead, DuplicateIsReadAgain)
{
	send(0, incoming_read(kRqPsn, 300));
	expect(0, data(kRqPsn, true, false));
	expect(0, data(kRqPsn + 1, false, true));
	put(0, pattern(4096, 99));
	send(1, incoming_read(kRqPsn, 300));
	expect(1, data(kRqPsn, true, false));
	EXPECT_EQ(got_payload, bytes_at(0, 256));
	expect(1, data(kRqPsn + 1, false, true));
	expect_nothing(1);
}

TEST_F(ResponderRead, DuplicateMayAskForTheRest)
{
	send(0, incoming_read(kRqPsn, 600));
	send(0, incoming_write(kRqPsn + 3, 0));
	for (uint32_t i = 0; i < 3; i++)
		expect(0, data(kRqPsn + i, i == 0, i == 2));
	expect(0, want_ack(kRqPsn + 3));
	Segment rest = incoming_read(kRqPsn + 1, 600 - 256, 256);
	send(1, rest);
	expect(1, data(kRqPsn + 1, false, false));
	EXPECT_EQ(got_payload, bytes_at(256, 256));
	expect(1, data(kRqPsn + 2, false, true));
	expect_nothing(1);
}

// OHCA-RC-D15
TEST_F(ResponderRead, DuplicateOfAnotherRangeIsDropped)
{
	send(0, incoming_read(kRqPsn, 300));
	expect(0, data(kRqPsn, true, false));
	expect(0, data(kRqPsn + 1, false, true));
	send(1, incoming_read(kRqPsn, 299));
	send(1, incoming_read(kRqPsn, 300, 1));
	send(1, incoming_read(kRqPsn + 1, 44, 255));
	Segment other_key = incoming_read(kRqPsn, 300);
	other_key.rkey ^= 1;
	send(1, other_key);
	send(1, incoming_add(kRqPsn, 1));
	expect_nothing(1);
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
}

// OHCA-RC-D21: a late repetition must not end a connection whose requester has its answer, and
// whose owner has taken the key back since.
TEST_F(ResponderRead, DuplicateWhoseKeyIsGoneIsDropped)
{
	send(0, incoming_read(kRqPsn, 300));
	expect(0, data(kRqPsn, true, false));
	expect(0, data(kRqPsn + 1, false, true));
	send(1, incoming_read(kRqPsn, 300));
	expect(1, data(kRqPsn, true, false));
	host.destroy_key(key);
	expect_nothing(1);
	send(2, incoming_read(kRqPsn, 300));
	send(2, incoming_read(kRqPsn + 2, 0));
	expect(2, data(kRqPsn + 2, true, true));
	expect_nothing(2);
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
}

TEST_F(ResponderRead, DuplicateWhileAnsweringGoesBack)
{
	send(0, incoming_read(kRqPsn, 600));
	expect(0, data(kRqPsn, true, false));
	expect(0, data(kRqPsn + 1, false, false));
	send(1, incoming_read(kRqPsn + 1, 344, 256));
	expect(1, data(kRqPsn + 1, false, false));
	expect(1, data(kRqPsn + 2, false, true));
	expect_nothing(1);
}

// OHCA-RC-D8 OHCA-RC-D9
TEST_F(ResponderRead, AtomicsAreCarriedOutOnce)
{
	host.store64(memory, 40);
	send(0, incoming_add(kRqPsn, 2));
	expect(0, answer(kRqPsn));
	EXPECT_EQ(got.operand, 40u);
	send(1, incoming_add(kRqPsn, 2));
	send(1, incoming_add(kRqPsn, 2));
	expect(1, answer(kRqPsn));
	EXPECT_EQ(got.operand, 40u);
	expect_nothing(1);
	EXPECT_EQ(host.load64(memory), 42u);
}

TEST_F(ResponderRead, CompareAndSwap)
{
	host.store64(memory, 5);
	Segment swap = incoming_add(kRqPsn, 7);
	swap.kind = SegmentKind::kCompareSwap;
	swap.compare = 6;
	send(0, swap);
	expect(0, answer(kRqPsn));
	EXPECT_EQ(got.operand, 5u);
	EXPECT_EQ(host.load64(memory), 5u);
	swap.psn++;
	swap.compare = 5;
	send(0, swap);
	expect(0, answer(kRqPsn + 1));
	EXPECT_EQ(got.operand, 5u);
	EXPECT_EQ(host.load64(memory), 7u);
}

// OHCA-RC-D13
TEST_F(ResponderRead, MisalignedAtomicIsInvalid)
{
	send(0, incoming_add(kRqPsn, 1, 4));
	expect_event(OHCA_EVENT_QP_REQUEST_ERROR);
	expect(0, want_nak(kRqPsn, kAethNakInvalidRequest));
	expect_broken();
}

// OHCA-MEM-D4
TEST_F(ResponderRead, AtomicNeedsTheRight)
{
	Segment bad = incoming_add(kRqPsn, 1);
	bad.rkey = host.create_key(pd, memory, 4096, OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ);
	const uint64_t before = host.load64(memory);
	send(0, bad);
	expect(0, want_nak(kRqPsn, kAethNakRemoteAccess));
	EXPECT_EQ(host.load64(memory), before);
}

TEST_F(ResponderRead, UnreachableAtomicIsARemoteOperationError)
{
	Segment bad = incoming_add(kRqPsn, 1);
	bad.rkey = host.create_key(pd, uint64_t{1} << 50, 4096, kAllRemote);
	bad.remote_address = uint64_t{1} << 50;
	send(0, bad);
	expect(0, want_nak(kRqPsn, kAethNakRemoteOperation));
	expect_nothing(0);
	expect_event(OHCA_EVENT_QP_FATAL);
}

// OHCA-ERR-D1
TEST_F(ResponderRead, TooManyOutstandingIsInvalid)
{
	for (uint32_t i = 0; i < 4; i++)
		send(0, incoming_read(kRqPsn + i, 1));
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
	send(0, incoming_read(kRqPsn + 4, 1));
	expect_event(OHCA_EVENT_QP_REQUEST_ERROR);
	expect_broken();
	for (uint32_t i = 0; i < 4; i++)
		expect(0, data(kRqPsn + i, true, true));
	expect(0, want_nak(kRqPsn + 4, kAethNakInvalidRequest));
}

// OHCA-RC-D13
TEST_F(ResponderRead, NoDepthMeansNoReads)
{
	qp->attributes.max_dest_read_atomic = 0;
	send(0, incoming_read(kRqPsn, 1));
	expect(0, want_nak(kRqPsn, kAethNakInvalidRequest));
	expect_broken();
}

TEST_F(ResponderRead, OldResourcesAreDisplaced)
{
	for (uint32_t i = 0; i < 5; i++) {
		send(0, incoming_add(kRqPsn + i, 1, 4096));
		expect(0, answer(kRqPsn + i));
	}
	send(1, incoming_add(kRqPsn, 1, 4096)); // forgotten: dropped, not carried out
	expect_nothing(1);
	send(1, incoming_add(kRqPsn + 1, 1, 4096));
	expect(1, answer(kRqPsn + 1));
	EXPECT_EQ(host.load64(memory + 4096), 5u);
}

TEST_F(ResponderRead, StaleRepetitionDoesNotUseUpTheDepth)
{
	for (uint32_t i = 0; i < 4; i++) {
		send(0, incoming_add(kRqPsn + i, 1, 4096));
		expect(0, answer(kRqPsn + i));
	}
	send(1, incoming_add(kRqPsn, 1, 4096)); // late duplicate, answered again ...
	send(1, incoming_add(kRqPsn + 4, 1, 4096)); // ... unless a new request needs the place
	EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_RTS);
	expect(1, answer(kRqPsn + 4));
	expect_nothing(1);
}

} // namespace
} // namespace ohca::core::test
