// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command queue.
 *
 * One primitive, ohca_cmdq_submit(), starts a command and has a callback run
 * when it is over.  It never sleeps and never allocates, so that it works in
 * any context.  Waiting for the callback, polling for it with a deadline, and
 * a timeout are built on top.
 *
 * A slot is a pair of mailboxes and the right to have one entry in each ring,
 * so as many entries as slots can never overrun a ring.
 *
 *   FREE -> ISSUED -> FREE              answered
 *           ISSUED -> QUARANTINED       timed out: the caller got -ETIMEDOUT, but
 *                                       the device may still use the mailboxes
 *   QUARANTINED -> FREE                 answered late
 *   QUARANTINED -> ISSUED               answered late, and the answer created an
 *                                       object that nobody owns: destroy it
 *
 * Lock order: the queue's lock is a leaf.  Callbacks run without it.
 */

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/dmapool.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ohca.h"

static unsigned int command_timeout_ms = 5000;
module_param(command_timeout_ms, uint, 0644);
MODULE_PARM_DESC(command_timeout_ms, "how long to wait for the answer to a command (default 5000)");

/* How often a waiter looks for itself, in case an interrupt was lost. */
#define OHCA_CMDQ_RECHECK	(HZ / 4)
/* The periodic check leaves commands with a waiter to the waiter for so long. */
#define OHCA_CMDQ_EXPIRE_SLACK	HZ
/* An honest device cannot fill the completion ring more often at a stretch. */
#define OHCA_CMDQ_DRAIN_ROUNDS	4

enum ohca_slot_state {
	OHCA_SLOT_FREE,
	OHCA_SLOT_ISSUED,
	OHCA_SLOT_QUARANTINED,
};

struct ohca_cmdq_slot {
	struct ohca_cmd *cmd;		/* while ISSUED */
	enum ohca_slot_state state;
	u16 opcode;			/* of the command last issued */
	u32 generation;
	void *input;			/* OHCA_CMDQ_INPUT_SIZE, then the output mailbox */
	dma_addr_t input_dma;
	/* Destroys what a late answer has created. */
	struct ohca_cmd undo;
	struct ohca_cmd_handle undo_in;
};

static void *ohca_slot_output(const struct ohca_cmdq_slot *slot)
{
	return slot->input + OHCA_CMDQ_INPUT_SIZE;
}

static unsigned long ohca_cmdq_timeout(void)
{
	return msecs_to_jiffies(max(READ_ONCE(command_timeout_ms), 10U));
}

/* After this much ohca_cmdq_expire() has given up any command that is under way now. */
static unsigned long ohca_cmdq_patience(void)
{
	return ohca_cmdq_timeout() + OHCA_CMDQ_EXPIRE_SLACK + 1;
}

static int ohca_status_to_errno(u8 status)
{
	static const int errnos[] = {
		[OHCA_CMD_STATUS_OK] = 0,
		[OHCA_CMD_STATUS_BAD_OPCODE] = -EOPNOTSUPP,
		[OHCA_CMD_STATUS_BAD_LENGTH] = -EINVAL,
		[OHCA_CMD_STATUS_BAD_PARAMETER] = -EINVAL,
		[OHCA_CMD_STATUS_BAD_HANDLE] = -EINVAL,
		[OHCA_CMD_STATUS_BAD_STATE] = -EINVAL,
		[OHCA_CMD_STATUS_IN_USE] = -EBUSY,
		[OHCA_CMD_STATUS_NO_RESOURCES] = -ENOMEM,
		[OHCA_CMD_STATUS_DMA_FAULT] = -EFAULT,
		[OHCA_CMD_STATUS_BUSY_SLOT] = -EINVAL,
		[OHCA_CMD_STATUS_UNSUPPORTED] = -EOPNOTSUPP,
	};

	return status < ARRAY_SIZE(errnos) ? errnos[status] : -EIO;
}

/* What destroys the object whose handle is the first word of the output; or 0. */
static u16 ohca_undo_opcode(u16 opcode)
{
	switch (opcode) {
	case OHCA_CMD_CREATE_EQ:
		return OHCA_CMD_DESTROY_EQ;
	case OHCA_CMD_CREATE_UAR:
		return OHCA_CMD_DESTROY_UAR;
	case OHCA_CMD_CREATE_PD:
		return OHCA_CMD_DESTROY_PD;
	case OHCA_CMD_CREATE_MKEY:
		return OHCA_CMD_DESTROY_MKEY;
	case OHCA_CMD_CREATE_CQ:
		return OHCA_CMD_DESTROY_CQ;
	case OHCA_CMD_CREATE_QP:
		return OHCA_CMD_DESTROY_QP;
	case OHCA_CMD_CREATE_SRQ:
		return OHCA_CMD_DESTROY_SRQ;
	case OHCA_CMD_CREATE_XRCD:
		return OHCA_CMD_DESTROY_XRCD;
	default:
		return 0;
	}
}

static bool ohca_is_destroy(u16 opcode)
{
	switch (opcode) {
	case OHCA_CMD_DESTROY_EQ:
	case OHCA_CMD_DESTROY_UAR:
	case OHCA_CMD_DESTROY_PD:
	case OHCA_CMD_DESTROY_MKEY:
	case OHCA_CMD_DESTROY_CQ:
	case OHCA_CMD_DESTROY_QP:
	case OHCA_CMD_DESTROY_SRQ:
	case OHCA_CMD_DESTROY_XRCD:
		return true;
	default:
		return false;
	}
}

static void ohca_run_callbacks(struct list_head *done)
{
	struct ohca_cmd *cmd, *next;

	list_for_each_entry_safe(cmd, next, done, node) {
		list_del(&cmd->node);
		cmd->done(cmd);
	}
}

/* Likewise outside of the event handler, which somebody has to call then. */
static void ohca_call_back(struct ohca_dev *dev, struct list_head *done)
{
	if (list_empty(done))
		return;
	ohca_run_callbacks(done);
	ohca_op_ends_kick(dev);
}

/* The command is over; its callback runs once the lock is dropped. */
static void ohca_finish_locked(struct ohca_cmd *cmd, int result, struct list_head *done)
{
	cmd->result = result;
	cmd->state = OHCA_CMD_DONE;
	list_add_tail(&cmd->node, done);
}

/*
 * The doorbell may be a register, and writing it waits until the device's
 * process takes notice: nobody shall spin on the lock meanwhile.
 */
static void ohca_cmdq_unlock(struct ohca_dev *dev, unsigned long flags)
	__releases(&dev->cmdq.lock)
{
	struct ohca_cmdq *q = &dev->cmdq;
	bool ring = q->entered;

	q->entered = false;
	spin_unlock_irqrestore(&q->lock, flags);
	if (ring)
		ohca_ring_doorbell(dev, OHCA_UAR_CMDQ_SLOT);
}

/* Into the ring; ohca_cmdq_unlock() rings the doorbell. */
static void ohca_issue_locked(struct ohca_dev *dev, struct ohca_cmd *cmd, u16 index)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct ohca_cmdq_slot *slot = &q->slots[index];
	struct ohca_cmd_entry *entry = &q->sq[q->producer & (q->depth - 1)];

	lockdep_assert_held(&q->lock);
	/* Of all slots only this one is in use. */
	if (q->free_count == q->depth - 1)
		q->last_answer = jiffies;
	slot->cmd = cmd;
	slot->state = OHCA_SLOT_ISSUED;
	slot->opcode = cmd->opcode;
	slot->generation++;
	cmd->state = OHCA_CMD_ISSUED;
	cmd->slot = index;

	memcpy(slot->input, cmd->in, cmd->in_length);
	memset(entry, 0, sizeof(*entry));
	entry->opcode = cpu_to_le16(cmd->opcode);
	entry->slot = cpu_to_le16(index);
	entry->generation = cpu_to_le32(slot->generation);
	entry->input_address = cpu_to_le64(slot->input_dma);
	entry->output_address = cpu_to_le64(slot->input_dma + OHCA_CMDQ_INPUT_SIZE);
	entry->input_length = cpu_to_le32(cmd->in_length);
	entry->output_length = cpu_to_le32(OHCA_CMDQ_OUTPUT_SIZE);

	/* The device must find entry and mailbox once it sees the index. */
	dma_wmb();
	WRITE_ONCE(q->record->producer, cpu_to_le32(++q->producer));
	q->entered = true;
}

/* A slot has become free: the longest waiter gets it. */
static void ohca_release_slot_locked(struct ohca_dev *dev, u16 index)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct ohca_cmd *cmd;

	lockdep_assert_held(&q->lock);
	q->slots[index].state = OHCA_SLOT_FREE;
	q->slots[index].cmd = NULL;
	cmd = list_first_entry_or_null(&q->waiters, struct ohca_cmd, node);
	if (cmd) {
		list_del(&cmd->node);
		ohca_issue_locked(dev, cmd, index);
	} else {
		q->free_slots[q->free_count++] = index;
	}
}

static void ohca_wait_for_slot_locked(struct ohca_cmdq *q, struct ohca_cmd *cmd)
{
	lockdep_assert_held(&q->lock);
	cmd->state = OHCA_CMD_WAITING;
	list_add_tail(&cmd->node, &q->waiters);
}

/*
 * Start a command.  Any context.  0: cmd->done will be called exactly once,
 * and may have been already; else it will not.
 */
int ohca_cmdq_submit(struct ohca_dev *dev, struct ohca_cmd *cmd)
{
	struct ohca_cmdq *q = &dev->cmdq;
	unsigned long flags;
	int ret = 0;

	if (WARN_ON_ONCE(cmd->in_length > OHCA_CMDQ_INPUT_SIZE ||
			 cmd->out_length > OHCA_CMDQ_OUTPUT_SIZE))
		return -EINVAL;

	cmd->detail = OHCA_CMD_DETAIL_NONE;
	cmd->deadline = jiffies + ohca_cmdq_timeout();
	spin_lock_irqsave(&q->lock, flags);
	if (q->stopped || ohca_failed(dev))
		ret = -EIO;
	else if (q->free_count)
		ohca_issue_locked(dev, cmd, q->free_slots[--q->free_count]);
	else if (cmd->flags & OHCA_CMD_NOWAIT)
		ret = -EBUSY;
	else
		ohca_wait_for_slot_locked(q, cmd);
	ohca_cmdq_unlock(dev, flags);
	return ret;
}

/*
 * Start the commands of a list with one doorbell; those for which there is no
 * slot wait for one.  Any context.  Each is called back exactly once.
 */
void ohca_cmdq_submit_list(struct ohca_dev *dev, struct list_head *cmds)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct ohca_cmd *cmd, *next;
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&q->lock, flags);
	list_for_each_entry_safe(cmd, next, cmds, node) {
		list_del(&cmd->node);
		cmd->detail = OHCA_CMD_DETAIL_NONE;
		cmd->deadline = jiffies + ohca_cmdq_timeout();
		if (q->stopped || ohca_failed(dev))
			ohca_finish_locked(cmd, -EIO, &done);
		else if (q->free_count)
			ohca_issue_locked(dev, cmd, q->free_slots[--q->free_count]);
		else
			ohca_wait_for_slot_locked(q, cmd);
	}
	ohca_cmdq_unlock(dev, flags);
	ohca_call_back(dev, &done);
}

static void ohca_undo_done(struct ohca_cmd *cmd)
{
	struct ohca_dev *dev = cmd->context;

	if (cmd->result && cmd->result != -EIO)
		dev_warn_ratelimited(ohca_device(dev),
				     "object of a late answer not destroyed: opcode %#x, %d\n",
				     cmd->opcode, cmd->result);
}

/* The answer to a command whose caller has given up. */
static void ohca_late_answer_locked(struct ohca_dev *dev, u16 index, u8 status)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct ohca_cmdq_slot *slot = &q->slots[index];
	u16 undo = status == OHCA_CMD_STATUS_OK ? ohca_undo_opcode(slot->opcode) : 0;

	dev_warn_ratelimited(ohca_device(dev), "late answer to command %#x, status %u%s\n",
			     slot->opcode, status, undo ? ": destroying its object" : "");
	q->quarantined--;
	if (!undo || q->stopped) {
		ohca_release_slot_locked(dev, index);
		return;
	}
	slot->undo_in = (struct ohca_cmd_handle) {
		.handle = *(__le32 *)ohca_slot_output(slot),
	};
	slot->undo = (struct ohca_cmd) {
		.opcode = undo,
		.in = &slot->undo_in,
		.in_length = sizeof(slot->undo_in),
		.done = ohca_undo_done,
		.context = dev,
		.deadline = jiffies + ohca_cmdq_timeout(),
	};
	ohca_issue_locked(dev, &slot->undo, index);
}

/* @c is a copy that the device can no longer change. */
static void ohca_complete_locked(struct ohca_dev *dev, const struct ohca_cmd_completion *c,
				 struct list_head *done)
{
	struct ohca_cmdq *q = &dev->cmdq;
	u16 index = le16_to_cpu(c->slot);
	struct ohca_cmdq_slot *slot;
	struct ohca_cmd *cmd;
	int result;

	if (index >= q->depth) {
		dev_warn_ratelimited(ohca_device(dev), "completion of slot %u of %u dropped\n",
				     index, q->depth);
		return;
	}
	slot = &q->slots[index];
	if (slot->state == OHCA_SLOT_FREE || le32_to_cpu(c->generation) != slot->generation) {
		dev_warn_ratelimited(ohca_device(dev),
				     "completion of slot %u generation %u dropped: state %d, generation %u\n",
				     index, le32_to_cpu(c->generation), slot->state,
				     slot->generation);
		return;
	}
	q->last_answer = jiffies;
	if (slot->state == OHCA_SLOT_QUARANTINED) {
		ohca_late_answer_locked(dev, index, c->status);
		return;
	}
	cmd = slot->cmd;
	cmd->detail = le32_to_cpu(c->detail);
	result = ohca_status_to_errno(c->status);
	if (!result && cmd->out)
		memcpy(cmd->out, ohca_slot_output(slot), cmd->out_length);
	ohca_release_slot_locked(dev, index);
	ohca_finish_locked(cmd, result, done);
}

static bool ohca_completion_ready(const struct ohca_cmdq *q)
{
	const struct ohca_cmd_completion *c = &q->cq[q->consumer & (q->depth - 1)];
	u8 phase = !(q->consumer >> q->log_depth & 1);

	return (READ_ONCE(c->owner) & OHCA_CMD_COMPLETION_PHASE) == phase;
}

/* At most once around the ring, so that no device can keep us here. */
static u32 ohca_reap_locked(struct ohca_dev *dev, struct list_head *done)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct ohca_cmd_completion c;
	unsigned int times;
	u32 count;

	lockdep_assert_held(&q->lock);
	for (count = 0; count < q->depth && ohca_completion_ready(q); count++) {
		/*
		 * owner is written last: nothing else of the entry, nor the
		 * mailbox it tells of, may be read before it.
		 */
		dma_rmb();
		ohca_copy_entry(&c, &q->cq[q->consumer & (q->depth - 1)], sizeof(c));
		/* Before the slot may be used again. */
		WRITE_ONCE(q->record->completion_consumer, cpu_to_le32(++q->consumer));
		for (times = ohca_fault_answer(dev, &c, ohca_cmdq_patience()); times; times--)
			ohca_complete_locked(dev, &c, done);
	}
	return count;
}

/*
 * Handle the completions that are there, and have the next one raise an
 * interrupt.  Callbacks of commands run here; the event handler goes on with
 * ohca_op_ends_deliver().  True if there were any.
 */
bool ohca_cmdq_reap(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	unsigned long flags;
	LIST_HEAD(done);
	u32 count = 0;
	int round;

	spin_lock_irqsave(&q->lock, flags);
	for (round = 0; round < OHCA_CMDQ_DRAIN_ROUNDS; round++) {
		count += ohca_reap_locked(dev, &done);
		/* The device finds the ring emptied once it finds it armed. */
		dma_wmb();
		WRITE_ONCE(q->record->interrupt_arm, cpu_to_le32(1));
		/*
		 * Arm, then look once more: pairs with the device's fence
		 * between writing a completion and reading interrupt_arm.
		 */
		virt_mb();
		if (!ohca_completion_ready(q))
			break;
	}
	ohca_cmdq_unlock(dev, flags);
	ohca_run_callbacks(&done);
	return count;
}

/* Likewise in any other context. */
bool ohca_cmdq_drain(struct ohca_dev *dev)
{
	bool any = ohca_cmdq_reap(dev);

	if (any)
		ohca_op_ends_kick(dev);
	return any;
}

/* Take a command that is not over away from the queue, for lack of an answer. */
static void ohca_abandon_locked(struct ohca_dev *dev, struct ohca_cmd *cmd, int result,
				struct list_head *done)
{
	struct ohca_cmdq *q = &dev->cmdq;

	lockdep_assert_held(&q->lock);
	if (cmd->state == OHCA_CMD_WAITING) {
		list_del(&cmd->node);
	} else {
		q->slots[cmd->slot].state = OHCA_SLOT_QUARANTINED;
		q->slots[cmd->slot].cmd = NULL;
		q->quarantined++;
	}
	ohca_finish_locked(cmd, result, done);
}

/*
 * Without an answer to a DESTROY nobody knows whether the object's memory may
 * be given back, and a queue most of whose slots are lost is of no use, nor is
 * a device that answers nothing at all: these need a reset.  Other unanswered
 * commands leave nothing that a late answer or the next reset does not clean up.
 */
static void ohca_timed_out(struct ohca_dev *dev, u16 opcode)
{
	const struct ohca_cmdq *q = &dev->cmdq;

	dev_err_ratelimited(ohca_device(dev), "command %#x timed out\n", opcode);
	ohca_check_health(dev);
	if (ohca_is_destroy(opcode))
		ohca_fail(dev, "no answer to a DESTROY command");
	else if (READ_ONCE(q->quarantined) > q->depth / 2)
		ohca_fail(dev, "too many commands without an answer");
	else if (time_after(jiffies, READ_ONCE(q->last_answer) + 2 * ohca_cmdq_timeout() - HZ / 10))
		ohca_fail(dev, "no command is answered");
}

/*
 * End it with -ETIMEDOUT.  Any context.  False: it is over already, the callback
 * runs or has run; or it has not been submitted yet.
 */
bool ohca_cmdq_give_up(struct ohca_dev *dev, struct ohca_cmd *cmd)
{
	struct ohca_cmdq *q = &dev->cmdq;
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&q->lock, flags);
	if (cmd->state == OHCA_CMD_WAITING || cmd->state == OHCA_CMD_ISSUED)
		ohca_abandon_locked(dev, cmd, -ETIMEDOUT, &done);
	ohca_cmdq_unlock(dev, flags);
	if (list_empty(&done))
		return false;
	ohca_timed_out(dev, cmd->opcode);
	ohca_call_back(dev, &done);
	return true;
}

static void ohca_wake_waiter(struct ohca_cmd *cmd)
{
	complete(cmd->context);
}

/* Start a command and sleep until it is over. */
int ohca_cmdq_exec(struct ohca_dev *dev, struct ohca_cmd *cmd)
{
	DECLARE_COMPLETION_ONSTACK(over);
	int ret;

	might_sleep();
	cmd->done = ohca_wake_waiter;
	cmd->context = &over;
	ret = ohca_cmdq_submit(dev, cmd);
	if (ret)
		return ret;

	while (!wait_for_completion_timeout(&over, OHCA_CMDQ_RECHECK)) {
		if (ohca_cmdq_drain(dev) && completion_done(&over))
			/* Lost, or the host is just too busy to deliver it. */
			dev_dbg(ohca_device(dev),
				"command %#x: completion, but no interrupt in time\n",
				cmd->opcode);
		if (time_after(jiffies, cmd->deadline) && !completion_done(&over))
			ohca_cmdq_give_up(dev, cmd);
	}
	return cmd->result;
}

static void ohca_set_flag(struct ohca_cmd *cmd)
{
	/* The last access: the poller may return from the function that owns cmd. */
	smp_store_release((bool *)cmd->context, true);
}

/*
 * Start a command and spin until it is over.  Any context, also with
 * interrupts off and before they are set up.
 */
int ohca_cmdq_exec_polled(struct ohca_dev *dev, struct ohca_cmd *cmd, u32 timeout_ms)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), timeout_ms);
	bool over = false;
	int ret;

	cmd->done = ohca_set_flag;
	cmd->context = &over;
	ret = ohca_cmdq_submit(dev, cmd);
	if (ret)
		return ret;

	for (;;) {
		ohca_cmdq_drain(dev);
		/* Pairs with the release in ohca_set_flag(). */
		if (smp_load_acquire(&over))
			break;
		if (ktime_after(ktime_get(), deadline))
			ohca_cmdq_give_up(dev, cmd);
		else
			udelay(1);
	}
	return cmd->result;
}

/* Periodic: time out the commands that have no waiter. */
void ohca_cmdq_expire(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct ohca_cmd_completion late;
	struct ohca_cmd *cmd, *next;
	unsigned long flags, now;
	LIST_HEAD(expired);
	LIST_HEAD(done);
	u32 i;

	ohca_cmdq_drain(dev);
	now = jiffies - OHCA_CMDQ_EXPIRE_SLACK;
	spin_lock_irqsave(&q->lock, flags);
	for (i = 0; i < q->depth; i++) {
		cmd = q->slots[i].cmd;
		if (cmd && time_after(now, cmd->deadline))
			ohca_abandon_locked(dev, cmd, -ETIMEDOUT, &expired);
	}
	list_for_each_entry_safe(cmd, next, &q->waiters, node)
		if (time_after(now, cmd->deadline))
			ohca_abandon_locked(dev, cmd, -ETIMEDOUT, &expired);
	while (ohca_fault_late(dev, &late))
		ohca_complete_locked(dev, &late, &done);
	ohca_cmdq_unlock(dev, flags);

	list_for_each_entry(cmd, &expired, node)
		ohca_timed_out(dev, cmd->opcode);
	list_splice(&expired, &done);
	ohca_call_back(dev, &done);
}

/* Nothing is submitted any more, and whatever is under way ends with -EIO. */
void ohca_cmdq_stop(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct ohca_cmd *cmd, *next;
	unsigned long flags;
	LIST_HEAD(done);
	u32 i;

	spin_lock_irqsave(&q->lock, flags);
	q->stopped = true;
	for (i = 0; i < q->depth; i++)
		if (q->slots[i].cmd)
			ohca_abandon_locked(dev, q->slots[i].cmd, -EIO, &done);
	list_for_each_entry_safe(cmd, next, &q->waiters, node)
		ohca_abandon_locked(dev, cmd, -EIO, &done);
	ohca_cmdq_unlock(dev, flags);
	ohca_call_back(dev, &done);
}

static int ohca_cmdq_alloc_slots(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	u32 i;

	q->slots = kvcalloc(q->depth, sizeof(*q->slots), GFP_KERNEL);
	q->free_slots = kcalloc(q->depth, sizeof(*q->free_slots), GFP_KERNEL);
	q->mailboxes = dma_pool_create("ohca_mailbox", ohca_device(dev),
				       OHCA_CMDQ_INPUT_SIZE + OHCA_CMDQ_OUTPUT_SIZE, 64, 0);
	if (!q->slots || !q->free_slots || !q->mailboxes)
		return -ENOMEM;
	for (i = 0; i < q->depth; i++) {
		q->slots[i].input = dma_pool_zalloc(q->mailboxes, GFP_KERNEL,
						    &q->slots[i].input_dma);
		if (!q->slots[i].input)
			return -ENOMEM;
		/* Low slots first. */
		q->free_slots[q->depth - 1 - i] = i;
	}
	q->free_count = q->depth;
	return 0;
}

static int ohca_cmdq_alloc(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct device *dma = ohca_device(dev);

	q->sq = dma_alloc_coherent(dma, q->depth * sizeof(*q->sq), &q->sq_dma, GFP_KERNEL);
	q->cq = dma_alloc_coherent(dma, q->depth * sizeof(*q->cq), &q->cq_dma, GFP_KERNEL);
	q->record = dma_alloc_coherent(dma, sizeof(*q->record), &q->record_dma, GFP_KERNEL);
	if (!q->sq || !q->cq || !q->record)
		return -ENOMEM;
	return ohca_cmdq_alloc_slots(dev);
}

int ohca_cmdq_init(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	int ret;

	spin_lock_init(&dev->cmdq.lock);
	INIT_LIST_HEAD(&q->waiters);
	q->log_depth = OHCA_CMDQ_LOG_DEPTH;
	q->depth = 1 << q->log_depth;
	ret = ohca_cmdq_alloc(dev);
	if (ret)
		ohca_cmdq_free(dev);
	return ret;
}

/* The device has been reset or is gone. Also after a failed init. */
void ohca_cmdq_free(struct ohca_dev *dev)
{
	struct ohca_cmdq *q = &dev->cmdq;
	struct device *dma = ohca_device(dev);
	u32 i;

	for (i = 0; q->slots && i < q->depth; i++)
		if (q->slots[i].input)
			dma_pool_free(q->mailboxes, q->slots[i].input, q->slots[i].input_dma);
	dma_pool_destroy(q->mailboxes);
	kfree(q->free_slots);
	kvfree(q->slots);
	if (q->record)
		dma_free_coherent(dma, sizeof(*q->record), q->record, q->record_dma);
	if (q->cq)
		dma_free_coherent(dma, q->depth * sizeof(*q->cq), q->cq, q->cq_dma);
	if (q->sq)
		dma_free_coherent(dma, q->depth * sizeof(*q->sq), q->sq, q->sq_dma);
	memset(q, 0, sizeof(*q));
}
