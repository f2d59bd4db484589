/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef OHCA_ASYNC_H
#define OHCA_ASYNC_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <rdma/ohca.h>

/* ohca_op.state */
enum ohca_op_state {
	OHCA_OP_IDLE,
	OHCA_OP_BATCHED,	/* in a batch that has not been submitted */
	OHCA_OP_QUEUED,		/* behind others of its object */
	OHCA_OP_BEGUN,		/* its turn: the command is on its way */
	OHCA_OP_OVER,
};

/* ohca_op.ending: how the end of an operation is told */
enum ohca_op_ending {
	OHCA_OP_CALLBACK,	/* from the event handler */
	OHCA_OP_POLLED,		/* @over */
	OHCA_OP_WAITED,		/* @waiter, a struct completion */
};

/* ohca_op_type.end(): the operation goes on without its command and its place in the queue. */
#define OHCA_OP_GOES_ON		1

/**
 * struct ohca_op_type - a verb
 * @begin:	it is the operation's turn: check it against the object's state,
 *		complete op->cmd; an error ends it.  No sleep
 * @end:	the operation is over, after its command or without one: change the
 *		object; returns the operation's result, or OHCA_OP_GOES_ON.  Once for
 *		each operation whose start returned 0.  No sleep.  May be NULL
 * @go_on:	after OHCA_OP_GOES_ON, when the operation has left its queue: has
 *		ohca_op_finish() called some time.  No sleep
 * @finalize:	of those that go on by ohca_op_finalize_later(): in a workqueue; returns the
 *		operation's result.  May sleep
 */
struct ohca_op_type {
	int (*begin)(struct ohca_op *op);
	int (*end)(struct ohca_op *op, int result);
	void (*go_on)(struct ohca_op *op);
	int (*finalize)(struct ohca_op *op);
};

/*
 * The operations of one object, in the order of their submission.  The first has
 * begun; the others wait for it.
 */
struct ohca_op_queue {
	spinlock_t lock;	/* all of it */
	struct list_head ops;
	int closed;		/* an errno: what is returned instead of taking anything; or 0 */
};

/* Operations whose commands are over, and which go on where they may sleep. */
struct ohca_op_finals {
	spinlock_t lock;	/* ops */
	struct list_head ops;
	struct work_struct work;
};

/* How much of its processor's time callbacks may take in hard interrupts. */
#define OHCA_CALLBACK_WINDOW_NS		(1000 * NSEC_PER_USEC)
#define OHCA_CALLBACK_BUDGET_NS		(100 * NSEC_PER_USEC)
/* Callbacks before other works of the processor get a turn. */
#define OHCA_CALLBACKS_AT_ONCE		64

/* Ends of operations that are to be told by the event handler. */
struct ohca_op_ends {
	spinlock_t lock;	/* all but the works */
	struct list_head ops;
	bool delivering;	/* somebody does: callbacks run one at a time */
	u64 window_start_ns;	/* the hard interrupt's budget counts from here */
	u64 spent_ns;		/* of that, since then */
	struct work_struct rest;	/* in dev->callback_wq: what exceeds the budget */
	struct irq_work work;	/* for those who find ends outside of the event handler */
};

/**
 * struct ohca_async - who starts operations: a kernel user, or a file of an application
 * @dev:	of all operations
 * @in_flight:	operations started and not delivered
 */
struct ohca_async {
	struct ohca_dev *dev;
	atomic_t in_flight;
};

void ohca_op_ends_init(struct ohca_dev *dev);
void ohca_op_ends_stop(struct ohca_dev *dev);
void ohca_op_ends_kick(struct ohca_dev *dev);
void ohca_op_ends_deliver(struct ohca_dev *dev);

/* A handle without references of its own: the caller keeps the device. */
void ohca_async_init(struct ohca_async *async, struct ohca_dev *dev);
void ohca_async_wait_idle(struct ohca_async *async);

void ohca_op_queue_init(struct ohca_op_queue *queue);
int ohca_op_queue_close(struct ohca_op_queue *queue);
void ohca_op_queue_refuse(struct ohca_op_queue *queue, int error);
void ohca_op_queue_reopen(struct ohca_op_queue *queue);
void ohca_op_queue_wait_idle(struct ohca_dev *dev, struct ohca_op_queue *queue);

/*
 * For verbs: starts an operation that has been made, or adds it to its batch.
 * @queue: of its object; NULL if it has none, and then nothing orders its operations.
 */
int ohca_op_start(struct ohca_op *op, const struct ohca_op_type *type,
		  struct ohca_op_queue *queue);
/* Likewise, and nothing can be started in the queue after it. */
int ohca_op_start_last(struct ohca_op *op, const struct ohca_op_type *type,
		       struct ohca_op_queue *queue);
void ohca_op_finish(struct ohca_op *op, int result);

/* async_finalize.c */
void ohca_op_finals_init(struct ohca_dev *dev);
void ohca_op_finalize_later(struct ohca_op *op);

/* Between async.c and async_batch.c. */
int ohca_op_enter(struct ohca_op *op, bool *first);
void ohca_op_end_early(struct ohca_op *op, int result);
void ohca_op_refuse(struct ohca_op *op, int result);
bool ohca_op_poll_once(struct ohca_op *op, ktime_t deadline);
int ohca_batch_take(struct ohca_op *op);
void ohca_batch_count(struct ohca_op_batch *batch, int result);

/* For the sleeping verbs: the operation is made, started and waited for. */
void ohca_op_init_waited(struct ohca_op *op, struct ohca_async *async, void *completion);
int ohca_op_wait(struct ohca_op *op);

#endif /* OHCA_ASYNC_H */
