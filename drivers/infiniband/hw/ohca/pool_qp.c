// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pools of queue pairs. */

#include "ohca.h"

struct ib_qp *ohca_qp_take(struct ohca_pool *pool,
			   void (*event_handler)(struct ib_event *event, void *qp_context),
			   void *qp_context)
{
	struct ohca_pool_member *member = ohca_pool_take(pool);
	struct ohca_qp *qp;

	if (IS_ERR(member))
		return ERR_CAST(member);
	qp = container_of(member, struct ohca_qp, pool);
	qp->ibqp.qp_context = qp_context;
	/* Context first: an event of the last life may be on its way. */
	smp_store_release(&qp->ibqp.registered_event_handler, event_handler);
	ohca_op_queue_reopen(&qp->ops);
	return &qp->ibqp;
}
EXPORT_SYMBOL_GPL(ohca_qp_take);

struct ib_qp *ohca_qp_take_connected(struct ohca_op *op, struct ohca_pool *pool,
				     void (*event_handler)(struct ib_event *event,
							   void *qp_context),
				     void *qp_context, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp *qp = ohca_qp_take(pool, event_handler, qp_context);
	struct ohca_pool_member *member;
	int ret;

	if (IS_ERR(qp))
		return qp;
	ret = ohca_async_connect_qp(op, qp, attr, mask);
	if (!ret)
		return qp;
	/* Nothing has happened to it. */
	member = &to_ohca_qp(qp)->pool;
	ohca_pool_leave(member);
	ohca_pool_return(member, 0);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(ohca_qp_take_connected);

static int ohca_begin_give_back_qp(struct ohca_op *op)
{
	return 0;
}

static int ohca_end_give_back_qp(struct ohca_op *op, int result)
{
	op->result = ohca_end_reset_qp(op, result);
	return OHCA_OP_GOES_ON;
}

/* An event handler may still use it: the last one to let go returns it. */
static void ohca_go_on_give_back_qp(struct ohca_op *op)
{
	struct ohca_qp *qp = to_ohca_qp(op->qp);

	qp->pool.returning = op;
	ohca_put_qp(qp);
}

static const struct ohca_op_type ohca_give_back_qp_op = {
	.begin = ohca_begin_give_back_qp,
	.end = ohca_end_give_back_qp,
	.go_on = ohca_go_on_give_back_qp,
};

static int ohca_reset_pooled_qp(struct ohca_op *op, struct ohca_pool_member *member)
{
	struct ohca_qp *qp = container_of(member, struct ohca_qp, pool);

	/* Of one that is broken: closed by the reset that has failed. */
	ohca_op_queue_reopen(&qp->ops);
	return ohca_start_reset_qp(op, qp, &ohca_give_back_qp_op);
}

static int ohca_destroy_pooled_qp(struct ohca_pool_member *member)
{
	struct ohca_qp *qp = container_of(member, struct ohca_qp, pool);

	return ib_destroy_qp(&qp->ibqp);
}

static const struct ohca_pool_kind ohca_qp_pool = {
	.reset = ohca_reset_pooled_qp,
	.destroy = ohca_destroy_pooled_qp,
};

struct ohca_pool *ohca_qp_pool_create(struct ohca_async *async, struct ib_pd *pd,
				      const struct ib_qp_init_attr *attr, u32 count)
{
	struct ohca_pool *pool = ohca_pool_alloc(async, &ohca_qp_pool);
	struct ib_qp_init_attr init;
	struct ib_qp *qp;
	u32 i;

	if (IS_ERR(pool))
		return pool;
	for (i = 0; i < count; i++) {
		init = *attr;
		init.event_handler = NULL;
		init.qp_context = NULL;
		qp = ib_create_qp(pd, &init);
		if (IS_ERR(qp)) {
			ohca_pool_destroy(pool);
			return ERR_CAST(qp);
		}
		ohca_pool_add(pool, &to_ohca_qp(qp)->pool);
	}
	return pool;
}
EXPORT_SYMBOL_GPL(ohca_qp_pool_create);

int ohca_qp_give_back(struct ohca_op *op, struct ib_qp *ibqp)
{
	if (atomic_read(&ibqp->usecnt))
		return -EBUSY;
	return ohca_pool_give_back(op, &to_ohca_qp(ibqp)->pool);
}
EXPORT_SYMBOL_GPL(ohca_qp_give_back);

/* Nobody uses it any more. */
void ohca_qp_settle(struct ohca_qp *qp)
{
	struct ohca_op *op = qp->pool.returning;

	qp->pool.returning = NULL;
	qp->ibqp.registered_event_handler = NULL;
	refcount_set(&qp->refs, 1);
	ohca_pool_settle(&qp->pool, op);
}
