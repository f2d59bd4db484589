// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Error state: everything posted completes as flushed, in order (IBTA 10.3.1.6, 10.8.2.1).
//
// Send and receive queue are walked from the oldest work request not completed,
// kFlushStep of each at a time; as long as there are more the timer is due at
// once. Afterwards the rings are looked at again: at once when the doorbell rings
// (send queue), else after a time that doubles while nothing is found, from
// 1 ms to 64 ms (posting a receive rings no doorbell, and nobody is in a hurry).
#include "core/cmd/qp_disconnect.hh"
#include "core/transport/responder.hh"
#include "core/transport/send_window.hh"
#include "core/transport/unreliable.hh"

#include <algorithm>

namespace ohca::core {

namespace {

constexpr uint32_t kFlushStep = 64; // WQEs per queue; bounds the time of one call
constexpr uint32_t kFlushIntervalMinNs = 1'000'000;
constexpr uint32_t kFlushIntervalMaxNs = 64'000'000;

// Returns the number of work requests flushed, at most kFlushStep.
uint32_t flush_send_queue(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;
	uint32_t flushed = 0;

	for (; flushed < kFlushStep; flushed++) {
		SendCompletion completion = {.index = requester.complete_index,
					     .opcode = 0,
					     .status = OHCA_CQE_STATUS_FLUSHED};

		if (requester.complete_index != requester.fetch_index) {
			completion.opcode = window_entry(function, qp, completion.index).opcode;
		} else {
			SendWqe wqe;

			if (!qp.sq.present ||
			    fetch_send_wqe(function, qp, requester.fetch_index, wqe) != Fetch::kOk)
				break;
			completion.opcode = wqe.opcode;
			requester.fetch_index++;
		}
		requester.complete_index++;
		requester.transmit_index = requester.fetch_index;
		complete_send(function, qp, completion);
	}
	return flushed;
}

// Of an SRQ only the work request in use is this queue pair's.
uint32_t flush_receive_queue(Function &function, QpContext &qp)
{
	ResponderContext &responder = qp.responder;
	uint32_t flushed = 0;

	for (; flushed < kFlushStep; flushed++) {
		uint32_t tag = responder.recv_tag;

		if (!responder.recv_active) {
			ReceiveWqe wqe;

			if (fetch_receive_wqe(function, qp, responder.rq_index, wqe) != Fetch::kOk)
				break;
			tag = wqe.tag;
			responder.rq_index++;
		}
		responder.recv_active = 0;
		complete_receive(function, qp, {.tag = tag, .status = OHCA_CQE_STATUS_FLUSHED});
	}
	return flushed;
}

// IBTA 11.6.3.1, "Last WQE Reached": the queue pair takes nothing from its SRQ any more.
bool takes_from_srq(const QpContext &qp)
{
	return qp.srq != 0 || qp.type == OHCA_QP_TYPE_XRC_TGT;
}

} // namespace

void flush_queues(Function &function, QpContext &qp, TimeNs now)
{
	const uint32_t sends = flush_send_queue(function, qp);
	const uint32_t receives = flush_receive_queue(function, qp);

	qp.flushing = sends == kFlushStep || receives == kFlushStep;
	if (qp.flushing) {
		qp.flush_at_ns = std::max<TimeNs>(now, 1); // 0 is not a time
		qp.flush_interval_ns = kFlushIntervalMinNs;
	} else if (!qp.rq.present) {
		qp.flush_at_ns = 0; // what is posted rings a doorbell
	} else {
		if (sends + receives > 0 || qp.flush_interval_ns == 0)
			qp.flush_interval_ns = kFlushIntervalMinNs;
		else
			qp.flush_interval_ns = std::min(qp.flush_interval_ns * 2, kFlushIntervalMaxNs);
		qp.flush_at_ns = now + qp.flush_interval_ns;
	}
	function.activate(qp);
	check_disconnected(function, qp);
}

void flush_sends(Function &function, QpContext &qp, TimeNs now)
{
	const uint32_t sends = flush_send_queue(function, qp);

	if (qp.state != OHCA_QP_STATE_SQE) // its CQ has overrun
		return;
	qp.flush_at_ns = sends == kFlushStep ? std::max<TimeNs>(now, 1) : 0;
	function.activate(qp);
}

void enter_error(Function &function, QpContext &qp)
{
	ResponderContext &responder = qp.responder;

	qp.state = OHCA_QP_STATE_ERR;
	qp.attributes.state = OHCA_QP_STATE_ERR;
	finish_transmission(function, qp);
	qp.requester.timeout_at_ns = 0;
	qp.requester.rnr_until_ns = 0;
	qp.requester.draining = 0;
	qp.requester.reads_outstanding = 0;
	responder.in_message = 0;
	// Requests before the one that is refused still get their answers.
	if (!responder.ack_pending || !aeth_is_fatal(responder.ack_syndrome))
		drop_responses(function, qp);
	qp.flush_interval_ns = 0;
	flush_queues(function, qp, function.now());
	if (takes_from_srq(qp))
		post_async_event(function, OHCA_EVENT_QP_LAST_WQE, qp.qpn, OHCA_VENDOR_ERROR_NONE);
}

void enter_fatal(Function &function, QpContext &qp, uint32_t vendor_error)
{
	post_async_event(function, OHCA_EVENT_QP_FATAL, qp.qpn, vendor_error);
	enter_error(function, qp);
}

} // namespace ohca::core
