// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder half of RC (IBTA 9.7.4, 9.7.5, 9.9.3): the parts call each other through this.
//
// Theory of operation
//  - A segment is accepted as a whole or not at all; the state advances in
//    accept_request() only after everything else has succeeded.
//  - Checks, in the order of the specification: PSN, sequence of opcodes within a
//    message, operation enabled on this queue pair, resources (receive WQE,
//    responder resources), length, key.
//  - Answers are generated later, by transmit_response(): first READ data and
//    atomic results in the order of their PSNs, then at most one ACK or NAK, which
//    covers everything. Several requests so share one ACK (coalescing).
//  - READs are executed when they are answered; atomics at once, and their result
//    is kept. Both stay in responder resources until newer ones displace them,
//    so that duplicates can be answered.
#pragma once

#include <cstdint>

#include "core/transport/aeth.hh"
#include "core/transport/completion.hh"
#include "core/transport/psn.hh"
#include "core/transport/receive_wqe.hh"
#include "core/transport/transport.hh"

namespace ohca::core {

constexpr uint64_t kMessageLengthMax = uint64_t{1} << 31; // bytes (IBTA 9.7.2)

// responder.cc
Delivery handle_request(Function &function, QpContext &qp, const Segment &segment);
// The segment has been carried out: PSN, MSN and message state advance, an ACK is scheduled.
void accept_request(QpContext &qp, const Segment &segment, uint32_t psn_count);

// SEND or WRITE, of any kind.
bool is_message(SegmentKind kind);
// IBTA 9.7.4.1, opcode validation: what the queue pair's access flags do not enable is no
// supported request, whatever key it carries.
bool is_enabled(const QpContext &qp, const Segment &segment);
// All packets but the last are full, and the last of several is not empty (IBTA 9.7.4.1, length).
bool is_length_valid(const QpContext &qp, const Segment &segment);
// The first message has arrived.
void establish(Function &function, QpContext &qp);

// Why a request is refused. The receive WQE in use, if any, completes with `status`.
struct Refusal {
	uint8_t syndrome;                  // kAethNak*, fatal ones
	uint8_t status;                    // OHCA_CQE_STATUS_* of the receive WQE
	uint32_t vendor_error;
	uint8_t event;                     // OHCA_EVENT_* if there is no receive WQE, 0 none
};
// The connection ends: NAK, completion or event, ERR.
void refuse(Function &function, QpContext &qp, uint32_t psn, const Refusal &refusal);
// Common cases of it.
void refuse_invalid(Function &function, QpContext &qp, const Segment &segment, uint32_t vendor_error);
void refuse_access(Function &function, QpContext &qp, const Segment &segment, uint32_t vendor_error);
// RNR NAK: there is no receive WQE now.
void refuse_not_ready(Function &function, QpContext &qp, const Segment &segment);

// receive_wqe.cc: looks for the receive WQE of the message that begins. False: RNR NAK has been
// scheduled or the request refused.
bool find_receive_wqe(Function &function, QpContext &qp, const Segment &segment, ReceiveWqe &wqe);

// xrc.cc
// XRC_TGT: takes over the SRQ that the request names, and with it the PD. False: there is no such
// SRQ, it is of another domain, or the message has begun with another one.
bool select_srq(Function &function, QpContext &qp, const Segment &segment);
// The PD against which the R_Key of an earlier request is checked again; 0: none any more.
uint32_t pd_of_resource(Function &function, const QpContext &qp, const ResponderResource &resource);

// responder_send.cc, responder_write.cc, responder_read.cc, responder_atomic.cc
Delivery receive_send(Function &function, QpContext &qp, const Segment &segment);
Delivery receive_write(Function &function, QpContext &qp, const Segment &segment);
void receive_read(Function &function, QpContext &qp, const Segment &segment);
void receive_atomic(Function &function, QpContext &qp, const Segment &segment);
void receive_duplicate_read(Function &function, QpContext &qp, const Segment &segment);
void receive_duplicate_atomic(Function &function, QpContext &qp, const Segment &segment);

// responder_placement.cc
Delivery receive_atomic_write(Function &function, QpContext &qp, const Segment &segment);
void receive_flush(Function &function, QpContext &qp, const Segment &segment);
void receive_duplicate_placement(Function &function, QpContext &qp, const Segment &segment);

// responder_read.cc: the next segment of the data of `resource`. False: the key is not valid any more;
// the request was refused, or its repetition dropped.
bool transmit_read_response(Function &function, QpContext &qp, ResponderResource &resource,
			    uint64_t payload_max, TransmitScratch &scratch, Segment &segment);
void refuse_read_response(Function &function, QpContext &qp, uint32_t psn, const Refusal &refusal);

// ack.cc
void schedule_ack(QpContext &qp);
void schedule_nak(QpContext &qp, uint8_t syndrome, uint32_t psn);
// Forgets all answers that have not been transmitted.
void drop_responses(Function &function, QpContext &qp);
inline bool response_pending(const QpContext &qp)
{
	return qp.responder.ack_pending != 0 || qp.responder.resource_pending != 0;
}
// False: there was nothing to transmit after all.
bool transmit_response(Function &function, QpContext &qp, const TransportLimits &limits,
		       TransmitScratch &scratch, Segment &segment);

} // namespace ohca::core
