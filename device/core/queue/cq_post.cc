// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Completions into the ring in host memory.
#include <cstddef>
#include <cstring>

#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/cq_event.hh"
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
	announce_cqe(function, cqn, *cq, cqe);
	return true;
}

} // namespace ohca::core
