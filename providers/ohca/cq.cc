// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Creation and destruction of completion queues.
#include <cerrno>

#include "clock.hh"
#include "completion_queue.hh"
#include "context.hh"
#include "memory.hh"

using namespace ohca;

namespace {

constexpr std::uint64_t kWcFlags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
				   IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
				   IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr std::uint32_t kFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
constexpr std::uint32_t kCompMask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

int check(const Context &context, const ibv_cq_init_attr_ex &attr)
{
	if (attr.comp_mask & ~kCompMask || attr.wc_flags & ~kWcFlags)
		return EOPNOTSUPP;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && attr.flags & ~kFlags)
		return EOPNOTSUPP;
	if (attr.cqe == 0 || attr.cqe > 1u << context.limits.log_max_cq_depth)
		return EINVAL;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && !attr.parent_domain)
		return EINVAL;
	return 0;
}

int init_queue(CompletionQueue &cq, Context &context, std::uint32_t depth)
{
	const std::size_t size = OHCA_CQ_RING_OFFSET + std::size_t{depth} * sizeof(ohca_cqe);
	if (int error = cq.buffer.allocate(size, context.buffers, cq.domain, Resource::kCompletionQueueBuffer))
		return error;
	cq.record = reinterpret_cast<ohca_cq_record *>(cq.buffer.data());
	cq.ring = reinterpret_cast<ohca_cqe *>(cq.buffer.data() + OHCA_CQ_RING_OFFSET);
	cq.mask = depth - 1;
	cq.depth = depth;
	cq.uar = context.uar;
	cq.queue_pairs = &context.queue_pairs;
	cq.shared_receive_queues = &context.shared_receive_queues;
	return 0;
}

int create_in_kernel(CompletionQueue &cq, ibv_context *context, const ibv_cq_init_attr_ex &attr)
{
	ohca_create_cq_req request{};
	request.buffer_address = reinterpret_cast<std::uintptr_t>(cq.buffer.data());
	request.buffer_length = cq.buffer.size();
	request.log_depth = log2_ceil(cq.depth);
	ibv_cq_init_attr_ex kernel_attr = attr;
	kernel_attr.cqe = cq.depth;
	// Every CQE has a timestamp: nothing to ask the kernel for.
	kernel_attr.wc_flags = 0;
	ohca_create_cq_resp response{};
	if (int error = ohca_shim_create_cq(context, &kernel_attr, &cq.verbs, &request, &response))
		return error;
	cq.verbs.cq.cqe = static_cast<int>(cq.depth);
	return 0;
}

int init(CompletionQueue &cq, ibv_context *context, const ibv_cq_init_attr_ex &attr)
{
	bool is_single_threaded = attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
				  attr.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq.domain = ProtectionDomain::of(attr.parent_domain);
		is_single_threaded |= cq.domain->is_single_threaded();
	}
	cq.lock.set_single_threaded(is_single_threaded);
	if (attr.wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) {
		if (int error = read_clocks(context, cq.clocks))
			return error;
	}
	if (int error = init_queue(cq, Context::of(context), std::uint32_t{1} << log2_ceil(attr.cqe)))
		return error;
	if (int error = create_in_kernel(cq, context, attr))
		return error;
	set_poll_api(cq.verbs.cq_ex, attr.wc_flags);
	if (cq.domain)
		cq.domain->acquire();
	return 0;
}

} // namespace

ibv_cq_ex *ohca_create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr)
{
	int error = check(Context::of(context), *attr);
	if (error) {
		errno = error;
		return nullptr;
	}
	auto *cq = create<CompletionQueue>();
	if (!cq)
		return nullptr;
	error = init(*cq, context, *attr);
	if (error) {
		destroy(cq);
		errno = error;
		return nullptr;
	}
	return &cq->verbs.cq_ex;
}

ibv_cq *ohca_create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel, int comp_vector)
{
	ibv_cq_init_attr_ex attr{};
	attr.cqe = cqe > 0 ? static_cast<std::uint32_t>(cqe) : 0;
	attr.channel = channel;
	attr.comp_vector = static_cast<std::uint32_t>(comp_vector);
	ibv_cq_ex *cq = ohca_create_cq_ex(context, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : nullptr;
}

int ohca_destroy_cq(ibv_cq *ibv_cq)
{
	CompletionQueue &cq = CompletionQueue::of(ibv_cq);
	if (int error = ohca_shim_destroy_cq(ibv_cq))
		return error;
	cq.buffer.recycle();
	if (cq.domain)
		cq.domain->release();
	destroy(&cq);
	return 0;
}
