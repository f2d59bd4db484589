// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: SEND, with immediate, with invalidate.
#include "core/transport/responder.hh"

#include <algorithm>

#include "core/mem/invalidate.hh"
#include "core/transport/local_memory.hh"

namespace ohca::core {

namespace {

// Copies the payload behind what has been received of the message. kDone with the queue pair
// in ERR means refused; then the receive WQE has been completed.
Delivery place(Function &function, QpContext &qp, const Segment &segment, std::span<const ohca_sge> sges)
{
	ResponderContext &responder = qp.responder;
	RangeBuffer buffer;
	uint32_t count = 0;
	const uint32_t error = check_sges(function, receive_pd(function, qp), sges,
					  responder.message_length + segment.payload_length,
					  OHCA_ACCESS_LOCAL_WRITE, buffer.ranges, count);

	if (error != OHCA_VENDOR_ERROR_NONE) {
		hold_receive_wqe(function, qp);
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, OHCA_CQE_STATUS_LOCAL_PROTECTION, error, 0});
		return Delivery::kDone;
	}
	SgCursor to = {buffer.ranges, count, 0, 0};
	SgCursor from = segment.payload;
	to.skip(responder.message_length);
	switch (copy(to, from, segment.payload_length)) {
	case CopyResult::kOk:
		function.count(OHCA_COUNTER_RX_BYTES, segment.payload_length);
		break;
	case CopyResult::kSourceFault:
		return Delivery::kSourceFault;
	case CopyResult::kDestinationFault:
		hold_receive_wqe(function, qp);
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, OHCA_CQE_STATUS_LOCAL_PROTECTION, OHCA_VENDOR_ERROR_DMA, 0});
		break;
	}
	return Delivery::kDone;
}

void finish(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	ReceiveCompletion completion = {.tag = responder.recv_tag, .opcode = OHCA_WR_SEND};

	if (segment.has_invalidate) {
		const uint32_t error = invalidate_key(function, qp, segment.immediate_be);

		// IBTA 9.7.4.1, 9.9.3: a key that may not be invalidated is a violation of the R_Key:
		// NAK remote access, and the receive WQE, already filled, completes in error.
		if (error != OHCA_VENDOR_ERROR_NONE) {
			hold_receive_wqe(function, qp);
			refuse_access(function, qp, segment, error);
			return;
		}
		completion.opcode = OHCA_WR_SEND_INV;
		completion.flags = OHCA_CQE_WITH_INV;
	} else if (segment.has_immediate) {
		completion.opcode = OHCA_WR_SEND_IMM;
		completion.flags = OHCA_CQE_WITH_IMM;
	}
	if (segment.solicited)
		completion.flags |= OHCA_CQE_SOLICITED;
	completion.byte_length = responder.message_length;
	completion.immediate_or_key = segment.immediate_be;
	hold_receive_wqe(function, qp);
	responder.recv_active = 0;
	accept_request(qp, segment, segment.psn_count);
	complete_receive(function, qp, completion);
}

} // namespace

Delivery receive_send(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	ReceiveWqe wqe;
	std::span<const ohca_sge> sges;
	uint64_t capacity;

	if (segment.first) {
		if (!find_receive_wqe(function, qp, segment, wqe))
			return Delivery::kDone;
		sges = {wqe.sges, wqe.sge_count};
		capacity = wqe.length;
		responder.message_length = 0;
	} else {
		sges = kept_sges(function, qp);
		capacity = responder.recv_length;
	}
	if (responder.message_length + segment.payload_length > std::min(capacity, kMessageLengthMax)) {
		hold_receive_wqe(function, qp);
		refuse(function, qp, segment.psn,
		       {kAethNakInvalidRequest, OHCA_CQE_STATUS_LOCAL_LENGTH, OHCA_VENDOR_ERROR_LENGTH, 0});
		return Delivery::kDone;
	}
	if (segment.payload_length > 0) {
		const Delivery delivery = place(function, qp, segment, sges);
		if (delivery != Delivery::kDone || qp.state == OHCA_QP_STATE_ERR)
			return delivery;
	}
	responder.message_length += static_cast<uint32_t>(segment.payload_length);
	if (segment.last) {
		finish(function, qp, segment);
		return Delivery::kDone;
	}
	if (segment.first && !keep_receive_wqe(function, qp, wqe)) {
		hold_receive_wqe(function, qp);
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_NONE, 0});
		return Delivery::kDone;
	}
	hold_receive_wqe(function, qp);
	accept_request(qp, segment, segment.psn_count);
	return Delivery::kDone;
}

} // namespace ohca::core
