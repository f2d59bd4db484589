// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Life of a queue pair.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "completion_queue.hh"
#include "context.hh"
#include "memory.hh"
#include "qp_layout.hh"
#include "queue_pair.hh"
#include "shared_receive_queue.hh"

using namespace ohca;

namespace {

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

int init_queues(QueuePair &qp, Context &context, const QueueLayout &layout)
{
	qp.rq.is_receive = true;
	if (int error = init_queue(qp.sq, nullptr, 0, 0, 0))
		return error;
	if (int error = init_queue(qp.rq, nullptr, 0, 0, 0))
		return error;
	if (!layout.size)
		return 0;
	if (int error = qp.buffer.allocate(layout.size, context.buffers, qp.domain, Resource::kQueuePairBuffer))
		return error;
	std::byte *base = qp.buffer.data();
	qp.record = reinterpret_cast<ohca_qp_record *>(base);
	if (int error = init_queue(qp.sq, base + layout.sq_offset, layout.sq_depth, layout.sq_stride,
				   qp.cap.max_send_sge))
		return error;
	if (int error = init_queue(qp.rq, base + layout.rq_offset, layout.rq_depth, layout.rq_stride,
				   qp.cap.max_recv_sge))
		return error;
	qp.max_inline = qp.cap.max_inline_data;
	qp.batch.scratch = static_cast<std::byte *>(std::calloc(1, OHCA_SQ_STRIDE_MAX));
	return qp.batch.scratch ? 0 : ENOMEM;
}

// The queues' relations, and what the type allows.
void init_parts(QueuePair &qp, const Context &context, const ibv_qp_init_attr_ex &attr)
{
	qp.opcodes = opcodes_of(context, attr.qp_type);
	set_fast_opcodes(qp, attr.qp_type);
	if (attr.qp_type == IBV_QPT_XRC_RECV)
		return;
	qp.domain = ProtectionDomain::of(attr.pd);
	qp.sq.lock.set_single_threaded(qp.domain->is_single_threaded());
	qp.rq.lock.set_single_threaded(qp.domain->is_single_threaded());
	qp.sq.cq = &CompletionQueue::of(attr.send_cq);
	if (attr.qp_type == IBV_QPT_XRC_SEND)
		return;
	qp.recv_cq = &CompletionQueue::of(attr.recv_cq);
	if (attr.srq)
		qp.rq.srq = qp.srq = &SharedReceiveQueue::of(attr.srq);
	else
		qp.rq.cq = qp.recv_cq;
}

ohca_create_qp_req make_request(const QueuePair &qp, const QueueLayout &layout)
{
	ohca_create_qp_req request{};
	if (!layout.size)
		return request;
	request.buffer_address = reinterpret_cast<std::uintptr_t>(qp.buffer.data());
	request.buffer_length = qp.buffer.size();
	request.sq_offset = layout.sq_offset;
	request.rq_offset = layout.rq_offset;
	request.log_sq_depth = log2_ceil(layout.sq_depth);
	request.log_rq_depth = log2_ceil(layout.rq_depth);
	request.log_sq_stride = log2_ceil(layout.sq_stride);
	request.log_rq_stride = log2_ceil(layout.rq_stride);
	if (const ThreadDomain *thread_domain = qp.domain->thread_domain; thread_domain && thread_domain->uar) {
		request.comp_mask = OHCA_CREATE_QP_UAR;
		request.uar_index = thread_domain->uar_index;
	}
	return request;
}

int create_in_kernel(QueuePair &qp, ibv_context *context, const ibv_qp_init_attr_ex &attr,
		     const ohca_create_qp_req &request)
{
	// The kernel is to know (and `rdma resource` to show) the real sizes.
	ibv_qp_init_attr_ex kernel_attr = attr;
	kernel_attr.cap = qp.cap;
	kernel_attr.comp_mask = attr.qp_type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
	if (attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr.create_flags)
		kernel_attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	ohca_create_qp_resp response{};
	if (int error = ohca_shim_create_qp(context, &kernel_attr, &qp.verbs, &request, &response))
		return error;
	Context &owner = Context::of(context);
	ohca_uar *uar = request.comp_mask & OHCA_CREATE_QP_UAR ? qp.domain->thread_domain->uar : owner.uar;
	qp.doorbell = Doorbell(uar, owner.kick, response.uar_slot);
	qp.sq.qpn = qp.verbs.qp.qp_num;
	qp.rq.qpn = qp.verbs.qp.qp_num;
	return 0;
}

int publish(QueuePair &qp, Context &context)
{
	// Nothing completes under the number of an XRC target that this library would look for.
	if (!qp.sq.cq)
		return 0;
	pthread_mutex_lock(&context.mutex);
	const int error = context.queue_pairs.insert(qp.sq.qpn, &qp);
	pthread_mutex_unlock(&context.mutex);
	if (error)
		return error;
	qp.sq.cq->attach(qp.sq);
	if (qp.recv_cq)
		qp.recv_cq->attach(qp.rq);
	return 0;
}

void withdraw(QueuePair &qp, Context &context)
{
	if (!qp.sq.cq)
		return;
	// In this order: a poller that still found the number would cache the pointer.
	pthread_mutex_lock(&context.mutex);
	context.queue_pairs.remove(qp.sq.qpn);
	pthread_mutex_unlock(&context.mutex);
	qp.sq.cq->detach(qp.sq);
	if (qp.recv_cq)
		qp.recv_cq->detach(qp.rq);
}

int plan(QueuePair &qp, ibv_context *context, const ibv_qp_init_attr_ex &attr, ohca_create_qp_req &request)
{
	Context &owner = Context::of(context);
	const QueueLayout layout = plan_qp(attr);
	if (layout.size > UINT32_MAX) // offsets have 32 bits
		return EINVAL;
	qp.cap = granted_caps(layout, attr.qp_type, owner.limits);
	init_parts(qp, owner, attr);
	if (qp.domain)
		qp.domain->acquire();
	if (int error = init_queues(qp, owner, layout))
		return error;
	request = make_request(qp, layout);
	return 0;
}

// Empties one queue and forgets what its CQ still has of this queue pair.
void reset_queue(WorkQueue &queue, CompletionQueue *cq, __le32 &record)
{
	if (!cq)
		return;
	LockGuard cq_guard(cq->lock);
	cq->discard(queue.qpn, queue.srq);
	LockGuard guard(queue.lock);
	queue.set_postable(false);
	queue.producer = 0;
	queue.consumer = 0;
	store_release(record, Index{0});
}

void reset_queues(QueuePair &qp)
{
	// An XRC target has no queues.
	if (!qp.record)
		return;
	// With both queues in one CQ the first discards for both.
	if (qp.recv_cq == qp.sq.cq) {
		reset_queue(qp.rq, qp.recv_cq, qp.record->rq_producer);
		reset_queue(qp.sq, qp.sq.cq, qp.record->sq_producer);
		return;
	}
	reset_queue(qp.sq, qp.sq.cq, qp.record->sq_producer);
	reset_queue(qp.rq, qp.recv_cq, qp.record->rq_producer);
}

} // namespace

void ohca::enter_state(QueuePair &qp, ibv_qp_state state)
{
	if (state == IBV_QPS_RESET) {
		reset_queues(qp);
		return;
	}
	LockGuard sq_guard(qp.sq.lock);
	LockGuard rq_guard(qp.rq.lock);
	qp.set_state(state);
}

void ohca::free_queue_pair(QueuePair *qp)
{
	// The domain's allocator takes the buffer back, so the domain goes last.
	ProtectionDomain *domain = qp->domain;
	qp->buffer.release();
	std::free(qp->sq.wr_ids);
	std::free(qp->rq.wr_ids);
	std::free(qp->batch.scratch);
	destroy(qp);
	if (domain)
		domain->release();
}

QueuePair *ohca::plan_queue_pair(ibv_context *context, ibv_qp_init_attr_ex &attr, ohca_create_qp_req &request)
{
	int error = check_qp(Context::of(context), attr);
	if (error) {
		errno = error;
		return nullptr;
	}
	auto *qp = create<QueuePair>();
	if (!qp)
		return nullptr;
	error = plan(*qp, context, attr, request);
	if (error) {
		free_queue_pair(qp);
		errno = error;
		return nullptr;
	}
	attr.cap = qp->cap;
	return qp;
}

int ohca::create_queue_pair(QueuePair &qp, ibv_context *context, const ibv_qp_init_attr_ex &attr,
			    const ohca_create_qp_req &request)
{
	if (int error = create_in_kernel(qp, context, attr, request))
		return error;
	if (int error = publish(qp, Context::of(context))) {
		ohca_shim_destroy_qp(&qp.verbs.qp);
		return error;
	}
	if (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		set_wr_api(qp.verbs.qp_ex, attr.qp_type);
		ohca_shim_enable_qp_ex(&qp.verbs);
	}
	return 0;
}

int ohca::destroy_queue_pair(QueuePair &qp)
{
	if (int error = ohca_shim_destroy_qp(&qp.verbs.qp))
		return error;
	reset_queues(qp);
	withdraw(qp, Context::of(qp.verbs.qp.context));
	qp.buffer.recycle();
	free_queue_pair(&qp);
	return 0;
}

ibv_qp *ohca_create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr)
{
	ibv_qp_init_attr_ex planned = *attr;
	ohca_create_qp_req request;
	QueuePair *qp = plan_queue_pair(context, planned, request);
	if (!qp)
		return nullptr;
	if (int error = create_queue_pair(*qp, context, planned, request)) {
		free_queue_pair(qp);
		errno = error;
		return nullptr;
	}
	attr->cap = planned.cap;
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

// Another process's XRC target, or this one's.
ibv_qp *ohca_open_qp(ibv_context *context, ibv_qp_open_attr *attr)
{
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_TYPE && attr->qp_type != IBV_QPT_XRC_RECV) {
		errno = EINVAL;
		return nullptr;
	}
	auto *qp = create<QueuePair>();
	if (!qp)
		return nullptr;
	qp->sq.set_postable(false);
	qp->rq.set_postable(false);
	qp->rq.is_receive = true;
	if (int error = ohca_shim_open_qp(context, attr, &qp->verbs)) {
		free_queue_pair(qp);
		errno = error;
		return nullptr;
	}
	const Context &owner = Context::of(context);
	qp->doorbell = Doorbell(owner.uar, owner.kick, 0);
	return &qp->verbs.qp;
}

int ohca_modify_qp(ibv_qp *ibv_qp, ibv_qp_attr *attr, int mask)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	if (int error = ohca_shim_modify_qp(ibv_qp, attr, mask))
		return error;
	if (mask & IBV_QP_STATE)
		enter_state(qp, attr->qp_state);
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
	// Whoever reads a completion looks at its queue pair.
	if (std::atomic_ref(qp.async_operations).load(std::memory_order_acquire))
		return EBUSY;
	return destroy_queue_pair(qp);
}
