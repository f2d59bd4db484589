// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Transport of one queue pair as a state machine (design D6): IBTA chapter 9.
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
#include "core/queue/queues.hh"
#include "core/transport/segment.hh"

namespace ohca::core {

class Function;

struct TransportLimits {
	uint64_t segment_payload_max = kSegmentPayloadMax; // path MTU on a wire: one packet per segment
	bool lossless = false; // the link pauses a sender of UC or UD rather than lose its message
};

// The send queue may have new WQEs.
void handle_doorbell(Function &function, QpContext &qp, TimeNs now);

enum class Delivery : uint8_t {
	kDone,
	kSourceFault, // the payload could not be read; nothing has happened here
	kPause,       // no receive WQE yet; nothing has happened here. Only if Segment::may_pause
};

// A segment addressed to this queue pair arrived. The payload is consumed before it returns.
// On kSourceFault the owner tells the sender with handle_payload_fault(), on kPause with handle_pause().
Delivery handle_segment(Function &function, QpContext &qp, const Segment &segment, TimeNs now);

// Memory behind the payload of a segment that this queue pair's poll_transmit() gave was not
// reachable. A request completes in error; a READ response becomes a NAK.
void handle_payload_fault(Function &function, QpContext &qp, const Segment &segment, TimeNs now);

// The segment that this queue pair's poll_transmit() gave last could not be delivered yet: it is
// transmitted again a little later.
void handle_pause(Function &function, QpContext &qp, const Segment &segment, TimeNs now);

// `now` has reached poll_timeout().
void handle_timeout(Function &function, QpContext &qp, TimeNs now);

// The next segment to be sent, responses before requests. scratch holds what the segment
// refers to and lives until the segment is consumed. The segment that is passed
// is a new one: only what its kind needs is set. False: nothing now.
struct TransmitScratch {
	SgRange ranges[kSendSgeMax];
	SendWqe wqe;              // datagrams: what is being transmitted
	Datagram datagram;
};
bool poll_transmit(Function &function, QpContext &qp, TimeNs now, const TransportLimits &limits,
		   TransmitScratch &scratch, Segment &segment);

// When handle_timeout wants to be called; kNever if no timer runs. May be in the past: now.
// A queue pair in ERR keeps a timer of 1 to 64 ms, by which it finds receive WQEs that are
// posted later (posting a receive rings no doorbell); handle_doorbell() finds them at once.
TimeNs poll_timeout(const QpContext &qp);

// The peer cannot be reached now (no route, no such QP): the owner drops the segment, timers decide.

// MODIFY_QP has changed qp.state from `from` to qp.state and qp.attributes (already
// validated). Loads PSNs at RTR/RTS, flushes both queues on ERR, clears everything on RESET,
// starts draining on SQD, and so on.
void handle_state_change(Function &function, QpContext &qp, uint8_t from, TimeNs now);

// Frees window and resource blocks; the queue pair is about to be destroyed.
void release_resources(Function &function, QpContext &qp);

} // namespace ohca::core
