// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Requester of UC (IBTA 9.8.2.1): from work request to segments. One work request is fetched at
// a time; a message of several segments stays in the window until its end.
#include "core/transport/requester.hh"
#include "core/transport/unreliable.hh"

namespace ohca::core {

namespace {

void start_message(QpContext &qp, SendWindowEntry &entry)
{
	RequesterContext &requester = qp.requester;

	entry.psn = requester.next_psn;
	entry.psn_count = packet_count(entry.length, qp.attributes.path_mtu);
	entry.started = 1;
	requester.next_psn = psn_add(requester.next_psn, entry.psn_count);
}

// The message whose turn it is, after the local operations before it. Null: none now.
SendWindowEntry *next_message(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	for (uint32_t passed = 0; passed < kUnreliableLocalOperationsPerTurn; passed++) {
		if (requester.transmit_index == requester.fetch_index && !stage_next(function, qp))
			return nullptr;
		SendWindowEntry &entry = window_entry(function, qp, requester.transmit_index);
		if (!entry.started && qp.state == OHCA_QP_STATE_SQD)
			return nullptr; // it waits in the window for RTS
		if (entry.status != OHCA_CQE_STATUS_SUCCESS) {
			fail_send(function, qp, entry.opcode, entry.status, entry.vendor_error);
			return nullptr;
		}
		if (!is_local(entry))
			return &entry;
		if (!complete_local_operation(function, qp, entry))
			return nullptr;
	}
	function.activate(qp);
	return nullptr;
}

} // namespace

bool transmit_uc(Function &function, QpContext &qp, const TransportLimits &limits, TransmitScratch &scratch,
		 Segment &segment)
{
	RequesterContext &requester = qp.requester;
	SendWindowEntry *entry = next_message(function, qp);

	if (entry == nullptr)
		return false;
	if (!entry->started)
		start_message(qp, *entry);
	segment.kind = opcode_properties(entry->opcode).kind;
	if (!build_message_segment(function, qp, *entry, limits.segment_payload_max, scratch, segment)) {
		fail_send(function, qp, entry->opcode, entry->status, entry->vendor_error);
		return false;
	}
	if (segment.last) {
		requester.transmit_index++;
		requester.transmit_offset = 0;
		note_transmitted(qp, entry->opcode, entry->flags);
	}
	function.count(OHCA_COUNTER_TX_BYTES, segment.payload_length);
	return true;
}

} // namespace ohca::core
