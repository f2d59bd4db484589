// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Completions into the ring in host memory, and the events that announce them.
#include <atomic>
#include <cstddef>
#include <cstring>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/eq_post.hh"
#include "core/queue/queues.hh"
#include "core/queue/ring.hh"

namespace ohca::core {

namespace {

void break_cq(Function &function, uint32_t cqn, CqContext &cq, uint32_t vendor_error)
{
	cq.overrun = 1;
	post_async_event(function, OHCA_EVENT_CQ_ERROR, cqn, vendor_error);
}

// False: no room (or the record is garbage, which is the same to us).
bool has_room(Function &function, CqContext &cq)
{
	uint32_t depth = uint32_t{1} << cq.log_depth;
	if (cq.producer - cq.consumer_seen < depth)
		return true;
	uint32_t consumer;
	if (!load_record(function, cq.buffer, offsetof(struct ohca_cq_record, consumer), consumer))
		return false;
	// A consumer ahead of the producer wraps to a huge difference and counts as full, too.
	if (cq.producer - consumer >= depth)
		return false;
	cq.consumer_seen = consumer;
	return true;
}

bool write_cqe(Function &function, CqContext &cq, const struct ohca_cqe &cqe)
{
	uint64_t slot = cq.producer & ((uint64_t{1} << cq.log_depth) - 1);
	return write_entry(function, cq.buffer, OHCA_CQ_RING_OFFSET + slot * sizeof(cqe), cqe);
}

// ohca_hw_io.h, "CQ arming".
void fire_if_armed(Function &function, uint32_t cqn, CqContext &cq, const struct ohca_cqe &cqe)
{
	// Between our CQE and our load of `arm`; the host has its fence between its store of `arm`
	// and its last look at the ring. One of the two sees the other.
	std::atomic_thread_fence(std::memory_order_seq_cst);
	uint32_t arm;
	if (!load_record(function, cq.buffer, offsetof(struct ohca_cq_record, arm), arm) || arm == cq.arm_fired)
		return;
	uint32_t type = arm & OHCA_CQ_ARM_TYPE_MASK;
	bool solicited = (cqe.flags & OHCA_CQE_SOLICITED) || cqe.status != OHCA_CQE_STATUS_SUCCESS;
	if (type != OHCA_CQ_ARM_NEXT && !(type == OHCA_CQ_ARM_SOLICITED && solicited))
		return;
	cq.arm_fired = arm;
	post_completion_event(function, cqn, cq);
	store_record(function, cq.buffer, offsetof(struct ohca_cq_record, fired), arm);
}

} // namespace

bool post_cqe(Function &function, uint32_t cqn, struct ohca_cqe &cqe)
{
	CqContext *cq = function.context().cq(cqn);
	if (!cq || cq->overrun)
		return false;
	if (!(cq->flags & OHCA_CQ_IGNORE_OVERRUN) && !has_room(function, *cq)) {
		function.count(OHCA_COUNTER_CQ_OVERRUNS);
		break_cq(function, cqn, *cq, OHCA_VENDOR_ERROR_CQ_OVERRUN);
		return false;
	}
	cqe.timestamp_ns = to_le(function.now());
	cqe.owner = (cq->producer >> cq->log_depth) & 1 ? 0 : OHCA_CQE_PHASE;
	if (!write_cqe(function, *cq, cqe)) {
		break_cq(function, cqn, *cq, OHCA_VENDOR_ERROR_DMA);
		return false;
	}
	cq->producer++;
	function.count(OHCA_COUNTER_CQES);
	fire_if_armed(function, cqn, *cq, cqe);
	return true;
}

} // namespace ohca::core
