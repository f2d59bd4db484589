// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder: ATOMIC_WRITE and FLUSH (IBTA annex A19, memory placement extensions).
//
// Both are carried out when they arrive, after everything before them, and
// answered in the order of their PSNs with an empty READ response. Their
// responder resource answers duplicates, so that nothing is executed twice.
//
// FLUSH: the memory of the host is coherent, and the device's stores reach it in
// order. Global visibility thus needs no more than a fence. Persistent memory
// cannot be registered (known_access()), so no key allows FLUSH_PERSISTENT.
#include "core/transport/responder.hh"

#include <atomic>

#include "core/transport/responder_resources.hh"

namespace ohca::core {

namespace {

void accept_placement(QpContext &qp, const Segment &segment, ResponderResource &resource, uint8_t kind)
{
	resource.kind = kind;
	resource.psn = segment.psn;
	resource.psn_count = 1;
	resource.respond_psn = segment.psn;
	Segment without_ack = segment; // the answer is the acknowledgement
	without_ack.ack_request = false;
	accept_request(qp, without_ack, 1);
}

ResponderResource *claim_resource(Function &function, QpContext &qp, const Segment &segment)
{
	ResponderResource *resource = allocate_resource(function, qp);

	if (resource == nullptr)
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_READ_ATOMIC_DEPTH);
	return resource;
}

// What it does not become must not answer anything.
void give_up(QpContext &qp, ResponderResource &resource)
{
	clear_pending(qp, resource);
	resource.psn_count = 0;
}

uint32_t flush_access(uint8_t placement)
{
	return (placement & OHCA_FLUSH_GLOBAL ? OHCA_ACCESS_FLUSH_GLOBAL : 0) |
	       (placement & OHCA_FLUSH_PERSISTENT ? OHCA_ACCESS_FLUSH_PERSISTENT : 0);
}

// Of a whole region neither address nor length is given, but the key must be good. An empty range
// needs no key, as everywhere.
uint32_t check_flush(Function &function, const QpContext &qp, const Segment &segment)
{
	const uint32_t access = flush_access(segment.flush_placement);
	uint64_t address = segment.remote_address;
	uint64_t length = segment.dma_length;

	if (segment.flush_selectivity == OHCA_FLUSH_REGION) {
		const MkeyContext *mkey = function.context().mkey(segment.rkey >> 8);
		address = mkey != nullptr ? mkey->start : 0;
		length = 0;
	} else if (length == 0) {
		return OHCA_VENDOR_ERROR_NONE;
	}
	return function.memory().check_remote_key(segment.rkey, qp, address, length, access).vendor_error;
}

} // namespace

Delivery receive_atomic_write(Function &function, QpContext &qp, const Segment &segment)
{
	uint64_t bytes = 0;

	if (segment.payload_length != sizeof(bytes)) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_LENGTH);
		return Delivery::kDone;
	}
	if (segment.remote_address % sizeof(bytes) != 0) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_ALIGNMENT);
		return Delivery::kDone;
	}
	const KeyCheck check = function.memory().check_remote_key(segment.rkey, qp, segment.remote_address,
								  sizeof(bytes), OHCA_ACCESS_REMOTE_WRITE);
	if (check.mkey == nullptr) {
		refuse_access(function, qp, segment, check.vendor_error);
		return Delivery::kDone;
	}
	const SgRange value = {nullptr, nullptr, 0, reinterpret_cast<std::byte *>(&bytes), sizeof(bytes)};
	SgCursor to = {&value, 1, 0, 0};
	SgCursor from = segment.payload;
	if (copy(to, from, sizeof(bytes)) != CopyResult::kOk)
		return Delivery::kSourceFault;
	ResponderResource *resource = claim_resource(function, qp, segment);
	if (resource == nullptr)
		return Delivery::kDone;
	if (!function.memory().atomic_store(*check.mkey, segment.remote_address, bytes)) {
		give_up(qp, *resource);
		refuse(function, qp, segment.psn,
		       {kAethNakRemoteOperation, 0, OHCA_VENDOR_ERROR_DMA, OHCA_EVENT_QP_FATAL});
		return Delivery::kDone;
	}
	function.count(OHCA_COUNTER_RX_BYTES, sizeof(bytes));
	accept_placement(qp, segment, *resource, OHCA_WR_ATOMIC_WRITE);
	return Delivery::kDone;
}

void receive_flush(Function &function, QpContext &qp, const Segment &segment)
{
	constexpr uint8_t kPlacements = OHCA_FLUSH_GLOBAL | OHCA_FLUSH_PERSISTENT;

	if (segment.flush_placement == 0 || (segment.flush_placement & ~kPlacements) != 0 ||
	    segment.flush_selectivity > OHCA_FLUSH_REGION) {
		refuse_invalid(function, qp, segment, OHCA_VENDOR_ERROR_FLAGS);
		return;
	}
	const uint32_t error = check_flush(function, qp, segment);
	if (error != OHCA_VENDOR_ERROR_NONE) {
		refuse_access(function, qp, segment, error);
		return;
	}
	ResponderResource *resource = claim_resource(function, qp, segment);
	if (resource == nullptr)
		return;
	std::atomic_thread_fence(std::memory_order_seq_cst);
	accept_placement(qp, segment, *resource, OHCA_WR_FLUSH);
}

void receive_duplicate_placement(Function &function, QpContext &qp, const Segment &segment)
{
	const uint8_t kind = segment.kind == SegmentKind::kFlush ? OHCA_WR_FLUSH : OHCA_WR_ATOMIC_WRITE;
	ResponderResource *resource = find_resource(function, qp, segment.psn);

	if (resource != nullptr && resource->kind == kind)
		set_pending(qp, *resource);
}

} // namespace ohca::core
