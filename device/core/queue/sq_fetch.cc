// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Send work requests from the ring in host memory.
#include <algorithm>
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
	kNothing,
	kElements,     // or inline data, where it may be
	kAtomic,       // operands, then one element
	kMaskedAtomic, // likewise
	kFlush,
	kBind,
	kRegister,
	kRegisterIntegrity,
};

constexpr uint64_t body_size(Body body) // without elements, bytes
{
	switch (body) {
	case Body::kNothing:
	case Body::kElements:
		return 0;
	case Body::kAtomic:
		return sizeof(struct ohca_wqe_atomic);
	case Body::kMaskedAtomic:
		return sizeof(struct ohca_wqe_masked_atomic);
	case Body::kFlush:
		return sizeof(struct ohca_wqe_flush);
	case Body::kBind:
		return sizeof(struct ohca_wqe_bind);
	case Body::kRegister:
		return sizeof(struct ohca_wqe_register);
	case Body::kRegisterIntegrity:
		return sizeof(struct ohca_wqe_register_integrity);
	}
	return 0;
}

constexpr bool is_atomic(Body body)
{
	return body == Body::kAtomic || body == Body::kMaskedAtomic;
}

// Sets of queue pair types (IBTA table "Transport functions supported for specific transport services").
constexpr uint32_t type_bit(uint8_t type)
{
	return 1u << type;
}
constexpr uint32_t kReliable = type_bit(OHCA_QP_TYPE_RC) | type_bit(OHCA_QP_TYPE_XRC_INI);
constexpr uint32_t kConnected = kReliable | type_bit(OHCA_QP_TYPE_UC);
constexpr uint32_t kAll = kConnected | type_bit(OHCA_QP_TYPE_UD) | type_bit(OHCA_QP_TYPE_GSI);

constexpr uint64_t kMaskedAtomic = OHCA_FEATURE_MASKED_ATOMIC | OHCA_FEATURE_ATOMIC;
constexpr uint64_t kIntegrity = OHCA_FEATURE_INTEGRITY | OHCA_FEATURE_FAST_REG;
constexpr uint64_t kReadInvalidate = OHCA_FEATURE_READ_INV | OHCA_FEATURE_FAST_REG;

struct OpcodeTraits {
	uint32_t types = 0;   // that may use it; none: no such opcode
	uint64_t feature = 0; // that must have been negotiated
	Body body = Body::kElements;
	bool may_inline = false;
	bool eight_bytes = false; // so long is the message
};

// In the order of OHCA_WR_*; 0 is invalid: an unwritten slot.
constexpr OpcodeTraits kOpcodes[] = {
	{},
	{kAll, 0, Body::kElements, true, false},                               // SEND
	{kAll, 0, Body::kElements, true, false},                               // SEND_IMM
	{kReliable, OHCA_FEATURE_SEND_INV, Body::kElements, true, false},      // SEND_INV
	{kConnected, 0, Body::kElements, true, false},                         // WRITE
	{kConnected, 0, Body::kElements, true, false},                         // WRITE_IMM
	{kReliable, 0, Body::kElements, false, false},                         // READ
	{kReliable, OHCA_FEATURE_ATOMIC, Body::kAtomic, false, true},          // CAS
	{kReliable, OHCA_FEATURE_ATOMIC, Body::kAtomic, false, true},          // FADD
	{kReliable, kReadInvalidate, Body::kElements, false, false},           // READ_INV
	{kReliable, kMaskedAtomic, Body::kMaskedAtomic, false, true},          // MASKED_CAS
	{kReliable, kMaskedAtomic, Body::kMaskedAtomic, false, true},          // MASKED_FADD
	{kReliable, OHCA_FEATURE_ATOMIC_WRITE, Body::kElements, true, true},   // ATOMIC_WRITE
	{kReliable, OHCA_FEATURE_FLUSH, Body::kFlush, false, false},           // FLUSH
	{kConnected, OHCA_FEATURE_WINDOW, Body::kBind, false, false},          // BIND_MW
	{kAll, OHCA_FEATURE_FAST_REG, Body::kRegister, false, false},          // REG_MR
	{kAll, 0, Body::kNothing, false, false},                               // LOCAL_INV
	{kConnected, kIntegrity, Body::kRegisterIntegrity, false, false},      // REG_MR_INTEGRITY
};
static_assert(std::size(kOpcodes) == OHCA_WR_REG_MR_INTEGRITY + 1);

bool is_allowed(Function &function, const QpContext &qp, uint8_t opcode)
{
	if (opcode >= std::size(kOpcodes))
		return false;
	const OpcodeTraits &traits = kOpcodes[opcode];
	if (!(traits.types & type_bit(qp.type)) || !function.has_feature(traits.feature))
		return false;
	// What it invalidates comes with either feature.
	return opcode != OHCA_WR_LOCAL_INV || function.has_feature(OHCA_FEATURE_FAST_REG) ||
	       function.has_feature(OHCA_FEATURE_WINDOW);
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
	bool one_element = is_atomic(traits.body);
	uint64_t room = stride - sizeof(header);
	uint64_t before_elements = body_size(traits.body);
	bool takes_elements = one_element || traits.body == Body::kElements;
	uint64_t sge_max =
		room < before_elements || !takes_elements ? 0 : (room - before_elements) / sizeof(struct ohca_sge);
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

// What follows the header on datagram queue pairs. False: ring not reachable.
bool take_address(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	constexpr uint32_t kFlowLabelMax = 0xfffff;
	constexpr uint8_t kServiceLevelMax = 15;
	const struct ohca_wqe_datagram &address = wqe.datagram;

	if (!slot.read(at, &wqe.datagram, sizeof(wqe.datagram)))
		return false;
	// There is one P_Key.
	if (from_le(address.remote_qpn) > OHCA_QPN_MULTICAST || from_le(address.flow_label) > kFlowLabelMax ||
	    address.service_level > kServiceLevelMax || from_le(address.pkey_index) != 0 || address.reserved_170[0] ||
	    address.reserved_170[1])
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
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

bool take_atomic(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	struct ohca_wqe_atomic operands;
	if (!slot.read(at, &operands, sizeof(operands)))
		return false;
	wqe.operand = from_le(operands.operand);
	wqe.compare = from_le(operands.compare);
	return take_elements(slot, at + sizeof(operands), wqe);
}

bool take_masked_atomic(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	struct ohca_wqe_masked_atomic operands;
	if (!slot.read(at, &operands, sizeof(operands)) || !take_elements(slot, at + sizeof(operands), wqe))
		return false;
	wqe.operand = from_le(operands.operand);
	wqe.compare = from_le(operands.compare);
	wqe.swap_mask = from_le(operands.swap_mask);
	wqe.compare_mask = from_le(operands.compare_mask);
	if (wqe.opcode == OHCA_WR_MASKED_FADD && (wqe.compare || wqe.compare_mask))
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
	return true;
}

bool is_flush_valid(const struct ohca_wqe_flush &flush)
{
	constexpr uint8_t kPlacements = OHCA_FLUSH_GLOBAL | OHCA_FLUSH_PERSISTENT;
	if (!flush.placement || (flush.placement & ~kPlacements) || flush.selectivity > OHCA_FLUSH_REGION)
		return false;
	if (flush.selectivity == OHCA_FLUSH_REGION && flush.length)
		return false;
	return std::ranges::all_of(flush.reserved_30, [](uint8_t byte) { return byte == 0; });
}

bool take_flush(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	if (!slot.read(at, &wqe.flush, sizeof(wqe.flush)))
		return false;
	wqe.length = from_le(wqe.flush.length);
	if (!is_flush_valid(wqe.flush))
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
	return true;
}

bool take_bind(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	if (!slot.read(at, &wqe.bind, sizeof(wqe.bind)))
		return false;
	if (std::ranges::any_of(wqe.bind.reserved_c0, [](uint8_t byte) { return byte != 0; }))
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
	return true;
}

bool take_register_integrity(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	if (!slot.read(at, &wqe.integrity, sizeof(wqe.integrity)))
		return false;
	if (std::ranges::any_of(wqe.integrity.reserved_148, [](uint8_t byte) { return byte != 0; }))
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
	return true;
}

bool take_register(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	if (!slot.read(at, &wqe.registration, sizeof(wqe.registration)))
		return false;
	if (std::ranges::any_of(wqe.registration.reserved_148, [](uint8_t byte) { return byte != 0; }))
		refuse(wqe, OHCA_CQE_STATUS_LOCAL_QP_OPERATION, OHCA_VENDOR_ERROR_FLAGS);
	return true;
}

// The rest of the slot, from `at` on; may refuse the WQE. False: ring not reachable.
bool take_body(RingSlot &slot, uint64_t at, SendWqe &wqe)
{
	if (wqe.flags & OHCA_WQE_INLINE) {
		wqe.length = wqe.inline_length;
		return slot.read(at, wqe.inline_data, wqe.inline_length);
	}
	switch (kOpcodes[wqe.opcode].body) {
	case Body::kNothing:
		return true;
	case Body::kElements:
		return take_elements(slot, at, wqe);
	case Body::kAtomic:
		return take_atomic(slot, at, wqe);
	case Body::kMaskedAtomic:
		return take_masked_atomic(slot, at, wqe);
	case Body::kFlush:
		return take_flush(slot, at, wqe);
	case Body::kBind:
		return take_bind(slot, at, wqe);
	case Body::kRegister:
		return take_register(slot, at, wqe);
	case Body::kRegisterIntegrity:
		return take_register_integrity(slot, at, wqe);
	}
	return false;
}

void check_length(SendWqe &wqe)
{
	// What a FLUSH names is not transferred.
	bool too_long = wqe.length > kMessageSizeMax && wqe.opcode != OHCA_WR_FLUSH;
	if (too_long || (kOpcodes[wqe.opcode].eight_bytes && wqe.length != kAtomicSize))
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
	wqe.swap_mask = 0;
	wqe.compare_mask = 0;
	wqe.length = 0;

	RingSlot slot(function, qp.buffer, qp.sq, index);
	struct ohca_sq_wqe header;
	if (!slot.read(0, &header, sizeof(header)))
		return Fetch::kFault;
	uint64_t address_size = is_datagram(qp) ? sizeof(struct ohca_wqe_datagram) : 0;
	if (take_header(function, qp, header, slot.stride() - address_size, wqe)) {
		if (address_size && !take_address(slot, sizeof(header), wqe))
			return Fetch::kFault;
		if (wqe.status == OHCA_CQE_STATUS_SUCCESS && !take_body(slot, sizeof(header) + address_size, wqe))
			return Fetch::kFault;
		if (wqe.status == OHCA_CQE_STATUS_SUCCESS)
			check_length(wqe);
	}
	function.count(OHCA_COUNTER_SEND_WQES);
	return Fetch::kOk;
}

} // namespace ohca::core
