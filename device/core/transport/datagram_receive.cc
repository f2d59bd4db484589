// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder of UD and GSI (IBTA 9.8.3.2): each datagram is placed as a whole or dropped.
#include <endian.h>

#include "core/transport/receive_wqe.hh"
#include "core/transport/unreliable.hh"

namespace ohca::core {

namespace {

// IBTA 9.6.1.2: QP 0xffffff and a multicast address go together.
bool is_well_formed(const Segment &segment)
{
	return segment.kind == SegmentKind::kSend && segment.datagram != nullptr &&
	       is_multicast(segment.datagram->dgid) == (segment.dest_qpn == OHCA_QPN_MULTICAST);
}

bool is_qkey_valid(const QpContext &qp, const Segment &segment)
{
	return segment.datagram->qkey == (qp.type == OHCA_QP_TYPE_GSI ? kGsiQkey : le32toh(qp.attributes.qkey));
}

void complete(Function &function, QpContext &qp, const Segment &segment)
{
	ReceiveCompletion completion = {.tag = qp.responder.recv_tag,
					.opcode = OHCA_WR_SEND,
					.flags = OHCA_CQE_WITH_GRH,
					.byte_length = static_cast<uint32_t>(OHCA_GRH_SIZE + segment.payload_length),
					.immediate_or_key = segment.immediate_be,
					.source_qpn = segment.source_qpn,
					.datagram = segment.datagram};

	if (segment.has_immediate) {
		completion.opcode = OHCA_WR_SEND_IMM;
		completion.flags |= OHCA_CQE_WITH_IMM;
	}
	if (segment.solicited)
		completion.flags |= OHCA_CQE_SOLICITED;
	hold_receive_wqe(function, qp);
	qp.responder.recv_active = 0;
	complete_receive(function, qp, completion);
}

} // namespace

Delivery receive_datagram(Function &function, QpContext &qp, const Segment &segment)
{
	if (!is_well_formed(segment)) {
		function.count(OHCA_COUNTER_PACKETS_DROPPED);
		return Delivery::kDone;
	}
	if (!is_qkey_valid(qp, segment)) {
		function.count(OHCA_COUNTER_QKEY_VIOLATIONS);
		return Delivery::kDone;
	}
	ReceiveWqe wqe;
	Admission admission = Admission::kLost;
	if (segment.payload_length <= function.state().port_max_mtu)
		admission = admit(function, qp, segment, wqe);
	if (admission == Admission::kPaused)
		return Delivery::kPause;
	// IBTA 9.9.3: too small a buffer is the sender's business, if anybody's (class D): the WQE
	// stays for a datagram that fits.
	if (admission == Admission::kLost || wqe.length < OHCA_GRH_SIZE + segment.payload_length) {
		function.count(OHCA_COUNTER_DATAGRAMS_DROPPED);
		return Delivery::kDone;
	}
	Grh grh = make_grh(*segment.datagram, transport_length(segment.payload_length, segment.has_immediate));
	const Delivery delivery = scatter_payload(function, qp, segment, {wqe.sges, wqe.sge_count}, 0, grh);
	if (delivery != Delivery::kDone || qp.state == OHCA_QP_STATE_ERR)
		return delivery;
	if (segment.dest_qpn == OHCA_QPN_MULTICAST)
		function.count(OHCA_COUNTER_MULTICAST_RECEIVED);
	complete(function, qp, segment);
	return Delivery::kDone;
}

} // namespace ohca::core
