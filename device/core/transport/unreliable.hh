// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// UC and datagrams (IBTA 9.8): the parts call each other through this.
//
// Theory of operation
//  - Nothing is acknowledged. A work request is finished when its last segment has been handed
//    over; it completes when the owner comes for the next segment, because only then has the
//    payload been read: until then it may turn out to be unreachable (fail_transmission()).
//  - An error of a work request moves the queue pair to SQE, not to ERR: the send queue is
//    flushed, receiving goes on (IBTA 10.3.1.7).
//  - The responder answers nothing. What it cannot place it drops, and keeps the receive WQE for
//    the next message. Only errors of its own (receive WQE, local memory) move it to ERR
//    (IBTA 9.9.3, class A).
//  - RoCE wants a network that loses nothing: priority flow control (IEEE 802.1Qbb) pauses a sender
//    that is too fast for its receiver. Where the network is this process, a message that finds no
//    receive WQE pauses its sender likewise, and, as with the watchdogs of switches, a receiver
//    that stays without one for too long loses its messages until it posts one. Who has never
//    posted one is not slow, but does not want to receive.
#pragma once

#include <cstdint>

#include "core/transport/completion.hh"
#include "core/transport/send_window.hh"
#include "core/transport/transport.hh"

namespace ohca::core {

// unreliable_send.cc
bool transmit_unreliable(Function &function, QpContext &qp, TimeNs now, const TransportLimits &limits,
			 TransmitScratch &scratch, Segment &segment);
// The last segment of the oldest work request has been handed over.
void note_transmitted(QpContext &qp, uint8_t opcode, uint8_t flags);
// Completes the work request that has been handed over, if any.
void finish_transmission(Function &function, QpContext &qp);
// The last segment has not been handed over after all.
void take_back_transmission(Function &function, QpContext &qp, const Segment &segment);
// The payload of the last segment could not be read.
void fail_transmission(Function &function, QpContext &qp);
// The oldest work request fails: SQE.
void fail_send(Function &function, QpContext &qp, uint8_t opcode, uint8_t status, uint32_t vendor_error);

// BIND_MW, REG_MR and LOCAL_INV, when their turn has come: nothing before them is outstanding. False:
// it has failed.
bool complete_local_operation(Function &function, QpContext &qp, SendWindowEntry &entry);
// How long a paused sender waits before it tries again, and a receiver may keep senders waiting.
// An engine that comes back sooner takes the processor from the receiver it waits for.
constexpr TimeNs kPauseNs = 50'000;
constexpr TimeNs kPauseMaxNs = 200'000'000;
// How many of them run before others get a turn; each may read a page list.
constexpr uint32_t kUnreliableLocalOperationsPerTurn = 64;

// uc_send.cc, datagram_send.cc
bool transmit_uc(Function &function, QpContext &qp, const TransportLimits &limits, TransmitScratch &scratch,
		 Segment &segment);
bool transmit_datagram(Function &function, QpContext &qp, TransmitScratch &scratch, Segment &segment);

// uc_receive.cc, datagram_receive.cc
Delivery receive_uc(Function &function, QpContext &qp, const Segment &segment);
Delivery receive_datagram(Function &function, QpContext &qp, const Segment &segment);

// unreliable_receive.cc
enum class Admission : uint8_t {
	kAccepted, // wqe is its receive WQE
	kPaused,   // there is none yet
	kLost,     // there is none, or none can be read; in the latter case the queue pair is in ERR
};
// The message that begins, or whose immediate takes a receive WQE.
Admission admit(Function &function, QpContext &qp, const Segment &segment, ReceiveWqe &wqe);
// The receive WQE completes in error, and the queue pair goes to ERR.
void fail_receive(Function &function, QpContext &qp, uint8_t status, uint32_t vendor_error);
// Copies the payload to behind the `offset` bytes that the elements have got already, with
// `header` before it if that is not empty. kDone with the queue pair in ERR: refused.
Delivery scatter_payload(Function &function, QpContext &qp, const Segment &segment, std::span<const ohca_sge> sges,
			 uint64_t offset, std::span<std::byte> header);

} // namespace ohca::core
