// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Requester: from work request to request segments.
#include "core/transport/requester.hh"

#include <algorithm>
#include <endian.h>

#include "core/transport/local_memory.hh"
#include "core/transport/local_operation.hh"

namespace ohca::core {

namespace {

// How often a long message asks for an acknowledgement between its ends, in bytes.
// Only progress seen in time keeps the ACK timer from firing.
constexpr uint64_t kAckRequestInterval = 64 * 1024;

// A marked work request fails when it has become the oldest one.
void fail_if_head(Function &function, QpContext &qp, uint32_t index, const SendWindowEntry &entry)
{
	if (qp.requester.complete_index == index)
		fail_head(function, qp, entry.status, entry.vendor_error);
}

void mark_failed(SendWindowEntry &entry, uint8_t status, uint32_t vendor_error)
{
	entry.status = status;
	entry.vendor_error = static_cast<uint8_t>(vendor_error);
}

// Whether a message may be started now; if so it gets its PSNs.
bool start_message(QpContext &qp, SendWindowEntry &entry)
{
	RequesterContext &requester = qp.requester;
	const bool read_atomic = is_read_atomic(entry);

	// IBTA 10.8.3.3: fenced means after the answers to earlier READs and atomics.
	if ((entry.flags & OHCA_WQE_FENCE) && requester.reads_outstanding > 0)
		return false;
	if (read_atomic && requester.reads_outstanding >= qp.attributes.max_read_atomic)
		return false;
	const uint32_t count =
		read_atomic && !is_read(entry) ? 1 : packet_count(entry.length, qp.attributes.path_mtu);
	if (psn_distance(requester.next_psn, requester.unacked_psn) + count > kPsnWindow)
		return false;

	entry.psn = requester.next_psn;
	entry.psn_count = count;
	entry.started = 1;
	requester.next_psn = psn_add(requester.next_psn, count);
	requester.reads_outstanding += read_atomic;
	return true;
}

// The bytes of the message from `offset` on. False: an element was refused, entry is marked.
bool gather(Function &function, QpContext &qp, SendWindowEntry &entry, uint64_t offset, TransmitScratch &scratch,
	    SgCursor &cursor)
{
	if (entry.flags & OHCA_WQE_INLINE) {
		scratch.ranges[0] = {nullptr, nullptr, 0, window_payload(entry), entry.inline_length};
		cursor = {scratch.ranges, 1, 0, 0};
	} else {
		uint32_t count = 0;
		const uint32_t error = check_sges(function, qp.pd, {window_sges(entry), entry.sge_count},
						  entry.length, 0, scratch.ranges, count);

		if (error != OHCA_VENDOR_ERROR_NONE) {
			mark_failed(entry, OHCA_CQE_STATUS_LOCAL_PROTECTION, error);
			return false;
		}
		cursor = {scratch.ranges, count, 0, 0};
	}
	if (offset > 0)
		cursor.skip(offset);
	return true;
}

// READ: one request, for what has not been received yet. Atomics likewise.
bool build_read_atomic(Function &function, QpContext &qp, SendWindowEntry &entry, Segment &segment)
{
	const uint64_t offset = qp.requester.transmit_offset;
	const auto skipped = static_cast<uint32_t>(offset >> qp.attributes.path_mtu);
	uint32_t count = 0;

	// The answer will be checked again when it is placed: keys may be gone by then.
	const uint32_t error = check_sges(function, qp.pd, {window_sges(entry), entry.sge_count}, entry.length,
					  OHCA_ACCESS_LOCAL_WRITE, nullptr, count);
	if (error != OHCA_VENDOR_ERROR_NONE) {
		mark_failed(entry, OHCA_CQE_STATUS_LOCAL_PROTECTION, error);
		return false;
	}
	segment.first = true;
	segment.last = true;
	segment.ack_request = true;
	segment.psn = psn_add(entry.psn, skipped);
	segment.psn_count = entry.psn_count - skipped;
	segment.remote_address = entry.remote_address + offset;
	segment.rkey = entry.rkey;
	segment.dma_length = is_read(entry) ? static_cast<uint32_t>(entry.length - offset) : 0;
	segment.operand = entry.operand;
	segment.compare = entry.compare;
	if (entry.opcode == OHCA_WR_MASKED_CAS || entry.opcode == OHCA_WR_MASKED_FADD) {
		segment.swap_mask = window_masks(entry).swap_mask;
		segment.compare_mask = window_masks(entry).compare_mask;
	}
	qp.requester.transmit_offset = entry.length;
	return true;
}

// ATOMIC_WRITE and FLUSH: one packet, answered with an empty READ response.
bool build_placement(Function &function, QpContext &qp, SendWindowEntry &entry, TransmitScratch &scratch,
		     Segment &segment)
{
	if (entry.opcode == OHCA_WR_ATOMIC_WRITE) {
		if (!gather(function, qp, entry, 0, scratch, segment.payload))
			return false;
		segment.payload_length = entry.length;
	}
	segment.first = true;
	segment.last = true;
	segment.ack_request = true;
	segment.psn = entry.psn;
	segment.remote_address = entry.remote_address;
	segment.rkey = entry.rkey;
	segment.dma_length = static_cast<uint32_t>(entry.length);
	segment.flush_placement = entry.flush_placement;
	segment.flush_selectivity = entry.flush_selectivity;
	qp.requester.transmit_offset = entry.length;
	return true;
}

bool build(Function &function, QpContext &qp, SendWindowEntry &entry, uint64_t payload_max,
	   TransmitScratch &scratch, Segment &segment)
{
	const OpcodeProperties &properties = opcode_properties(entry.opcode);

	segment.kind = properties.kind;
	segment.remote_srqn = entry.remote_srqn;
	if (!properties.read_atomic)
		return build_message_segment(function, qp, entry, payload_max, scratch, segment);
	if (entry.opcode == OHCA_WR_ATOMIC_WRITE || entry.opcode == OHCA_WR_FLUSH)
		return build_placement(function, qp, entry, scratch, segment);
	return build_read_atomic(function, qp, entry, segment);
}

// Remembers that the packets of the segment are on their way.
void note_transmitted(Function &function, QpContext &qp, const SendWindowEntry &entry, const Segment &segment,
		      TimeNs now)
{
	RequesterContext &requester = qp.requester;
	const uint32_t end_psn = psn_add(segment.psn, segment.psn_count);

	if (psn_distance(end_psn, requester.unacked_psn) >
	    psn_distance(requester.sent_psn, requester.unacked_psn))
		requester.sent_psn = end_psn;
	if (requester.transmit_offset >= entry.length) {
		requester.transmit_index++;
		requester.transmit_offset = 0;
	}
	if (requester.timeout_at_ns == 0)
		start_ack_timer(qp, now);
	function.count(OHCA_COUNTER_TX_BYTES, segment.payload_length);
}

// What local operations may do before others get a turn; some 50 us.
constexpr uint32_t kLocalBudgetPerTurn = 64;
constexpr uint32_t kListEntriesPerUnit = 1024; // so many entries of a list cost as much as an operation

uint32_t cost_of(SendWindowEntry &entry)
{
	uint64_t entries = 0;
	if (entry.opcode == OHCA_WR_REG_MR)
		entries = le32toh(window_registration(entry).entry_count);
	else if (entry.opcode == OHCA_WR_REG_MR_INTEGRITY)
		entries = uint64_t{le32toh(window_integrity(entry).data_entry_count)} +
			  le32toh(window_integrity(entry).protection_entry_count);
	return 1 + static_cast<uint32_t>(entries / kListEntriesPerUnit);
}

// The work request whose turn it is has been checked: carries it out if it is a local one. True:
// go on with the next one.
bool pass_local_operation(Function &function, QpContext &qp, uint32_t index, SendWindowEntry &entry)
{
	RequesterContext &requester = qp.requester;

	if (!entry.started) { // else it is passed again by a retransmission
		if (must_wait(qp, index, entry))
			return false;
		const uint32_t error = carry_out(function, qp, entry);

		if (error != OHCA_VENDOR_ERROR_NONE) {
			mark_failed(entry, OHCA_CQE_STATUS_MW_BIND, error);
			fail_if_head(function, qp, index, entry);
			return false;
		}
		entry.started = 1;
		entry.psn = requester.next_psn;
		entry.psn_count = 0;
	}
	requester.transmit_index++;
	requester.transmit_offset = 0;
	if (requester.complete_index == index)
		complete_head(function, qp);
	return true;
}

// Carries out local operations until a work request has its turn that is to be transmitted.
SendWindowEntry *next_request(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	for (uint32_t spent = 0; spent < kLocalBudgetPerTurn;) {
		if (qp.state != OHCA_QP_STATE_RTS && qp.state != OHCA_QP_STATE_SQD)
			return nullptr;
		if (requester.transmit_index == requester.fetch_index && !stage_next(function, qp))
			return nullptr;

		const uint32_t index = requester.transmit_index;
		SendWindowEntry &entry = window_entry(function, qp, index);
		if (!entry.started) {
			if (qp.state == OHCA_QP_STATE_SQD)
				return nullptr; // it waits in the window for RTS
			if (is_read_atomic(entry) && qp.attributes.max_read_atomic == 0 &&
			    entry.status == OHCA_CQE_STATUS_SUCCESS)
				mark_failed(entry, OHCA_CQE_STATUS_LOCAL_QP_OPERATION,
					    OHCA_VENDOR_ERROR_READ_ATOMIC_DEPTH);
		}
		if (entry.status != OHCA_CQE_STATUS_SUCCESS) {
			fail_if_head(function, qp, index, entry);
			return nullptr;
		}
		if (!is_local(entry))
			return entry.started || start_message(qp, entry) ? &entry : nullptr;
		spent += cost_of(entry);
		if (!pass_local_operation(function, qp, index, entry))
			return nullptr;
	}
	function.activate(qp);
	return nullptr;
}

} // namespace

bool fetch_next(Function &function, QpContext &qp, SendWqe &wqe)
{
	switch (fetch_send_wqe(function, qp, qp.requester.fetch_index, wqe)) {
	case Fetch::kOk:
		return true;
	case Fetch::kEmpty:
		return false;
	case Fetch::kFault:
		enter_fatal(function, qp, OHCA_VENDOR_ERROR_DMA);
		return false;
	case Fetch::kBadIndex:
		enter_fatal(function, qp, OHCA_VENDOR_ERROR_RING_INDEX);
		return false;
	}
	return false;
}

bool build_message_segment(Function &function, QpContext &qp, SendWindowEntry &entry, uint64_t payload_max,
			   TransmitScratch &scratch, Segment &segment)
{
	const OpcodeProperties &properties = opcode_properties(entry.opcode);
	const uint8_t log_mtu = qp.attributes.path_mtu;
	const uint64_t offset = qp.requester.transmit_offset;
	const uint64_t end = std::min(entry.length, offset + (payload_max >> log_mtu << log_mtu));

	if (entry.length > 0 && !gather(function, qp, entry, offset, scratch, segment.payload))
		return false;
	segment.first = offset == 0;
	segment.last = end == entry.length;
	segment.psn = psn_add(entry.psn, static_cast<uint32_t>(offset >> log_mtu));
	segment.psn_count = packet_count(end - offset, log_mtu);
	segment.payload_length = end - offset;
	if (properties.kind == SegmentKind::kWrite) {
		segment.remote_address = entry.remote_address;
		segment.rkey = entry.rkey;
		segment.dma_length = static_cast<uint32_t>(entry.length);
	}
	segment.ack_request = segment.last || offset / kAckRequestInterval != end / kAckRequestInterval;
	if (segment.last) {
		segment.solicited = (entry.flags & OHCA_WQE_SOLICITED) != 0;
		segment.has_immediate = properties.has_immediate;
		segment.has_invalidate = properties.has_invalidate;
		segment.immediate_be = entry.immediate;
	}
	qp.requester.transmit_offset = end;
	return true;
}

bool stage_next(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	if (qp.state != OHCA_QP_STATE_RTS || !qp.sq.present)
		return false;
	if (requester.window != 0 && requester.fetch_index - requester.complete_index >= requester.window_count)
		return false;

	SendWqe wqe;
	if (!fetch_next(function, qp, wqe))
		return false;
	if (!ensure_window(function, qp)) {
		enter_fatal(function, qp, OHCA_VENDOR_ERROR_NONE);
		return false;
	}
	fill_entry(window_entry(function, qp, requester.fetch_index), wqe);
	requester.fetch_index++;
	return true;
}

bool transmit_request(Function &function, QpContext &qp, TimeNs now, const TransportLimits &limits,
		      TransmitScratch &scratch, Segment &segment)
{
	RequesterContext &requester = qp.requester;

	if (requester.rnr_until_ns != 0)
		return false;
	SendWindowEntry *entry = next_request(function, qp);
	if (entry == nullptr)
		return false;
	const uint32_t index = requester.transmit_index;
	if (!build(function, qp, *entry, limits.segment_payload_max, scratch, segment)) {
		fail_if_head(function, qp, index, *entry);
		return false;
	}
	note_transmitted(function, qp, *entry, segment, now);
	return true;
}

void fail_request(Function &function, QpContext &qp, const Segment &segment)
{
	RequesterContext &requester = qp.requester;

	if (qp.state != OHCA_QP_STATE_RTS && qp.state != OHCA_QP_STATE_SQD)
		return;
	for (uint32_t index = requester.complete_index; index != requester.fetch_index; index++) {
		SendWindowEntry &entry = window_entry(function, qp, index);

		if (!entry.started)
			return;
		if (psn_distance(segment.psn, entry.psn) >= entry.psn_count)
			continue;
		mark_failed(entry, OHCA_CQE_STATUS_LOCAL_PROTECTION, OHCA_VENDOR_ERROR_DMA);
		requester.transmit_index = index;
		requester.transmit_offset = 0;
		function.activate(qp);
		return;
	}
}

} // namespace ohca::core
