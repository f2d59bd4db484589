// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: WRITE, with immediate.
#include "core/transport/responder.hh"

#include <rdma/ohca_hw.h>

namespace ohca::core {

namespace {

// Where this segment goes. The state of the message changes only when it is accepted.
struct Target {
	uint64_t address;
	uint64_t remaining; // of the message, this segment included
	uint32_t rkey;
};

Target target_of(const ResponderContext &responder, const Segment &segment)
{
	if (segment.first)
		return {segment.remote_address, segment.dma_length, segment.rkey};
	return {responder.write_address, responder.write_remaining, responder.write_rkey};
}

// The packets must add up to the length that the first one has announced.
bool is_target_length_valid(const Segment &segment, uint64_t remaining)
{
	if (remaining > kMessageLengthMax)
		return false;
	return segment.last ? segment.payload_length == remaining : segment.payload_length < remaining;
}

// Checks the rest of the message at once, so that the first packet already fails
// (IBTA 9.7.4.1, remote access), and again for each segment: the key may be gone meanwhile.
// Empty writes need no valid key (IBTA 9.7.4.1).
Delivery place(Function &function, QpContext &qp, const Segment &segment, const Target &target)
{
	const KeyCheck check = function.memory().check_remote_key(target.rkey, qp, target.address, target.remaining,
							   OHCA_ACCESS_REMOTE_WRITE);

	if (check.mkey == nullptr) {
		refuse_access(function, qp, segment, check.vendor_error);
		return Delivery::kDone;
	}
	const SgRange range = {&function.memory(), check.mkey, target.address, nullptr, segment.payload_length};
	SgCursor to = {&range, 1, 0, 0};
	SgCursor from = segment.payload;
	switch (copy(to, from, segment.payload_length)) {
	case CopyResult::kOk:
		function.count(OHCA_COUNTER_RX_BYTES, segment.payload_length);
		break;
	case CopyResult::kSourceFault:
		return Delivery::kSourceFault;
	case CopyResult::kDestinationFault:
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, 0, OHCA_VENDOR_ERROR_DMA, OHCA_EVENT_QP_FATAL});
		break;
	}
	return Delivery::kDone;
}

void complete_immediate(Function &function, QpContext &qp, const Segment &segment)
{
	ReceiveCompletion completion = {.tag = qp.responder.recv_tag,
					.opcode = OHCA_WR_WRITE_IMM,
					.flags = OHCA_CQE_WITH_IMM,
					.byte_length = qp.responder.message_length,
					.immediate_or_key = segment.immediate_be};

	if (segment.solicited)
		completion.flags |= OHCA_CQE_SOLICITED;
	hold_receive_wqe(function, qp);
	qp.responder.recv_active = 0;
	complete_receive(function, qp, completion);
}

} // namespace

Delivery receive_write(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	const Target target = target_of(responder, segment);

	// The immediate consumes a receive WQE, whose scatter list is not used (IBTA 9.7.5.1).
	if (segment.has_immediate) {
		ReceiveWqe wqe;

		if (!find_receive_wqe(function, qp, segment, wqe))
			return Delivery::kDone;
	}
	if (!is_target_length_valid(segment, target.remaining)) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_LENGTH);
		return Delivery::kDone;
	}
	if (segment.payload_length > 0) {
		const Delivery delivery = place(function, qp, segment, target);

		if (delivery != Delivery::kDone || qp.state == OHCA_QP_STATE_ERR)
			return delivery;
	}
	responder.write_address = target.address + segment.payload_length;
	responder.write_remaining = target.remaining - segment.payload_length;
	responder.write_rkey = target.rkey;
	responder.message_length = static_cast<uint32_t>(segment.payload_length) +
				   (segment.first ? 0 : responder.message_length);
	accept_request(qp, segment, segment.psn_count);
	if (segment.has_immediate)
		complete_immediate(function, qp, segment);
	return Delivery::kDone;
}

} // namespace ohca::core
