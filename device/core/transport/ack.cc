// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: what is transmitted in answer, and in which order (IBTA 9.7.5.1).
#include "core/transport/responder.hh"

#include "core/transport/responder_resources.hh"

namespace ohca::core {

void schedule_ack(QpContext &qp)
{
	ResponderContext &responder = qp.responder;

	// A NAK that still waits acknowledges the same and asks for more; only the arrival of
	// what it asks for makes it obsolete.
	if (responder.ack_pending && responder.ack_syndrome != kAethAck &&
	    responder.ack_psn == responder.expected_psn)
		return;
	responder.ack_pending = 1;
	responder.ack_syndrome = kAethAck;
}

void schedule_nak(QpContext &qp, uint8_t syndrome, uint32_t psn)
{
	ResponderContext &responder = qp.responder;

	responder.ack_pending = 1;
	responder.ack_syndrome = syndrome;
	responder.ack_psn = psn;
}

void drop_responses(Function &function, QpContext &qp)
{
	while (qp.responder.resource_pending > 0)
		clear_pending(qp, first_pending_resource(function, qp));
	qp.responder.ack_pending = 0;
}

namespace {

void transmit_atomic_acknowledge(QpContext &qp, ResponderResource &resource, Segment &segment)
{
	segment.kind = SegmentKind::kAtomicAcknowledge;
	segment.first = true;
	segment.last = true;
	segment.psn = resource.psn;
	segment.aeth_syndrome = kAethAck;
	segment.operand = resource.length_or_original;
	resource.answered = 1;
	clear_pending(qp, resource);
}

// ATOMIC_WRITE and FLUSH have no data to return.
void transmit_empty_response(QpContext &qp, ResponderResource &resource, Segment &segment)
{
	transmit_atomic_acknowledge(qp, resource, segment);
	segment.kind = SegmentKind::kReadResponse;
	segment.operand = 0;
}

void transmit_acknowledge(QpContext &qp, Segment &segment)
{
	ResponderContext &responder = qp.responder;
	const bool ack = responder.ack_syndrome == kAethAck;

	segment.kind = SegmentKind::kAcknowledge;
	segment.first = true;
	segment.last = true;
	segment.aeth_syndrome = responder.ack_syndrome;
	segment.psn = ack ? psn_add(responder.expected_psn, kPsnMask) : responder.ack_psn;
	responder.ack_pending = 0;
}

} // namespace

bool transmit_response(Function &function, QpContext &qp, const TransportLimits &limits,
		       TransmitScratch &scratch, Segment &segment)
{
	while (qp.responder.resource_pending > 0) {
		ResponderResource &resource = first_pending_resource(function, qp);

		if (resource.kind == OHCA_WR_READ) {
			if (!transmit_read_response(function, qp, resource, limits.segment_payload_max, scratch,
						    segment))
				continue; // it is not pending any more
		} else if (resource.kind == OHCA_WR_ATOMIC_WRITE || resource.kind == OHCA_WR_FLUSH) {
			transmit_empty_response(qp, resource, segment);
		} else {
			transmit_atomic_acknowledge(qp, resource, segment);
		}
		segment.msn = qp.responder.msn;
		return true;
	}
	if (!qp.responder.ack_pending)
		return false;
	transmit_acknowledge(qp, segment);
	segment.msn = qp.responder.msn;
	return true;
}

} // namespace ohca::core
