// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations that are not over with their command: what an interrupt cannot
 * do is done by a work, in the order in which the commands have ended.
 */

#include "ohca.h"

static void ohca_op_finalize_list(struct list_head *ops)
{
	struct ohca_op *op, *next;

	list_for_each_entry_safe(op, next, ops, node) {
		list_del(&op->node);
		ohca_op_finish(op, op->type->finalize(op));
	}
}

static void ohca_op_finalize_work(struct work_struct *work)
{
	struct ohca_dev *dev = container_of(work, struct ohca_dev, op_finals.work);
	struct ohca_op_finals *finals = &dev->op_finals;
	LIST_HEAD(ops);

	for (;;) {
		spin_lock_irq(&finals->lock);
		list_splice_init(&finals->ops, &ops);
		spin_unlock_irq(&finals->lock);
		if (list_empty(&ops))
			return;
		ohca_op_finalize_list(&ops);
		ohca_op_ends_kick(dev);
	}
}

/* For ohca_op_type.go_on().  The operation is in flight until then. */
void ohca_op_finalize_later(struct ohca_op *op)
{
	struct ohca_dev *dev = op->async->dev;
	struct ohca_op_finals *finals = &dev->op_finals;
	unsigned long flags;

	spin_lock_irqsave(&finals->lock, flags);
	list_add_tail(&op->node, &finals->ops);
	spin_unlock_irqrestore(&finals->lock, flags);
	queue_work(dev->wq, &finals->work);
}

void ohca_op_finals_init(struct ohca_dev *dev)
{
	spin_lock_init(&dev->op_finals.lock);
	INIT_LIST_HEAD(&dev->op_finals.ops);
	INIT_WORK(&dev->op_finals.work, ohca_op_finalize_work);
}
