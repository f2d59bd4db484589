// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of applications that nobody waits for when they are created or destroyed.
 *
 * uverbs makes, finds and frees an object within one system call, and ib_core
 * keeps it by its number.  So what has to wait for the device is done while
 * ib_core does not need it:
 *
 *   creation      an operation creates the device's queue pair, which is
 *                 unclaimed then; the create verb claims it, without a command
 *   destruction   an operation destroys the device's queue pair; the destroy
 *                 verb frees the object, without a command
 *
 *   LIVE -> DESTROYING -> GONE
 *           DESTROYING -> LIVE             refused
 */

#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "ohca.h"

/* For both: the rest is not for an interrupt. */
static int ohca_end_deferred_qp(struct ohca_op *op, int result)
{
	op->result = result;
	return OHCA_OP_GOES_ON;
}

/* --- unclaimed queue pairs ---------------------------------------------------- */

static struct xarray *ohca_unclaimed_table(struct ohca_unclaimed_owner *owner)
{
	return &owner->ucontext->unclaimed;
}

/* -EAGAIN: too many.  Else each is given back by ohca_unclaimed_give_up(). */
int ohca_unclaimed_reserve(struct ohca_unclaimed_owner *owner, u32 count)
{
	int ret = 0;

	xa_lock(ohca_unclaimed_table(owner));
	if (count > owner->max - owner->count)
		ret = -EAGAIN;
	else
		owner->count += count;
	xa_unlock(ohca_unclaimed_table(owner));
	return ret;
}

void ohca_unclaimed_give_up(struct ohca_unclaimed_owner *owner, u32 count)
{
	xa_lock(ohca_unclaimed_table(owner));
	owner->count -= count;
	xa_unlock(ohca_unclaimed_table(owner));
}

/* As ib_core counts for queue pairs: what it uses is not destroyed. */
static void ohca_unclaimed_refer(struct ib_qp *model, int by)
{
	atomic_add(by, &model->pd->usecnt);
	atomic_add(by, &model->send_cq->usecnt);
	if (model->recv_cq)
		atomic_add(by, &model->recv_cq->usecnt);
	if (model->srq)
		atomic_add(by, &model->srq->usecnt);
}

/* The device does not know it, or it has been claimed. */
static void ohca_unclaimed_free(struct ohca_unclaimed_qp *unclaimed)
{
	struct ib_qp *model = &unclaimed->model.ibqp;

	ohca_page_memory_free(to_ohca_dev(model->device), &unclaimed->memory);
	ohca_qp_free_user(&unclaimed->model);
	ohca_unclaimed_refer(model, -1);
	kfree(unclaimed);
}

/* Checks, pins and describes, in the application's context. */
static int ohca_unclaimed_init(struct ohca_unclaimed_qp *unclaimed,
			       struct ib_qp_init_attr *attr)
{
	struct ohca_ucontext *ucontext = unclaimed->owner->ucontext;
	struct ohca_dev *dev = to_ohca_dev(ucontext->ibucontext.device);
	struct ohca_create_qp_params params;
	struct ohca_page_list pages;
	int ret;

	if (unclaimed->req.comp_mask & OHCA_CREATE_QP_CLAIM)
		return -EINVAL;
	ret = ohca_qp_init(dev, &unclaimed->model, attr, true);
	if (!ret)
		ret = ohca_qp_plan(dev, ucontext, &unclaimed->model, attr, &unclaimed->req,
				   &params);
	if (!ret)
		ret = ohca_qp_pin(dev, &unclaimed->model, &unclaimed->req, &unclaimed->memory,
				  &pages);
	if (ret)
		return ret;
	params.pages = &pages;
	ohca_fill_create_qp(&params, &unclaimed->in);
	return 0;
}

/*
 * What ohca_start_create_unclaimed() is to create: as @attr, of which the objects stay
 * while uverbs has locked them for the caller.  @owner has a reservation.
 */
struct ohca_unclaimed_qp *ohca_unclaimed_alloc(struct ohca_unclaimed_owner *owner,
					       const struct ib_qp_init_attr *attr,
					       struct ib_pd *pd,
					       const struct ohca_create_qp_req *req)
{
	struct ib_qp_init_attr granted = *attr;
	struct ohca_unclaimed_qp *unclaimed;
	struct ib_qp *model;
	int ret;

	unclaimed = kzalloc(sizeof(*unclaimed), GFP_KERNEL_ACCOUNT);
	if (!unclaimed)
		return ERR_PTR(-ENOMEM);
	unclaimed->owner = owner;
	unclaimed->req = *req;
	model = &unclaimed->model.ibqp;
	model->device = pd->device;
	model->qp_type = attr->qp_type;
	model->pd = pd;
	model->send_cq = attr->send_cq;
	model->recv_cq = attr->recv_cq;
	model->srq = attr->srq;
	ohca_unclaimed_refer(model, 1);
	ret = ohca_unclaimed_init(unclaimed, &granted);
	if (!ret)
		return unclaimed;
	ohca_unclaimed_free(unclaimed);
	return ERR_PTR(ret);
}

static int ohca_begin_create_unclaimed(struct ohca_op *op)
{
	op->cmd.opcode = OHCA_CMD_CREATE_QP;
	op->cmd.in = &op->unclaimed->in;
	op->cmd.in_length = sizeof(op->unclaimed->in);
	op->cmd.out = &op->out.create_qp;
	op->cmd.out_length = sizeof(op->out.create_qp);
	return 0;
}

/* The device has created it; from here on it can be claimed. */
static int ohca_unclaimed_keep(struct ohca_dev *dev, struct ohca_unclaimed_qp *unclaimed,
			       const struct ohca_cmd_create_qp_out *out)
{
	struct ohca_qp *model = &unclaimed->model;
	u32 qpn = le32_to_cpu(out->qpn);
	int ret;

	ret = ohca_qp_accept(dev, model, out);
	if (ret)
		return ret;
	ohca_page_memory_free(dev, &unclaimed->memory);
	ret = xa_insert(ohca_unclaimed_table(unclaimed->owner), qpn, unclaimed, GFP_KERNEL);
	if (ret)
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_QP, qpn);
	return ret == -EBUSY ? -EIO : ret;
}

static int ohca_finalize_create_unclaimed(struct ohca_op *op)
{
	struct ohca_unclaimed_qp *unclaimed = op->unclaimed;
	struct ohca_unclaimed_owner *owner = unclaimed->owner;
	int ret = op->result;

	if (!ret)
		ret = ohca_unclaimed_keep(op->async->dev, unclaimed, &op->out.create_qp);
	if (!ret)
		return 0;
	ohca_unclaimed_free(unclaimed);
	ohca_unclaimed_give_up(owner, 1);
	return ret;
}

static const struct ohca_op_type ohca_create_unclaimed_op = {
	.begin = ohca_begin_create_unclaimed,
	.end = ohca_end_deferred_qp,
	.go_on = ohca_op_finalize_later,
	.finalize = ohca_finalize_create_unclaimed,
};

/* On failure it is gone, and the caller has the reservation again. */
int ohca_start_create_unclaimed(struct ohca_op *op, struct ohca_unclaimed_qp *unclaimed)
{
	int ret;

	op->unclaimed = unclaimed;
	ret = ohca_op_start(op, &ohca_create_unclaimed_op, NULL);
	if (ret)
		ohca_unclaimed_free(unclaimed);
	return ret;
}

static bool ohca_is_claim_of(const struct ohca_unclaimed_qp *unclaimed, const struct ohca_qp *qp,
			     const struct ohca_create_qp_req *req,
			     const struct ohca_cmd_create_qp_in *in)
{
	size_t behind_pages = sizeof(in->pages);

	return req->buffer_address == unclaimed->req.buffer_address &&
	       req->buffer_length == unclaimed->req.buffer_length &&
	       qp->max_inline == unclaimed->model.max_inline &&
	       qp->sq.max_sge == unclaimed->model.sq.max_sge &&
	       qp->rq.max_sge == unclaimed->model.rq.max_sge &&
	       !memcmp((const void *)in + behind_pages,
		       (const void *)&unclaimed->in + behind_pages, sizeof(*in) - behind_pages);
}

static struct ohca_unclaimed_qp *ohca_unclaimed_take(struct ohca_ucontext *ucontext,
						     const struct ohca_qp *qp,
						     const struct ohca_create_qp_req *req,
						     const struct ohca_cmd_create_qp_in *in)
{
	struct ohca_unclaimed_qp *unclaimed;

	xa_lock(&ucontext->unclaimed);
	unclaimed = xa_load(&ucontext->unclaimed, req->qpn);
	if (unclaimed && !ohca_is_claim_of(unclaimed, qp, req, in))
		unclaimed = NULL;
	if (unclaimed) {
		__xa_erase(&ucontext->unclaimed, req->qpn);
		unclaimed->owner->count--;
	}
	xa_unlock(&ucontext->unclaimed);
	return unclaimed;
}

/*
 * In the create verb, whose @qp gets what has been created: numbers and buffer.  The
 * device's queue pair is the caller's then.
 */
int ohca_qp_claim(struct ohca_dev *dev, struct ohca_ucontext *ucontext, struct ohca_qp *qp,
		  struct ohca_create_qp_params *params, const struct ohca_create_qp_req *req)
{
	struct ohca_unclaimed_qp *unclaimed;
	struct ohca_cmd_create_qp_in in;

	params->pages = NULL;
	ohca_fill_create_qp(params, &in);
	unclaimed = ohca_unclaimed_take(ucontext, qp, req, &in);
	if (!unclaimed) {
		ibdev_dbg(&dev->ibdev, "QP %#x does not wait to be claimed like this\n", req->qpn);
		return -EINVAL;
	}
	qp->qpn = unclaimed->model.qpn;
	qp->ibqp.qp_num = qp->qpn;
	qp->uar_slot = unclaimed->model.uar_slot;
	swap(qp->umem, unclaimed->model.umem);
	ohca_unclaimed_free(unclaimed);
	return 0;
}

static struct ohca_unclaimed_qp *ohca_unclaimed_take_any(struct ohca_unclaimed_owner *owner)
{
	struct xarray *table = ohca_unclaimed_table(owner);
	struct ohca_unclaimed_qp *unclaimed, *found = NULL;
	unsigned long qpn;

	xa_lock(table);
	xa_for_each(table, qpn, unclaimed) {
		if (unclaimed->owner != owner)
			continue;
		__xa_erase(table, qpn);
		owner->count--;
		found = unclaimed;
		break;
	}
	xa_unlock(table);
	return found;
}

/* All of them: there is no operation any more that creates one.  Sleeps. */
void ohca_unclaimed_destroy(struct ohca_unclaimed_owner *owner)
{
	struct ohca_dev *dev = to_ohca_dev(owner->ucontext->ibucontext.device);
	struct ohca_unclaimed_qp *unclaimed;

	while ((unclaimed = ohca_unclaimed_take_any(owner))) {
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_QP, unclaimed->model.qpn);
		ohca_unclaimed_free(unclaimed);
	}
	WARN_ON(owner->count);
}

/* --- destruction ------------------------------------------------------------ */

/* Operations get @error, or are taken if that is 0.  Who waits may free @qp then. */
static void ohca_qp_set_life(struct ohca_qp *qp, enum ohca_qp_life life, int error)
{
	ohca_op_queue_refuse(&qp->ops, error);
	/* Pairs with the acquire in ohca_qp_is_settled(). */
	smp_store_release(&qp->life, life);
	wake_up_var(&qp->life);
}

static bool ohca_qp_is_settled(struct ohca_qp *qp)
{
	/* Pairs with the release in ohca_qp_set_life(). */
	return smp_load_acquire(&qp->life) != OHCA_QP_DESTROYING;
}

/* Sleeps until no operation is about to destroy it; uverbs lets no other begin meanwhile. */
void ohca_qp_wait_settled(struct ohca_qp *qp)
{
	wait_var_event(&qp->life, ohca_qp_is_settled(qp));
}

static int ohca_begin_destroy_qp(struct ohca_op *op)
{
	struct ohca_qp *qp = to_ohca_qp(op->qp);

	/* A member of multicast groups. */
	if (atomic_read(&qp->ibqp.usecnt))
		return -EBUSY;
	op->in.handle = (struct ohca_cmd_handle) {
		.handle = cpu_to_le32(qp->qpn),
	};
	op->cmd.opcode = OHCA_CMD_DESTROY_QP;
	op->cmd.in = &op->in.handle;
	op->cmd.in_length = sizeof(op->in.handle);
	return 0;
}

static int ohca_finalize_destroy_qp(struct ohca_op *op)
{
	struct ohca_qp *qp = to_ohca_qp(op->qp);
	struct ohca_dev *dev = op->async->dev;
	int ret;

	ret = ohca_cmd_destroyed(dev, OHCA_CMD_DESTROY_QP, qp->qpn, op->result);
	if (ret) {
		ohca_qp_set_life(qp, OHCA_QP_LIVE, 0);
		return ret;
	}
	ohca_qp_unpublish(dev, qp);
	ohca_qp_free_user(qp);
	ohca_qp_set_life(qp, OHCA_QP_GONE, -EINVAL);
	return 0;
}

static const struct ohca_op_type ohca_destroy_qp_op = {
	.begin = ohca_begin_destroy_qp,
	.end = ohca_end_deferred_qp,
	.go_on = ohca_op_finalize_later,
	.finalize = ohca_finalize_destroy_qp,
};

static int ohca_qp_begin_destruction(struct ohca_qp *qp)
{
	switch (cmpxchg(&qp->life, OHCA_QP_LIVE, OHCA_QP_DESTROYING)) {
	case OHCA_QP_LIVE:
		return 0;
	case OHCA_QP_DESTROYING:
		return -EBUSY;
	default:
		return -EINVAL;
	}
}

/*
 * Of an application, after what is in flight on it.  As the verb, it ends with -EBUSY
 * or without an error, but not before a device that does not answer has been stopped.
 */
int ohca_start_destroy_qp(struct ohca_op *op, struct ib_qp *ibqp)
{
	struct ohca_qp *qp = to_ohca_qp(ibqp);
	int ret;

	/* XRC targets are shared: ib_core destroys them with their last handle. */
	if (ibqp->real_qp != ibqp || !qp->user || ibqp->qp_type == IB_QPT_XRC_TGT)
		return -EOPNOTSUPP;
	ret = ohca_qp_begin_destruction(qp);
	if (ret)
		return ret;
	op->qp = ibqp;
	ret = ohca_op_start_last(op, &ohca_destroy_qp_op, &qp->ops);
	if (ret)
		ohca_qp_set_life(qp, OHCA_QP_LIVE, 0);
	return ret;
}
