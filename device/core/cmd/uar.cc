// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// UAR pages and the slots in them.
#include <algorithm>
#include <cstring>

#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

namespace {

constexpr uint64_t kSlotTableSize = sizeof(uint32_t) * OHCA_UAR_SLOT_COUNT;

uint32_t *slot_heads(Function &function, const UarContext &uar)
{
	return reinterpret_cast<uint32_t *>(function.context().block(uar.slot_heads));
}

// The next slot after the cursor that no queue has, or just the next one when all are taken.
uint32_t choose_slot(Function &function, uint32_t uar_index, UarContext &uar)
{
	uint32_t first = uar_index == 0 ? OHCA_UAR_CMDQ_SLOT + 1 : 0;
	const uint32_t *heads = slot_heads(function, uar);
	uint32_t search = uar.reference_count < OHCA_UAR_SLOT_COUNT - first ? OHCA_UAR_SLOT_COUNT : 1;
	uint32_t slot = uar.slot_cursor;
	for (; search; search--) {
		slot = slot + 1 < OHCA_UAR_SLOT_COUNT ? std::max(slot + 1, first) : first;
		if (!heads[slot])
			break;
	}
	uar.slot_cursor = slot;
	return slot;
}

} // namespace

CommandResult create_uar(Function &function, const NoData &, struct ohca_cmd_handle &out)
{
	uint32_t index = function.context().allocate_uar(function.uar_count());
	if (index == ContextMemory::kNoIndex)
		return no_resources(OHCA_CMD_DETAIL_UAR);
	std::memset(static_cast<void *>(function.uar_page(index)), 0, OHCA_UAR_SIZE);
	function.add_live_uar(index);
	// So that the first queue gets the first slot.
	function.context().uar(index)->slot_cursor = OHCA_UAR_SLOT_COUNT - 1;
	out.handle = to_le(index);
	return kAccepted;
}

CommandResult destroy_uar(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t index = from_le(in.handle);
	UarContext *uar = function.context().uar(index);
	if (!uar || index == 0)
		return bad_handle(OHCA_CMD_DETAIL_UAR);
	if (uar->reference_count)
		return in_use(OHCA_CMD_DETAIL_UAR);
	function.remove_live_uar(index);
	function.context().free_block(uar->slot_heads, kSlotTableSize);
	function.context().free_uar(index);
	return kAccepted;
}

bool attach_to_slot(Function &function, QpContext &qp)
{
	UarContext &uar = *function.context().uar(qp.uar);
	if (!uar.slot_heads)
		uar.slot_heads = function.context().allocate_block(kSlotTableSize);
	if (!uar.slot_heads)
		return false;
	qp.uar_slot = choose_slot(function, qp.uar, uar);
	uint32_t &head = slot_heads(function, uar)[qp.uar_slot];
	qp.slot_previous = 0;
	qp.slot_next = head;
	if (head)
		function.context().qp(head)->slot_previous = qp.qpn;
	head = qp.qpn;
	uar.reference_count++;
	return true;
}

void detach_from_slot(Function &function, QpContext &qp)
{
	UarContext &uar = *function.context().uar(qp.uar);
	if (qp.slot_previous)
		function.context().qp(qp.slot_previous)->slot_next = qp.slot_next;
	else
		slot_heads(function, uar)[qp.uar_slot] = qp.slot_next;
	if (qp.slot_next)
		function.context().qp(qp.slot_next)->slot_previous = qp.slot_previous;
	uar.reference_count--;
}

} // namespace ohca::core
