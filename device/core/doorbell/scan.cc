// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/doorbell/scan.hh"

#include <atomic>
#include <bit>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/transport/transport.hh"

namespace ohca::core {

namespace {

// Everything in the page is shared with an application that may write what it likes. A garbled
// page costs one look at each of its 4096 slots per scan, and only its own queues.

std::atomic_ref<__le64> atomic64(__le64 &word)
{
	return std::atomic_ref<__le64>(word);
}

// Every queue pair that shares the slot. False: none.
bool announce(Function &function, uint32_t head, TimeNs now)
{
	uint32_t qpn = head;
	while (qpn) {
		QpContext *qp = function.context().qp(qpn);
		qpn = qp->slot_next;
		handle_doorbell(function, *qp, now);
		function.activate(*qp);
	}
	return head != 0;
}

void take_word(Function &function, uint32_t uar_index, uint32_t word, uint64_t bits, TimeNs now)
{
	const UarContext &uar = *function.context().uar(uar_index);
	const uint32_t *heads = nullptr;
	if (uar.slot_heads)
		heads = reinterpret_cast<const uint32_t *>(function.context().block(uar.slot_heads));
	for (; bits; bits &= bits - 1) {
		uint32_t slot = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
		if (uar_index == 0 && slot == OHCA_UAR_CMDQ_SLOT)
			function.set_commands_pending(true);
		else if (!heads || !announce(function, heads[slot], now))
			function.count(OHCA_COUNTER_DOORBELLS_BAD);
	}
}

bool scan_uar(Function &function, uint32_t uar_index, TimeNs now)
{
	struct ohca_uar &page = *function.uar_page(uar_index);
	// A plain look first: the exchange would take the cache line away from the application.
	if (!atomic64(page.summary).load(std::memory_order_relaxed))
		return false;
	// Summary before notify words: the host sets them the other way round, so a bit that comes
	// in between is found now or announced again. Acquire (both): pairs with the host's atomic
	// OR after its store of the producer index.
	uint64_t summary = from_le(atomic64(page.summary).exchange(0, std::memory_order_seq_cst));
	for (; summary; summary &= summary - 1) {
		uint32_t word = static_cast<uint32_t>(std::countr_zero(summary));
		uint64_t bits = from_le(atomic64(page.notify[word]).exchange(0, std::memory_order_seq_cst));
		take_word(function, uar_index, word, bits, now);
	}
	return true;
}

} // namespace

bool scan_doorbells(Function &function, TimeNs now)
{
	bool found = false;
	for (uint32_t uar_index : function.live_uars())
		found |= scan_uar(function, uar_index, now);
	return found;
}

bool doorbells_rung(Function &function)
{
	for (uint32_t uar_index : function.live_uars())
		if (atomic64(function.uar_page(uar_index)->summary).load(std::memory_order_relaxed))
			return true;
	return false;
}

void set_need_wakeup(Function &function, bool asleep)
{
	for (uint32_t uar_index : function.live_uars()) {
		std::atomic_ref<uint32_t> word(function.uar_page(uar_index)->need_wakeup);
		word.store(to_le<uint32_t>(asleep ? 1 : 0), std::memory_order_relaxed);
	}
}

} // namespace ohca::core
