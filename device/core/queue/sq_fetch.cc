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

// What follows the header (on datagram queue pairs: and the address).
enum class Body : uint8_t {
	kElements, // or inline data, where it may be
	kAtomic,   // operands, then one element
};

constexpr uint64_t body_size(Body body) // without elements, bytes
{
	switch (body) {
	case Body::kElements:
		return 0;
	case Body::kAtomic:
		return sizeof(struct ohca_wqe_atomic);
	}
	return 0;
}

// Sets of queue pair types (IBTA table "Transport functions supported for specific transport services").
constexpr uint32_t type_bit(uint8_t type)
{
	return 1u << type;
}
constexpr uint32_t kReliable = type_bit(OHCA_QP_TYPE_RC) | type_bit(OHCA_QP_TYPE_XRC_INI);
constexpr uint32_t kConnected = kReliable | type_bit(OHCA_QP_TYPE_UC);
constexpr uint32_t kAll = kConnected | type_bit(OHCA_QP_TYPE_UD) | type_bit(OHCA_QP_TYPE_GSI);

struct OpcodeTraits {
	uint32_t types = 0;   // that may use it; none: no such opcode
	uint64_t feature = 0; // that must have been negotiated
	Body body = Body::kElements;
	bool may_inline = false;
};

// In the order of OHCA_WR_*; 0 is invalid: an unwritten slot.
constexpr OpcodeTraits kOpcodes[] = {
	{},
	{kAll, 0, Body::kElements, true},                          // SEND
	{kAll, 0, Body::kElements, true},                          // SEND_IMM
	{kReliable, OHCA_FEATURE_SEND_INV, Body::kElements, true}, // SEND_INV
	{kConnected, 0, Body::kElements, true},                    // WRITE
	{kConnected, 0, Body::kElements, true},                    // WRITE_IMM
	{kReliable, 0, Body::kElements, false},                    // READ
	{kReliable, OHCA_FEATURE_ATOMIC, Body::kAtomic, false},    // CAS
	{kReliable, OHCA_FEATURE_ATOMIC, Body::kAtomic, false},    // FADD
};
static_assert(std::size(kOpcodes) == OHCA_WR_FADD + 1);

bool is_allowed(Function &function, const QpContext &qp, uint8_t opcode)
{
	if (opcode >= std::size(kOpcodes))
		return false;
	const OpcodeTraits &traits = kOpcodes[opcode];
	return (traits.types & type_bit(qp.type)) && function.has_feature(traits.feature);
}

void refuse(SendWqe &wqe, uint8_t status, uint32_t vendor_error)
{
	wqe.status = status;
	wqe.vendor_error = vendor_error;
	wqe.sge_count = 0;
	wqe.inline_length = 0;
	wqe.length = 0;
}

// Fills the fixed fields and checks them. False: refused. On success what follows the header fits
// into `stride` bytes.
bool take_header(Function &function, const QpContext &qp, const struct ohca_sq_wqe &header, uint64_t stride,
		 SendWqe &wqe)
{
	wqe.opcode = header.opcode;
	wqe.flags = header.flags;
	wqe.immediate_be = header.immediate;
	wqe.invalidate_key = from_le(header.invalidate_key);
	wqe.rkey = from_le(header.rkey);
	wqe.remote_address = from_le(header.remote_address);
	wqe.remote_srqn = from_le(header.remote_srqn);

	if (!is_allowed(function, qp, header.opcode)) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_OPCODE);
		return false;
	}
	const OpcodeTraits &traits = kOpcodes[header.opcode];
	bool is_inline = header.flags & OHCA_WQE_INLINE;
	if ((header.flags & ~OHCA_WQE_FLAGS_ALL) || header.reserved_18 || (is_inline && !traits.may_inline) ||
	    (wqe.remote_srqn && qp.type != OHCA_QP_TYPE_XRC_INI)) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
		return false;
	}
	bool one_element = traits.body == Body::kAtomic;
	uint64_t room = stride - sizeof(header);
	uint64_t before_elements = body_size(traits.body);
	uint64_t sge_max = room < before_elements ? 0 : (room - before_elements) / sizeof(struct ohca_sge);
	if (header.num_sge > kSendSgeMax || header.num_sge > sge_max || (is_inline && header.num_sge) ||
	    (one_element && header.num_sge != 1)) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_SGE_COUNT);
		return false;
	}
	uint32_t inline_length = from_le(header.inline_length);
	if (room < before_elements ||
	    (is_inline ? inline_length > kInlineMax || inline_length > room : inline_length != 0)) {
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_LENGTH);
		return false;
	}
	wqe.sge_count = header.num_sge;
	wqe.inline_length = inline_length;
	return true;
}

bool take_elements(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	if (!slot.read(at, wqe.sges, wqe.sge_count * sizeof(struct ohca_sge)))
		return false;
	for (uint32_t i = 0; i < wqe.sge_count; i++)
		wqe.length += from_le(wqe.sges[i].length);
	return true;
}

// The rest of the slot, from `at` on. False: ring not reachable.
bool take_body(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	if (wqe.flags & OHCA_WQE_INLINE) {
		wqe.length = wqe.inline_length;
		return slot.read(at, wqe.inline_data, wqe.inline_length);
	}
	switch (kOpcodes[wqe.opcode].body) {
	case Body::kElements:
		return take_elements(slot, at, wqe);
	case Body::kAtomic: {
		struct ohca_wqe_atomic operands;
		if (!slot.read(at, &operands, sizeof(operands)))
			return false;
		wqe.operand = from_le(operands.operand);
		wqe.compare = from_le(operands.compare);
		return take_elements(slot, at + sizeof(operands), wqe);
	}
	}
	return false;
}

void check_length(SendWqe &wqe)
{
	bool atomic = kOpcodes[wqe.opcode].body == Body::kAtomic;
	if (wqe.length > kMessageSizeMax || (atomic && wqe.length != kAtomicSize))
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_LENGTH, OHCA_VENDOR_ERROR_LENGTH);
}

} // namespace

Fetch fetch_send_wqe(Function &function, QpContext &qp, uint32_t index, SendWqe &wqe)
{
	if (!qp.sq.present)
		return Fetch::kEmpty;
	if (index == qp.sq_producer_seen) {
		Fetch seen = read_producer(function, qp.buffer, offsetof(struct ohca_qp_record, sq_producer),
					   qp.sq.log_depth, qp.requester.complete_index, qp.sq_producer_seen);
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
	if (take_header(function, qp, header, slot.stride(), wqe)) {
		if (!take_body(slot, sizeof(header), wqe))
			return Fetch::kFault;
		if (wqe.status == OHCA_CQE_STATUS_SUCCESS)
			check_length(wqe);
	}
	function.count(OHCA_COUNTER_SEND_WQES);
	return Fetch::kOk;
}

} // namespace ohca::core
