// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// RC transport of one queue pair as a state machine (design D6): IBTA chapter 9.
//
// The families of quinn: handle_* takes input, poll_* gives output, `now` is an
// argument. The owner (engine, simulator, unit test) calls, for a queue pair,
//   handle_doorbell / handle_segment / handle_timeout
// in any order, then poll_transmit until it returns false (or its budget is
// used), then poll_timeout. State lives in QpContext only.
#pragma once

#include <cstdint>
#include <span>

#include "core/context.hh"
#include "core/engine.hh"
#include "core/transport/segment.hh"

namespace ohca::core {

class Function;

struct TransportLimits {
	uint64_t segment_payload_max = kSegmentPayloadMax; // path MTU on a wire: one packet per segment
};

// The send queue may have new WQEs.
void handle_doorbell(Function &function, QpContext &qp, TimeNs now);

// A segment addressed to this queue pair arrived. The payload is consumed before it returns.
void handle_segment(Function &function, QpContext &qp, const Segment &segment, TimeNs now);

// `now` has reached poll_timeout().
void handle_timeout(Function &function, QpContext &qp, TimeNs now);

// The next segment to be sent, responses before requests. scratch holds the ranges that
// segment.payload refers to and lives until the segment is consumed. False: nothing now.
struct TransmitScratch;
bool poll_transmit(Function &function, QpContext &qp, TimeNs now, const TransportLimits &limits,
		   TransmitScratch &scratch, Segment &segment);

// When handle_timeout wants to be called; kNever if no timer runs.
TimeNs poll_timeout(const QpContext &qp);

// The peer cannot be reached now (no route, no such QP): counts as loss, timers decide.
// Called by the owner in place of delivering a segment; default is to do nothing.

// MODIFY_QP has changed qp.state from `from` to qp.state and qp.attributes (already
// validated). Loads PSNs at RTR/RTS, flushes both queues on ERR, clears everything on RESET,
// starts draining on SQD, and so on.
void handle_state_change(Function &function, QpContext &qp, uint8_t from, TimeNs now);

// Frees window and resource blocks; the queue pair is about to be destroyed.
void release_resources(Function &function, QpContext &qp);

} // namespace ohca::core
