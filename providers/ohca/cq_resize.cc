// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_resize_cq().
#include <cerrno>

#include <rdma/ohca_hw_regs.h>

#include "completion_queue.hh"
#include "context.hh"

using namespace ohca;

namespace {

// The slots before consumer are next written in the second pass over the new ring, so zero
// is not what "not written yet" looks like there.
void mark_unwritten(ohca_cqe *ring, Index consumer, std::uint32_t depth)
{
	for (Index index = consumer; index - consumer < depth; ++index)
		ring[slot_of(index, depth - 1)].owner = phase_of(index, depth) ^ OHCA_CQE_PHASE;
}

// Puts the queue into `fresh`.  The device copies the CQEs and says which value of arm
// fired last; the rest of the record is ours.  Call with the lock held.
int move_to(CompletionQueue &cq, Buffer &fresh, std::uint32_t depth)
{
	auto *record = reinterpret_cast<ohca_cq_record *>(fresh.data());
	record->consumer = cq.consumer;
	record->arm = cq.arm;
	auto *ring = reinterpret_cast<ohca_cqe *>(fresh.data() + OHCA_CQ_RING_OFFSET);
	mark_unwritten(ring, cq.consumer, depth);
	ohca_create_cq_req request{};
	request.buffer_address = reinterpret_cast<std::uintptr_t>(fresh.data());
	request.buffer_length = fresh.size();
	request.log_depth = log2_ceil(depth);
	if (int error = ohca_shim_resize_cq(&cq.verbs.cq, static_cast<int>(depth), &request))
		return error;
	cq.buffer.swap(fresh);
	cq.record = record;
	cq.ring = ring;
	cq.mask = depth - 1;
	cq.depth = depth;
	cq.verbs.cq.cqe = static_cast<int>(depth);
	return 0;
}

} // namespace

int ohca_resize_cq(ibv_cq *ibv_cq, int cqe)
{
	CompletionQueue &cq = CompletionQueue::of(ibv_cq);
	Context &context = Context::of(ibv_cq->context);
	if (!context.has_feature(OHCA_FEATURE_RESIZE))
		return EOPNOTSUPP;
	if (cqe <= 0 || static_cast<std::uint32_t>(cqe) > 1u << context.limits.log_max_cq_depth)
		return EINVAL;
	const std::uint32_t depth = std::uint32_t{1} << log2_ceil(static_cast<std::uint32_t>(cqe));
	// Outlives the lock: what it holds in the end is given back without it.
	Buffer fresh;
	const std::size_t size = OHCA_CQ_RING_OFFSET + std::size_t{depth} * sizeof(ohca_cqe);
	if (int error = fresh.allocate(size, context.buffers, cq.domain, Resource::kCompletionQueueBuffer))
		return error;
	LockGuard guard(cq.lock);
	return move_to(cq, fresh, depth);
}
