// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Send queues without acknowledgements: completion and the SQE state.
#include "core/transport/unreliable.hh"

#include "core/transport/local_operation.hh"
#include "core/transport/requester.hh"

namespace ohca::core {

namespace {

// IBTA 10.3.1.7. What is posted from now on is flushed, too, until MODIFY_QP.
void enter_send_error(Function &function, QpContext &qp)
{
	qp.state = OHCA_QP_STATE_SQE;
	qp.attributes.state = OHCA_QP_STATE_SQE;
	qp.requester.draining = 0;
	qp.requester.transmit_offset = 0;
	flush_sends(function, qp, function.now());
}

} // namespace

bool transmit_unreliable(Function &function, QpContext &qp, TimeNs now, const TransportLimits &limits,
			 TransmitScratch &scratch, Segment &segment)
{
	finish_transmission(function, qp);
	if (qp.requester.rnr_until_ns > now)
		return false;
	qp.requester.rnr_until_ns = 0;
	if (qp.state != OHCA_QP_STATE_RTS && qp.state != OHCA_QP_STATE_SQD)
		return false;
	if (is_datagram(qp))
		return transmit_datagram(function, qp, scratch, segment);
	return transmit_uc(function, qp, limits, scratch, segment);
}

void note_transmitted(QpContext &qp, uint8_t opcode, uint8_t flags)
{
	RequesterContext &requester = qp.requester;

	requester.transmitted = 1;
	requester.transmitted_opcode = opcode;
	requester.transmitted_signaled = (flags & OHCA_WQE_SIGNALED) || (qp.flags & OHCA_QP_SIGNAL_ALL);
}

void finish_transmission(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	if (!requester.transmitted)
		return;
	requester.transmitted = 0;
	const uint32_t index = requester.complete_index++;
	if (requester.transmitted_signaled)
		complete_send(function, qp, {.index = index, .opcode = requester.transmitted_opcode});
	if (qp.state == OHCA_QP_STATE_SQD)
		check_drained(function, qp);
}

bool complete_local_operation(Function &function, QpContext &qp, SendWindowEntry &entry)
{
	const uint32_t error = carry_out(function, qp, entry);

	if (error != OHCA_VENDOR_ERROR_NONE) {
		fail_send(function, qp, entry.opcode, OHCA_CQE_STATUS_MW_BIND, error);
		return false;
	}
	qp.requester.transmit_index = qp.requester.fetch_index;
	note_transmitted(qp, entry.opcode, entry.flags);
	finish_transmission(function, qp);
	return true;
}

void take_back_transmission(Function &function, QpContext &qp, const Segment &segment)
{
	RequesterContext &requester = qp.requester;

	if (segment.last) {
		requester.transmitted = 0;
		requester.transmit_index--;
	}
	if (is_datagram(qp)) { // it has no window: it is fetched again
		requester.fetch_index = requester.transmit_index;
		requester.next_psn = segment.psn;
		return;
	}
	if (segment.last)
		requester.transmit_offset = window_entry(function, qp, requester.transmit_index).length;
	requester.transmit_offset -= segment.payload_length;
}

void fail_transmission(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;
	uint8_t opcode = requester.transmitted_opcode;

	if (requester.complete_index == requester.fetch_index)
		return; // completed by a transition that came in between
	if (!requester.transmitted) // a long UC message, not at its end
		opcode = window_entry(function, qp, requester.complete_index).opcode;
	requester.transmitted = 0;
	fail_send(function, qp, opcode, OHCA_CQE_STATUS_LOCAL_PROTECTION, OHCA_VENDOR_ERROR_DMA);
}

void fail_send(Function &function, QpContext &qp, uint8_t opcode, uint8_t status, uint32_t vendor_error)
{
	RequesterContext &requester = qp.requester;
	const uint32_t index = requester.complete_index++;

	requester.transmit_index = requester.complete_index;
	qp.error_status = status;
	complete_send(function, qp, {.index = index, .opcode = opcode, .status = status, .vendor_error = vendor_error});
	if (qp.state != OHCA_QP_STATE_ERR)
		enter_send_error(function, qp);
}

} // namespace ohca::core
