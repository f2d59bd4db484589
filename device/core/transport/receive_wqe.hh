// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Receive work requests of a queue pair of any type, from its own receive queue
// or a shared one.
//
// peek_receive_wqe() only looks.  hold_receive_wqe(), when the first segment of
// a message is accepted or fails because of the WQE, makes the WQE this queue
// pair's: the next peek of anybody else finds another one.  From then on
// recv_active is set until the WQE completes, which is whoever completes it who
// clears it.  A message in several segments needs the WQE until its end:
// keep_receive_wqe() copies it, because the slot may be posted again.
#pragma once

#include <span>

#include "core/function.hh"
#include "core/queue/queues.hh"

namespace ohca::core {

// The SRQ that the message in progress, or the next one, receives from; 0: the own queue.
inline uint32_t receive_srq(const QpContext &qp)
{
	return qp.type == OHCA_QP_TYPE_XRC_TGT ? qp.responder.request_srq : qp.srq;
}

// The PD against which the L_Keys of receive WQEs are checked: of the queue they come from.
uint32_t receive_pd(Function &function, const QpContext &qp);

// The WQE that is held, if an earlier message was given up before its end (UC), else the next one.
Fetch peek_receive_wqe(Function &function, QpContext &qp, ReceiveWqe &wqe);
void hold_receive_wqe(Function &function, QpContext &qp);

// For a queue pair that is reset or destroyed: the WQE of an SRQ that it holds completes as
// flushed, so that the SRQ gets its room back; one of its own receive queue ends with it.
void flush_held_srq_wqe(Function &function, QpContext &qp);

// False: out of context memory.
bool keep_receive_wqe(Function &function, QpContext &qp, const ReceiveWqe &wqe);
std::span<const ohca_sge> kept_sges(Function &function, const QpContext &qp);

} // namespace ohca::core
