// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The entry points: which half of a queue pair is concerned.
#include "core/transport/transport.hh"

#include <algorithm>
#include <endian.h>

#include "core/transport/requester.hh"
#include "core/transport/responder.hh"
#include "core/transport/unreliable.hh"

namespace ohca::core {

namespace {

bool is_response(SegmentKind kind)
{
	return kind >= SegmentKind::kReadResponse;
}

// XRC queue pairs are a requester or a responder (IBTA annex A14).
bool lacks_half(const QpContext &qp, SegmentKind kind)
{
	return qp.type == (is_response(kind) ? OHCA_QP_TYPE_XRC_TGT : OHCA_QP_TYPE_XRC_INI);
}

bool is_responder_state(const QpContext &qp)
{
	return qp.state == OHCA_QP_STATE_RTR || qp.state == OHCA_QP_STATE_RTS || qp.state == OHCA_QP_STATE_SQD ||
	       qp.state == OHCA_QP_STATE_SQE;
}

Service service_of(const QpContext &qp)
{
	switch (qp.type) {
	case OHCA_QP_TYPE_UC:
		return Service::kUnreliableConnection;
	case OHCA_QP_TYPE_UD:
	case OHCA_QP_TYPE_GSI:
		return Service::kUnreliableDatagram;
	case OHCA_QP_TYPE_XRC_INI:
	case OHCA_QP_TYPE_XRC_TGT:
		return Service::kExtendedReliableConnection;
	default:
		return Service::kReliableConnection;
	}
}

} // namespace

void handle_doorbell(Function &function, QpContext &qp, TimeNs now)
{
	if (qp.state == OHCA_QP_STATE_RTS)
		function.activate(qp);
	else if (qp.state == OHCA_QP_STATE_ERR)
		flush_queues(function, qp, now);
	else if (qp.state == OHCA_QP_STATE_SQE)
		flush_sends(function, qp, now);
}

Delivery handle_segment(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	// A packet on a wire does not name the sender's queue pair (0).
	const bool stranger = segment.source_qpn != 0 && segment.source_qpn != le32toh(qp.attributes.dest_qpn) &&
			      segment.service != Service::kUnreliableDatagram;

	if (stranger || segment.service != service_of(qp) || !is_responder_state(qp) ||
	    segment.kind == SegmentKind::kNone || lacks_half(qp, segment.kind)) {
		function.count(OHCA_COUNTER_PACKETS_DROPPED);
		return Delivery::kDone;
	}
	function.count(OHCA_COUNTER_RX_SEGMENTS);
	if (segment.service == Service::kUnreliableDatagram)
		return receive_datagram(function, qp, segment);
	if (segment.service == Service::kUnreliableConnection)
		return receive_uc(function, qp, segment);
	if (is_response(segment.kind))
		return handle_response(function, qp, segment, now);
	return handle_request(function, qp, segment);
}

void handle_payload_fault(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	static_cast<void>(now);
	if (!is_responder_state(qp))
		return;
	if (is_unreliable(qp))
		fail_transmission(function, qp);
	else if (segment.kind == SegmentKind::kReadResponse)
		refuse_read_response(function, qp, segment.psn,
				     {kAethNakRemoteOperation, 0, OHCA_VENDOR_ERROR_DMA, OHCA_EVENT_QP_FATAL});
	else
		fail_request(function, qp, segment);
}

void handle_pause(Function &function, QpContext &qp, const Segment &segment, TimeNs now)
{
	take_back_transmission(function, qp, segment);
	qp.requester.rnr_until_ns = now + kPauseNs;
	function.count(OHCA_COUNTER_TX_SEGMENTS, -uint64_t{1});
	function.count(OHCA_COUNTER_TX_BYTES, -segment.payload_length);
}

bool poll_transmit(Function &function, QpContext &qp, TimeNs now, const TransportLimits &limits,
		   TransmitScratch &scratch, Segment &segment)
{
	if (is_unreliable(qp)) {
		if (!transmit_unreliable(function, qp, now, limits, scratch, segment))
			return false;
		segment.may_pause = limits.lossless && segment.dest_qpn != OHCA_QPN_MULTICAST;
	} else if (!(response_pending(qp) && transmit_response(function, qp, limits, scratch, segment)) &&
		   !transmit_request(function, qp, now, limits, scratch, segment)) {
		return false;
	}
	segment.source_function = function.index();
	segment.source_qpn = qp.qpn;
	segment.service = service_of(qp);
	if (!is_datagram(qp))
		segment.dest_qpn = le32toh(qp.attributes.dest_qpn);
	function.count(OHCA_COUNTER_TX_SEGMENTS);
	return true;
}

void handle_timeout(Function &function, QpContext &qp, TimeNs now)
{
	if (qp.state == OHCA_QP_STATE_ERR) {
		if (qp.flush_at_ns != 0 && now >= qp.flush_at_ns)
			flush_queues(function, qp, now);
		return;
	}
	if (qp.state == OHCA_QP_STATE_SQE) {
		if (qp.flush_at_ns != 0 && now >= qp.flush_at_ns)
			flush_sends(function, qp, now);
		return;
	}
	handle_requester_timeout(function, qp, now);
}

TimeNs poll_timeout(const QpContext &qp)
{
	TimeNs next = kNever;

	if (qp.state == OHCA_QP_STATE_ERR || qp.state == OHCA_QP_STATE_SQE)
		return qp.flush_at_ns == 0 ? kNever : qp.flush_at_ns;
	if (qp.requester.timeout_at_ns != 0)
		next = qp.requester.timeout_at_ns;
	if (qp.requester.rnr_until_ns != 0)
		next = std::min<TimeNs>(next, qp.requester.rnr_until_ns);
	return next;
}

} // namespace ohca::core
