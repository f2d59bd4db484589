// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: which requests are carried out (IBTA 9.7.4.1).
#include "core/transport/responder.hh"

#include <endian.h>

namespace ohca::core {

namespace {

// A packet is lost: one NAK, then silence until the expected one arrives (IBTA 9.7.5.2.1).
void receive_out_of_sequence(Function &function, QpContext &qp)
{
	function.count(OHCA_COUNTER_OUT_OF_SEQUENCE);
	if (qp.responder.nak_sent)
		return;
	qp.responder.nak_sent = 1;
	schedule_nak(qp, kAethNakSequence, qp.responder.expected_psn);
}

// IBTA 9.7.5.1.3: SENDs and WRITEs are acknowledged again without being carried out.
void receive_duplicate(Function &function, QpContext &qp, const Segment &segment)
{
	function.count(OHCA_COUNTER_DUPLICATE_REQUESTS);
	switch (segment.kind) {
	case SegmentKind::kReadRequest:
		receive_duplicate_read(function, qp, segment);
		break;
	case SegmentKind::kCompareSwap:
	case SegmentKind::kFetchAdd:
	case SegmentKind::kMaskedCompareSwap:
	case SegmentKind::kMaskedFetchAdd:
		receive_duplicate_atomic(function, qp, segment);
		break;
	case SegmentKind::kAtomicWrite:
	case SegmentKind::kFlush:
		receive_duplicate_placement(function, qp, segment);
		break;
	default:
		schedule_ack(qp);
	}
}

// First after last, middle and last after first, of one kind (IBTA 9.7.4.1, opcode sequence).
bool in_sequence(const ResponderContext &responder, const Segment &segment)
{
	if (responder.in_message == 0)
		return segment.first;
	return !segment.first && static_cast<uint8_t>(segment.kind) == responder.in_message;
}

uint32_t access_needed(const Segment &segment)
{
	switch (segment.kind) {
	case SegmentKind::kSend:
		return 0;
	case SegmentKind::kWrite:
	case SegmentKind::kAtomicWrite:
		return OHCA_ACCESS_REMOTE_WRITE;
	case SegmentKind::kReadRequest:
		return OHCA_ACCESS_REMOTE_READ;
	case SegmentKind::kFlush:
		return (segment.flush_placement & OHCA_FLUSH_GLOBAL ? OHCA_ACCESS_FLUSH_GLOBAL : 0) |
		       (segment.flush_placement & OHCA_FLUSH_PERSISTENT ? OHCA_ACCESS_FLUSH_PERSISTENT : 0);
	default:
		return OHCA_ACCESS_REMOTE_ATOMIC;
	}
}

Delivery execute_request(Function &function, QpContext &qp, const Segment &segment)
{
	switch (segment.kind) {
	case SegmentKind::kWrite:
		return receive_write(function, qp, segment);
	case SegmentKind::kSend:
		return receive_send(function, qp, segment);
	case SegmentKind::kReadRequest:
		receive_read(function, qp, segment);
		return Delivery::kDone;
	case SegmentKind::kAtomicWrite:
		return receive_atomic_write(function, qp, segment);
	case SegmentKind::kFlush:
		receive_flush(function, qp, segment);
		return Delivery::kDone;
	default:
		receive_atomic(function, qp, segment);
		return Delivery::kDone;
	}
}

} // namespace

bool is_message(SegmentKind kind)
{
	return kind == SegmentKind::kSend || kind == SegmentKind::kWrite;
}

bool is_enabled(const QpContext &qp, const Segment &segment)
{
	const uint32_t needed = access_needed(segment);

	return (le32toh(qp.attributes.access) & needed) == needed;
}

bool is_length_valid(const QpContext &qp, const Segment &segment)
{
	const uint64_t length = segment.payload_length;
	const uint8_t log_mtu = qp.attributes.path_mtu;

	if (!segment.last)
		return segment.psn_count > 0 && length == uint64_t{segment.psn_count} << log_mtu;
	return segment.psn_count == packet_count(length, log_mtu) && (length > 0 || segment.first);
}

void establish(Function &function, QpContext &qp)
{
	qp.responder.communication_established = 1;
	if (qp.state == OHCA_QP_STATE_RTR)
		post_async_event(function, OHCA_EVENT_COMM_ESTABLISHED, qp.qpn, 0);
}

void accept_request(QpContext &qp, const Segment &segment, uint32_t psn_count)
{
	ResponderContext &responder = qp.responder;

	responder.expected_psn = psn_add(responder.expected_psn, psn_count);
	if (segment.last) {
		responder.msn = psn_add(responder.msn, 1);
		responder.in_message = 0;
	} else {
		responder.in_message = static_cast<uint8_t>(segment.kind);
	}
	// A NAK of packets behind this one has no longer a meaning.
	if (segment.ack_request)
		schedule_ack(qp);
}

void refuse(Function &function, QpContext &qp, uint32_t psn, const Refusal &refusal)
{
	ResponderContext &responder = qp.responder;

	if (refusal.syndrome == kAethNakInvalidRequest)
		function.count(OHCA_COUNTER_REMOTE_INVALID_REQUESTS);
	else if (refusal.syndrome == kAethNakRemoteAccess)
		function.count(OHCA_COUNTER_REMOTE_ACCESS_ERRORS);
	else
		function.count(OHCA_COUNTER_REMOTE_OPERATION_ERRORS);

	schedule_nak(qp, refusal.syndrome, psn);
	if (responder.recv_active) {
		responder.recv_active = 0;
		complete_receive(function, qp,
				 {.tag = responder.recv_tag,
				  .status = refusal.status,
				  .vendor_error = refusal.vendor_error});
	} else if (refusal.event != 0) {
		post_async_event(function, refusal.event, qp.qpn, refusal.vendor_error);
	}
	if (qp.state != OHCA_QP_STATE_ERR)
		enter_error(function, qp);
}

void refuse_invalid(Function &function, QpContext &qp, const Segment &segment, uint32_t vendor_error)
{
	refuse(function, qp, segment.psn,
	       {kAethNakInvalidRequest, OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST, vendor_error,
		OHCA_EVENT_QP_REQUEST_ERROR});
}

void refuse_access(Function &function, QpContext &qp, const Segment &segment, uint32_t vendor_error)
{
	refuse(function, qp, segment.psn,
	       {kAethNakRemoteAccess, OHCA_CQE_STATUS_REMOTE_ACCESS, vendor_error, OHCA_EVENT_QP_ACCESS_ERROR});
}

void refuse_not_ready(Function &function, QpContext &qp, const Segment &segment)
{
	function.count(OHCA_COUNTER_RNR_NAKS_SENT);
	// What is already on its way behind this one is dropped without a word.
	qp.responder.nak_sent = 1;
	schedule_nak(qp, static_cast<uint8_t>(kAethClassRnr | (qp.attributes.min_rnr_timer & kAethValueMask)),
		     segment.psn);
}

Delivery handle_request(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	const uint32_t distance = psn_distance(segment.psn, responder.expected_psn);

	if (distance != 0) {
		if (distance >= kPsnWindow)
			receive_duplicate(function, qp, segment);
		else
			receive_out_of_sequence(function, qp);
		function.activate(qp);
		return Delivery::kDone;
	}
	responder.nak_sent = 0;
	if (!responder.communication_established)
		establish(function, qp);

	Delivery delivery = Delivery::kDone;
	if (!in_sequence(responder, segment) || !is_enabled(qp, segment))
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_OPCODE);
	else if (is_message(segment.kind) && !is_length_valid(qp, segment))
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_LENGTH);
	else if (qp.type == OHCA_QP_TYPE_XRC_TGT && !select_srq(function, qp, segment))
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_SRQ);
	else
		delivery = execute_request(function, qp, segment);
	function.activate(qp);
	return delivery;
}

} // namespace ohca::core
