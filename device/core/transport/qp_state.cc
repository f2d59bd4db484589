// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Queue pair states (IBTA 10.3.1). The command processor has checked that the
// transition is legal and has stored the attributes.
#include "core/mem/memory_window.hh"
#include "core/transport/receive_wqe.hh"
#include "core/transport/requester.hh"
#include "core/transport/responder.hh"

#include <endian.h>

namespace ohca::core {

namespace {

void reset(Function &function, QpContext &qp)
{
	release_resources(function, qp);
	qp.requester = {};
	qp.responder = {};
	qp.sq_producer_seen = 0;
	qp.rq_producer_seen = 0;
	qp.error_status = 0;
	qp.flush_at_ns = 0;
	qp.flush_interval_ns = 0;
	qp.flushing = 0;
}

void start_responder(QpContext &qp)
{
	qp.responder.expected_psn = le32toh(qp.attributes.rq_psn) & kPsnMask;
}

void start_requester(QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	requester.next_psn = le32toh(qp.attributes.sq_psn) & kPsnMask;
	requester.sent_psn = requester.next_psn;
	requester.unacked_psn = requester.next_psn;
	requester.retries_left = qp.attributes.retry_count;
	requester.rnr_retries_left = qp.attributes.rnr_retry;
}

} // namespace

// IBTA 10.3.1.5: drained is when every message that was started has been completed.
void check_drained(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	if (!requester.draining || requester.complete_index != requester.transmit_index)
		return;
	if (requester.transmit_index != requester.fetch_index &&
	    window_entry(function, qp, requester.transmit_index).started)
		return;
	requester.draining = 0;
	if (qp.attributes.sq_drained_event)
		post_async_event(function, OHCA_EVENT_SQ_DRAINED, qp.qpn, 0);
}

void handle_state_change(Function &function, QpContext &qp, uint8_t from, TimeNs now)
{
	if (qp.state == from) // only attributes have changed; counters in use are kept
		return;
	switch (qp.state) {
	case OHCA_QP_STATE_RESET:
		function.set_now(now);
		reset(function, qp);
		return;
	case OHCA_QP_STATE_RTR:
		start_responder(qp);
		break;
	case OHCA_QP_STATE_RTS:
		qp.requester.draining = 0;
		qp.flush_at_ns = 0; // from SQE
		if (from == OHCA_QP_STATE_RTR)
			start_requester(qp);
		break;
	case OHCA_QP_STATE_SQD:
		qp.requester.draining = 1;
		check_drained(function, qp);
		break;
	case OHCA_QP_STATE_ERR:
		function.set_now(now);
		drop_responses(function, qp);
		enter_error(function, qp);
		return;
	default:
		return;
	}
	function.activate(qp);
}

void release_resources(Function &function, QpContext &qp)
{
	ContextMemory &context = function.context();

	flush_held_srq_wqe(function, qp);
	free_window(function, qp);
	// IBTA 10.6.7.2.2: windows of type 2B are bound to the queue pair, and end with it.
	function.add_command_cost(release_windows(context, qp));
	if (qp.responder.recv_sges != 0)
		context.free_block(qp.responder.recv_sges, kReceiveSgeMax * sizeof(ohca_sge));
	if (qp.responder.resources != 0)
		context.free_block(qp.responder.resources, kResponderResourceCount * sizeof(ResponderResource));
	qp.responder.recv_sges = 0;
	qp.responder.resources = 0;
}

} // namespace ohca::core
