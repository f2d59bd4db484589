// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Requester half of RC (IBTA 9.7.3, 9.7.6, 9.9.2): the parts call each other through this.
//
// Theory of operation
//  - Work requests are fetched into the send window (send_window.hh) when their
//    turn to be transmitted has come, never earlier. A message gets all its PSNs
//    when its first segment is transmitted ("started").
//  - transmit_index and transmit_offset are where the next segment comes from.
//    Recovery is go-back-N: they are set back to unacked_psn, nothing else is
//    undone. PSNs that were transmitted before keep their meaning.
//  - Responses are accepted for PSNs in [unacked_psn, sent_psn). Everything is
//    completed in the order of the PSNs; a response that overtakes the answer of
//    a READ or atomic is an implied NAK (IBTA 9.7.5.1.1) and restarts at that one.
//  - A work request that fails locally is marked with its status and waits until
//    everything before it is completed; then it fails and the queue pair with it.
#pragma once

#include <cstdint>

#include "core/transport/completion.hh"
#include "core/transport/psn.hh"
#include "core/transport/send_window.hh"
#include "core/transport/transport.hh"

namespace ohca::core {

// requester.cc
bool transmit_request(Function &function, QpContext &qp, TimeNs now, const TransportLimits &limits,
		      TransmitScratch &scratch, Segment &segment);
// Fetches the next work request. False: there is none, or the queue pair is in ERR.
bool fetch_next(Function &function, QpContext &qp, SendWqe &wqe);
// Likewise, into the window, if it has room.
bool stage_next(Function &function, QpContext &qp);
// The next segment of a SEND or WRITE that has been started. False: an element was refused, entry
// is marked with its status.
bool build_message_segment(Function &function, QpContext &qp, SendWindowEntry &entry, uint64_t payload_max,
			   TransmitScratch &scratch, Segment &segment);
// The payload of `segment` could not be read.
void fail_request(Function &function, QpContext &qp, const Segment &segment);

// completer.cc
Delivery handle_response(Function &function, QpContext &qp, const Segment &segment, TimeNs now);
// The oldest work request completes. The queue pair may be in ERR afterwards.
void complete_head(Function &function, QpContext &qp);
// The oldest work request fails, and the queue pair with it.
void fail_head(Function &function, QpContext &qp, uint8_t status, uint32_t vendor_error);

// retransmit.cc
inline bool nothing_outstanding(const QpContext &qp)
{
	return qp.requester.unacked_psn == qp.requester.sent_psn;
}
// Something was acknowledged: counters are reloaded, timers restarted, and a retransmission
// under way skips what has arrived.
void note_progress(Function &function, QpContext &qp, TimeNs now);
// Everything from unacked_psn on will be transmitted again.
void go_back(Function &function, QpContext &qp);
// go_back() if retry_count permits, else RETRY_EXCEEDED.
void retry(Function &function, QpContext &qp);
// RNR NAK for unacked_psn.
void wait_for_receiver(Function &function, QpContext &qp, uint8_t timer_code, TimeNs now);
void start_ack_timer(QpContext &qp, TimeNs now);
void handle_requester_timeout(Function &function, QpContext &qp, TimeNs now);

// qp_state.cc
// SQD: reports SQ_DRAINED once all started messages are completed.
void check_drained(Function &function, QpContext &qp);

} // namespace ohca::core
