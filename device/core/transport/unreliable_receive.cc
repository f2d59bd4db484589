// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Receive WQEs and local memory of responders that answer nothing.
#include "core/transport/unreliable.hh"

#include "core/transport/local_memory.hh"
#include "core/transport/receive_wqe.hh"

namespace ohca::core {

namespace {

Admission admit_without_wqe(const Function &function, ResponderContext &responder, const Segment &segment)
{
	const TimeNs now = function.now();

	if (responder.starved_since_ns == 0)
		responder.starved_since_ns = now;
	const bool patient = segment.may_pause && responder.wqe_seen != 0 &&
			     now - responder.starved_since_ns < kPauseMaxNs;
	return patient ? Admission::kPaused : Admission::kLost;
}

} // namespace

Admission admit(Function &function, QpContext &qp, const Segment &segment, ReceiveWqe &wqe)
{
	switch (peek_receive_wqe(function, qp, wqe)) {
	case Fetch::kEmpty:
		return admit_without_wqe(function, qp.responder, segment);
	case Fetch::kFault:
		enter_fatal(function, qp, OHCA_VENDOR_ERROR_DMA);
		return Admission::kLost;
	case Fetch::kBadIndex:
		enter_fatal(function, qp, OHCA_VENDOR_ERROR_RING_INDEX);
		return Admission::kLost;
	case Fetch::kOk:
		break;
	}
	qp.responder.starved_since_ns = 0;
	qp.responder.wqe_seen = 1;
	if (wqe.status == OHCA_CQE_STATUS_SUCCESS)
		return Admission::kAccepted;
	fail_receive(function, qp, wqe.status, wqe.vendor_error);
	return Admission::kLost;
}

void fail_receive(Function &function, QpContext &qp, uint8_t status, uint32_t vendor_error)
{
	hold_receive_wqe(function, qp);
	qp.responder.recv_active = 0;
	complete_receive(function, qp,
			 {.tag = qp.responder.recv_tag, .status = status, .vendor_error = vendor_error});
	if (qp.state != OHCA_QP_STATE_ERR)
		enter_error(function, qp);
}

Delivery scatter_payload(Function &function, QpContext &qp, const Segment &segment, std::span<const ohca_sge> sges,
			 uint64_t offset, std::span<std::byte> header)
{
	RangeBuffer buffer;
	uint32_t count = 0;
	const uint64_t end = offset + header.size() + segment.payload_length;
	const uint32_t error = check_sges(function, receive_pd(function, qp), sges, end, OHCA_ACCESS_LOCAL_WRITE,
					  buffer.ranges, count);

	if (error != OHCA_VENDOR_ERROR_NONE) {
		fail_receive(function, qp, OHCA_CQE_STATUS_LOCAL_PROTECTION, error);
		return Delivery::kDone;
	}
	const SgRange front = {nullptr, nullptr, 0, header.data(), header.size()};
	SgCursor from_header = {&front, 1, 0, 0};
	SgCursor from = segment.payload;
	SgCursor to = {buffer.ranges, count, 0, 0};
	to.skip(offset);
	CopyResult result = copy(to, from_header, header.size());
	if (result == CopyResult::kOk)
		result = copy(to, from, segment.payload_length);
	if (result == CopyResult::kSourceFault)
		return Delivery::kSourceFault;
	if (result == CopyResult::kDestinationFault)
		fail_receive(function, qp, OHCA_CQE_STATUS_LOCAL_PROTECTION, OHCA_VENDOR_ERROR_DMA);
	else
		function.count(OHCA_COUNTER_RX_BYTES, segment.payload_length);
	return Delivery::kDone;
}

} // namespace ohca::core
