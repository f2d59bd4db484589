// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pools of basic SRQs. */

#include "ohca.h"

struct ib_srq *ohca_srq_take(struct ohca_pool *pool,
			     void (*event_handler)(struct ib_event *event, void *srq_context),
			     void *srq_context)
{
	struct ohca_pool_member *member = ohca_pool_take(pool);
	struct ib_srq *srq;

	if (IS_ERR(member))
		return ERR_CAST(member);
	srq = &container_of(member, struct ohca_srq, pool)->ibsrq;
	srq->srq_context = srq_context;
	/* Context first: an event of the last life may be on its way. */
	smp_store_release(&srq->event_handler, event_handler);
	return srq;
}
EXPORT_SYMBOL_GPL(ohca_srq_take);

static int ohca_begin_give_back_srq(struct ohca_op *op)
{
	struct ohca_srq *srq = to_ohca_srq(op->srq);

	ohca_srq_discard(srq);
	op->in.handle = (struct ohca_cmd_handle) {
		.handle = cpu_to_le32(srq->srqn),
	};
	op->cmd.opcode = OHCA_CMD_RESET_SRQ;
	op->cmd.in = &op->in.handle;
	op->cmd.in_length = sizeof(op->in.handle);
	return 0;
}

static int ohca_end_give_back_srq(struct ohca_op *op, int result)
{
	if (!result)
		ohca_srq_restart(to_ohca_srq(op->srq));
	op->result = result;
	return OHCA_OP_GOES_ON;
}

/* An event handler may still use it: the last one to let go returns it. */
static void ohca_go_on_give_back_srq(struct ohca_op *op)
{
	struct ohca_srq *srq = to_ohca_srq(op->srq);

	srq->pool.returning = op;
	ohca_put_srq(srq);
}

static const struct ohca_op_type ohca_give_back_srq_op = {
	.begin = ohca_begin_give_back_srq,
	.end = ohca_end_give_back_srq,
	.go_on = ohca_go_on_give_back_srq,
};

static int ohca_reset_pooled_srq(struct ohca_op *op, struct ohca_pool_member *member)
{
	op->srq = &container_of(member, struct ohca_srq, pool)->ibsrq;
	return ohca_op_start(op, &ohca_give_back_srq_op, NULL);
}

static int ohca_destroy_pooled_srq(struct ohca_pool_member *member)
{
	struct ohca_srq *srq = container_of(member, struct ohca_srq, pool);

	return ib_destroy_srq_user(&srq->ibsrq, NULL);
}

static const struct ohca_pool_kind ohca_srq_pool = {
	.reset = ohca_reset_pooled_srq,
	.destroy = ohca_destroy_pooled_srq,
};

struct ohca_pool *ohca_srq_pool_create(struct ohca_async *async, struct ib_pd *pd,
				       const struct ib_srq_init_attr *attr, u32 count)
{
	struct ib_srq_init_attr init;
	struct ohca_pool *pool;
	struct ib_srq *srq;
	u32 i;

	/* Targets use an XRC SRQ without a reference: nobody can tell when it may be reset. */
	if (attr->srq_type != IB_SRQT_BASIC)
		return ERR_PTR(-EOPNOTSUPP);
	pool = ohca_pool_alloc(async, &ohca_srq_pool);
	if (IS_ERR(pool))
		return pool;
	for (i = 0; i < count; i++) {
		init = *attr;
		init.event_handler = NULL;
		init.srq_context = NULL;
		srq = ib_create_srq(pd, &init);
		if (IS_ERR(srq)) {
			ohca_pool_destroy(pool);
			return ERR_CAST(srq);
		}
		ohca_pool_add(pool, &to_ohca_srq(srq)->pool);
	}
	return pool;
}
EXPORT_SYMBOL_GPL(ohca_srq_pool_create);

int ohca_srq_give_back(struct ohca_op *op, struct ib_srq *ibsrq)
{
	if (atomic_read(&ibsrq->usecnt))
		return -EBUSY;
	return ohca_pool_give_back(op, &to_ohca_srq(ibsrq)->pool);
}
EXPORT_SYMBOL_GPL(ohca_srq_give_back);

/* Nobody uses it any more. */
void ohca_srq_settle(struct ohca_srq *srq)
{
	struct ohca_op *op = srq->pool.returning;

	srq->pool.returning = NULL;
	srq->ibsrq.event_handler = NULL;
	refcount_set(&srq->refs, 1);
	ohca_pool_settle(&srq->pool, op);
}
