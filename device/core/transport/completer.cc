// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Requester: what responses do to outstanding work requests (IBTA 9.7.6, 9.9.2).
#include "core/transport/requester.hh"

#include <algorithm>
#include <endian.h>

#include "core/mem/invalidate.hh"
#include "core/transport/aeth.hh"
#include "core/transport/local_memory.hh"

namespace ohca::core {

namespace {

bool is_requester_state(const QpContext &qp)
{
	return qp.state == OHCA_QP_STATE_RTS || qp.state == OHCA_QP_STATE_SQD;
}

// Acknowledges all packets before `psn`, which is in [unacked_psn, sent_psn]. False: a READ or
// atomic before it has not been answered; what is before that one is acknowledged.
bool acknowledge_before(Function &function, QpContext &qp, uint32_t psn, TimeNs now)
{
	RequesterContext &requester = qp.requester;
	bool progress = false;
	bool answered = true;

	while (requester.unacked_psn != psn && is_requester_state(qp)) {
		const SendWindowEntry &head = window_entry(function, qp, requester.complete_index);
		const uint32_t end_psn = psn_add(head.psn, head.psn_count);

		if (is_read_atomic(head)) {
			answered = false;
			break;
		}
		progress = true;
		if (psn_distance(psn, requester.unacked_psn) < psn_distance(end_psn, requester.unacked_psn)) {
			requester.unacked_psn = psn;
			break;
		}
		requester.unacked_psn = end_psn;
		complete_head(function, qp);
	}
	if (progress && is_requester_state(qp))
		note_progress(function, qp, now);
	return answered;
}

// A response has overtaken the answer to a READ or atomic: it must have been lost (IBTA
// 9.7.5.1.1). Once until something arrives: further responses of the same flight say nothing new.
void implied_nak(Function &function, QpContext &qp)
{
	if (qp.requester.read_retried || qp.requester.rnr_until_ns != 0)
		return;
	qp.requester.read_retried = 1;
	retry(function, qp);
}

uint8_t status_of_nak(uint8_t syndrome)
{
	switch (syndrome) {
	case kAethNakInvalidRequest:
		return OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST;
	case kAethNakRemoteAccess:
		return OHCA_CQE_STATUS_REMOTE_ACCESS;
	case kAethNakRemoteOperation:
		return OHCA_CQE_STATUS_REMOTE_OPERATION;
	default:
		return OHCA_CQE_STATUS_BAD_RESPONSE;
	}
}

void handle_negative(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	const uint8_t syndrome = segment.aeth_syndrome;

	// A NAK acknowledges everything before its PSN (IBTA 9.7.5.1.1).
	if (!acknowledge_before(function, qp, segment.psn, now)) {
		implied_nak(function, qp);
		return;
	}
	if (!is_requester_state(qp))
		return;
	if (aeth_is_rnr(syndrome)) {
		function.count(OHCA_COUNTER_RNR_NAKS_RECEIVED);
		if (qp.requester.rnr_until_ns == 0)
			wait_for_receiver(function, qp, syndrome & kAethValueMask, now);
	} else if (syndrome == kAethNakSequence) {
		function.count(OHCA_COUNTER_SEQUENCE_NAKS_RECEIVED);
		if (qp.requester.rnr_until_ns == 0)
			retry(function, qp);
	} else {
		fail_head(function, qp, status_of_nak(syndrome), OHCA_VENDOR_ERROR_NAK);
	}
}

void handle_acknowledge(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	if (!aeth_is_ack(segment.aeth_syndrome)) {
		if (aeth_is_rnr(segment.aeth_syndrome) || aeth_is_nak(segment.aeth_syndrome))
			handle_negative(function, qp, segment, now);
		return; // the remaining class is reserved
	}
	if (!acknowledge_before(function, qp, psn_add(segment.psn, 1), now))
		implied_nak(function, qp);
}

// The oldest work request, if it is outstanding and of that kind and `psn` is its next response.
SendWindowEntry *answered_head(Function &function, QpContext &qp, uint32_t psn, SegmentKind response)
{
	RequesterContext &requester = qp.requester;

	if (requester.complete_index == requester.fetch_index || requester.unacked_psn != psn)
		return nullptr;
	SendWindowEntry &head = window_entry(function, qp, requester.complete_index);
	if (!head.started || opcode_properties(head.opcode).response != response)
		return nullptr;
	return &head;
}

// Ranges of the local buffer of a READ or atomic. False: the work request has failed.
bool scatter(Function &function, QpContext &qp, SendWindowEntry &head, SgRange *ranges, SgCursor &cursor)
{
	uint32_t count = 0;
	const uint32_t error = check_sges(function, qp.pd, {window_sges(head), head.sge_count}, head.length,
					  OHCA_ACCESS_LOCAL_WRITE, ranges, count);

	if (error != OHCA_VENDOR_ERROR_NONE) {
		fail_head(function, qp, OHCA_CQE_STATUS_LOCAL_PROTECTION, error);
		return false;
	}
	cursor = {ranges, count, 0, 0};
	return true;
}

// IBTA 9.9.2: a response that does not fit the request.
void bad_response(Function &function, QpContext &qp)
{
	fail_head(function, qp, OHCA_CQE_STATUS_BAD_RESPONSE, OHCA_VENDOR_ERROR_OPCODE);
}

// All data has been placed: now the key that READ_INV names is no longer needed.
void complete_read(Function &function, QpContext &qp, const SendWindowEntry &head)
{
	if (head.opcode == OHCA_WR_READ_INV) {
		const uint32_t error = invalidate_key(function, qp, head.immediate);

		if (error != OHCA_VENDOR_ERROR_NONE) {
			fail_head(function, qp, OHCA_CQE_STATUS_MW_BIND, error);
			return;
		}
	}
	complete_head(function, qp);
}

Delivery handle_read_response(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	RequesterContext &requester = qp.requester;
	const uint8_t log_mtu = qp.attributes.path_mtu;
	SendWindowEntry *head = answered_head(function, qp, segment.psn, segment.kind);

	if (head == nullptr) {
		bad_response(function, qp);
		return Delivery::kDone;
	}
	const uint64_t offset = uint64_t{psn_distance(segment.psn, head->psn)} << log_mtu;
	// ATOMIC_WRITE and FLUSH are answered with no data.
	const uint64_t rest = is_read(*head) ? head->length - offset : 0;
	const uint64_t length = segment.payload_length;
	const bool last = length == rest;
	if (length > rest || segment.psn_count != packet_count(length, log_mtu) ||
	    (!last && (length == 0 || length != uint64_t{segment.psn_count} << log_mtu))) {
		bad_response(function, qp);
		return Delivery::kDone;
	}
	if (length > 0) {
		RangeBuffer buffer;
		SgCursor to;
		SgCursor from = segment.payload;

		if (!scatter(function, qp, *head, buffer.ranges, to))
			return Delivery::kDone;
		to.skip(offset);
		switch (copy(to, from, length)) {
		case CopyResult::kOk:
			break;
		case CopyResult::kSourceFault:
			return Delivery::kSourceFault;
		case CopyResult::kDestinationFault:
			fail_head(function, qp, OHCA_CQE_STATUS_LOCAL_PROTECTION, OHCA_VENDOR_ERROR_DMA);
			return Delivery::kDone;
		}
		function.count(OHCA_COUNTER_RX_BYTES, length);
	}
	requester.unacked_psn = psn_add(segment.psn, segment.psn_count);
	if (last)
		complete_read(function, qp, *head);
	if (is_requester_state(qp))
		note_progress(function, qp, now);
	return Delivery::kDone;
}

void handle_atomic_acknowledge(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	SendWindowEntry *head = answered_head(function, qp, segment.psn, segment.kind);

	if (head == nullptr) {
		bad_response(function, qp);
		return;
	}
	uint64_t original = segment.operand;
	RangeBuffer buffer;
	SgRange value = {nullptr, nullptr, 0, reinterpret_cast<std::byte *>(&original), sizeof(original)};
	SgCursor from = {&value, 1, 0, 0};
	SgCursor to;
	if (!scatter(function, qp, *head, buffer.ranges, to))
		return;
	if (copy(to, from, std::min<uint64_t>(sizeof(original), head->length)) != CopyResult::kOk) {
		fail_head(function, qp, OHCA_CQE_STATUS_LOCAL_PROTECTION, OHCA_VENDOR_ERROR_DMA);
		return;
	}
	qp.requester.unacked_psn = psn_add(segment.psn, 1);
	complete_head(function, qp);
	if (is_requester_state(qp))
		note_progress(function, qp, now);
}

void complete_one(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;
	const uint32_t index = requester.complete_index;
	const SendWindowEntry &head = window_entry(function, qp, index);
	const bool read_atomic = is_read_atomic(head);

	requester.complete_index++;
	requester.reads_outstanding -= read_atomic;
	if (requester.transmit_index == index) { // acknowledged while being retransmitted
		requester.transmit_index++;
		requester.transmit_offset = 0;
	}
	if ((head.flags & OHCA_WQE_SIGNALED) || (qp.flags & OHCA_QP_SIGNAL_ALL))
		complete_send(function, qp,
			      {.index = index,
			       .opcode = head.opcode,
			       .byte_length = static_cast<uint32_t>(head.length)});
	if (qp.state == OHCA_QP_STATE_SQD)
		check_drained(function, qp);
}

// A local operation that has been carried out waits for nothing but its turn.
bool is_head_finished(Function &function, const QpContext &qp)
{
	const RequesterContext &requester = qp.requester;

	if (!is_requester_state(qp) || requester.complete_index == requester.fetch_index)
		return false;
	const SendWindowEntry &head = window_entry(function, qp, requester.complete_index);
	return head.started && is_local(head);
}

} // namespace

void complete_head(Function &function, QpContext &qp)
{
	do {
		complete_one(function, qp);
	} while (is_head_finished(function, qp));
}

void fail_head(Function &function, QpContext &qp, uint8_t status, uint32_t vendor_error)
{
	RequesterContext &requester = qp.requester;
	const uint32_t index = requester.complete_index;

	qp.error_status = status;
	if (index == requester.fetch_index) { // nothing is outstanding: a response to nothing
		enter_error(function, qp);
		return;
	}
	const SendWindowEntry &head = window_entry(function, qp, index);
	requester.complete_index++;
	complete_send(function, qp,
		      {.index = index, .opcode = head.opcode, .status = status, .vendor_error = vendor_error});
	if (qp.state != OHCA_QP_STATE_ERR)
		enter_error(function, qp);
}

Delivery handle_response(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	RequesterContext &requester = qp.requester;

	if (!is_requester_state(qp)) {
		function.count(OHCA_COUNTER_PACKETS_DROPPED);
		return Delivery::kDone;
	}
	// Duplicate and ghost responses are dropped (IBTA 9.7.6.1.2).
	if (psn_distance(segment.psn, requester.unacked_psn) >=
	    psn_distance(requester.sent_psn, requester.unacked_psn))
		return Delivery::kDone;

	Delivery delivery = Delivery::kDone;
	if (segment.kind == SegmentKind::kAcknowledge) {
		handle_acknowledge(function, qp, segment, now);
	} else if (!acknowledge_before(function, qp, segment.psn, now)) {
		implied_nak(function, qp);
	} else if (is_requester_state(qp)) {
		if (segment.kind == SegmentKind::kReadResponse)
			delivery = handle_read_response(function, qp, segment, now);
		else
			handle_atomic_acknowledge(function, qp, segment, now);
	}
	function.activate(qp);
	return delivery;
}

} // namespace ohca::core
