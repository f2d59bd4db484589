// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Recovery of lost requests and responses: go-back-N, counters and timers
// (IBTA 9.7.6.1.3 timeout, 9.9.2 retries).
#include "core/transport/requester.hh"

#include "core/transport/timers.hh"

namespace ohca::core {

void start_ack_timer(QpContext &qp, TimeNs now)
{
	const uint64_t timeout_ns = ack_timeout_ns(qp.attributes.ack_timeout);

	qp.requester.timeout_at_ns = timeout_ns == 0 ? 0 : now + timeout_ns;
}

void note_progress(Function &function, QpContext &qp, TimeNs now)
{
	RequesterContext &requester = qp.requester;

	requester.retries_left = qp.attributes.retry_count;
	requester.rnr_retries_left = qp.attributes.rnr_retry;
	requester.read_retried = 0;
	requester.rnr_until_ns = 0;
	if (nothing_outstanding(qp))
		requester.timeout_at_ns = 0;
	else
		start_ack_timer(qp, now);

	// A retransmission need not repeat what has been acknowledged meanwhile.
	if (requester.transmit_index != requester.complete_index ||
	    requester.complete_index == requester.fetch_index)
		return;
	const SendWindowEntry &head = window_entry(function, qp, requester.complete_index);
	if (!head.started)
		return;
	const uint64_t acknowledged = uint64_t{psn_distance(requester.unacked_psn, head.psn)}
				      << qp.attributes.path_mtu;
	if (requester.transmit_offset < acknowledged)
		requester.transmit_offset = acknowledged;
}

void go_back(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	requester.timeout_at_ns = 0; // starts again with the first segment
	requester.transmit_index = requester.complete_index;
	requester.transmit_offset = 0;
	if (requester.complete_index == requester.fetch_index)
		return;
	const SendWindowEntry &head = window_entry(function, qp, requester.complete_index);
	if (head.started)
		requester.transmit_offset = uint64_t{psn_distance(requester.unacked_psn, head.psn)}
					    << qp.attributes.path_mtu;
}

void retry(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	if (requester.retries_left == 0) {
		function.count(OHCA_COUNTER_RETRY_EXCEEDED);
		fail_head(function, qp, OHCA_CQE_STATUS_RETRY_EXCEEDED, OHCA_VENDOR_ERROR_NONE);
		return;
	}
	requester.retries_left--;
	go_back(function, qp);
	function.activate(qp);
}

void wait_for_receiver(Function &function, QpContext &qp, uint8_t timer_code, TimeNs now)
{
	RequesterContext &requester = qp.requester;

	// 7 is without limit (IBTA 9.7.5.2.8).
	if (qp.attributes.rnr_retry != 7) {
		if (requester.rnr_retries_left == 0) {
			function.count(OHCA_COUNTER_RNR_RETRY_EXCEEDED);
			fail_head(function, qp, OHCA_CQE_STATUS_RNR_RETRY_EXCEEDED, OHCA_VENDOR_ERROR_NONE);
			return;
		}
		requester.rnr_retries_left--;
	}
	go_back(function, qp);
	requester.rnr_until_ns = now + rnr_timer_ns(timer_code);
	function.activate(qp);
}

void handle_requester_timeout(Function &function, QpContext &qp, TimeNs now)
{
	RequesterContext &requester = qp.requester;

	if (requester.rnr_until_ns != 0 && now >= requester.rnr_until_ns) {
		requester.rnr_until_ns = 0;
		function.activate(qp);
	}
	if (requester.timeout_at_ns != 0 && now >= requester.timeout_at_ns) {
		function.count(OHCA_COUNTER_ACK_TIMEOUTS);
		requester.timeout_at_ns = 0;
		requester.read_retried = 0;
		retry(function, qp);
	}
}

} // namespace ohca::core
