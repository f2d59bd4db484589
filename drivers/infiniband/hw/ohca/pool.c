// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pools of objects, and who uses them.
 *
 *   in -> out -> returning -> in             the reset has worked
 *                returning -> broken         it has not: nobody knows what the device thinks of it
 *                             broken -> in   it has been reset at last
 */

#include <linux/slab.h>

#include "ohca.h"

/* A command that was not answered may be because of a device that is busy. */
#define OHCA_POOL_REPAIR_DELAY	(HZ / 10)

struct ohca_async *ohca_async_open(struct ib_device *ibdev)
{
	struct ohca_async *async;

	if (ibdev->ops.owner != THIS_MODULE)
		return ERR_PTR(-EOPNOTSUPP);
	async = kzalloc(sizeof(*async), GFP_KERNEL);
	if (!async)
		return ERR_PTR(-ENOMEM);
	if (!try_module_get(THIS_MODULE))
		goto err_free;
	if (!ib_device_try_get(ibdev))
		goto err_module;
	ohca_async_init(async, to_ohca_dev(ibdev));
	return async;

err_module:
	module_put(THIS_MODULE);
err_free:
	kfree(async);
	return ERR_PTR(-ENODEV);
}
EXPORT_SYMBOL_GPL(ohca_async_open);

void ohca_async_close(struct ohca_async *async)
{
	struct ib_device *ibdev = &async->dev->ibdev;

	/* The last callback has returned then. */
	ohca_async_wait_idle(async);
	kfree(async);
	ib_device_put(ibdev);
	module_put(THIS_MODULE);
}
EXPORT_SYMBOL_GPL(ohca_async_close);

struct ohca_pool_member *ohca_pool_take(struct ohca_pool *pool)
{
	struct ohca_pool_member *member;
	unsigned long flags;

	if (ohca_failed(pool->async->dev))
		return ERR_PTR(-EIO);
	spin_lock_irqsave(&pool->lock, flags);
	member = list_first_entry_or_null(&pool->in, struct ohca_pool_member, node);
	if (member) {
		list_del(&member->node);
		member->out = true;
		pool->out_count++;
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return member ?: ERR_PTR(-EAGAIN);
}

/* Nobody else gives it back.  -EINVAL if it has not been taken. */
int ohca_pool_leave(struct ohca_pool_member *member)
{
	struct ohca_pool *pool = member->pool;
	unsigned long flags;
	int ret = -EINVAL;

	if (!pool)
		return ret;
	spin_lock_irqsave(&pool->lock, flags);
	if (member->out) {
		member->out = false;
		ret = 0;
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return ret;
}

/*
 * A dead device resets nothing, but its objects must go back: then the
 * operation ends with -EIO.  After other errors the object stays with whom it was.
 */
int ohca_pool_give_back(struct ohca_op *op, struct ohca_pool_member *member)
{
	struct ohca_pool *pool = member->pool;
	unsigned long flags;
	int ret;

	ret = ohca_pool_leave(member);
	if (ret)
		return ret;
	ret = pool->kind->reset(op, member);
	if (ret == -EIO) {
		ohca_op_refuse(op, ret);
		ohca_op_ends_kick(pool->async->dev);
		return 0;
	}
	if (ret) {
		spin_lock_irqsave(&pool->lock, flags);
		member->out = true;
		spin_unlock_irqrestore(&pool->lock, flags);
	}
	return ret;
}

/* The reset is over, and nobody uses the object. */
void ohca_pool_return(struct ohca_pool_member *member, int result)
{
	struct ohca_pool *pool = member->pool;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	/* The one used last is in the caches. */
	list_add(&member->node, result ? &pool->broken : &pool->in);
	pool->out_count--;
	/* Under the lock: who destroys the pool cancels it after that. */
	if (result && !ohca_failed(pool->async->dev))
		schedule_delayed_work(&pool->repair, OHCA_POOL_REPAIR_DELAY);
	spin_unlock_irqrestore(&pool->lock, flags);
}

static struct ohca_pool_member *ohca_pool_next_broken(struct ohca_pool *pool)
{
	struct ohca_pool_member *member;

	spin_lock_irq(&pool->lock);
	member = list_first_entry_or_null(&pool->broken, struct ohca_pool_member, node);
	if (member) {
		list_del(&member->node);
		pool->out_count++;
	}
	spin_unlock_irq(&pool->lock);
	return member;
}

/* One that cannot be repaired comes back to the list, and the work with it. */
static void ohca_pool_repair(struct work_struct *work)
{
	struct ohca_pool *pool = container_of(to_delayed_work(work), struct ohca_pool, repair);
	struct ohca_pool_member *member;
	struct completion over;
	struct ohca_op op;
	int ret;

	do {
		if (ohca_failed(pool->async->dev))
			return;
		member = ohca_pool_next_broken(pool);
		if (!member)
			return;
		init_completion(&over);
		ohca_op_init_waited(&op, &pool->async->dev->async, &over);
		ret = pool->kind->reset(&op, member);
		if (ret)
			ohca_pool_return(member, ret);
		else
			ret = ohca_op_wait(&op);
	} while (!ret);
}

/* Likewise, and with that the operation that gave it back has ended. */
void ohca_pool_settle(struct ohca_pool_member *member, struct ohca_op *op)
{
	struct ohca_dev *dev = member->pool->async->dev;
	int result = op->result;

	ohca_pool_return(member, result);
	ohca_op_finish(op, result);
	ohca_op_ends_kick(dev);
}

struct ohca_pool *ohca_pool_alloc(struct ohca_async *async, const struct ohca_pool_kind *kind)
{
	struct ohca_pool *op_pool;

	/* Members have to be reset by operations. */
	if (!(async->dev->features & OHCA_FEATURE_RECYCLE))
		return ERR_PTR(-EOPNOTSUPP);
	op_pool = kzalloc(sizeof(*op_pool), GFP_KERNEL);
	if (!op_pool)
		return ERR_PTR(-ENOMEM);
	op_pool->async = async;
	op_pool->kind = kind;
	spin_lock_init(&op_pool->lock);
	INIT_LIST_HEAD(&op_pool->in);
	INIT_LIST_HEAD(&op_pool->broken);
	INIT_DELAYED_WORK(&op_pool->repair, ohca_pool_repair);
	return op_pool;
}

/* While the pool is made. */
void ohca_pool_add(struct ohca_pool *pool, struct ohca_pool_member *member)
{
	member->pool = pool;
	list_add_tail(&member->node, &pool->in);
}

static void ohca_pool_destroy_list(struct ohca_pool *pool, struct list_head *list)
{
	struct ohca_pool_member *member, *next;

	list_for_each_entry_safe(member, next, list, node) {
		list_del(&member->node);
		member->pool = NULL;
		WARN_ON(pool->kind->destroy(member));
	}
}

int ohca_pool_destroy(struct ohca_pool *pool)
{
	unsigned long flags;
	u32 out_count;

	might_sleep();
	/* It holds members as if they were out. */
	cancel_delayed_work_sync(&pool->repair);
	spin_lock_irqsave(&pool->lock, flags);
	out_count = pool->out_count;
	spin_unlock_irqrestore(&pool->lock, flags);
	if (out_count) {
		ibdev_dbg(&pool->async->dev->ibdev, "%u members of a pool are out\n", out_count);
		schedule_delayed_work(&pool->repair, OHCA_POOL_REPAIR_DELAY);
		return -EBUSY;
	}
	ohca_pool_destroy_list(pool, &pool->in);
	ohca_pool_destroy_list(pool, &pool->broken);
	kfree(pool);
	return 0;
}
EXPORT_SYMBOL_GPL(ohca_pool_destroy);
