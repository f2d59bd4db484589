// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/queue/eq_post.hh"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/queues.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

uint64_t pending_bit(uint32_t eq)
{
	return uint64_t{1} << (eq - 1); // handles are 1 .. 64
}

bool has_room(Function &function, EqContext &eq)
{
	uint32_t consumer;
	if (!load_record(function, eq.buffer, offsetof(struct ohca_eq_record, consumer), consumer))
		return false;
	return eq.producer - consumer < uint32_t{1} << eq.log_depth;
}

bool write_eqe(Function &function, EqContext &eq, struct ohca_eqe &eqe)
{
	uint64_t slot = eq.producer & ((uint64_t{1} << eq.log_depth) - 1);
	eqe.owner = (eq.producer >> eq.log_depth) & 1 ? 0 : OHCA_EQE_PHASE;
	return write_entry(function, eq.buffer, OHCA_EQ_RING_OFFSET + slot * sizeof(eqe), eqe);
}

void interrupt_if_armed(Function &function, EqContext &eq)
{
	// Between our EQE and our load; the host has its fence between arming and its last look.
	std::atomic_thread_fence(std::memory_order_seq_cst);
	constexpr uint64_t kArm = offsetof(struct ohca_eq_record, interrupt_arm);
	uint32_t arm;
	if (!load_record(function, eq.buffer, kArm, arm) || !arm)
		return;
	store_record(function, eq.buffer, kArm, 0);
	function.request_interrupt(eq.vector);
}

// False: no room, or the EQ's memory is gone.
bool post(Function &function, EqContext &eq, uint8_t type, uint32_t number, uint32_t detail)
{
	if (!has_room(function, eq))
		return false;
	struct ohca_eqe eqe = {};
	eqe.type = type;
	eqe.number = to_le(number);
	eqe.detail = to_le(detail);
	if (!write_eqe(function, eq, eqe))
		return false;
	eq.producer++;
	interrupt_if_armed(function, eq);
	return true;
}

bool report_overrun(Function &function, uint32_t index, EqContext &eq)
{
	if (!post(function, eq, OHCA_EVENT_EQ_OVERRUN, index, OHCA_VENDOR_ERROR_NONE))
		return false;
	eq.overrun = 0;
	function.state().eq_pending &= ~pending_bit(index);
	return true;
}

bool retry_completions(Function &function, uint32_t index, EqContext &eq)
{
	bool posted = false;
	while (eq.pending_head) {
		uint32_t cqn = eq.pending_head;
		CqContext *cq = function.context().cq(cqn);
		if (!post(function, eq, OHCA_EVENT_COMPLETION, cqn, OHCA_VENDOR_ERROR_NONE))
			return posted;
		function.count(OHCA_COUNTER_COMPLETION_EVENTS);
		forget_completion_event(function, cqn, *cq);
		posted = true;
	}
	function.state().eq_pending &= ~pending_bit(index);
	return posted;
}

} // namespace

void post_async_event(Function &function, uint8_t type, uint32_t number, uint32_t detail)
{
	uint32_t index = function.state().async_eq;
	EqContext *eq = function.context().eq(index);
	if (!eq)
		return;
	if (eq->overrun && !report_overrun(function, index, *eq))
		return;
	if (!post(function, *eq, type, number, detail)) {
		eq->overrun = 1;
		function.state().eq_pending |= pending_bit(index);
	}
}

void post_completion_event(Function &function, uint32_t cqn, CqContext &cq)
{
	EqContext *eq = function.context().eq(cq.eq);
	if (!eq || cq.event_pending)
		return;
	// Behind those that wait already.
	if (!eq->pending_head && post(function, *eq, OHCA_EVENT_COMPLETION, cqn, OHCA_VENDOR_ERROR_NONE)) {
		function.count(OHCA_COUNTER_COMPLETION_EVENTS);
		return;
	}
	cq.event_pending = 1;
	cq.event_next = 0;
	if (eq->pending_head)
		function.context().cq(eq->pending_tail)->event_next = cqn;
	else
		eq->pending_head = cqn;
	eq->pending_tail = cqn;
	function.state().eq_pending |= pending_bit(cq.eq);
}

void forget_completion_event(Function &function, uint32_t cqn, CqContext &cq)
{
	EqContext *eq = function.context().eq(cq.eq);
	if (!eq || !cq.event_pending)
		return;
	uint32_t previous = 0;
	uint32_t at = eq->pending_head;
	while (at != cqn) {
		previous = at;
		at = function.context().cq(at)->event_next;
	}
	if (previous)
		function.context().cq(previous)->event_next = cq.event_next;
	else
		eq->pending_head = cq.event_next;
	if (eq->pending_tail == cqn)
		eq->pending_tail = previous;
	cq.event_pending = 0;
	cq.event_next = 0;
}

bool retry_events(Function &function)
{
	bool posted = false;
	for (uint64_t left = function.state().eq_pending; left; left &= left - 1) {
		uint32_t index = static_cast<uint32_t>(std::countr_zero(left)) + 1;
		EqContext *eq = function.context().eq(index);
		if (!eq)
			function.state().eq_pending &= ~pending_bit(index);
		else if (eq->type == OHCA_EQ_ASYNC)
			posted |= report_overrun(function, index, *eq);
		else
			posted |= retry_completions(function, index, *eq);
	}
	return posted;
}

} // namespace ohca::core
