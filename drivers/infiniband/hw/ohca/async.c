// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations: verbs that are started in any context and end by a callback.
 *
 *   IDLE -> BEGUN -> OVER             nothing else in the object's queue
 *   IDLE -> QUEUED -> BEGUN -> OVER   behind others
 *   IDLE -> BATCHED -> as above       until the batch is submitted
 *
 * The command of an operation is over wherever somebody drains the command
 * queue: in its interrupt, or in a thread that waits or polls.  There the
 * object changes its state and the next operation of its queue begins.  The
 * callback is told from the event handler only: from the interrupt if that has
 * found the end, else from an irq_work; from a thread if there are too many.
 * So whoever polls, with locks held, runs nobody else's callback, and callbacks
 * do not run in parallel or out of order.
 *
 * Lock order: a caller's locks, the queue's, and the command queue's are taken
 * one inside the other, never the other way; callbacks run without any.
 */

#include <linux/delay.h>
#include <linux/timekeeping.h>

#include "ohca.h"

/* How often a sleeper looks for itself, in case an interrupt was lost. */
#define OHCA_OP_RECHECK		(HZ / 4)

void ohca_async_init(struct ohca_async *async, struct ohca_dev *dev)
{
	async->dev = dev;
	atomic_set(&async->in_flight, 0);
}

/* Sleeps. Operations end, at the latest when their commands time out. */
void ohca_async_wait_idle(struct ohca_async *async)
{
	wait_var_event(&async->in_flight, !atomic_read(&async->in_flight));
}

static void ohca_async_drop(struct ohca_async *async)
{
	/* Whoever waits may free it once it reads 0: only the address is used after that. */
	if (atomic_dec_and_test(&async->in_flight))
		wake_up_var(&async->in_flight);
}

void ohca_op_init(struct ohca_op *op, struct ohca_async *async,
		  void (*done)(struct ohca_op *op), void *context)
{
	memset(op, 0, sizeof(*op));
	op->done = done;
	op->context = context;
	op->async = async;
	op->ending = done ? OHCA_OP_CALLBACK : OHCA_OP_POLLED;
}
EXPORT_SYMBOL_GPL(ohca_op_init);

void ohca_op_init_waited(struct ohca_op *op, struct ohca_async *async, void *completion)
{
	ohca_op_init(op, async, NULL, NULL);
	op->ending = OHCA_OP_WAITED;
	op->waiter = completion;
}

/* --- the end of an operation ------------------------------------------- */

/* In the event handler.  The callback may free the operation, its batch's the batch. */
static void ohca_op_deliver(struct ohca_op *op)
{
	struct ohca_op_batch *batch = op->batch;
	struct ohca_async *async = op->async;
	int result = op->result;

	if (op->done)
		op->done(op);
	if (batch)
		ohca_batch_count(batch, result);
	ohca_async_drop(async);
}

/* Any context.  The operation has left its queue; it may be gone when this returns. */
void ohca_op_finish(struct ohca_op *op, int result)
{
	struct ohca_async *async = op->async;
	struct ohca_op_ends *ends = &async->dev->op_ends;
	struct ohca_op_batch *batch = op->batch;
	unsigned long flags;

	op->result = result;
	op->detail = op->cmd.detail;
	WRITE_ONCE(op->state, OHCA_OP_OVER);
	if (op->ending == OHCA_OP_CALLBACK || (batch && !batch->polled)) {
		spin_lock_irqsave(&ends->lock, flags);
		list_add_tail(&op->node, &ends->ops);
		spin_unlock_irqrestore(&ends->lock, flags);
		return;
	}
	if (op->ending == OHCA_OP_WAITED)
		complete(op->waiter);
	else if (batch)
		ohca_batch_count(batch, result);
	else
		/* The last access. Pairs with the acquire in ohca_op_poll(). */
		smp_store_release(&op->over, true);
	ohca_async_drop(async);
}

/* The longest waiting end is told, with interrupts off. False: there is none. */
static bool ohca_op_ends_deliver_one(struct ohca_op_ends *ends)
{
	struct ohca_op *op;

	lockdep_assert_held(&ends->lock);
	op = list_first_entry_or_null(&ends->ops, struct ohca_op, node);
	if (!op)
		return false;
	list_del(&op->node);
	ends->delivering = true;
	spin_unlock(&ends->lock);
	ohca_op_deliver(op);
	spin_lock(&ends->lock);
	ends->delivering = false;
	return true;
}

/*
 * In hard interrupt context.  Callbacks that start operations on a fast device
 * would keep this processor in its interrupts: those that do not fit into the
 * budget are left to a thread, which is ahead of all others but those with
 * real-time priority.
 */
void ohca_op_ends_deliver(struct ohca_dev *dev)
{
	struct ohca_op_ends *ends = &dev->op_ends;
	unsigned long flags;
	bool more = false;
	u64 start, now;

	spin_lock_irqsave(&ends->lock, flags);
	if (!ends->delivering && !list_empty(&ends->ops)) {
		start = ktime_get_ns();
		if (start - ends->window_start_ns >= OHCA_CALLBACK_WINDOW_NS) {
			ends->window_start_ns = start;
			ends->spent_ns = 0;
		}
		for (now = start; ends->spent_ns + (now - start) < OHCA_CALLBACK_BUDGET_NS;
		     now = ktime_get_ns())
			if (!ohca_op_ends_deliver_one(ends))
				break;
		ends->spent_ns += now - start;
		more = !list_empty(&ends->ops);
	}
	spin_unlock_irqrestore(&ends->lock, flags);
	if (more)
		queue_work(dev->callback_wq, &ends->rest);
}

static void ohca_op_ends_rest(struct work_struct *work)
{
	struct ohca_dev *dev = container_of(work, struct ohca_dev, op_ends.rest);
	struct ohca_op_ends *ends = &dev->op_ends;
	unsigned long flags;
	bool more = true;
	u32 i;

	/* After each, interrupts are let in, and whoever is more urgent. */
	for (i = 0; i < OHCA_CALLBACKS_AT_ONCE && more; i++) {
		spin_lock_irqsave(&ends->lock, flags);
		/* Who delivers now looks for more when the callback returns. */
		more = !ends->delivering && ohca_op_ends_deliver_one(ends);
		spin_unlock_irqrestore(&ends->lock, flags);
		cond_resched();
	}
	if (more)
		queue_work(dev->callback_wq, work);
}

static void ohca_op_ends_work(struct irq_work *work)
{
	ohca_op_ends_deliver(container_of(work, struct ohca_dev, op_ends.work));
}

/* Any context: what has ended is told soon. */
void ohca_op_ends_kick(struct ohca_dev *dev)
{
	if (!list_empty_careful(&dev->op_ends.ops))
		irq_work_queue(&dev->op_ends.work);
}

void ohca_op_ends_init(struct ohca_dev *dev)
{
	struct ohca_op_ends *ends = &dev->op_ends;

	/* Locks are initialized by the names that lock statistics should call them. */
	spin_lock_init(&dev->op_ends.lock);
	INIT_LIST_HEAD(&ends->ops);
	ends->delivering = false;
	ends->window_start_ns = 0;
	ends->spent_ns = 0;
	INIT_WORK(&ends->rest, ohca_op_ends_rest);
	ends->work = IRQ_WORK_INIT_HARD(ohca_op_ends_work);
}

/* The command queue has been stopped, and no interrupt comes any more. */
void ohca_op_ends_stop(struct ohca_dev *dev)
{
	struct ohca_op_ends *ends = &dev->op_ends;

	do {
		ohca_op_ends_kick(dev);
		irq_work_sync(&ends->work);
		flush_work(&ends->rest);
	} while (!list_empty_careful(&ends->ops));
}

/* --- the queue of an object ---------------------------------------------- */

void ohca_op_queue_init(struct ohca_op_queue *op_queue)
{
	spin_lock_init(&op_queue->lock);
	INIT_LIST_HEAD(&op_queue->ops);
	op_queue->closed = 0;
}

/* -EBUSY, and nothing has changed, while there are operations. */
int ohca_op_queue_close(struct ohca_op_queue *queue)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&queue->lock, flags);
	if (!list_empty(&queue->ops))
		ret = -EBUSY;
	else
		queue->closed = -ENODEV;
	spin_unlock_irqrestore(&queue->lock, flags);
	return ret;
}

/* There is no operation; who comes from now on gets @error, or is taken if that is 0. */
void ohca_op_queue_refuse(struct ohca_op_queue *queue, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue->closed = error;
	spin_unlock_irqrestore(&queue->lock, flags);
}

void ohca_op_queue_reopen(struct ohca_op_queue *queue)
{
	ohca_op_queue_refuse(queue, 0);
}

/* Take no further operations, and sleep until those that are there have ended. */
void ohca_op_queue_wait_idle(struct ohca_dev *dev, struct ohca_op_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue->closed = -ENODEV;
	spin_unlock_irqrestore(&queue->lock, flags);
	while (!list_empty_careful(&queue->ops)) {
		ohca_cmdq_expire(dev);
		usleep_range(200, 1000);
	}
	/* Whoever has emptied it still holds the lock. */
	spin_lock_irqsave(&queue->lock, flags);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* The driver takes the operation.  @first: it is its turn, which the caller sees to. */
int ohca_op_enter(struct ohca_op *op, bool *first)
{
	struct ohca_op_queue *queue = op->queue;
	unsigned long flags;
	int ret = 0;

	*first = true;
	atomic_inc(&op->async->in_flight);
	if (!queue) {
		WRITE_ONCE(op->state, OHCA_OP_BEGUN);
		return 0;
	}
	spin_lock_irqsave(&queue->lock, flags);
	ret = queue->closed;
	if (!ret) {
		*first = list_empty(&queue->ops);
		WRITE_ONCE(op->state, *first ? OHCA_OP_BEGUN : OHCA_OP_QUEUED);
		list_add_tail(&op->node, &queue->ops);
		if (op->last)
			queue->closed = -ENODEV;
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	if (ret)
		ohca_async_drop(op->async);
	return ret;
}

/* Returns the one whose turn it is now. */
static struct ohca_op *ohca_op_dequeue(struct ohca_op *op)
{
	struct ohca_op_queue *queue = op->queue;
	struct ohca_op *next;
	unsigned long flags;

	if (!queue)
		return NULL;
	spin_lock_irqsave(&queue->lock, flags);
	list_del(&op->node);
	next = list_first_entry_or_null(&queue->ops, struct ohca_op, node);
	if (next)
		WRITE_ONCE(next->state, OHCA_OP_BEGUN);
	spin_unlock_irqrestore(&queue->lock, flags);
	return next;
}

/* --- from turn to turn ----------------------------------------------------- */

/* It has left its queue. */
static void ohca_op_conclude(struct ohca_op *op, int result)
{
	if (result == OHCA_OP_GOES_ON)
		op->type->go_on(op);
	else
		ohca_op_finish(op, result);
}

static int ohca_op_apply(struct ohca_op *op, int result)
{
	return op->type->end ? op->type->end(op, result) : result;
}

/* It is over.  Returns the one whose turn it is now. */
static struct ohca_op *ohca_op_end(struct ohca_op *op, int result)
{
	struct ohca_op *next;

	result = ohca_op_apply(op, result);
	next = ohca_op_dequeue(op);
	ohca_op_conclude(op, result);
	return next;
}

/* It is the turn of @op, which has been waiting: who cannot begin ends, and the next is tried. */
static void ohca_op_begin_queued(struct ohca_op *op)
{
	int ret;

	while (op) {
		ret = op->type->begin(op);
		if (!ret)
			ret = ohca_cmdq_submit(op->async->dev, &op->cmd);
		if (!ret)
			return;
		op = ohca_op_end(op, ret);
	}
}

/* It ends although it could not be taken. */
void ohca_op_refuse(struct ohca_op *op, int result)
{
	atomic_inc(&op->async->in_flight);
	ohca_op_conclude(op, ohca_op_apply(op, result));
}

/* Of an operation that has been taken. */
void ohca_op_end_early(struct ohca_op *op, int result)
{
	ohca_op_begin_queued(ohca_op_end(op, result));
}

static void ohca_op_command_done(struct ohca_cmd *cmd)
{
	struct ohca_op *op = container_of(cmd, struct ohca_op, cmd);

	ohca_op_begin_queued(ohca_op_end(op, cmd->result));
}

static int ohca_op_start_now(struct ohca_op *op)
{
	struct ohca_async *async = op->async;
	struct ohca_op *next;
	bool first;
	int ret;

	ret = ohca_op_enter(op, &first);
	if (ret || !first)
		return ret;
	ret = op->type->begin(op);
	if (!ret)
		ret = ohca_cmdq_submit(async->dev, &op->cmd);
	if (!ret)
		return 0;
	if (op->last)
		ohca_op_queue_reopen(op->queue);
	next = ohca_op_dequeue(op);
	WRITE_ONCE(op->state, OHCA_OP_IDLE);
	ohca_op_begin_queued(next);
	ohca_op_ends_kick(async->dev);
	ohca_async_drop(async);
	return ret;
}

static int ohca_op_start_any(struct ohca_op *op, const struct ohca_op_type *type,
			     struct ohca_op_queue *queue, bool last)
{
	op->type = type;
	op->queue = queue;
	op->last = last;
	op->over = false;
	op->cmd.done = ohca_op_command_done;
	op->cmd.state = OHCA_CMD_IDLE;
	return op->batch ? ohca_batch_take(op) : ohca_op_start_now(op);
}

int ohca_op_start(struct ohca_op *op, const struct ohca_op_type *type,
		  struct ohca_op_queue *queue)
{
	return ohca_op_start_any(op, type, queue, false);
}

int ohca_op_start_last(struct ohca_op *op, const struct ohca_op_type *type,
		       struct ohca_op_queue *queue)
{
	return ohca_op_start_any(op, type, queue, true);
}

static int ohca_begin_nop(struct ohca_op *op)
{
	op->cmd.opcode = OHCA_CMD_NOP;
	return 0;
}

static const struct ohca_op_type ohca_nop_op = {
	.begin = ohca_begin_nop,
};

int ohca_async_nop(struct ohca_op *op)
{
	return ohca_op_start(op, &ohca_nop_op, NULL);
}
EXPORT_SYMBOL_GPL(ohca_async_nop);

/* --- waiting ---------------------------------------------------------------- */

/* Also looks for itself, so that neither a lost interrupt nor a busy workqueue matters. */
int ohca_op_wait(struct ohca_op *op)
{
	struct ohca_dev *dev = op->async->dev;
	struct completion *over = op->waiter;

	might_sleep();
	while (!wait_for_completion_timeout(over, OHCA_OP_RECHECK))
		ohca_cmdq_expire(dev);
	return op->result;
}

/* False: it is over, or about to be. */
static bool ohca_op_leave_queue(struct ohca_op *op)
{
	struct ohca_op_queue *queue = op->queue;
	unsigned long flags;
	bool queued;

	if (!queue)
		return false;
	spin_lock_irqsave(&queue->lock, flags);
	queued = op->state == OHCA_OP_QUEUED;
	if (queued)
		list_del(&op->node);
	spin_unlock_irqrestore(&queue->lock, flags);
	return queued;
}

/* The time is over: it ends with -ETIMEDOUT, unless it ends by itself first. */
static void ohca_op_give_up(struct ohca_op *op)
{
	if (ohca_op_leave_queue(op))
		ohca_op_conclude(op, ohca_op_apply(op, -ETIMEDOUT));
	else
		ohca_cmdq_give_up(op->async->dev, &op->cmd);
}

/* Ends what has not ended by @deadline.  True: something has happened. */
bool ohca_op_poll_once(struct ohca_op *op, ktime_t deadline)
{
	bool any = ohca_cmdq_drain(op->async->dev);

	if (READ_ONCE(op->state) != OHCA_OP_OVER && ktime_after(ktime_get(), deadline)) {
		ohca_op_give_up(op);
		any = true;
	}
	return any;
}

int ohca_op_poll(struct ohca_op *op, u32 timeout_us)
{
	ktime_t deadline = ktime_add_us(ktime_get(), timeout_us);

	if (WARN_ON_ONCE(op->ending != OHCA_OP_POLLED || op->batch))
		return -EINVAL;
	/* Pairs with the release in ohca_op_finish(). */
	while (!smp_load_acquire(&op->over)) {
		if (!ohca_op_poll_once(op, deadline))
			udelay(1);
	}
	return op->result;
}
EXPORT_SYMBOL_GPL(ohca_op_poll);
