// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder of UC (IBTA 9.8.2.2). A message that misses a packet is dropped as a whole, its
// receive WQE serves the next one; the next first packet is where the PSNs start anew.
#include "core/transport/receive_wqe.hh"
#include "core/transport/responder.hh"
#include "core/transport/unreliable.hh"

namespace ohca::core {

namespace {

// The message is lost. What follows of it is dropped without being counted again.
void lose_message(Function &function, QpContext &qp, bool more_follows)
{
	function.count(OHCA_COUNTER_UC_MESSAGES_LOST);
	qp.responder.in_message = 0;
	qp.responder.message_lost = more_follows;
}

// The packet comes again, as if it had not been here.
Delivery pause(QpContext &qp, const Segment &segment)
{
	qp.responder.expected_psn = segment.psn;
	return Delivery::kPause;
}

// IBTA 9.8.2.2.1. False: the packet belongs to a message that is lost.
bool synchronize(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	const bool gap = segment.psn != responder.expected_psn;

	if (gap)
		function.count(OHCA_COUNTER_OUT_OF_SEQUENCE);
	responder.expected_psn = psn_add(segment.psn, segment.psn_count);
	if (segment.first) {
		if (responder.in_message)
			lose_message(function, qp, false);
		responder.message_lost = 0;
		return true;
	}
	if (responder.in_message && !gap && responder.in_message == static_cast<uint8_t>(segment.kind))
		return true;
	if (!responder.message_lost)
		lose_message(function, qp, true);
	return false;
}

void complete(Function &function, QpContext &qp, const Segment &segment, uint8_t opcode, uint8_t opcode_immediate)
{
	ReceiveCompletion completion = {.tag = qp.responder.recv_tag,
					.opcode = opcode,
					.byte_length = qp.responder.message_length,
					.immediate_or_key = segment.immediate_be};

	if (segment.has_immediate) {
		completion.opcode = opcode_immediate;
		completion.flags = OHCA_CQE_WITH_IMM;
	}
	if (segment.solicited)
		completion.flags |= OHCA_CQE_SOLICITED;
	hold_receive_wqe(function, qp);
	qp.responder.recv_active = 0;
	complete_receive(function, qp, completion);
}

void accept(QpContext &qp, const Segment &segment)
{
	qp.responder.in_message = segment.last ? 0 : static_cast<uint8_t>(segment.kind);
}

Delivery receive_uc_send(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	ReceiveWqe wqe;
	std::span<const ohca_sge> sges;
	uint64_t capacity;

	if (segment.first) {
		const Admission admission = admit(function, qp, segment, wqe);
		if (admission == Admission::kPaused)
			return pause(qp, segment);
		if (admission == Admission::kLost) {
			lose_message(function, qp, !segment.last);
			return Delivery::kDone;
		}
		sges = {wqe.sges, wqe.sge_count};
		capacity = wqe.length;
		responder.message_length = 0;
	} else {
		sges = kept_sges(function, qp);
		capacity = responder.recv_length;
	}
	if (responder.message_length + segment.payload_length > std::min(capacity, kMessageLengthMax)) {
		lose_message(function, qp, !segment.last);
		return Delivery::kDone;
	}
	if (segment.payload_length > 0) {
		const Delivery delivery =
			scatter_payload(function, qp, segment, sges, responder.message_length, {});
		if (delivery != Delivery::kDone || qp.state == OHCA_QP_STATE_ERR)
			return delivery;
	}
	responder.message_length += static_cast<uint32_t>(segment.payload_length);
	accept(qp, segment);
	if (segment.last) {
		complete(function, qp, segment, OHCA_WR_SEND, OHCA_WR_SEND_IMM);
		return Delivery::kDone;
	}
	if (segment.first) {
		if (!responder.recv_active && !keep_receive_wqe(function, qp, wqe)) {
			fail_receive(function, qp, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_NONE);
			return Delivery::kDone;
		}
		hold_receive_wqe(function, qp);
	}
	return Delivery::kDone;
}

// kDone with `placed` false: refused.
Delivery place_write(Function &function, QpContext &qp, const Segment &segment, bool &placed)
{
	ResponderContext &responder = qp.responder;
	const KeyCheck check = function.memory().check_remote_key(responder.write_rkey, qp, responder.write_address,
							   responder.write_remaining, OHCA_ACCESS_REMOTE_WRITE);

	placed = false;
	if (check.mkey == nullptr) // IBTA 9.9.3: class D, nobody is told
		return Delivery::kDone;
	const SgRange range = {&function.memory(), check.mkey, responder.write_address, nullptr,
			       segment.payload_length};
	SgCursor to = {&range, 1, 0, 0};
	SgCursor from = segment.payload;
	switch (copy(to, from, segment.payload_length)) {
	case CopyResult::kOk:
		function.count(OHCA_COUNTER_RX_BYTES, segment.payload_length);
		placed = true;
		break;
	case CopyResult::kSourceFault:
		return Delivery::kSourceFault;
	case CopyResult::kDestinationFault:
		enter_fatal(function, qp, OHCA_VENDOR_ERROR_DMA);
		break;
	}
	return Delivery::kDone;
}

bool is_write_length_valid(const ResponderContext &responder, const Segment &segment)
{
	if (responder.write_remaining > kMessageLengthMax)
		return false;
	return segment.last ? segment.payload_length == responder.write_remaining
			    : segment.payload_length < responder.write_remaining;
}

Delivery receive_uc_write(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	ReceiveWqe wqe;
	bool placed = true;

	if (segment.first) {
		responder.write_address = segment.remote_address;
		responder.write_remaining = segment.dma_length;
		responder.write_rkey = segment.rkey;
		responder.message_length = 0;
	}
	Admission admission = is_write_length_valid(responder, segment) ? Admission::kAccepted : Admission::kLost;
	// The immediate consumes a receive WQE, whose elements are not used (IBTA 9.7.5.1).
	if (admission == Admission::kAccepted && segment.has_immediate)
		admission = admit(function, qp, segment, wqe);
	if (admission == Admission::kPaused)
		return pause(qp, segment);
	if (admission == Admission::kLost) {
		lose_message(function, qp, !segment.last);
		return Delivery::kDone;
	}
	if (segment.payload_length > 0) {
		const Delivery delivery = place_write(function, qp, segment, placed);
		if (delivery != Delivery::kDone)
			return delivery;
	}
	if (!placed) {
		lose_message(function, qp, !segment.last);
		return Delivery::kDone;
	}
	responder.write_address += segment.payload_length;
	responder.write_remaining -= segment.payload_length;
	responder.message_length += static_cast<uint32_t>(segment.payload_length);
	accept(qp, segment);
	if (segment.has_immediate)
		complete(function, qp, segment, OHCA_WR_WRITE_IMM, OHCA_WR_WRITE_IMM);
	return Delivery::kDone;
}

} // namespace

Delivery receive_uc(Function &function, QpContext &qp, const Segment &segment)
{
	if (!synchronize(function, qp, segment))
		return Delivery::kDone;
	if (!qp.responder.communication_established)
		establish(function, qp);
	// IBTA 9.8.2.2.2, 9.8.2.2.3: what is not enabled or malformed is dropped like what is lost.
	if (!is_message(segment.kind) || !is_enabled(qp, segment) || !is_length_valid(qp, segment)) {
		lose_message(function, qp, !segment.last);
		return Delivery::kDone;
	}
	return segment.kind == SegmentKind::kSend ? receive_uc_send(function, qp, segment)
						  : receive_uc_write(function, qp, segment);
}

} // namespace ohca::core
