// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: compare-and-swap, fetch-and-add.
#include "core/transport/responder.hh"

#include "core/transport/responder_resources.hh"

namespace ohca::core {

void receive_atomic(Function &function, QpContext &qp, const Segment &segment)
{
	const bool swap = segment.kind == SegmentKind::kCompareSwap;

	// IBTA 9.4.5: the address must be naturally aligned, else invalid request.
	if (segment.remote_address % sizeof(uint64_t) != 0) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_ALIGNMENT);
		return;
	}
	const KeyCheck check = function.memory().check_remote_key(segment.rkey, qp, segment.remote_address,
							   sizeof(uint64_t), OHCA_ACCESS_REMOTE_ATOMIC);
	if (check.mkey == nullptr) {
		refuse_access(function, qp, segment, check.vendor_error);
		return;
	}
	ResponderResource *resource = allocate_resource(function, qp);
	if (resource == nullptr) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_READ_ATOMIC_DEPTH);
		return;
	}
	uint64_t original = 0;
	const bool done =
		swap ? function.memory().compare_swap(*check.mkey, segment.remote_address, segment.compare,
						      segment.operand, original)
		     : function.memory().fetch_add(*check.mkey, segment.remote_address, segment.operand, original);
	if (!done) {
		clear_pending(qp, *resource);
		resource->psn_count = 0; // answers nothing
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, 0, OHCA_VENDOR_ERROR_DMA, OHCA_EVENT_QP_FATAL});
		return;
	}
	resource->kind = swap ? OHCA_WR_CAS : OHCA_WR_FADD;
	resource->psn = segment.psn;
	resource->psn_count = 1;
	resource->respond_psn = segment.psn;
	resource->length_or_original = original;
	Segment without_ack = segment; // the answer is the acknowledgement
	without_ack.ack_request = false;
	accept_request(qp, without_ack, 1);
}

// IBTA 9.7.5.1.3: never executed again, answered from the saved result.
void receive_duplicate_atomic(Function &function, QpContext &qp, const Segment &segment)
{
	const uint8_t kind = segment.kind == SegmentKind::kCompareSwap ? OHCA_WR_CAS : OHCA_WR_FADD;
	ResponderResource *resource = find_resource(function, qp, segment.psn);

	if (resource == nullptr || resource->kind != kind)
		return;
	set_pending(qp, *resource);
}

} // namespace ohca::core
