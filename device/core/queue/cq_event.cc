// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/queue/cq_event.hh"

#include <atomic>
#include <cstddef>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/eq_post.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

// Whether the host waits for this CQE; `arm` gets its request.
bool is_awaited(Function &function, const CqContext &cq, const struct ohca_cqe &cqe, uint32_t &arm)
{
	// Between our CQE and our load of `arm`; the host has its fence between its store of `arm`
	// and its last look at the ring. One of the two sees the other.
	std::atomic_thread_fence(std::memory_order_seq_cst);
	if (!load_record(function, cq.buffer, offsetof(struct ohca_cq_record, arm), arm) || arm == cq.arm_fired)
		return false;
	uint32_t type = arm & OHCA_CQ_ARM_TYPE_MASK;
	bool solicited = (cqe.flags & OHCA_CQE_SOLICITED) || cqe.status != OHCA_CQE_STATUS_SUCCESS;
	return type == OHCA_CQ_ARM_NEXT || (type == OHCA_CQ_ARM_SOLICITED && solicited);
}

void raise(Function &function, uint32_t cqn, CqContext &cq, uint32_t arm)
{
	cq.arm_fired = arm;
	cq.event_held = 0;
	cq.unreported = 0;
	post_completion_event(function, cqn, cq);
	store_record(function, cq.buffer, offsetof(struct ohca_cq_record, fired), arm);
}

bool is_due(Function &function, const CqContext &cq)
{
	return cq.unreported >= cq.moderation_count || function.now() >= event_timeout(cq);
}

void raise_or_wait(Function &function, uint32_t cqn, CqContext &cq)
{
	if (is_due(function, cq))
		raise(function, cqn, cq, cq.held_arm);
	else
		function.schedule(cq, event_timeout(cq));
}

} // namespace

void announce_cqe(Function &function, uint32_t cqn, CqContext &cq, const struct ohca_cqe &cqe)
{
	uint32_t arm;
	bool awaited = is_awaited(function, cq, cqe, arm);
	if (!cq.moderation_count) {
		if (awaited)
			raise(function, cqn, cq, arm);
		return;
	}
	if (cq.unreported == 0)
		cq.unreported_since_ns = function.now();
	if (cq.unreported < cq.moderation_count)
		cq.unreported++;
	if (awaited) {
		cq.event_held = 1;
		cq.held_arm = arm;
	}
	if (cq.event_held)
		raise_or_wait(function, cqn, cq);
}

void set_moderation(Function &function, uint32_t cqn, CqContext &cq, uint16_t count, uint16_t period_us)
{
	bool moderated = count && period_us;
	cq.moderation_count = moderated ? count : 0;
	cq.moderation_period_us = moderated ? period_us : 0;
	if (cq.event_held)
		raise_or_wait(function, cqn, cq);
}

TimeNs event_timeout(const CqContext &cq)
{
	return cq.event_held ? cq.unreported_since_ns + uint64_t{cq.moderation_period_us} * 1000 : kNever;
}

void handle_event_timeout(Function &function, uint32_t cqn, CqContext &cq)
{
	if (cq.event_held)
		raise_or_wait(function, cqn, cq);
}

} // namespace ohca::core
