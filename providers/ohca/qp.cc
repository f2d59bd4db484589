// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Life of a queue pair.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>

#include <rdma/ohca_hw_regs.h>

#include "completion_queue.hh"
#include "context.hh"
#include "memory.hh"
#include "queue_pair.hh"

using namespace ohca;

namespace {

// Sizes of the rings, from what the application asked for.
struct Layout {
	std::uint32_t sq_depth = 0; // 0: none
	std::uint32_t rq_depth = 0;
	std::uint32_t sq_stride = 0;
	std::uint32_t rq_stride = 0;
	std::uint32_t sq_offset = 0;
	std::uint32_t rq_offset = 0;
	std::size_t size = 0;
};

constexpr std::size_t round_up(std::size_t value, std::size_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

int check_caps(const ohca_alloc_ucontext_resp &limits, const ibv_qp_cap &cap)
{
	const bool fits = cap.max_send_wr <= 1u << limits.log_max_sq_depth &&
			  cap.max_recv_wr <= 1u << limits.log_max_rq_depth &&
			  cap.max_send_sge <= limits.max_send_sge && cap.max_recv_sge <= limits.max_recv_sge &&
			  cap.max_inline_data <= limits.max_inline;
	return fits ? 0 : EINVAL;
}

int check_ops(const Context &context, std::uint64_t ops)
{
	std::uint64_t supported = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
	if (context.has_feature(OHCA_FEATURE_ATOMIC))
		supported |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	if (context.has_feature(OHCA_FEATURE_SEND_INV))
		supported |= IBV_QP_EX_WITH_SEND_WITH_INV;
	return ops & ~supported ? EOPNOTSUPP : 0;
}

int check(const Context &context, const ibv_qp_init_attr_ex &attr)
{
	constexpr std::uint32_t kCompMask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
					    IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	if (attr.qp_type != IBV_QPT_RC || attr.srq || attr.comp_mask & ~kCompMask)
		return EOPNOTSUPP;
	if (attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr.create_flags)
		return EOPNOTSUPP;
	if (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		if (int error = check_ops(context, attr.send_ops_flags))
			return error;
	}
	if (!(attr.comp_mask & IBV_QP_INIT_ATTR_PD) || !attr.pd || !attr.send_cq || !attr.recv_cq)
		return EINVAL;
	return check_caps(context.limits, attr.cap);
}

Layout plan(const ibv_qp_cap &cap)
{
	Layout layout;
	std::size_t end = OHCA_RECORD_SIZE;
	if (cap.max_send_wr) {
		constexpr auto kAtomic = static_cast<std::uint32_t>(sizeof(ohca_wqe_atomic) + sizeof(ohca_sge));
		const auto elements = static_cast<std::uint32_t>(cap.max_send_sge * sizeof(ohca_sge));
		const auto payload = std::max({elements, cap.max_inline_data, kAtomic});
		layout.sq_depth = std::bit_ceil(cap.max_send_wr);
		layout.sq_stride = std::max<std::uint32_t>(
			std::bit_ceil(static_cast<std::uint32_t>(sizeof(ohca_sq_wqe)) + payload), OHCA_SQ_STRIDE_MIN);
		end = round_up(end, layout.sq_stride);
		layout.sq_offset = static_cast<std::uint32_t>(end);
		end += std::size_t{layout.sq_depth} * layout.sq_stride;
	}
	if (cap.max_recv_wr) {
		const auto length = static_cast<std::uint32_t>(sizeof(ohca_rq_wqe) + cap.max_recv_sge * sizeof(ohca_sge));
		layout.rq_depth = std::bit_ceil(cap.max_recv_wr);
		layout.rq_stride = std::max<std::uint32_t>(std::bit_ceil(length), OHCA_RQ_STRIDE_MIN);
		end = round_up(end, layout.rq_stride);
		layout.rq_offset = static_cast<std::uint32_t>(end);
		end += std::size_t{layout.rq_depth} * layout.rq_stride;
	}
	layout.size = end;
	return layout;
}

// What the rings that were rounded up really hold.
ibv_qp_cap real_caps(const Layout &layout, const ohca_alloc_ucontext_resp &limits)
{
	ibv_qp_cap cap{};
	if (layout.sq_depth) {
		const auto payload = layout.sq_stride - static_cast<std::uint32_t>(sizeof(ohca_sq_wqe));
		cap.max_send_wr = layout.sq_depth;
		cap.max_send_sge = std::min<std::uint32_t>(limits.max_send_sge,
							   payload / static_cast<std::uint32_t>(sizeof(ohca_sge)));
		cap.max_inline_data = std::min<std::uint32_t>(limits.max_inline, payload);
	}
	if (layout.rq_depth) {
		const auto payload = layout.rq_stride - static_cast<std::uint32_t>(sizeof(ohca_rq_wqe));
		cap.max_recv_wr = layout.rq_depth;
		cap.max_recv_sge = std::min<std::uint32_t>(limits.max_recv_sge,
							   payload / static_cast<std::uint32_t>(sizeof(ohca_sge)));
	}
	return cap;
}

int init_queue(WorkQueue &queue, std::byte *ring, std::uint32_t depth, std::uint32_t stride, std::uint32_t max_sge)
{
	queue.set_postable(false);
	if (!depth)
		return 0;
	queue.wr_ids = static_cast<std::uint64_t *>(std::calloc(depth, sizeof(*queue.wr_ids)));
	if (!queue.wr_ids)
		return ENOMEM;
	queue.ring = ring;
	queue.depth = depth;
	queue.mask = depth - 1;
	queue.log_stride = log2_ceil(stride);
	queue.max_sge = static_cast<std::uint8_t>(max_sge);
	return 0;
}

int init_queues(QueuePair &qp, const Layout &layout)
{
	if (int error = qp.buffer.allocate(layout.size, qp.domain, Resource::kQueuePairBuffer))
		return error;
	std::byte *base = qp.buffer.data();
	qp.record = reinterpret_cast<ohca_qp_record *>(base);
	if (int error = init_queue(qp.sq, base + layout.sq_offset, layout.sq_depth, layout.sq_stride,
				   qp.cap.max_send_sge))
		return error;
	if (int error = init_queue(qp.rq, base + layout.rq_offset, layout.rq_depth, layout.rq_stride,
				   qp.cap.max_recv_sge))
		return error;
	qp.rq.is_receive = true;
	qp.max_inline = qp.cap.max_inline_data;
	qp.batch.scratch = static_cast<std::byte *>(std::calloc(1, OHCA_SQ_STRIDE_MAX));
	return qp.batch.scratch ? 0 : ENOMEM;
}

int create_in_kernel(QueuePair &qp, ibv_context *context, const ibv_qp_init_attr_ex &attr, const Layout &layout)
{
	ohca_create_qp_req request{};
	request.buffer_address = reinterpret_cast<std::uintptr_t>(qp.buffer.data());
	request.buffer_length = qp.buffer.size();
	request.sq_offset = layout.sq_offset;
	request.rq_offset = layout.rq_offset;
	request.log_sq_depth = log2_ceil(layout.sq_depth);
	request.log_rq_depth = log2_ceil(layout.rq_depth);
	request.log_sq_stride = log2_ceil(layout.sq_stride);
	request.log_rq_stride = log2_ceil(layout.rq_stride);
	// The kernel is to know (and `rdma resource` to show) the real sizes.
	ibv_qp_init_attr_ex kernel_attr = attr;
	kernel_attr.cap = qp.cap;
	kernel_attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	ohca_create_qp_resp response{};
	if (int error = ohca_shim_create_qp(context, &kernel_attr, &qp.verbs, &request, &response))
		return error;
	Context &owner = Context::of(context);
	qp.doorbell = Doorbell(owner.uar, owner.kick, response.uar_slot);
	qp.sq.qpn = qp.verbs.qp.qp_num;
	qp.rq.qpn = qp.verbs.qp.qp_num;
	return 0;
}

int publish(QueuePair &qp, Context &context)
{
	pthread_mutex_lock(&context.mutex);
	const int error = context.queue_pairs.insert(qp.sq.qpn, &qp);
	pthread_mutex_unlock(&context.mutex);
	if (error)
		return error;
	qp.sq.cq->attach(qp.sq);
	qp.rq.cq->attach(qp.rq);
	return 0;
}

int init(QueuePair &qp, ibv_context *context, const ibv_qp_init_attr_ex &attr)
{
	Context &owner = Context::of(context);
	const Layout layout = plan(attr.cap);
	if (layout.size > UINT32_MAX) // offsets have 32 bits
		return EINVAL;
	qp.domain = ProtectionDomain::of(attr.pd);
	qp.sq.lock.set_single_threaded(qp.domain->is_single_threaded());
	qp.rq.lock.set_single_threaded(qp.domain->is_single_threaded());
	qp.cap = real_caps(layout, owner.limits);
	qp.sq.cq = &CompletionQueue::of(attr.send_cq);
	qp.rq.cq = &CompletionQueue::of(attr.recv_cq);
	if (int error = init_queues(qp, layout))
		return error;
	if (int error = create_in_kernel(qp, context, attr, layout))
		return error;
	if (int error = publish(qp, owner)) {
		ohca_shim_destroy_qp(&qp.verbs.qp);
		return error;
	}
	qp.domain->acquire();
	return 0;
}

void free_queue_pair(QueuePair *qp)
{
	qp->buffer.release();
	std::free(qp->sq.wr_ids);
	std::free(qp->rq.wr_ids);
	std::free(qp->batch.scratch);
	destroy(qp);
}

// Empties one queue and forgets what its CQ still has of this queue pair.
void reset_queue(WorkQueue &queue, __le32 &record)
{
	LockGuard cq_guard(queue.cq->lock);
	queue.cq->discard(queue.qpn);
	LockGuard guard(queue.lock);
	queue.set_postable(false);
	queue.producer = 0;
	queue.consumer = 0;
	store_release(record, Index{0});
}

} // namespace

ibv_qp *ohca_create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr)
{
	int error = check(Context::of(context), *attr);
	if (error) {
		errno = error;
		return nullptr;
	}
	auto *qp = create<QueuePair>();
	if (!qp)
		return nullptr;
	error = init(*qp, context, *attr);
	if (error) {
		free_queue_pair(qp);
		errno = error;
		return nullptr;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		set_wr_api(qp->verbs.qp_ex);
		ohca_shim_enable_qp_ex(&qp->verbs);
	}
	attr->cap = qp->cap;
	return &qp->verbs.qp;
}

ibv_qp *ohca_create_qp(ibv_pd *pd, ibv_qp_init_attr *attr)
{
	ibv_qp_init_attr_ex extended{};
	extended.qp_context = attr->qp_context;
	extended.send_cq = attr->send_cq;
	extended.recv_cq = attr->recv_cq;
	extended.srq = attr->srq;
	extended.cap = attr->cap;
	extended.qp_type = attr->qp_type;
	extended.sq_sig_all = attr->sq_sig_all;
	extended.comp_mask = IBV_QP_INIT_ATTR_PD;
	extended.pd = pd;
	ibv_qp *qp = ohca_create_qp_ex(pd->context, &extended);
	if (qp)
		attr->cap = extended.cap;
	return qp;
}

int ohca_modify_qp(ibv_qp *ibv_qp, ibv_qp_attr *attr, int mask)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	if (int error = ohca_shim_modify_qp(ibv_qp, attr, mask))
		return error;
	if (!(mask & IBV_QP_STATE))
		return 0;
	if (attr->qp_state == IBV_QPS_RESET) {
		reset_queue(qp.sq, qp.record->sq_producer);
		reset_queue(qp.rq, qp.record->rq_producer);
		return 0;
	}
	LockGuard sq_guard(qp.sq.lock);
	LockGuard rq_guard(qp.rq.lock);
	qp.set_state(attr->qp_state);
	return 0;
}

int ohca_query_qp(ibv_qp *ibv_qp, ibv_qp_attr *attr, int mask, ibv_qp_init_attr *init_attr)
{
	if (int error = ohca_shim_query_qp(ibv_qp, attr, mask, init_attr))
		return error;
	// max_inline_data and the like are this library's choice.
	attr->cap = QueuePair::of(ibv_qp).cap;
	init_attr->cap = attr->cap;
	return 0;
}

int ohca_destroy_qp(ibv_qp *ibv_qp)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	if (int error = ohca_shim_destroy_qp(ibv_qp))
		return error;
	reset_queue(qp.sq, qp.record->sq_producer);
	reset_queue(qp.rq, qp.record->rq_producer);
	// In this order: a poller that still found the number would cache the pointer.
	Context &context = Context::of(ibv_qp->context);
	pthread_mutex_lock(&context.mutex);
	context.queue_pairs.remove(qp.sq.qpn);
	pthread_mutex_unlock(&context.mutex);
	qp.sq.cq->detach(qp.sq);
	qp.rq.cq->detach(qp.rq);
	qp.buffer.release();
	qp.domain->release();
	free_queue_pair(&qp);
	return 0;
}
