// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Completions and the way of a queue pair into the error state.
#pragma once

#include <cstdint>

#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/transport/datagram.hh"

namespace ohca::core {

// completion.cc
struct SendCompletion {
	uint32_t index;           // SQ index
	uint8_t opcode;           // OHCA_WR_*
	uint8_t status = OHCA_CQE_STATUS_SUCCESS;
	uint32_t vendor_error = OHCA_VENDOR_ERROR_NONE;
	uint32_t byte_length = 0;
};
void complete_send(Function &function, QpContext &qp, const SendCompletion &completion);

struct ReceiveCompletion {
	uint32_t tag;
	uint8_t opcode = 0;       // OHCA_WR_* of the message
	uint8_t flags = 0;        // OHCA_CQE_*, without RECEIVE
	uint8_t status = OHCA_CQE_STATUS_SUCCESS;
	uint32_t vendor_error = OHCA_VENDOR_ERROR_NONE;
	uint32_t byte_length = 0;
	uint32_t immediate_or_key = 0;
	uint32_t source_qpn = 0;  // of a datagram
	const Datagram *datagram = nullptr;
};
void complete_receive(Function &function, QpContext &qp, const ReceiveCompletion &completion);

// flush.cc
// The queue pair goes to ERR and its queues are flushed, a bounded number of WQEs at once.
// A NAK that waits to be transmitted stays, with the responses before it.
void enter_error(Function &function, QpContext &qp);
// One more bounded step in ERR.
void flush_queues(Function &function, QpContext &qp, TimeNs now);
// One more bounded step in SQE: of the send queue only.
void flush_sends(Function &function, QpContext &qp, TimeNs now);
// Something of the queue pair's own memory is lost: QP_FATAL, then ERR.
void enter_fatal(Function &function, QpContext &qp, uint32_t vendor_error);

} // namespace ohca::core
