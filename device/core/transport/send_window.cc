// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
#include "core/transport/send_window.hh"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ohca::core {

namespace {

// 64 messages keep any pipeline of one pass busy; a queue with large slots gets
// fewer, so that a window stays at about 16 KiB.
constexpr uint32_t kWindowEntriesMin = 16;
constexpr uint32_t kWindowEntriesMax = 64;
constexpr uint32_t kWindowBytes = 16 * 1024;

bool names_key_to_invalidate(uint8_t opcode)
{
	return opcode == OHCA_WR_SEND_INV || opcode == OHCA_WR_READ_INV || opcode == OHCA_WR_LOCAL_INV;
}

// What only one opcode has.
void fill_body(SendWindowEntry &entry, const SendWqe &wqe)
{
	switch (wqe.opcode) {
	case OHCA_WR_MASKED_CAS:
	case OHCA_WR_MASKED_FADD:
		window_masks(entry) = {wqe.swap_mask, wqe.compare_mask};
		break;
	case OHCA_WR_FLUSH:
		entry.flush_placement = wqe.flush.placement;
		entry.flush_selectivity = wqe.flush.selectivity;
		break;
	case OHCA_WR_BIND_MW:
		window_bind(entry) = wqe.bind;
		break;
	case OHCA_WR_REG_MR:
		window_registration(entry) = wqe.registration;
		break;
	case OHCA_WR_REG_MR_INTEGRITY:
		window_integrity(entry) = wqe.integrity;
		break;
	default:
		break;
	}
}

} // namespace

bool ensure_window(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	if (requester.window != 0)
		return true;
	// What follows the entry's header followed the WQE's, which has at least 32 bytes.
	const uint32_t payload = (1u << qp.sq.log_stride) - static_cast<uint32_t>(sizeof(ohca_sq_wqe));
	const uint32_t stride = (static_cast<uint32_t>(sizeof(SendWindowEntry)) + payload + 63) & ~63u;
	const uint32_t fitting = std::bit_floor(kWindowBytes / stride);
	const uint32_t depth = 1u << qp.sq.log_depth;
	// What is not repeated is needed one at a time only.
	const uint32_t count = is_unreliable(qp)
				       ? 1
				       : std::min(depth, std::clamp(fitting, kWindowEntriesMin, kWindowEntriesMax));
	const BlockOffset block = function.context().allocate_block(uint64_t{count} * stride);

	if (block == 0)
		return false;
	requester.window = block;
	requester.window_count = count;
	requester.window_stride = stride;
	return true;
}

void free_window(Function &function, QpContext &qp)
{
	RequesterContext &requester = qp.requester;

	if (requester.window != 0)
		function.context().free_block(requester.window,
					      uint64_t{requester.window_count} * requester.window_stride);
	requester.window = 0;
	requester.window_count = 0;
}

void fill_entry(SendWindowEntry &entry, const SendWqe &wqe)
{
	entry.psn = 0;
	entry.psn_count = 0;
	entry.opcode = wqe.opcode;
	entry.flags = wqe.flags;
	entry.sge_count = 0;
	entry.status = wqe.status;
	entry.started = 0;
	entry.vendor_error = static_cast<uint8_t>(wqe.vendor_error);
	entry.inline_length = 0;
	entry.flush_placement = 0;
	entry.flush_selectivity = 0;
	entry.immediate = names_key_to_invalidate(wqe.opcode) ? wqe.invalidate_key : wqe.immediate_be;
	entry.rkey = wqe.rkey;
	entry.remote_srqn = wqe.remote_srqn;
	entry.remote_address = wqe.remote_address;
	entry.length = wqe.length;
	entry.operand = wqe.operand;
	entry.compare = wqe.compare;
	if (wqe.status != OHCA_CQE_STATUS_SUCCESS)
		return; // its counts are not to be trusted, and it will not be transmitted
	if (wqe.flags & OHCA_WQE_INLINE) {
		entry.inline_length = wqe.inline_length;
		std::memcpy(window_payload(entry), wqe.inline_data, wqe.inline_length);
	} else {
		entry.sge_count = wqe.sge_count;
		std::memcpy(window_sges(entry), wqe.sges, wqe.sge_count * sizeof(ohca_sge));
	}
	if (wqe.opcode > OHCA_WR_READ_INV)
		fill_body(entry, wqe);
}

} // namespace ohca::core
