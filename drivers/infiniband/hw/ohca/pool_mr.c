// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pools of memory regions that are registered by work requests, and how these
 * are invalidated without a queue pair.
 */

#include "ohca.h"

struct ib_mr *ohca_mr_take(struct ohca_pool *pool)
{
	struct ohca_pool_member *member = ohca_pool_take(pool);
	struct ib_mr *mr;

	if (IS_ERR(member))
		return ERR_CAST(member);
	mr = &container_of(member, struct ohca_mr, pool)->ibmr;
	/* Peers of its last user must not get at what the next one registers. */
	ib_update_fast_reg_key(mr, (u8)(mr->rkey + 1));
	return mr;
}
EXPORT_SYMBOL_GPL(ohca_mr_take);

static int ohca_begin_invalidate(struct ohca_op *op)
{
	op->in.handle = (struct ohca_cmd_handle) {
		.handle = cpu_to_le32(op->mr->rkey),
	};
	op->cmd.opcode = OHCA_CMD_INVALIDATE_MKEY;
	op->cmd.in = &op->in.handle;
	op->cmd.in_length = sizeof(op->in.handle);
	return 0;
}

static const struct ohca_op_type ohca_invalidate_op = {
	.begin = ohca_begin_invalidate,
};

int ohca_async_invalidate_mr(struct ohca_op *op, struct ib_mr *mr)
{
	if (!(op->async->dev->features & OHCA_FEATURE_RECYCLE) || !to_ohca_mr(mr)->list) {
		ibdev_dbg(mr->device, "MR %#x not invalidated by a command\n", mr->rkey);
		return -EOPNOTSUPP;
	}
	op->mr = mr;
	return ohca_op_start(op, &ohca_invalidate_op, NULL);
}
EXPORT_SYMBOL_GPL(ohca_async_invalidate_mr);

static int ohca_end_give_back_mr(struct ohca_op *op, int result)
{
	ohca_pool_return(&to_ohca_mr(op->mr)->pool, result);
	return result;
}

static const struct ohca_op_type ohca_give_back_mr_op = {
	.begin = ohca_begin_invalidate,
	.end = ohca_end_give_back_mr,
};

static int ohca_reset_pooled_mr(struct ohca_op *op, struct ohca_pool_member *member)
{
	op->mr = &container_of(member, struct ohca_mr, pool)->ibmr;
	return ohca_op_start(op, &ohca_give_back_mr_op, NULL);
}

static int ohca_destroy_pooled_mr(struct ohca_pool_member *member)
{
	struct ohca_mr *mr = container_of(member, struct ohca_mr, pool);

	return ib_dereg_mr(&mr->ibmr);
}

static const struct ohca_pool_kind ohca_mr_pool = {
	.reset = ohca_reset_pooled_mr,
	.destroy = ohca_destroy_pooled_mr,
};

struct ohca_pool *ohca_mr_pool_create(struct ohca_async *async, struct ib_pd *pd,
				      enum ib_mr_type type, u32 max_num_sg, u32 count)
{
	struct ohca_pool *pool = ohca_pool_alloc(async, &ohca_mr_pool);
	struct ib_mr *mr;
	u32 i;

	if (IS_ERR(pool))
		return pool;
	for (i = 0; i < count; i++) {
		mr = ib_alloc_mr(pd, type, max_num_sg);
		if (IS_ERR(mr)) {
			ohca_pool_destroy(pool);
			return ERR_CAST(mr);
		}
		ohca_pool_add(pool, &to_ohca_mr(mr)->pool);
	}
	return pool;
}
EXPORT_SYMBOL_GPL(ohca_mr_pool_create);

int ohca_mr_give_back(struct ohca_op *op, struct ib_mr *ibmr)
{
	return ohca_pool_give_back(op, &to_ohca_mr(ibmr)->pool);
}
EXPORT_SYMBOL_GPL(ohca_mr_give_back);
