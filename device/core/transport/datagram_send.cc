// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Requester of UD and GSI (IBTA 9.8.3): a work request is one packet. It needs no window: what
// the segment refers to is in the scratch, and nothing is sent twice.
#include <cstring>
#include <endian.h>

#include "core/transport/local_memory.hh"
#include "core/transport/requester.hh"
#include "core/transport/unreliable.hh"

namespace ohca::core {

namespace {

struct Problem {
	uint8_t status = OHCA_CQE_STATUS_SUCCESS;
	uint32_t vendor_error = OHCA_VENDOR_ERROR_NONE;
};

// IBTA 9.8.3.1, 10.2.2.2: an address handle is used with queue pairs of its protection domain only.
Problem check_address(Function &function, const QpContext &qp, const SendWqe &wqe)
{
	static_assert(kGidCountMax == 256, "sgid_index is 8 bits");
	if (le32toh(wqe.datagram.pd) != qp.pd || !function.context().gid(wqe.datagram.sgid_index)->live)
		return {OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_ADDRESS_HANDLE};
	if (wqe.length > function.state().port_max_mtu)
		return {OHCA_CQE_STATUS_LOCAL_LENGTH, OHCA_VENDOR_ERROR_MTU};
	return {};
}

Problem gather(Function &function, const QpContext &qp, TransmitScratch &scratch, Segment &segment)
{
	SendWqe &wqe = scratch.wqe;
	uint32_t count = 1;

	if (wqe.flags & OHCA_WQE_INLINE) {
		scratch.ranges[0] = {nullptr, nullptr, 0, wqe.inline_data, wqe.inline_length};
	} else {
		const uint32_t error = check_sges(function, qp.pd, {wqe.sges, wqe.sge_count}, wqe.length, 0,
						  scratch.ranges, count);
		if (error != OHCA_VENDOR_ERROR_NONE)
			return {OHCA_CQE_STATUS_LOCAL_PROTECTION, error};
	}
	segment.payload = {scratch.ranges, count, 0, 0};
	segment.payload_length = wqe.length;
	return {};
}

void fill_datagram(Function &function, const QpContext &qp, const ohca_wqe_datagram &address, Datagram &datagram)
{
	const GidContext &source = *function.context().gid(address.sgid_index);
	const uint32_t own_qkey = qp.type == OHCA_QP_TYPE_GSI ? kGsiQkey : le32toh(qp.attributes.qkey);
	const uint32_t qkey = le32toh(address.remote_qkey);

	// IBTA 10.2.5: who may not set a privileged Q_Key must not be able to send one either.
	datagram.qkey = qkey & kQkeyPrivileged ? own_qkey : qkey;
	datagram.flow_label = le32toh(address.flow_label);
	std::memcpy(datagram.sgid.data(), source.gid, datagram.sgid.size());
	std::memcpy(datagram.dgid.data(), address.dgid, datagram.dgid.size());
	std::memcpy(datagram.source_mac.data(), source.mac, datagram.source_mac.size());
	std::memcpy(datagram.destination_mac.data(), address.dmac, datagram.destination_mac.size());
	datagram.vlan_id = source.vlan_id;
	datagram.source_udp_port = le16toh(address.source_udp_port);
	datagram.hop_limit = address.hop_limit;
	datagram.traffic_class = address.traffic_class;
	datagram.service_level = address.service_level;
}

void fill_segment(QpContext &qp, const SendWqe &wqe, const Datagram &datagram, Segment &segment)
{
	const OpcodeProperties &properties = opcode_properties(wqe.opcode);

	segment.kind = properties.kind;
	segment.first = true;
	segment.last = true;
	segment.solicited = (wqe.flags & OHCA_WQE_SOLICITED) != 0;
	segment.has_immediate = properties.has_immediate;
	segment.immediate_be = wqe.immediate_be;
	segment.dest_qpn = le32toh(wqe.datagram.remote_qpn);
	segment.psn = qp.requester.next_psn;
	segment.datagram = &datagram;
	qp.requester.next_psn = psn_add(segment.psn, 1);
}

// The datagram whose turn it is is in the scratch, after the local operations before it. False: none.
bool next_datagram(Function &function, QpContext &qp, SendWqe &wqe)
{
	RequesterContext &requester = qp.requester;

	for (uint32_t passed = 0; passed < kUnreliableLocalOperationsPerTurn; passed++) {
		if (qp.state != OHCA_QP_STATE_RTS || !fetch_next(function, qp, wqe))
			return false;
		const bool local = opcode_properties(wqe.opcode).local && wqe.status == OHCA_CQE_STATUS_SUCCESS;
		if (local && !ensure_window(function, qp)) {
			enter_fatal(function, qp, OHCA_VENDOR_ERROR_NONE);
			return false;
		}
		const uint32_t index = requester.fetch_index++;
		requester.transmit_index = requester.fetch_index;
		if (!local)
			return true;
		SendWindowEntry &entry = window_entry(function, qp, index);
		fill_entry(entry, wqe);
		if (!complete_local_operation(function, qp, entry))
			return false;
	}
	function.activate(qp);
	return false;
}

} // namespace

bool transmit_datagram(Function &function, QpContext &qp, TransmitScratch &scratch, Segment &segment)
{
	SendWqe &wqe = scratch.wqe;

	if (!next_datagram(function, qp, wqe))
		return false;
	Problem problem = {wqe.status, wqe.vendor_error};
	if (problem.status == OHCA_CQE_STATUS_SUCCESS)
		problem = check_address(function, qp, wqe);
	if (problem.status == OHCA_CQE_STATUS_SUCCESS)
		problem = gather(function, qp, scratch, segment);
	if (problem.status != OHCA_CQE_STATUS_SUCCESS) {
		fail_send(function, qp, wqe.opcode, problem.status, problem.vendor_error);
		return false;
	}
	fill_datagram(function, qp, wqe.datagram, scratch.datagram);
	fill_segment(qp, wqe, scratch.datagram, segment);
	note_transmitted(qp, wqe.opcode, wqe.flags);
	function.count(OHCA_COUNTER_TX_BYTES, segment.payload_length);
	return true;
}

} // namespace ohca::core
