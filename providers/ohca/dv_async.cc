// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Asynchronous operations: ohcadv_*_async().
//
// An operation has a slot from its submission until its completion is read; the kernel is
// given the slot's number and returns it.  When the completion is read, the queue pair is taken
// to its new state here, too.  A device that goes takes what the kernel knows with it, so
// the operations that are left then end here.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

#include "async_queue.hh"
#include "context.hh"
#include "memory.hh"

using namespace ohca;

namespace {

constexpr std::uint32_t kNoSlot = UINT32_MAX;
// Read at once: 4 KiB.
constexpr int kReadMax = 256;

static_assert(OHCADV_ASYNC_MODIFY_QP == OHCA_ASYNC_MODIFY_QP && OHCADV_ASYNC_CONNECT_QP == OHCA_ASYNC_CONNECT_QP &&
	      OHCADV_ASYNC_DISCONNECT_QP == OHCA_ASYNC_DISCONNECT_QP &&
	      OHCADV_ASYNC_DESTROY_QP == OHCA_ASYNC_DESTROY_QP);
static_assert(OHCADV_ASYNC_BATCH_MAX == OHCA_ASYNC_BATCH_MAX && OHCADV_ASYNC_DEPTH_MAX == OHCA_ASYNC_DEPTH_MAX);

std::atomic_ref<std::uint32_t> operations_of(ibv_qp *qp)
{
	return std::atomic_ref(QueuePair::of(qp).async_operations);
}

// An operation keeps its queue pair from being destroyed, and the one that destroys it allows no other.
bool hold(const ohcadv_async_operation &operation)
{
	std::atomic_ref<std::uint32_t> operations = operations_of(operation.qp);
	std::uint32_t count = 0;
	if (operation.opcode == OHCADV_ASYNC_DESTROY_QP)
		return operations.compare_exchange_strong(count, kAsyncDestruction, std::memory_order_acquire);
	count = operations.load(std::memory_order_relaxed);
	while (count != kAsyncDestruction) {
		if (operations.compare_exchange_weak(count, count + 1, std::memory_order_relaxed))
			return true;
	}
	return false;
}

void let_go(ibv_qp *qp, ohcadv_async_opcode opcode)
{
	// Pairs with the acquire in ohca_destroy_qp(): the queue pair is no longer looked at.
	if (opcode == OHCADV_ASYNC_DESTROY_QP)
		operations_of(qp).store(0, std::memory_order_release);
	else
		operations_of(qp).fetch_sub(1, std::memory_order_release);
}

bool has_attr(ohcadv_async_opcode opcode)
{
	return opcode != OHCADV_ASYNC_DISCONNECT_QP && opcode != OHCADV_ASYNC_DESTROY_QP;
}

int next_state(const ohcadv_async_operation &operation)
{
	if (operation.opcode == OHCADV_ASYNC_DISCONNECT_QP)
		return IBV_QPS_ERR;
	if (!has_attr(operation.opcode))
		return kNoState;
	return operation.attr_mask & IBV_QP_STATE ? static_cast<int>(operation.attr->qp_state) : kNoState;
}

// All of them or none.
bool hold_all(const ohcadv_async_operation *operations, std::uint32_t count)
{
	for (std::uint32_t i = 0; i < count; ++i) {
		if (hold(operations[i]))
			continue;
		while (i > 0) {
			--i;
			let_go(operations[i].qp, operations[i].opcode);
		}
		return false;
	}
	return true;
}

void translate_path(const ibv_ah_attr &from, ohca_async_qp_attr &to)
{
	to.ah_port_num = from.port_num;
	to.is_global = from.is_global;
	to.sl = from.sl;
	to.sgid_index = from.grh.sgid_index;
	to.hop_limit = from.grh.hop_limit;
	to.traffic_class = from.grh.traffic_class;
	to.flow_label = from.grh.flow_label;
	std::memcpy(to.dgid, from.grh.dgid.raw, sizeof(to.dgid));
}

// What the mask does not name need not have been set by the application, and is not looked at by the kernel.
void translate(const ibv_qp_attr &from, int mask, ohca_async_qp_attr &to)
{
	to.mask = static_cast<std::uint32_t>(mask);
	to.qkey = from.qkey;
	to.rq_psn = from.rq_psn;
	to.sq_psn = from.sq_psn;
	to.dest_qp_num = from.dest_qp_num;
	to.access_flags = from.qp_access_flags;
	to.qp_state = static_cast<std::uint8_t>(from.qp_state);
	to.cur_qp_state = static_cast<std::uint8_t>(from.cur_qp_state);
	to.path_mtu = static_cast<std::uint8_t>(from.path_mtu);
	to.path_mig_state = static_cast<std::uint8_t>(from.path_mig_state);
	to.pkey_index = from.pkey_index;
	to.port_num = from.port_num;
	to.en_sqd_async_notify = from.en_sqd_async_notify;
	to.max_rd_atomic = from.max_rd_atomic;
	to.max_dest_rd_atomic = from.max_dest_rd_atomic;
	to.min_rnr_timer = from.min_rnr_timer;
	to.timeout = from.timeout;
	to.retry_cnt = from.retry_cnt;
	to.rnr_retry = from.rnr_retry;
	if (mask & IBV_QP_AV)
		translate_path(from.ah_attr, to);
}

bool is_complete(const AsyncQueue &queue, const ohcadv_async_operation &operation)
{
	return operation.qp && operation.qp->context == queue.verbs.context &&
	       operation.opcode != OHCADV_ASYNC_CREATE_QP && (operation.attr || !has_attr(operation.opcode));
}

// What is handed to the kernel.
struct Submission {
	std::uint32_t qps[OHCADV_ASYNC_BATCH_MAX];
	ohca_async_operation operations[OHCADV_ASYNC_BATCH_MAX];
};

int submit(AsyncQueue &queue, Submission &submission, const ohcadv_async_operation *operations, std::uint32_t count)
{
	for (std::uint32_t i = 0; i < count; ++i) {
		if (!is_complete(queue, operations[i]))
			return EINVAL;
	}
	MutexGuard guard(queue.mutex);
	if (count > queue.depth - queue.used)
		return EAGAIN;
	if (!hold_all(operations, count))
		return EBUSY;
	for (std::uint32_t i = 0; i < count; ++i) {
		const ohcadv_async_operation &from = operations[i];
		ohca_async_operation &to = submission.operations[i];
		const std::uint32_t index = queue.take(from.wr_id, from.qp, from.opcode);
		queue.slots[index].next_state = next_state(from);
		to = {};
		to.user_data = index;
		to.opcode = from.opcode;
		if (has_attr(from.opcode))
			translate(*from.attr, from.attr_mask, to.attr);
		submission.qps[i] = from.qp->handle;
	}
	const int error =
		ohca_shim_submit_async(queue.verbs.context, queue.verbs.fd, submission.qps, submission.operations, count);
	for (std::uint32_t i = 0; error && i < count; ++i) {
		queue.release(static_cast<std::uint32_t>(submission.operations[i].user_data));
		let_go(operations[i].qp, operations[i].opcode);
	}
	return error;
}

int submit_one(ohcadv_async_queue *queue, ohcadv_async_opcode opcode, ibv_qp *qp, const ibv_qp_attr *attr, int mask,
	       std::uint64_t wr_id)
{
	ohcadv_async_operation operation{};
	operation.wr_id = wr_id;
	operation.opcode = opcode;
	operation.qp = qp;
	operation.attr = attr;
	operation.attr_mask = mask;
	return ohcadv_submit_async(queue, &operation, 1);
}

// Of the completions that one call returns.
struct Ended {
	Creation *creation;
	std::uint32_t qpn;
};

void finish(AsyncQueue &queue, std::uint32_t index, int error, std::uint32_t detail,
	    ohcadv_async_completion &completion, Ended &ended)
{
	const Slot slot = queue.slots[index];
	queue.release(index);
	completion = {};
	completion.wr_id = slot.wr_id;
	completion.qp = slot.qp;
	completion.opcode = slot.opcode;
	completion.error = error;
	ended = {slot.creation, detail};
	if (slot.creation && !error)
		detail = 0;
	completion.vendor_error = detail;
	// The others call into the kernel, which conclude() does without the mutex.
	if (slot.opcode == OHCADV_ASYNC_CREATE_QP || slot.opcode == OHCADV_ASYNC_DESTROY_QP)
		return;
	if (!error && slot.next_state != kNoState) {
		enter_state(QueuePair::of(slot.qp), static_cast<ibv_qp_state>(slot.next_state));
		slot.qp->state = static_cast<ibv_qp_state>(slot.next_state);
	}
	let_go(slot.qp, slot.opcode);
}

int conclude(AsyncQueue &queue, ohcadv_async_completion *completions, const Ended *ended, int count)
{
	for (int i = 0; i < count; ++i) {
		if (completions[i].opcode == OHCADV_ASYNC_CREATE_QP)
			conclude_creation(queue.verbs.context, ended[i].creation, ended[i].qpn, completions[i]);
		else if (completions[i].opcode == OHCADV_ASYNC_DESTROY_QP)
			conclude_destruction(completions[i]);
	}
	return count;
}

int finish_read(AsyncQueue &queue, const ohca_async_completion *read, int count, ohcadv_async_completion *completions,
		Ended *ended)
{
	MutexGuard guard(queue.mutex);
	int finished = 0;
	for (int i = 0; i < count; ++i) {
		// A kernel that returns what it was not given is not one of ours.
		if (read[i].user_data >= queue.depth || !queue.slots[read[i].user_data].qp)
			continue;
		finish(queue, static_cast<std::uint32_t>(read[i].user_data), static_cast<int>(read[i].error), read[i].detail,
		       completions[finished], ended[finished]);
		++finished;
	}
	return finished;
}

// The device has gone.
int finish_left(AsyncQueue &queue, ohcadv_async_completion *completions, int count, Ended *ended)
{
	MutexGuard guard(queue.mutex);
	int finished = 0;
	for (std::uint32_t i = 0; i < queue.depth && finished < count; ++i) {
		if (!queue.slots[i].qp)
			continue;
		finish(queue, i, EIO, 0, completions[finished], ended[finished]);
		++finished;
	}
	return finished;
}

int init(AsyncQueue &queue, ibv_context *context, std::uint32_t depth)
{
	queue.slots = static_cast<Slot *>(std::calloc(depth, sizeof(*queue.slots)));
	if (!queue.slots)
		return ENOMEM;
	for (std::uint32_t i = 0; i < depth; ++i)
		queue.slots[i].next_free = i + 1 < depth ? i + 1 : kNoSlot;
	queue.depth = depth;
	queue.verbs.context = context;
	pthread_mutex_init(&queue.mutex, nullptr);
	return ohca_shim_create_async_queue(context, depth, &queue.verbs.fd);
}

void free_queue(AsyncQueue *queue)
{
	std::free(queue->slots);
	destroy(queue);
}

} // namespace

OHCADV_API ohcadv_async_queue *ohcadv_create_async_queue(ibv_context *context, uint32_t depth)
{
	int error = ohca_shim_is_ohca(context->device) ? 0 : EOPNOTSUPP;
	if (!error && (!depth || depth > OHCADV_ASYNC_DEPTH_MAX))
		error = EINVAL;
	if (error) {
		errno = error;
		return nullptr;
	}
	auto *queue = create<AsyncQueue>();
	if (!queue)
		return nullptr;
	error = init(*queue, context, depth);
	if (error) {
		free_queue(queue);
		errno = error;
		return nullptr;
	}
	return &queue->verbs;
}

OHCADV_API int ohcadv_destroy_async_queue(ohcadv_async_queue *verbs)
{
	AsyncQueue &queue = AsyncQueue::of(verbs);
	{
		MutexGuard guard(queue.mutex);
		if (queue.used)
			return EBUSY;
	}
	close(verbs->fd);
	pthread_mutex_destroy(&queue.mutex);
	free_queue(&queue);
	return 0;
}

OHCADV_API int ohcadv_submit_async(ohcadv_async_queue *queue, const ohcadv_async_operation *operations, uint32_t count)
{
	if (!count || count > OHCADV_ASYNC_BATCH_MAX)
		return EINVAL;
	auto *submission = static_cast<Submission *>(std::malloc(sizeof(Submission)));
	if (!submission)
		return ENOMEM;
	const int error = submit(AsyncQueue::of(queue), *submission, operations, count);
	std::free(submission);
	return error;
}

OHCADV_API int ohcadv_modify_qp_async(ohcadv_async_queue *queue, ibv_qp *qp, const ibv_qp_attr *attr, int attr_mask,
				      uint64_t wr_id)
{
	return submit_one(queue, OHCADV_ASYNC_MODIFY_QP, qp, attr, attr_mask, wr_id);
}

OHCADV_API int ohcadv_connect_qp_async(ohcadv_async_queue *queue, ibv_qp *qp, const ibv_qp_attr *attr, int attr_mask,
				       uint64_t wr_id)
{
	return submit_one(queue, OHCADV_ASYNC_CONNECT_QP, qp, attr, attr_mask, wr_id);
}

OHCADV_API int ohcadv_disconnect_qp_async(ohcadv_async_queue *queue, ibv_qp *qp, uint64_t wr_id)
{
	return submit_one(queue, OHCADV_ASYNC_DISCONNECT_QP, qp, nullptr, 0, wr_id);
}

OHCADV_API int ohcadv_destroy_qp_async(ohcadv_async_queue *queue, ibv_qp *qp, uint64_t wr_id)
{
	return submit_one(queue, OHCADV_ASYNC_DESTROY_QP, qp, nullptr, 0, wr_id);
}

OHCADV_API int ohcadv_read_async(ohcadv_async_queue *verbs, ohcadv_async_completion *completions, int count)
{
	if (count < 1)
		return -EINVAL;
	AsyncQueue &queue = AsyncQueue::of(verbs);
	ohca_async_completion records[kReadMax];
	Ended ended[kReadMax];
	const int wanted = std::min(count, kReadMax);
	const ssize_t bytes = read(verbs->fd, records, static_cast<std::size_t>(wanted) * sizeof(records[0]));
	int finished = 0;
	if (bytes >= 0)
		finished = finish_read(queue, records, static_cast<int>(static_cast<std::size_t>(bytes) / sizeof(records[0])),
				       completions, ended);
	else if (errno == EIO)
		finished = finish_left(queue, completions, wanted, ended);
	else
		return errno == EAGAIN ? 0 : -errno;
	return conclude(queue, completions, ended, finished);
}
