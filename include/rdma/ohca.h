/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs from any context, for kernel users of ohca devices.
 *
 * An operation is started by a function that never sleeps and never
 * allocates, and ends by a callback.  Every function below that takes a struct
 * ohca_op may be called with interrupts off, in an interrupt and with locks
 * held, unless it says otherwise; those of the handle and of the pools sleep.
 *
 * Rules for all operations:
 *
 * - The caller owns the struct ohca_op.  From a successful start until the
 *   callback has been entered (or the operation has been polled to its end) it
 *   belongs to the driver.  The callback may free it or use it again.
 * - A start that returns an error has changed nothing, and there is no callback.
 *   After one that returns 0 the callback runs exactly once: also when the
 *   command times out, and when the device is reset or removed.
 * - Callbacks run with interrupts off, without locks, one at a time for each
 *   device, in the order in which the operations ended: in hard interrupt
 *   context, or in a thread if they take more than a tenth of the time there.
 * - Operations on one queue pair are carried out one after the other, in the
 *   order of their submission, ib_modify_qp() and ib_query_qp() among them.
 *   Operations on different objects may end in any order.
 * - What depends on the state of a queue pair is checked when it is the
 *   operation's turn: at once if none is in progress, and then the start fails;
 *   else the operation ends with the error.
 * - A queue pair with an operation in flight cannot be destroyed:
 *   ib_destroy_qp() returns -EBUSY at once.
 * - An operation and a doorbell: work requests posted after the callback find
 *   the queue pair in its new state, those posted before the start were there before.
 */
#ifndef RDMA_OHCA_H
#define RDMA_OHCA_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

#include <rdma/ib_verbs.h>
#include <rdma/ohca_hw.h>

struct ohca_async;
struct ohca_dev;
struct ohca_op;
struct ohca_op_batch;
struct ohca_op_queue;
struct ohca_op_type;
struct ohca_unclaimed_qp;

/* ohca_cmd.flags */
#define OHCA_CMD_NOWAIT		0x01	/* -EBUSY instead of waiting for a free slot */

enum ohca_cmd_state {
	OHCA_CMD_IDLE,
	OHCA_CMD_WAITING,	/* for a slot */
	OHCA_CMD_ISSUED,
	OHCA_CMD_DONE,		/* callback has run or is about to */
};

/**
 * struct ohca_cmd - a command, owned by the caller until @done
 * @opcode:	OHCA_CMD_*
 * @flags:	OHCA_CMD_NOWAIT
 * @in:		input structure; must stay valid until @done
 * @in_length:	of @in
 * @out:	where the output structure goes on success; may be NULL
 * @out_length:	of @out
 * @done:	called exactly once after a successful submit: from hard
 *		interrupt, or from any context that drained the queue, with no
 *		lock of the queue held.  It must not sleep; it may free the
 *		command and may submit others.
 * @context:	for @done
 * @result:	0 or an errno; -ETIMEDOUT: no answer, -EIO: device failed or removed
 * @detail:	OHCA_CMD_DETAIL_*
 *
 * Part of struct ohca_op; of no use outside of the driver.
 */
struct ohca_cmd {
	u16 opcode;
	u16 flags;
	u32 in_length;
	u32 out_length;
	const void *in;
	void *out;
	void (*done)(struct ohca_cmd *cmd);
	void *context;
	int result;
	u32 detail;

	/* Belongs to the queue. */
	enum ohca_cmd_state state;
	u16 slot;
	unsigned long deadline;		/* jiffies */
	struct list_head node;
};

/**
 * struct ohca_op - an operation in flight
 * @done:	callback, see above
 * @context:	for @done
 * @result:	0 or an errno, valid from the callback on.  -ETIMEDOUT: the device
 *		has not answered, and nobody knows whether it has happened;
 *		-EIO: the device has failed or is gone
 * @detail:	OHCA_CMD_DETAIL_*; ohca_async_connect_qp(): and the phase that failed
 * @qp:		what it works on, likewise @cq, @srq and @mr
 *
 * The rest belongs to the driver.
 */
struct ohca_op {
	void (*done)(struct ohca_op *op);
	void *context;
	int result;
	u32 detail;
	union {
		struct ib_qp *qp;
		struct ib_cq *cq;
		struct ib_srq *srq;
		struct ib_mr *mr;
		struct ohca_unclaimed_qp *unclaimed;	/* of the driver itself */
	};

	/* private: */
	struct ohca_async *async;
	struct ohca_op_batch *batch;
	struct ohca_op *batch_next;
	const struct ohca_op_type *type;
	struct ohca_op_queue *queue;
	struct list_head node;		/* of a batch, the object's queue, the finished ones */
	u8 state;
	u8 ending;			/* how its end is told */
	bool last;			/* of the object's queue, which is closed behind it */
	bool over;
	void *waiter;
	struct ohca_cmd cmd;
	union {
		struct ohca_cmd_modify_qp_in modify;
		struct ohca_cmd_handle handle;
		struct ohca_cmd_multicast_in multicast;
		struct ohca_cmd_modify_cq_in modify_cq;
	} in;
	union {
		struct ohca_cmd_query_qp_out query_qp;
		struct ohca_cmd_create_qp_out create_qp;
	} out;
	struct {
		int mask;		/* enum ib_qp_attr_mask */
		enum ib_qp_state next;
		enum ib_qp_state current_state;
		const struct ib_gid_attr *sgid_attr;	/* a reference */
		struct ib_qp_attr *attr;
		struct ib_qp_init_attr *init_attr;
	} qp_change;
};

/**
 * struct ohca_op_batch - operations that are started together
 * @done:	called once, after the last of them has ended; context as of the
 *		operations' own callbacks, which are optional in a batch
 * @context:	for @done
 * @result:	that of the first operation that has failed, or 0
 *
 * The rest belongs to the driver.
 */
struct ohca_op_batch {
	void (*done)(struct ohca_op_batch *batch);
	void *context;
	int result;

	/* private: */
	struct ohca_async *async;
	struct list_head ops;
	struct ohca_op *first;		/* of all, by batch_next */
	atomic_t pending;
	bool polled;
	bool over;
};

/**
 * ohca_async_open - begin to use the operations of a device
 * @ibdev:	any device
 *
 * Pins the driver's module and the device: the caller must close the handle in
 * its ib_client's remove(), which the removal of the device waits for.  Sleeps.
 *
 * Return: a handle, or ERR_PTR: -EOPNOTSUPP not an ohca device, -ENODEV being removed.
 */
struct ohca_async *ohca_async_open(struct ib_device *ibdev);

/**
 * ohca_async_close - end that
 * @async:	without pools
 *
 * Waits until the operations in flight have ended, which they do.  Sleeps.
 */
void ohca_async_close(struct ohca_async *async);

/**
 * ohca_op_init - prepare an operation, or prepare it anew
 * @op:		not in flight
 * @async:	of the device of the objects it will work on
 * @done:	NULL for one that will be polled, or in a batch
 * @context:	for @done
 */
void ohca_op_init(struct ohca_op *op, struct ohca_async *async,
		  void (*done)(struct ohca_op *op), void *context);

/**
 * ohca_op_poll - wait for an operation without sleeping
 * @op:		started, without callback and not in a batch
 * @timeout_us:	from now
 *
 * Does not depend on interrupts, and runs nobody's callback.
 *
 * Return: @op->result; -ETIMEDOUT also when the time is over, and the operation with it.
 */
int ohca_op_poll(struct ohca_op *op, u32 timeout_us);

/**
 * ohca_batch_init - an empty batch
 * @batch:	not in flight
 * @async:	of the device
 * @done:	NULL for one that will be polled; its operations must have no callback then
 * @context:	for @done
 */
void ohca_batch_init(struct ohca_op_batch *batch, struct ohca_async *async,
		     void (*done)(struct ohca_op_batch *batch), void *context);

/**
 * ohca_batch_add - let the next start of an operation only add it to a batch
 * @batch:	not submitted yet
 * @op:		initialised, not started
 */
void ohca_batch_add(struct ohca_op_batch *batch, struct ohca_op *op);

/**
 * ohca_batch_submit - start the operations of a batch, with one doorbell
 * @batch:	with at least one operation that has been started
 *
 * An operation that cannot begin ends with its error, as if it had been queued.
 *
 * Return: 0, or -EINVAL if it is empty.
 */
int ohca_batch_submit(struct ohca_op_batch *batch);

/**
 * ohca_batch_poll - wait for a batch without sleeping
 * @batch:	submitted, without callback
 * @timeout_us:	from now; what has not ended then ends with -ETIMEDOUT
 *
 * Return: @batch->result
 */
int ohca_batch_poll(struct ohca_op_batch *batch, u32 timeout_us);

/**
 * ohca_async_nop - a command that does nothing
 * @op:		initialised
 */
int ohca_async_nop(struct ohca_op *op);

/**
 * ohca_async_modify_qp - ib_modify_qp() for any context
 * @op:		initialised
 * @qp:		of the driver; may be an application's
 * @attr:	copied.  An ah_attr is complete: DMAC resolved, sgid_attr held by
 *		the caller (the operation takes its own reference)
 * @mask:	enum ib_qp_attr_mask; every transition is possible
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP; -ENODEV: @qp is being destroyed or given
 * back; -EIO: the device has failed.  All functions that start an operation return these.
 */
int ohca_async_modify_qp(struct ohca_op *op, struct ib_qp *qp, const struct ib_qp_attr *attr,
			 int mask);

/**
 * ohca_async_query_qp - ib_query_qp() for any context
 * @op:		initialised
 * @qp:		of the driver
 * @attr:	filled before the callback
 * @init_attr:	likewise, or NULL
 */
int ohca_async_query_qp(struct ohca_op *op, struct ib_qp *qp, struct ib_qp_attr *attr,
			struct ib_qp_init_attr *init_attr);

/**
 * ohca_async_connect_qp - bring a queue pair up by one command
 * @op:		initialised
 * @qp:		in RESET, INIT or RTR
 * @attr:	qp_state: RTR or RTS; the attributes of all transitions up to it; copied
 * @mask:	which of them are given, with IB_QP_STATE
 *
 * The device makes all transitions or none.  Which one it refuses is in
 * op->detail, at OHCA_CMD_DETAIL_PHASE_SHIFT, as the state it leads to.
 */
int ohca_async_connect_qp(struct ohca_op *op, struct ib_qp *qp, const struct ib_qp_attr *attr,
			  int mask);

/**
 * ohca_async_disconnect_qp - to ERR, and wait until everything is flushed
 * @op:		initialised
 * @qp:		in any state
 *
 * When it has ended the completions of all work requests that were posted before are in the CQs.
 */
int ohca_async_disconnect_qp(struct ohca_op *op, struct ib_qp *qp);

/**
 * ohca_async_attach_mcast - ib_attach_mcast() for any context
 * @op:		initialised
 * @qp:		UD
 * @gid:	of the group; copied
 */
int ohca_async_attach_mcast(struct ohca_op *op, struct ib_qp *qp, const union ib_gid *gid);

/**
 * ohca_async_detach_mcast - ib_detach_mcast() for any context
 * @op:		initialised
 * @qp:		UD
 * @gid:	of the group; copied
 */
int ohca_async_detach_mcast(struct ohca_op *op, struct ib_qp *qp, const union ib_gid *gid);

/*
 * Pools of objects.  They are made and destroyed by ib_core, in process
 * context, so they are what ib_create_qp() etc. make: ib_post_send() works on
 * them, and `rdma resource` shows them.  Taking one costs no command.  Giving one
 * back is an operation that resets it; its end is told when nobody, not even
 * an event handler, uses the object any more, and the object can be taken again.
 * It goes back also if the operation ends with an error, but is not taken again then.
 * A member must be destroyed with its pool and not otherwise: ib_destroy_qp() etc. return -EBUSY.
 */
struct ohca_pool;

/**
 * ohca_qp_pool_create - a pool of queue pairs that are alike
 * @async:	of the device
 * @pd:		where they belong
 * @attr:	as for ib_create_qp(); event handler and context come with ohca_qp_take()
 * @count:	how many
 *
 * Sleeps. Return: the pool or ERR_PTR.
 */
struct ohca_pool *ohca_qp_pool_create(struct ohca_async *async, struct ib_pd *pd,
				      const struct ib_qp_init_attr *attr, u32 count);

/**
 * ohca_cq_pool_create - a pool of CQs that are alike
 * @async:	of the device
 * @attr:	as for ib_create_cq()
 * @count:	how many
 */
struct ohca_pool *ohca_cq_pool_create(struct ohca_async *async,
				      const struct ib_cq_init_attr *attr, u32 count);

/**
 * ohca_srq_pool_create - a pool of basic SRQs that are alike
 * @async:	of the device
 * @pd:		where they belong
 * @attr:	as for ib_create_srq(); event handler and context come with ohca_srq_take()
 * @count:	how many
 */
struct ohca_pool *ohca_srq_pool_create(struct ohca_async *async, struct ib_pd *pd,
				       const struct ib_srq_init_attr *attr, u32 count);

/**
 * ohca_mr_pool_create - a pool of memory regions for registration by work requests
 * @async:	of the device
 * @pd:		where they belong
 * @type:	IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS
 * @max_num_sg:	as for ib_alloc_mr()
 * @count:	how many
 */
struct ohca_pool *ohca_mr_pool_create(struct ohca_async *async, struct ib_pd *pd,
				      enum ib_mr_type type, u32 max_num_sg, u32 count);

/**
 * ohca_pool_destroy - destroy the members and the pool
 * @pool:	of any kind
 *
 * Sleeps. Return: 0, or -EBUSY while members are out, and nothing has changed.
 */
int ohca_pool_destroy(struct ohca_pool *pool);

/**
 * ohca_qp_take - a queue pair in RESET
 * @pool:	of queue pairs
 * @event_handler: as ib_qp_init_attr.event_handler; may be NULL
 * @qp_context:	for @event_handler
 *
 * Any context, O(1).
 *
 * Return: ERR_PTR(-EAGAIN) if all are out, ERR_PTR(-EIO) if the device has failed.
 */
struct ib_qp *ohca_qp_take(struct ohca_pool *pool,
			   void (*event_handler)(struct ib_event *event, void *qp_context),
			   void *qp_context);

/**
 * ohca_qp_take_connected - create and bring up: ohca_qp_take(), then ohca_async_connect_qp()
 * @op:		initialised; to be given back with ohca_qp_give_back() also if it ends with an error
 * @pool:	of queue pairs
 * @event_handler: as for ohca_qp_take()
 * @qp_context:	for @event_handler
 * @attr:	as for ohca_async_connect_qp()
 * @mask:	likewise
 *
 * The callback may run before this returns: it finds the queue pair in @op->qp.
 *
 * Return: the queue pair, of which nothing but the number is of use until @op has ended, or
 * ERR_PTR, and @op has not been started.
 */
struct ib_qp *ohca_qp_take_connected(struct ohca_op *op, struct ohca_pool *pool,
				     void (*event_handler)(struct ib_event *event,
							   void *qp_context),
				     void *qp_context, const struct ib_qp_attr *attr, int mask);

/**
 * ohca_qp_give_back - reset a queue pair and return it to its pool
 * @op:		initialised
 * @qp:		from ohca_qp_take(); operations on it may be in flight, none can be started any more
 *
 * Return: as for all, and -EBUSY while it is attached to multicast groups.
 */
int ohca_qp_give_back(struct ohca_op *op, struct ib_qp *qp);

/**
 * ohca_cq_take - an empty CQ that is not armed
 * @pool:	of CQs
 * @comp_handler: as for ib_create_cq(); may be NULL.  May be called once without reason
 * @event_handler: likewise
 * @cq_context:	for both
 */
struct ib_cq *ohca_cq_take(struct ohca_pool *pool, ib_comp_handler comp_handler,
			   void (*event_handler)(struct ib_event *event, void *cq_context),
			   void *cq_context);

/**
 * ohca_cq_give_back - empty a CQ and return it to its pool
 * @op:		initialised
 * @cq:		from ohca_cq_take()
 *
 * Return: as for all, and -EBUSY while queue pairs complete there.
 */
int ohca_cq_give_back(struct ohca_op *op, struct ib_cq *cq);

/**
 * ohca_srq_take - an empty SRQ without limit
 * @pool:	of SRQs
 * @event_handler: as ib_srq_init_attr.event_handler; may be NULL
 * @srq_context: for it
 */
struct ib_srq *ohca_srq_take(struct ohca_pool *pool,
			     void (*event_handler)(struct ib_event *event, void *srq_context),
			     void *srq_context);

/**
 * ohca_srq_give_back - empty an SRQ and return it to its pool
 * @op:		initialised
 * @srq:	from ohca_srq_take()
 *
 * Return: as for all, and -EBUSY while queue pairs receive from it.
 */
int ohca_srq_give_back(struct ohca_op *op, struct ib_srq *srq);

/**
 * ohca_mr_take - a memory region that is not valid, with a new key
 * @pool:	of memory regions
 *
 * ib_map_mr_sg() and the work requests IB_WR_REG_MR and IB_WR_LOCAL_INV work in any context.
 */
struct ib_mr *ohca_mr_take(struct ohca_pool *pool);

/**
 * ohca_mr_give_back - invalidate a memory region and return it to its pool
 * @op:		initialised
 * @mr:		from ohca_mr_take(); no REG_MR of it may be outstanding
 */
int ohca_mr_give_back(struct ohca_op *op, struct ib_mr *mr);

/**
 * ohca_async_invalidate_mr - make a memory region invalid by a command
 * @op:		initialised
 * @mr:		of ib_alloc_mr() or ohca_mr_take()
 *
 * As IB_WR_LOCAL_INV, without a queue pair.
 */
int ohca_async_invalidate_mr(struct ohca_op *op, struct ib_mr *mr);

#endif /* RDMA_OHCA_H */
