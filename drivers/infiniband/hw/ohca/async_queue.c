// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations of applications: the file OHCA_OBJECT_ASYNC_QUEUE.
 *
 * SUBMIT makes an operation (async.c) of each request and starts it; its callback,
 * in hard interrupt context, moves it to the list of those that are over, where
 * read() finds it.  So all memory is allocated by SUBMIT, and there is as much
 * of it as the application has not read.
 *
 * CREATE_QPS makes operations, too, of which each creates a queue pair that is then
 * to be claimed (qp_deferred.c), and goes with the file if it is not.
 *
 * The file is destroyed when it is closed, when its context is (process death,
 * too) and when the device leaves.  That waits until what is in flight has ended:
 * commands do, at the latest when they time out or the device fails.
 */

#include <linux/capability.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#include "ohca.h"

#define UVERBS_MODULE_NAME ohca
#include <rdma/uverbs_named_ioctl.h>

#define OHCA_OPERATION_SIZE	sizeof(struct ohca_async_operation)
#define OHCA_CREATION_SIZE	sizeof(struct ohca_async_create_qp)

/* ib_core allocates it, with @uobject for the file. */
struct ohca_async_queue {
	struct ib_uobject uobject;
	struct ohca_async async;
	struct ohca_unclaimed_owner unclaimed;
	spinlock_t lock;		/* all below; taken in hard interrupts */
	struct list_head over;		/* struct ohca_async_request, to be read */
	u32 unread;			/* submitted and not read */
	u32 depth;
	bool ended;			/* nothing comes any more */
	wait_queue_head_t wait;
};

struct ohca_async_request {
	struct ohca_op op;
	struct ohca_async_queue *queue;
	struct list_head node;		/* of @queue->over */
	bool creates;			/* an unclaimed queue pair */
	struct ohca_async_completion completion;
};

/* What the last address of a batch has been resolved to: peers have many queue pairs. */
struct ohca_resolved_path {
	bool valid;
	u8 sgid_index;
	u8 hop_limit;
	u8 dgid[16];
	u8 dmac[ETH_ALEN];
};

/* --- the end of an operation ----------------------------------------------- */

static void ohca_request_over(struct ohca_async_request *request, int error, u32 detail)
{
	struct ohca_async_queue *queue = request->queue;
	unsigned long flags;

	request->completion.error = -error;
	request->completion.detail = detail;
	spin_lock_irqsave(&queue->lock, flags);
	list_add_tail(&request->node, &queue->over);
	spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
}

static void ohca_request_done(struct ohca_op *op)
{
	struct ohca_async_request *request = op->context;
	u32 detail = op->detail;

	if (request->creates && !op->result)
		detail = le32_to_cpu(op->out.create_qp.qpn);
	/* The queue stays at least until this returns: the operation is in flight till then. */
	ohca_request_over(request, op->result, detail);
}

/* --- read and poll ----------------------------------------------------------- */

static bool ohca_queue_readable(struct ohca_async_queue *queue)
{
	return !list_empty_careful(&queue->over) || READ_ONCE(queue->ended);
}

/* The oldest; NULL if there is none, and then @ended is to be looked at. */
static struct ohca_async_request *ohca_queue_take(struct ohca_async_queue *queue, bool *ended)
{
	struct ohca_async_request *request;

	spin_lock_irq(&queue->lock);
	request = list_first_entry_or_null(&queue->over, struct ohca_async_request, node);
	if (request)
		list_del(&request->node);
	*ended = queue->ended;
	spin_unlock_irq(&queue->lock);
	return request;
}

static void ohca_queue_put_back(struct ohca_async_queue *queue,
				struct ohca_async_request *request)
{
	bool ended;

	spin_lock_irq(&queue->lock);
	ended = queue->ended;
	if (!ended)
		list_add(&request->node, &queue->over);
	spin_unlock_irq(&queue->lock);
	if (ended)
		kfree(request);
}

static void ohca_queue_count(struct ohca_async_queue *queue, s32 change)
{
	spin_lock_irq(&queue->lock);
	queue->unread += change;
	spin_unlock_irq(&queue->lock);
}

/* As many as there are and fit.  Returns bytes; 0: none. */
static ssize_t ohca_queue_copy(struct ohca_async_queue *queue, char __user *to, size_t size,
			       bool *ended)
{
	struct ohca_async_request *request;
	ssize_t copied = 0;

	while (size - copied >= sizeof(request->completion)) {
		request = ohca_queue_take(queue, ended);
		if (!request)
			break;
		if (copy_to_user(to + copied, &request->completion, sizeof(request->completion))) {
			ohca_queue_put_back(queue, request);
			return copied ?: -EFAULT;
		}
		ohca_queue_count(queue, -1);
		kfree(request);
		copied += sizeof(request->completion);
	}
	return copied;
}

static ssize_t ohca_queue_read(struct file *file, char __user *to, size_t size, loff_t *offset)
{
	struct ohca_async_queue *queue =
		container_of(file->private_data, struct ohca_async_queue, uobject);
	bool ended = false;
	ssize_t ret;

	if (size < sizeof(struct ohca_async_completion))
		return -EINVAL;
	for (;;) {
		ret = ohca_queue_copy(queue, to, size, &ended);
		if (ret)
			return ret;
		if (ended)
			return -EIO;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(queue->wait, ohca_queue_readable(queue)))
			return -ERESTARTSYS;
	}
}

static __poll_t ohca_queue_poll(struct file *file, struct poll_table_struct *table)
{
	struct ohca_async_queue *queue =
		container_of(file->private_data, struct ohca_async_queue, uobject);
	__poll_t events = 0;

	poll_wait(file, &queue->wait, table);
	if (ohca_queue_readable(queue))
		events = EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(queue->ended))
		events |= EPOLLERR | EPOLLHUP;
	return events;
}

static const struct file_operations ohca_queue_fops = {
	.owner = THIS_MODULE,
	.read = ohca_queue_read,
	.poll = ohca_queue_poll,
	.release = uverbs_uobject_fd_release,
};

/* --- submission ---------------------------------------------------------------- */

static bool ohca_path_is(const struct ohca_resolved_path *path,
			 const struct ohca_async_qp_attr *attr)
{
	return path->valid && path->sgid_index == attr->sgid_index &&
	       !memcmp(path->dgid, attr->dgid, sizeof(path->dgid));
}

static void ohca_path_keep(struct ohca_resolved_path *path, const struct rdma_ah_attr *ah)
{
	path->valid = true;
	path->sgid_index = ah->grh.sgid_index;
	path->hop_limit = ah->grh.hop_limit;
	memcpy(path->dgid, ah->grh.dgid.raw, sizeof(path->dgid));
	memcpy(path->dmac, ah->roce.dmac, sizeof(path->dmac));
}

/*
 * ib_core resolves an address of an application when it becomes that of a queue
 * pair or of an address handle, which here costs nothing.  May sleep.
 */
static int ohca_resolve_path(struct ib_qp *qp, struct rdma_ah_attr *ah,
			     struct ohca_resolved_path *path)
{
	struct ib_ah *handle;

	if (!qp->pd)
		return -EOPNOTSUPP;
	handle = rdma_create_user_ah(qp->pd, ah, NULL);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	ohca_path_keep(path, ah);
	rdma_destroy_ah(handle, RDMA_DESTROY_AH_SLEEPABLE);
	return 0;
}

/* On success the caller has a reference to the source GID. */
static int ohca_take_path(struct ib_qp *qp, const struct ohca_async_qp_attr *in,
			  struct rdma_ah_attr *ah, struct ohca_resolved_path *path)
{
	const struct ib_gid_attr *sgid_attr;
	int ret;

	if (!in->is_global || in->ah_port_num != OHCA_PORT)
		return -EINVAL;
	ah->type = rdma_ah_find_type(qp->device, in->ah_port_num);
	rdma_ah_set_grh(ah, NULL, in->flow_label, in->sgid_index, in->hop_limit,
			in->traffic_class);
	rdma_ah_set_dgid_raw(ah, (void *)in->dgid);
	rdma_ah_set_sl(ah, in->sl);
	rdma_ah_set_port_num(ah, in->ah_port_num);
	if (ohca_path_is(path, in)) {
		memcpy(ah->roce.dmac, path->dmac, sizeof(path->dmac));
		ah->grh.hop_limit = path->hop_limit;
	} else {
		ret = ohca_resolve_path(qp, ah, path);
		if (ret)
			return ret;
	}
	sgid_attr = rdma_get_gid_attr(qp->device, in->ah_port_num, in->sgid_index);
	if (IS_ERR(sgid_attr))
		return PTR_ERR(sgid_attr);
	ah->grh.sgid_attr = sgid_attr;
	return 0;
}

static int ohca_check_request(const struct ohca_async_qp_attr *in)
{
	if (in->mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if ((in->mask & IB_QP_STATE && in->qp_state > IB_QPS_ERR) ||
	    (in->mask & IB_QP_CUR_STATE && in->cur_qp_state > IB_QPS_ERR))
		return -EINVAL;
	/* As for ibv_modify_qp(), save that no setting of ib_core makes an exception. */
	if (in->mask & IB_QP_QKEY && in->qkey & IB_QP_SET_QKEY && !capable(CAP_NET_RAW))
		return -EPERM;
	return 0;
}

static void ohca_copy_request(const struct ohca_async_qp_attr *in, struct ib_qp_attr *attr)
{
	*attr = (struct ib_qp_attr) {
		.qp_state = in->qp_state,
		.cur_qp_state = in->cur_qp_state,
		.path_mtu = in->path_mtu,
		.path_mig_state = in->path_mig_state,
		.qkey = in->qkey,
		.rq_psn = in->rq_psn & 0xffffff,
		.sq_psn = in->sq_psn & 0xffffff,
		.dest_qp_num = in->dest_qp_num,
		.qp_access_flags = in->access_flags,
		.pkey_index = in->pkey_index,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.max_rd_atomic = in->max_rd_atomic,
		.max_dest_rd_atomic = in->max_dest_rd_atomic,
		.min_rnr_timer = in->min_rnr_timer,
		.port_num = in->port_num,
		.timeout = in->timeout,
		.retry_cnt = in->retry_cnt,
		.rnr_retry = in->rnr_retry,
	};
}

static int ohca_start_change(struct ohca_async_request *request, struct ib_qp *qp,
			     const struct ohca_async_operation *operation,
			     struct ohca_resolved_path *path)
{
	const struct ohca_async_qp_attr *in = &operation->attr;
	struct ib_qp_attr attr;
	int ret;

	ret = ohca_check_request(in);
	if (ret)
		return ret;
	ohca_copy_request(in, &attr);
	if (in->mask & IB_QP_AV) {
		ret = ohca_take_path(qp, in, &attr.ah_attr, path);
		if (ret)
			return ret;
	}
	if (operation->opcode == OHCA_ASYNC_CONNECT_QP)
		ret = ohca_async_connect_qp(&request->op, qp, &attr, in->mask);
	else
		ret = ohca_async_modify_qp(&request->op, qp, &attr, in->mask);
	if (in->mask & IB_QP_AV)
		rdma_put_gid_attr(attr.ah_attr.grh.sgid_attr);
	return ret;
}

static int ohca_start_request(struct ohca_async_request *request, struct ib_qp *qp,
			      const struct ohca_async_operation *operation,
			      struct ohca_resolved_path *path)
{
	if (memchr_inv(operation->reserved_280, 0, sizeof(operation->reserved_280)) ||
	    operation->reserved_60)
		return -EINVAL;
	switch (operation->opcode) {
	case OHCA_ASYNC_MODIFY_QP:
	case OHCA_ASYNC_CONNECT_QP:
		return ohca_start_change(request, qp, operation, path);
	case OHCA_ASYNC_DISCONNECT_QP:
		return ohca_async_disconnect_qp(&request->op, qp);
	case OHCA_ASYNC_DESTROY_QP:
		return ohca_start_destroy_qp(&request->op, qp);
	default:
		return -EOPNOTSUPP;
	}
}

/* Room for @count operations. */
static int ohca_queue_reserve(struct ohca_async_queue *queue, u32 count)
{
	int ret = 0;

	spin_lock_irq(&queue->lock);
	if (queue->ended)
		ret = -EIO;
	else if (count > queue->depth - queue->unread)
		ret = -EAGAIN;
	else
		queue->unread += count;
	spin_unlock_irq(&queue->lock);
	return ret;
}

static int ohca_alloc_requests(struct ohca_async_queue *queue, struct list_head *requests,
			       u32 count)
{
	struct ohca_async_request *request;
	u32 i;

	for (i = 0; i < count; i++) {
		request = kzalloc(sizeof(*request), GFP_KERNEL_ACCOUNT);
		if (!request)
			return -ENOMEM;
		request->queue = queue;
		ohca_op_init(&request->op, &queue->async, ohca_request_done, request);
		list_add_tail(&request->node, requests);
	}
	return 0;
}

static void ohca_free_requests(struct list_head *requests)
{
	struct ohca_async_request *request, *next;

	list_for_each_entry_safe(request, next, requests, node)
		kfree(request);
}

/* @count of them, for which there is room, or none. */
static int ohca_take_requests(struct ohca_async_queue *queue, struct list_head *requests,
			      u32 count)
{
	int ret = ohca_queue_reserve(queue, count);

	if (ret)
		return ret;
	ret = ohca_alloc_requests(queue, requests, count);
	if (ret) {
		ohca_free_requests(requests);
		ohca_queue_count(queue, -(s32)count);
	}
	return ret;
}

/* From here on each request ends by a completion. */
static void ohca_start_requests(struct list_head *requests, struct ib_uobject **qps,
				const struct ohca_async_operation *operations)
{
	struct ohca_async_request *request, *next;
	struct ohca_resolved_path path = {};
	u32 i = 0;
	int ret;

	list_for_each_entry_safe(request, next, requests, node) {
		list_del(&request->node);
		request->completion.user_data = operations[i].user_data;
		ret = ohca_start_request(request, qps[i]->object, &operations[i], &path);
		if (ret)
			ohca_request_over(request, ret, OHCA_CMD_DETAIL_NONE);
		i++;
	}
}

static int UVERBS_HANDLER(OHCA_METHOD_ASYNC_QUEUE_SUBMIT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, OHCA_ATTR_ASYNC_QUEUE_SUBMIT_FD);
	struct ohca_async_queue *queue = container_of(uobject, struct ohca_async_queue, uobject);
	const struct ohca_async_operation *operations;
	struct ib_uobject **qps;
	LIST_HEAD(requests);
	int count, ret;

	count = uverbs_attr_get_uobjs_arr(attrs, OHCA_ATTR_ASYNC_QUEUE_SUBMIT_QPS, &qps);
	operations = uverbs_attr_get_alloced_ptr(attrs, OHCA_ATTR_ASYNC_QUEUE_SUBMIT_OPERATIONS);
	if (IS_ERR(operations))
		return PTR_ERR(operations);
	if (uverbs_attr_get_len(attrs, OHCA_ATTR_ASYNC_QUEUE_SUBMIT_OPERATIONS) !=
	    count * sizeof(*operations))
		return -EINVAL;
	ret = ohca_take_requests(queue, &requests, count);
	if (ret)
		return ret;
	ohca_start_requests(&requests, qps, operations);
	return 0;
}

/* --- creation ---------------------------------------------------------------- */

/* NULL if @id is not given. */
static void *ohca_optional_object(struct uverbs_attr_bundle *attrs, u16 id)
{
	void *object = uverbs_attr_get_obj(attrs, id);

	return IS_ERR(object) ? NULL : object;
}

static int ohca_take_qp_init(struct uverbs_attr_bundle *attrs, struct ib_qp_init_attr *attr)
{
	struct ohca_async_qp_init init;
	int ret;

	ret = uverbs_copy_from(&init, attrs, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_INIT);
	if (ret)
		return ret;
	if (init.sq_sig_all > 1)
		return -EINVAL;
	*attr = (struct ib_qp_init_attr) {
		.send_cq = uverbs_attr_get_obj(attrs, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SEND_CQ),
		.recv_cq = ohca_optional_object(attrs, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_RECV_CQ),
		.srq = ohca_optional_object(attrs, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SRQ),
		.qp_type = init.qp_type,
		.create_flags = init.create_flags,
		.sq_sig_type = init.sq_sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = init.max_send_wr,
			.max_recv_wr = init.max_recv_wr,
			.max_send_sge = init.max_send_sge,
			.max_recv_sge = init.max_recv_sge,
			.max_inline_data = init.max_inline_data,
		},
	};
	return 0;
}

static int ohca_start_creation(struct ohca_async_request *request, struct ib_pd *pd,
			       const struct ib_qp_init_attr *attr,
			       const struct ohca_create_qp_req *req)
{
	struct ohca_unclaimed_qp *unclaimed;

	unclaimed = ohca_unclaimed_alloc(&request->queue->unclaimed, attr, pd, req);
	if (IS_ERR(unclaimed))
		return PTR_ERR(unclaimed);
	return ohca_start_create_unclaimed(&request->op, unclaimed);
}

/* As ohca_start_requests(). */
static void ohca_start_creations(struct list_head *requests, struct ib_pd *pd,
				 const struct ib_qp_init_attr *attr,
				 const struct ohca_async_create_qp *creations)
{
	struct ohca_async_request *request, *next;
	int ret;

	list_for_each_entry_safe(request, next, requests, node) {
		list_del(&request->node);
		request->completion.user_data = creations->user_data;
		request->creates = true;
		ret = ohca_start_creation(request, pd, attr, &creations->request);
		if (ret) {
			ohca_unclaimed_give_up(&request->queue->unclaimed, 1);
			ohca_request_over(request, ret, OHCA_CMD_DETAIL_NONE);
		}
		creations++;
	}
}

static int UVERBS_HANDLER(OHCA_METHOD_ASYNC_QUEUE_CREATE_QPS)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_FD);
	struct ohca_async_queue *queue = container_of(uobject, struct ohca_async_queue, uobject);
	struct ib_pd *pd = uverbs_attr_get_obj(attrs, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_PD);
	const struct ohca_async_create_qp *creations;
	struct ib_qp_init_attr attr;
	LIST_HEAD(requests);
	u32 length, count;
	int ret;

	creations = uverbs_attr_get_alloced_ptr(attrs,
						OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_REQUESTS);
	if (IS_ERR(creations))
		return PTR_ERR(creations);
	length = uverbs_attr_get_len(attrs, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_REQUESTS);
	count = length / sizeof(*creations);
	if (length % sizeof(*creations) || count > OHCA_ASYNC_BATCH_MAX)
		return -EINVAL;
	ret = ohca_take_qp_init(attrs, &attr);
	if (ret)
		return ret;
	ret = ohca_unclaimed_reserve(&queue->unclaimed, count);
	if (ret)
		return ret;
	ret = ohca_take_requests(queue, &requests, count);
	if (ret) {
		ohca_unclaimed_give_up(&queue->unclaimed, count);
		return ret;
	}
	ohca_start_creations(&requests, pd, &attr, creations);
	return 0;
}

/* --- life of the file -------------------------------------------------------------- */

static void ohca_queue_destroy(struct ib_uobject *uobject, enum rdma_remove_reason why)
{
	struct ohca_async_queue *queue = container_of(uobject, struct ohca_async_queue, uobject);
	LIST_HEAD(unread);

	ohca_async_wait_idle(&queue->async);
	ohca_unclaimed_destroy(&queue->unclaimed);
	spin_lock_irq(&queue->lock);
	queue->ended = true;
	list_splice_init(&queue->over, &unread);
	spin_unlock_irq(&queue->lock);
	wake_up_poll(&queue->wait, EPOLLIN | EPOLLRDNORM | EPOLLERR | EPOLLHUP);
	ohca_free_requests(&unread);
}

static int UVERBS_HANDLER(OHCA_METHOD_ASYNC_QUEUE_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, OHCA_ATTR_ASYNC_QUEUE_ALLOC_FD);
	struct ohca_async_queue *queue = container_of(uobject, struct ohca_async_queue, uobject);
	u32 depth;
	int ret;

	ret = uverbs_copy_from(&depth, attrs, OHCA_ATTR_ASYNC_QUEUE_ALLOC_DEPTH);
	if (ret)
		return ret;
	if (!depth || depth > OHCA_ASYNC_DEPTH_MAX)
		return -EINVAL;
	ohca_async_init(&queue->async, to_ohca_dev(attrs->context->device));
	queue->unclaimed.ucontext = to_ohca_ucontext(attrs->context);
	queue->unclaimed.max = depth;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->over);
	init_waitqueue_head(&queue->wait);
	queue->depth = depth;
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(OHCA_METHOD_ASYNC_QUEUE_ALLOC,
			    UVERBS_ATTR_FD(OHCA_ATTR_ASYNC_QUEUE_ALLOC_FD,
					   OHCA_OBJECT_ASYNC_QUEUE, UVERBS_ACCESS_NEW,
					   UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(OHCA_ATTR_ASYNC_QUEUE_ALLOC_DEPTH,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(OHCA_METHOD_ASYNC_QUEUE_SUBMIT,
			    UVERBS_ATTR_FD(OHCA_ATTR_ASYNC_QUEUE_SUBMIT_FD,
					   OHCA_OBJECT_ASYNC_QUEUE, UVERBS_ACCESS_READ,
					   UA_MANDATORY),
			    UVERBS_ATTR_IDRS_ARR(OHCA_ATTR_ASYNC_QUEUE_SUBMIT_QPS,
						 UVERBS_OBJECT_QP, UVERBS_ACCESS_READ, 1,
						 OHCA_ASYNC_BATCH_MAX, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(OHCA_ATTR_ASYNC_QUEUE_SUBMIT_OPERATIONS,
					       UVERBS_ATTR_MIN_SIZE(OHCA_OPERATION_SIZE),
					       UA_MANDATORY, UA_ALLOC_AND_COPY));

DECLARE_UVERBS_NAMED_METHOD(OHCA_METHOD_ASYNC_QUEUE_CREATE_QPS,
			    UVERBS_ATTR_FD(OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_FD,
					   OHCA_OBJECT_ASYNC_QUEUE, UVERBS_ACCESS_READ,
					   UA_MANDATORY),
			    UVERBS_ATTR_IDR(OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_PD,
					    UVERBS_OBJECT_PD, UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_IDR(OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SEND_CQ,
					    UVERBS_OBJECT_CQ, UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_IDR(OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_RECV_CQ,
					    UVERBS_OBJECT_CQ, UVERBS_ACCESS_READ, UA_OPTIONAL),
			    UVERBS_ATTR_IDR(OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SRQ,
					    UVERBS_OBJECT_SRQ, UVERBS_ACCESS_READ, UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_INIT,
					       UVERBS_ATTR_STRUCT(struct ohca_async_qp_init,
								  max_inline_data),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_REQUESTS,
					       UVERBS_ATTR_MIN_SIZE(OHCA_CREATION_SIZE),
					       UA_MANDATORY, UA_ALLOC_AND_COPY));

DECLARE_UVERBS_NAMED_OBJECT(OHCA_OBJECT_ASYNC_QUEUE,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct ohca_async_queue),
						 ohca_queue_destroy, &ohca_queue_fops,
						 "[ohca_async]", O_RDONLY),
			    &UVERBS_METHOD(OHCA_METHOD_ASYNC_QUEUE_ALLOC),
			    &UVERBS_METHOD(OHCA_METHOD_ASYNC_QUEUE_SUBMIT),
			    &UVERBS_METHOD(OHCA_METHOD_ASYNC_QUEUE_CREATE_QPS));

const struct uapi_definition ohca_async_queue_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(OHCA_OBJECT_ASYNC_QUEUE),
	{},
};
