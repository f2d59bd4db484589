// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
#include "core/transport/completion.hh"

#include <cstring>
#include <endian.h>

#include "core/transport/receive_wqe.hh"

namespace ohca::core {

namespace {

void post(Function &function, QpContext &qp, uint32_t cqn, ohca_cqe &cqe)
{
	cqe.qpn = htole32(qp.qpn);
	// A CQ that has overrun takes its queue pairs with it (IBTA 11.6.3.2); in ERR
	// the flush goes on without completions, so that the indices still advance.
	if (!post_cqe(function, cqn, cqe) && qp.state != OHCA_QP_STATE_ERR)
		enter_fatal(function, qp, OHCA_VENDOR_ERROR_CQ_OVERRUN);
}

void put_source(ohca_cqe &cqe, const ReceiveCompletion &completion)
{
	const Datagram &datagram = *completion.datagram;

	cqe.src_qp = htole32(completion.source_qpn);
	std::memcpy(cqe.source_mac, datagram.source_mac.data(), sizeof(cqe.source_mac));
	cqe.vlan_id = htole16(datagram.vlan_id);
	cqe.service_level = datagram.service_level;
	cqe.network_header = network_header(datagram);
	cqe.pkey_index = 0; // the table has one entry
}

} // namespace

void complete_send(Function &function, QpContext &qp, const SendCompletion &completion)
{
	ohca_cqe cqe{};

	cqe.wqe_index = htole32(completion.index);
	cqe.byte_length = htole32(completion.byte_length);
	cqe.status = completion.status;
	cqe.opcode = completion.opcode;
	cqe.vendor_error = htole32(completion.vendor_error);
	post(function, qp, qp.send_cq, cqe);
}

void complete_receive(Function &function, QpContext &qp, const ReceiveCompletion &completion)
{
	ohca_cqe cqe{};

	cqe.wqe_index = htole32(completion.tag);
	cqe.byte_length = htole32(completion.byte_length);
	// An immediate is passed on as it came; a key is a number.
	if (completion.flags & OHCA_CQE_WITH_IMM)
		cqe.immediate = completion.immediate_or_key;
	else
		cqe.invalidated_rkey = htole32(completion.immediate_or_key);
	cqe.src_qp = qp.attributes.dest_qpn;
	cqe.status = completion.status;
	cqe.opcode = completion.opcode;
	cqe.flags = static_cast<uint8_t>(OHCA_CQE_RECEIVE | completion.flags);
	cqe.vendor_error = htole32(completion.vendor_error);
	if (completion.datagram != nullptr)
		put_source(cqe, completion);
	const uint32_t srqn = receive_srq(qp);
	uint32_t cqn = qp.recv_cq;
	if (srqn != 0) {
		cqe.flags |= OHCA_CQE_FROM_SRQ;
		cqe.srqn = htole32(srqn);
		if (qp.type == OHCA_QP_TYPE_XRC_TGT)
			cqn = function.context().srq(srqn)->cq;
	}
	post(function, qp, cqn, cqe);
}

} // namespace ohca::core
