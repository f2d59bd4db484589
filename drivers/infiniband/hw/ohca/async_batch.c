// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations that are started together: as many commands as can go out do so
 * with one doorbell, and one callback tells that all have ended.
 */

#include <linux/delay.h>

#include "ohca.h"

void ohca_batch_init(struct ohca_op_batch *batch, struct ohca_async *async,
		     void (*done)(struct ohca_op_batch *batch), void *context)
{
	memset(batch, 0, sizeof(*batch));
	batch->done = done;
	batch->context = context;
	batch->async = async;
	batch->polled = !done;
	INIT_LIST_HEAD(&batch->ops);
}
EXPORT_SYMBOL_GPL(ohca_batch_init);

void ohca_batch_add(struct ohca_op_batch *batch, struct ohca_op *op)
{
	op->batch = batch;
}
EXPORT_SYMBOL_GPL(ohca_batch_add);

/* The start of an operation that belongs to a batch. */
int ohca_batch_take(struct ohca_op *op)
{
	struct ohca_op_batch *batch = op->batch;

	if (WARN_ON_ONCE(batch->polled && op->done))
		return -EINVAL;
	op->state = OHCA_OP_BATCHED;
	op->batch_next = batch->first;
	batch->first = op;
	list_add_tail(&op->node, &batch->ops);
	return 0;
}

/* One of them has ended. The callback may free the batch. */
void ohca_batch_count(struct ohca_op_batch *batch, int result)
{
	if (result)
		cmpxchg(&batch->result, 0, result);
	if (!atomic_dec_and_test(&batch->pending))
		return;
	if (batch->polled)
		/* The last access. Pairs with the acquire in ohca_batch_poll(). */
		smp_store_release(&batch->over, true);
	else
		batch->done(batch);
}

/*
 * An operation may be gone as soon as it has ended, and the batch as soon as all
 * have: neither is touched after what may have ended the last of them.
 */
int ohca_batch_submit(struct ohca_op_batch *batch)
{
	struct ohca_dev *dev = batch->async->dev;
	struct ohca_op *op;
	LIST_HEAD(cmds);
	LIST_HEAD(ops);
	bool first;
	int ret;

	if (list_empty(&batch->ops))
		return -EINVAL;
	list_splice_init(&batch->ops, &ops);
	batch->result = 0;
	batch->over = false;
	atomic_set(&batch->pending, list_count_nodes(&ops));
	while ((op = list_first_entry_or_null(&ops, struct ohca_op, node))) {
		list_del(&op->node);
		ret = ohca_op_enter(op, &first);
		if (ret) {
			ohca_op_refuse(op, ret);
			continue;
		}
		if (!first)
			continue;
		ret = op->type->begin(op);
		if (ret)
			ohca_op_end_early(op, ret);
		else
			list_add_tail(&op->cmd.node, &cmds);
	}
	ohca_cmdq_submit_list(dev, &cmds);
	ohca_op_ends_kick(dev);
	return 0;
}
EXPORT_SYMBOL_GPL(ohca_batch_submit);

/* The operations of a polled batch stay where they are: its owner is here. */
int ohca_batch_poll(struct ohca_op_batch *batch, u32 timeout_us)
{
	ktime_t deadline = ktime_add_us(ktime_get(), timeout_us);
	struct ohca_op *op;
	bool any;

	if (WARN_ON_ONCE(!batch->polled))
		return -EINVAL;
	/* Pairs with the release in ohca_batch_count(). */
	while (!smp_load_acquire(&batch->over)) {
		any = false;
		for (op = batch->first; op; op = op->batch_next)
			any |= ohca_op_poll_once(op, deadline);
		if (!any)
			udelay(1);
	}
	return batch->result;
}
EXPORT_SYMBOL_GPL(ohca_batch_poll);
