// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Queue pairs that are created and destroyed asynchronously.
//
// The kernel creates the device's part and tells its number; when the completion is read, it makes the
// object of it, for which it has nothing to wait for any more. A destruction goes the other way: the
// device's part first, and the object when the completion is read.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "async_queue.hh"
#include "memory.hh"

using namespace ohca;

namespace {

// Of one call: what is handed to the kernel, and what stays until the completions are read.
struct Creations {
	ohca_async_create_qp requests[OHCADV_ASYNC_BATCH_MAX];
	Creation *creations[OHCADV_ASYNC_BATCH_MAX];
	QueuePair *qps[OHCADV_ASYNC_BATCH_MAX];
};

void forget(Creations &all, std::uint32_t count)
{
	for (std::uint32_t i = 0; i < count; ++i) {
		std::free(all.creations[i]);
		free_queue_pair(all.qps[i]);
	}
}

int plan_one(ibv_context *context, const ibv_qp_init_attr_ex &attr, Creation *&creation, QueuePair *&qp)
{
	creation = static_cast<Creation *>(std::calloc(1, sizeof(Creation)));
	if (!creation)
		return ENOMEM;
	creation->attr = attr;
	qp = plan_queue_pair(context, creation->attr, creation->request);
	if (qp)
		return 0;
	std::free(creation);
	return errno;
}

int plan_all(ibv_context *context, const ibv_qp_init_attr_ex &attr, Creations &all, std::uint32_t count)
{
	for (std::uint32_t i = 0; i < count; ++i) {
		if (int error = plan_one(context, attr, all.creations[i], all.qps[i])) {
			forget(all, i);
			return error;
		}
		all.requests[i].request = all.creations[i]->request;
	}
	return 0;
}

int start(AsyncQueue &queue, Creations &all, const std::uint64_t *wr_ids, std::uint32_t count)
{
	MutexGuard guard(queue.mutex);
	if (count > queue.depth - queue.used)
		return EAGAIN;
	for (std::uint32_t i = 0; i < count; ++i) {
		const std::uint32_t index = queue.take(wr_ids[i], &all.qps[i]->verbs.qp, OHCADV_ASYNC_CREATE_QP);
		queue.slots[index].creation = all.creations[i];
		all.requests[i].user_data = index;
	}
	const int error =
		ohca_shim_create_qps_async(&all.creations[0]->attr, queue.verbs.fd, all.requests, count);
	for (std::uint32_t i = 0; error && i < count; ++i)
		queue.release(static_cast<std::uint32_t>(all.requests[i].user_data));
	return error;
}

int create_all(AsyncQueue &queue, ibv_qp_init_attr_ex &attr, Creations &all, const std::uint64_t *wr_ids,
	       std::uint32_t count)
{
	if (int error = plan_all(queue.verbs.context, attr, all, count))
		return error;
	const ibv_qp_cap granted = all.creations[0]->attr.cap;
	if (int error = start(queue, all, wr_ids, count)) {
		forget(all, count);
		return error;
	}
	attr.cap = granted;
	return 0;
}

} // namespace

void ohca::conclude_creation(ibv_context *context, Creation *creation, std::uint32_t qpn,
			     ohcadv_async_completion &completion)
{
	QueuePair &qp = QueuePair::of(completion.qp);
	if (!completion.error) {
		creation->request.comp_mask |= OHCA_CREATE_QP_CLAIM;
		creation->request.qpn = qpn;
		completion.error = create_queue_pair(qp, context, creation->attr, creation->request);
	}
	if (completion.error) {
		free_queue_pair(&qp);
		completion.qp = nullptr;
	}
	std::free(creation);
}

void ohca::conclude_destruction(ohcadv_async_completion &completion)
{
	QueuePair &qp = QueuePair::of(completion.qp);
	if (!completion.error)
		completion.error = destroy_queue_pair(qp);
	if (completion.error)
		std::atomic_ref(qp.async_operations).store(0, std::memory_order_release);
	else
		completion.qp = nullptr;
}

OHCADV_API int ohcadv_create_qps_async(ohcadv_async_queue *verbs, ibv_qp_init_attr_ex *attr, const uint64_t *wr_ids,
				       uint32_t count)
{
	AsyncQueue &queue = AsyncQueue::of(verbs);
	if (!count || count > OHCADV_ASYNC_BATCH_MAX)
		return EINVAL;
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd->context != queue.verbs.context)
		return EINVAL;
	auto *all = static_cast<Creations *>(std::malloc(sizeof(Creations)));
	if (!all)
		return ENOMEM;
	const int error = create_all(queue, *attr, *all, wr_ids, count);
	std::free(all);
	return error;
}

OHCADV_API int ohcadv_create_qp_async(ohcadv_async_queue *queue, ibv_qp_init_attr_ex *attr, uint64_t wr_id)
{
	return ohcadv_create_qps_async(queue, attr, &wr_id, 1);
}
