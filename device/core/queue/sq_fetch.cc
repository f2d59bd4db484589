// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Send work requests from the ring in host memory.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

constexpr uint64_t kMessageSizeMax = uint64_t{1} << 31; // bytes, IBTA 9.7.8
constexpr uint64_t kAtomicSize = 8;                      // bytes

// What an opcode may carry. In the order of OHCA_WR_*; 0 is invalid: an unwritten slot.
struct OpcodeTraits {
	bool known = false;
	bool may_inline = false;
	bool atomic = false;
	uint64_t feature = 0; // that must have been negotiated
};

constexpr OpcodeTraits kOpcodes[] = {
	{},
	{true, true, false, 0},                     // SEND
	{true, true, false, 0},                     // SEND_IMM
	{true, true, false, OHCA_FEATURE_SEND_INV}, // SEND_INV
	{true, true, false, 0},                     // WRITE
	{true, true, false, 0},                     // WRITE_IMM
	{true, false, false, 0},                    // READ
	{true, false, true, OHCA_FEATURE_ATOMIC},   // CAS
	{true, false, true, OHCA_FEATURE_ATOMIC},   // FADD
};
static_assert(std::size(kOpcodes) == OHCA_WR_FADD + 1);

void refuse(SendWqe &wqe, uint8_t status, uint32_t vendor_error)
{
	wqe.status = status;
	wqe.vendor_error = vendor_error;
	wqe.sge_count = 0;
	wqe.inline_length = 0;
	wqe.length = 0;
}

// Fills the fixed fields and checks them. False: refused. On success sge_count and inline_length
// fit into `stride` bytes.
bool take_header(Function &function, const struct ohca_sq_wqe &header, uint64_t stride, SendWqe &wqe)
{
	wqe.opcode = header.opcode;
	wqe.flags = header.flags;
	wqe.immediate_be = header.immediate;
	wqe.invalidate_key = from_le(header.invalidate_key);
	wqe.rkey = from_le(header.rkey);
	wqe.remote_address = from_le(header.remote_address);

	bool known = header.opcode < std::size(kOpcodes) && kOpcodes[header.opcode].known;
	if (!known || !function.has_feature(kOpcodes[header.opcode].feature)) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_OPCODE);
		return false;
	}
	const OpcodeTraits &traits = kOpcodes[header.opcode];
	bool is_inline = header.flags & OHCA_WQE_INLINE;
	if ((header.flags & ~OHCA_WQE_FLAGS_ALL) || header.reserved_18 || header.remote_srqn ||
	    (is_inline && !traits.may_inline)) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
		return false;
	}
	uint64_t room = stride - sizeof(header) - (traits.atomic ? sizeof(struct ohca_wqe_atomic) : 0);
	uint64_t sge_max = room / sizeof(struct ohca_sge);
	if (header.num_sge > kSendSgeMax || header.num_sge > sge_max || (is_inline && header.num_sge) ||
	    (traits.atomic && header.num_sge != 1)) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_SGE_COUNT);
		return false;
	}
	uint32_t inline_length = from_le(header.inline_length);
	if (is_inline ? inline_length > kInlineMax || inline_length > room : inline_length != 0) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_LENGTH);
		return false;
	}
	wqe.sge_count = header.num_sge;
	wqe.inline_length = inline_length;
	return true;
}

// The rest of the slot: elements, inline data, atomic operands. False: ring not reachable.
bool take_body(RingSlot &slot, SendWqe &wqe)
{
	uint64_t at = sizeof(struct ohca_sq_wqe);
	if (wqe.flags & OHCA_WQE_INLINE) {
		wqe.length = wqe.inline_length;
		return slot.read(at, wqe.inline_data, wqe.inline_length);
	}
	if (kOpcodes[wqe.opcode].atomic) {
		struct ohca_wqe_atomic operands;
		if (!slot.read(at, &operands, sizeof(operands)))
			return false;
		wqe.operand = from_le(operands.operand);
		wqe.compare = from_le(operands.compare);
		at += sizeof(operands);
	}
	if (!slot.read(at, wqe.sges, wqe.sge_count * sizeof(struct ohca_sge)))
		return false;
	for (uint32_t i = 0; i < wqe.sge_count; i++)
		wqe.length += from_le(wqe.sges[i].length);
	return true;
}

} // namespace

Fetch fetch_send_wqe(Function &function, QpContext &qp, uint32_t index, SendWqe &wqe)
{
	if (!qp.sq.present)
		return Fetch::kEmpty;
	if (index == qp.sq_producer_seen) {
		Fetch seen = read_producer(function, qp, offsetof(struct ohca_qp_record, sq_producer), qp.sq.log_depth,
					   qp.requester.complete_index, qp.sq_producer_seen);
		if (seen != Fetch::kOk)
			return seen;
		if (index == qp.sq_producer_seen)
			return Fetch::kEmpty;
	}
	wqe.index = index;
	wqe.status = 0;
	wqe.vendor_error = 0;
	wqe.operand = 0;
	wqe.compare = 0;
	wqe.length = 0;

	RingSlot slot(function, qp.buffer, qp.sq, index);
	struct ohca_sq_wqe header;
	if (!slot.read(0, &header, sizeof(header)))
		return Fetch::kFault;
	if (take_header(function, header, slot.stride(), wqe)) {
		if (!take_body(slot, wqe))
			return Fetch::kFault;
		if (wqe.length > kMessageSizeMax || (kOpcodes[wqe.opcode].atomic && wqe.length != kAtomicSize))
			refuse(wqe, OHCA_CQE_STATUS_LOCAL_LENGTH, OHCA_VENDOR_ERROR_LENGTH);
	}
	function.count(OHCA_COUNTER_SEND_WQES);
	return Fetch::kOk;
}

} // namespace ohca::core
