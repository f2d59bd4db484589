// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pools of CQs. */

#include "ohca.h"

struct ib_cq *ohca_cq_take(struct ohca_pool *pool, ib_comp_handler comp_handler,
			   void (*event_handler)(struct ib_event *event, void *cq_context),
			   void *cq_context)
{
	struct ohca_pool_member *member = ohca_pool_take(pool);
	struct ib_cq *cq;

	if (IS_ERR(member))
		return ERR_CAST(member);
	cq = &container_of(member, struct ohca_cq, pool)->ibcq;
	cq->cq_context = cq_context;
	cq->event_handler = event_handler;
	/* Context first: an event of the last life may be on its way. */
	smp_store_release(&cq->comp_handler, comp_handler);
	return cq;
}
EXPORT_SYMBOL_GPL(ohca_cq_take);

/* Moderation as at first, where there is any; a command in any case, as the last of this life. */
static int ohca_begin_give_back_cq(struct ohca_op *op)
{
	if (!(op->async->dev->features & OHCA_FEATURE_MODERATION)) {
		op->cmd.opcode = OHCA_CMD_NOP;
		return 0;
	}
	op->in.modify_cq = (struct ohca_cmd_modify_cq_in) {
		.cqn = cpu_to_le32(to_ohca_cq(op->cq)->cqn),
	};
	op->cmd.opcode = OHCA_CMD_MODIFY_CQ;
	op->cmd.in = &op->in.modify_cq;
	op->cmd.in_length = sizeof(op->in.modify_cq);
	return 0;
}

static int ohca_end_give_back_cq(struct ohca_op *op, int result)
{
	struct ohca_cq *cq = to_ohca_cq(op->cq);

	/* One that has overrun takes no more completions. */
	if (!result && READ_ONCE(cq->overrun))
		result = -EIO;
	ohca_cq_discard(cq);
	op->result = result;
	return OHCA_OP_GOES_ON;
}

/* An interrupt handler may still use it: the last one to let go returns it. */
static void ohca_go_on_give_back_cq(struct ohca_op *op)
{
	struct ohca_cq *cq = to_ohca_cq(op->cq);

	cq->pool.returning = op;
	ohca_put_cq(cq);
}

static const struct ohca_op_type ohca_give_back_cq_op = {
	.begin = ohca_begin_give_back_cq,
	.end = ohca_end_give_back_cq,
	.go_on = ohca_go_on_give_back_cq,
};

static int ohca_reset_pooled_cq(struct ohca_op *op, struct ohca_pool_member *member)
{
	op->cq = &container_of(member, struct ohca_cq, pool)->ibcq;
	return ohca_op_start(op, &ohca_give_back_cq_op, NULL);
}

static int ohca_destroy_pooled_cq(struct ohca_pool_member *member)
{
	struct ohca_cq *cq = container_of(member, struct ohca_cq, pool);

	return ib_destroy_cq_user(&cq->ibcq, NULL);
}

static const struct ohca_pool_kind ohca_cq_pool = {
	.reset = ohca_reset_pooled_cq,
	.destroy = ohca_destroy_pooled_cq,
};

struct ohca_pool *ohca_cq_pool_create(struct ohca_async *async,
				      const struct ib_cq_init_attr *attr, u32 count)
{
	struct ohca_pool *pool = ohca_pool_alloc(async, &ohca_cq_pool);
	struct ib_cq *cq;
	u32 i;

	if (IS_ERR(pool))
		return pool;
	for (i = 0; i < count; i++) {
		cq = ib_create_cq(&async->dev->ibdev, NULL, NULL, NULL, attr);
		if (IS_ERR(cq)) {
			ohca_pool_destroy(pool);
			return ERR_CAST(cq);
		}
		ohca_pool_add(pool, &to_ohca_cq(cq)->pool);
	}
	return pool;
}
EXPORT_SYMBOL_GPL(ohca_cq_pool_create);

int ohca_cq_give_back(struct ohca_op *op, struct ib_cq *ibcq)
{
	if (atomic_read(&ibcq->usecnt))
		return -EBUSY;
	return ohca_pool_give_back(op, &to_ohca_cq(ibcq)->pool);
}
EXPORT_SYMBOL_GPL(ohca_cq_give_back);

/* Nobody uses it any more. */
void ohca_cq_settle(struct ohca_cq *cq)
{
	struct ohca_op *op = cq->pool.returning;

	cq->pool.returning = NULL;
	cq->ibcq.comp_handler = NULL;
	cq->ibcq.event_handler = NULL;
	refcount_set(&cq->refs, 1);
	ohca_pool_settle(&cq->pool, op);
}
