// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Life of a shared receive queue.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <rdma/ohca_hw_regs.h>

#include "completion_queue.hh"
#include "context.hh"
#include "memory.hh"
#include "qp_layout.hh"
#include "shared_receive_queue.hh"

using namespace ohca;

namespace {

ibv_srq_type type_of(const ibv_srq_init_attr_ex &attr)
{
	return attr.comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr.srq_type : IBV_SRQT_BASIC;
}

int check(const Context &context, const ibv_srq_init_attr_ex &attr)
{
	constexpr std::uint32_t kCompMask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
					    IBV_SRQ_INIT_ATTR_CQ;
	const ibv_srq_type type = type_of(attr);
	const bool is_xrc = type == IBV_SRQT_XRC;
	if (attr.comp_mask & ~kCompMask || (!is_xrc && type != IBV_SRQT_BASIC) ||
	    !context.has_feature(is_xrc ? OHCA_FEATURE_XRC : OHCA_FEATURE_SRQ))
		return EOPNOTSUPP;
	if (!(attr.comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr.pd)
		return EINVAL;
	if (is_xrc && (!(attr.comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr.xrcd ||
		       !(attr.comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr.cq))
		return EINVAL;
	const bool fits = attr.attr.max_wr && attr.attr.max_wr <= 1u << context.limits.log_max_srq_depth &&
			  attr.attr.max_sge <= context.limits.max_srq_sge;
	return fits ? 0 : EINVAL;
}

std::uint32_t ring_offset(std::uint32_t stride)
{
	return static_cast<std::uint32_t>(round_up(OHCA_RECORD_SIZE, stride));
}

int allocate(Buffer &buffer, Context &context, const SharedReceiveQueue &srq, std::uint32_t depth)
{
	const std::size_t size = ring_offset(1u << srq.log_stride) + (std::size_t{depth} << srq.log_stride);
	return buffer.allocate(size, context.buffers, srq.domain, Resource::kSharedReceiveQueueBuffer);
}

ohca_create_srq_req make_request(const Buffer &buffer, const SharedReceiveQueue &srq, std::uint32_t depth)
{
	ohca_create_srq_req request{};
	request.buffer_address = reinterpret_cast<std::uintptr_t>(buffer.data());
	request.buffer_length = buffer.size();
	request.ring_offset = ring_offset(1u << srq.log_stride);
	request.log_depth = log2_ceil(depth);
	request.log_stride = srq.log_stride;
	return request;
}

void use_buffer(SharedReceiveQueue &srq, std::uint32_t depth)
{
	srq.record = reinterpret_cast<ohca_srq_record *>(srq.buffer.data());
	srq.ring = srq.buffer.data() + ring_offset(1u << srq.log_stride);
	srq.depth = depth;
	srq.mask = depth - 1;
}

// The tables of `count` tags, of which those that `srq` has keep what they say.
class TagTables {
public:
	TagTables() = default;
	TagTables(const TagTables &) = delete;
	TagTables &operator=(const TagTables &) = delete;
	~TagTables()
	{
		std::free(wr_ids_);
		std::free(next_);
	}

	int allocate(std::uint32_t count)
	{
		count_ = count;
		wr_ids_ = static_cast<std::uint64_t *>(std::calloc(count, sizeof(*wr_ids_)));
		next_ = static_cast<std::uint32_t *>(std::calloc(count, sizeof(*next_)));
		return wr_ids_ && next_ ? 0 : ENOMEM;
	}

	// The old tables go away with this object.
	void give_to(SharedReceiveQueue &srq)
	{
		if (srq.tag_count) {
			std::memcpy(wr_ids_, srq.wr_ids, srq.tag_count * sizeof(*wr_ids_));
			std::memcpy(next_, srq.next, srq.tag_count * sizeof(*next_));
		}
		for (std::uint32_t tag = srq.tag_count; tag < count_; ++tag)
			next_[tag] = tag + 1 < count_ ? tag + 1 : srq.first_free;
		srq.first_free = srq.tag_count;
		srq.tag_count = count_;
		std::swap(srq.wr_ids, wr_ids_);
		std::swap(srq.next, next_);
	}

private:
	std::uint64_t *wr_ids_ = nullptr;
	std::uint32_t *next_ = nullptr;
	std::uint32_t count_ = 0;
};

int init_queue(SharedReceiveQueue &srq, Context &context, const ibv_srq_attr &attr)
{
	const std::uint32_t depth = std::bit_ceil(attr.max_wr);
	const std::uint32_t stride = receive_stride(attr.max_sge);
	srq.log_stride = log2_ceil(stride);
	srq.max_sge = static_cast<std::uint8_t>(
		std::min<std::uint32_t>(context.limits.max_srq_sge, receive_elements(stride)));
	srq.uar = context.uar;
	srq.first_free = SharedReceiveQueue::kNone;
	TagTables tags;
	if (int error = tags.allocate(depth))
		return error;
	tags.give_to(srq);
	if (int error = allocate(srq.buffer, context, srq, depth))
		return error;
	use_buffer(srq, depth);
	return 0;
}

int create_in_kernel(SharedReceiveQueue &srq, ibv_context *context, const ibv_srq_init_attr_ex &attr)
{
	const ohca_create_srq_req request = make_request(srq.buffer, srq, srq.depth);
	ibv_srq_init_attr_ex kernel_attr = attr;
	kernel_attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	kernel_attr.srq_type = type_of(attr);
	kernel_attr.attr.max_wr = srq.depth;
	kernel_attr.attr.max_sge = srq.max_sge;
	// "Irrelevant for ibv_create_srq".
	kernel_attr.attr.srq_limit = 0;
	ohca_create_srq_resp response{};
	if (int error = ohca_shim_create_srq(context, &kernel_attr, &srq.verbs, &request, &response))
		return error;
	srq.number = response.srqn;
	srq.verbs.srq.srq_context = attr.srq_context;
	srq.verbs.srq.pd = attr.pd;
	return 0;
}

// An XRC SRQ's completions are found by its number.
int publish(SharedReceiveQueue &srq, Context &context)
{
	if (!srq.cq)
		return 0;
	pthread_mutex_lock(&context.mutex);
	const int error = context.shared_receive_queues.insert(srq.number, &srq);
	pthread_mutex_unlock(&context.mutex);
	if (error)
		return error;
	srq.in_cq.srq = &srq;
	srq.in_cq.is_receive = true;
	srq.cq->attach(srq.in_cq);
	return 0;
}

void withdraw(SharedReceiveQueue &srq, Context &context)
{
	if (!srq.cq)
		return;
	{
		LockGuard guard(srq.cq->lock);
		srq.cq->discard_srq(srq.number);
	}
	pthread_mutex_lock(&context.mutex);
	context.shared_receive_queues.remove(srq.number);
	pthread_mutex_unlock(&context.mutex);
	srq.cq->detach(srq.in_cq);
}

int init(SharedReceiveQueue &srq, ibv_context *context, const ibv_srq_init_attr_ex &attr)
{
	Context &owner = Context::of(context);
	srq.domain = ProtectionDomain::of(attr.pd);
	srq.lock.set_single_threaded(srq.domain->is_single_threaded());
	if (type_of(attr) == IBV_SRQT_XRC)
		srq.cq = &CompletionQueue::of(attr.cq);
	if (int error = init_queue(srq, owner, attr.attr))
		return error;
	if (int error = create_in_kernel(srq, context, attr))
		return error;
	if (int error = publish(srq, owner)) {
		ohca_shim_destroy_srq(&srq.verbs.srq);
		return error;
	}
	srq.domain->acquire();
	return 0;
}

void free_srq(SharedReceiveQueue *srq)
{
	srq->buffer.release();
	std::free(srq->wr_ids);
	std::free(srq->next);
	destroy(srq);
}

// The device copies the WQEs that it has not taken, at the same indices.
int resize(SharedReceiveQueue &srq, ibv_srq_attr &attr, int mask)
{
	Context &context = Context::of(srq.verbs.srq.context);
	if (!context.has_feature(OHCA_FEATURE_RESIZE))
		return EOPNOTSUPP;
	if (!attr.max_wr || attr.max_wr > 1u << context.limits.log_max_srq_depth)
		return EINVAL;
	const std::uint32_t depth = std::bit_ceil(attr.max_wr);
	// Outlive the lock: what they hold in the end is given back without it.
	Buffer fresh;
	TagTables tags;
	if (int error = allocate(fresh, context, srq, depth))
		return error;
	if (int error = tags.allocate(std::max(depth, srq.tag_count)))
		return error;
	LockGuard guard(srq.lock);
	if (srq.outstanding > depth)
		return EINVAL;
	reinterpret_cast<ohca_srq_record *>(fresh.data())->producer = srq.producer;
	const ohca_create_srq_req request = make_request(fresh, srq, depth);
	ibv_srq_attr kernel_attr = attr;
	kernel_attr.max_wr = depth;
	if (int error = ohca_shim_modify_srq(&srq.verbs.srq, &kernel_attr, mask, &request))
		return error;
	srq.buffer.swap(fresh);
	use_buffer(srq, depth);
	if (depth > srq.tag_count)
		tags.give_to(srq);
	attr.max_wr = depth;
	return 0;
}

} // namespace

ibv_srq *ohca_create_srq_ex(ibv_context *context, ibv_srq_init_attr_ex *attr)
{
	int error = check(Context::of(context), *attr);
	if (error) {
		errno = error;
		return nullptr;
	}
	auto *srq = create<SharedReceiveQueue>();
	if (!srq)
		return nullptr;
	error = init(*srq, context, *attr);
	if (error) {
		free_srq(srq);
		errno = error;
		return nullptr;
	}
	attr->attr.max_wr = srq->depth;
	attr->attr.max_sge = srq->max_sge;
	return &srq->verbs.srq;
}

ibv_srq *ohca_create_srq(ibv_pd *pd, ibv_srq_init_attr *attr)
{
	ibv_srq_init_attr_ex extended{};
	extended.srq_context = attr->srq_context;
	extended.attr = attr->attr;
	extended.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	extended.pd = pd;
	ibv_srq *srq = ohca_create_srq_ex(pd->context, &extended);
	if (srq)
		attr->attr = extended.attr;
	return srq;
}

int ohca_modify_srq(ibv_srq *ibv_srq, ibv_srq_attr *attr, int mask)
{
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		return resize(SharedReceiveQueue::of(ibv_srq), *attr, mask);
	return ohca_shim_modify_srq(ibv_srq, attr, mask, nullptr);
}

int ohca_get_srq_num(ibv_srq *ibv_srq, uint32_t *number)
{
	const SharedReceiveQueue &srq = SharedReceiveQueue::of(ibv_srq);
	if (!srq.cq)
		return EINVAL;
	*number = srq.number;
	return 0;
}

int ohca_destroy_srq(ibv_srq *ibv_srq)
{
	SharedReceiveQueue &srq = SharedReceiveQueue::of(ibv_srq);
	if (int error = ohca_shim_destroy_srq(ibv_srq))
		return error;
	withdraw(srq, Context::of(ibv_srq->context));
	// Before the domain goes, whose allocator may take it back.
	srq.buffer.recycle();
	srq.domain->release();
	free_srq(&srq);
	return 0;
}
