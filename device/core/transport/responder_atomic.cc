// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: compare-and-swap, fetch-and-add, and the same with masks.
#include "core/transport/responder.hh"

#include "core/transport/responder_resources.hh"

namespace ohca::core {

namespace {

// What a responder resource remembers it as.
uint8_t opcode_of(SegmentKind kind)
{
	switch (kind) {
	case SegmentKind::kCompareSwap:
		return OHCA_WR_CAS;
	case SegmentKind::kFetchAdd:
		return OHCA_WR_FADD;
	case SegmentKind::kMaskedCompareSwap:
		return OHCA_WR_MASKED_CAS;
	default:
		return OHCA_WR_MASKED_FADD;
	}
}

bool execute(FunctionMemory &memory, const MkeyContext &mkey, const Segment &segment, uint64_t &original)
{
	const uint64_t address = segment.remote_address;

	switch (segment.kind) {
	case SegmentKind::kCompareSwap:
		return memory.compare_swap(mkey, address, segment.compare, segment.operand, original);
	case SegmentKind::kFetchAdd:
		return memory.fetch_add(mkey, address, segment.operand, original);
	case SegmentKind::kMaskedCompareSwap:
		return memory.masked_compare_swap(
			mkey, address,
			{segment.compare, segment.compare_mask, segment.operand, segment.swap_mask}, original);
	default:
		return memory.masked_fetch_add(mkey, address, segment.operand, segment.swap_mask, original);
	}
}

} // namespace

void receive_atomic(Function &function, QpContext &qp, const Segment &segment)
{
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
	if (!execute(function.memory(), *check.mkey, segment, original)) {
		clear_pending(qp, *resource);
		resource->psn_count = 0; // answers nothing
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, 0, OHCA_VENDOR_ERROR_DMA, OHCA_EVENT_QP_FATAL});
		return;
	}
	resource->kind = opcode_of(segment.kind);
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
	ResponderResource *resource = find_resource(function, qp, segment.psn);

	if (resource == nullptr || resource->kind != opcode_of(segment.kind))
		return;
	set_pending(qp, *resource);
}

} // namespace ohca::core
