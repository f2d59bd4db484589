/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef OHCA_POOL_H
#define OHCA_POOL_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct ohca_async;
struct ohca_op;
struct ohca_pool;

/**
 * struct ohca_pool_member - what an object knows about its pool
 * @node:	of the members that are in, or of those that cannot be taken any more
 * @pool:	NULL: it belongs to none
 * @out:	somebody has taken it and not begun to give it back
 * @returning:	the operation that gives it back, from the reset until nobody uses the object
 */
struct ohca_pool_member {
	struct list_head node;
	struct ohca_pool *pool;
	bool out;
	struct ohca_op *returning;
};

/**
 * struct ohca_pool_kind - what a pool is made of
 * @reset:	starts the operation that makes a member as new and returns it to the
 *		pool.  Any context
 * @destroy:	process context; the member is in no list
 */
struct ohca_pool_kind {
	int (*reset)(struct ohca_op *op, struct ohca_pool_member *member);
	int (*destroy)(struct ohca_pool_member *member);
};

/**
 * struct ohca_pool - objects prepared for those who may not sleep
 * @in:		members that can be taken; the first is taken next
 * @broken:	members whose reset has failed
 * @repair:	resets those again
 * @out_count:	members taken and not returned yet
 */
struct ohca_pool {
	struct ohca_async *async;
	const struct ohca_pool_kind *kind;
	spinlock_t lock;	/* all below; taken in hard interrupts */
	struct list_head in;
	struct list_head broken;
	u32 out_count;
	struct delayed_work repair;
};

struct ohca_pool *ohca_pool_alloc(struct ohca_async *async, const struct ohca_pool_kind *kind);
void ohca_pool_add(struct ohca_pool *pool, struct ohca_pool_member *member);
struct ohca_pool_member *ohca_pool_take(struct ohca_pool *pool);
int ohca_pool_leave(struct ohca_pool_member *member);
int ohca_pool_give_back(struct ohca_op *op, struct ohca_pool_member *member);
void ohca_pool_return(struct ohca_pool_member *member, int result);
void ohca_pool_settle(struct ohca_pool_member *member, struct ohca_op *op);

/* For destroy verbs: a member goes with its pool only. */
static inline bool ohca_in_pool(const struct ohca_pool_member *member)
{
	return member->pool;
}

#endif /* OHCA_POOL_H */
