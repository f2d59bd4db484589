// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections that come and go without end: each goes on from where its last
 * operation has ended (a hard interrupt), from a softirq, or from a process
 * that holds a lock, on all CPUs.  Meanwhile a timer interrupt of each CPU
 * submits and polls.  Every callback is counted: one for each operation.
 */

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "atomic.h"

#define AT_SLOTS	256
#define AT_TICK_US	500
#define AT_POLL_EVERY	8	/* ticks */

/* What a slot has done last. */
enum at_phase {
	AT_IDLE,
	AT_CONNECTED,
	AT_SQD,
	AT_RTS,
	AT_QUERIED,
	AT_DISCONNECTED,
};

struct at_slot {
	struct at_storm *storm;
	struct ohca_op op;
	struct ib_qp *qp;
	enum at_phase phase;
	bool in_flight;
	bool last;		/* it gives back, and that is all */
	struct ib_qp_attr attr;
	struct hrtimer timer;
	struct work_struct work;
	int (*start)(struct at_slot *slot);
};

struct at_ticker {
	struct at_storm *storm;
	struct ohca_op op;
	struct hrtimer timer;
	u32 ticks;
	bool in_flight;
};

struct at_storm {
	struct at_setup setup;
	struct at_slot *slots;
	struct at_ticker __percpu *tickers;
	spinlock_t lock;	/* held by some of those who submit; guards nothing */
	bool stopping;
	u64 target;		/* commands; 0: no end */
	u32 poll_us;
	bool begun;
	atomic64_t started;
	atomic64_t ended;
	atomic_t active;	/* slots that go on */
	atomic_t cpus;		/* that have begun */
	u32 cpu_count;
	atomic_t double_callbacks;
	atomic64_t timed_out;
	atomic64_t lost;
	atomic_t failures;
	int first_failure;
};

static void at_slot_ended(struct ohca_op *op);

/*
 * The device may leave at any time: these are its last words.  -EAGAIN: commands
 * went without an answer, and the pool is resetting its members once more.
 */
static bool at_is_expected(int error)
{
	return !error || error == -EIO || error == -ETIMEDOUT || error == -ENODEV ||
	       error == -EAGAIN;
}

static void at_note(struct at_storm *storm, int error)
{
	if (at_is_expected(error))
		return;
	atomic_inc(&storm->failures);
	cmpxchg(&storm->first_failure, 0, error);
}

/* An operation has ended. */
static void at_note_end(struct at_storm *storm, int result)
{
	atomic64_inc(&storm->ended);
	if (result == -ETIMEDOUT)
		atomic64_inc(&storm->timed_out);
	else if (result == -EIO || result == -ENODEV)
		atomic64_inc(&storm->lost);
	at_note(storm, result);
}

static int at_slot_connect(struct at_slot *slot)
{
	struct ib_qp *qp;

	/* To itself: it needs nobody. The number is known once it has been taken. */
	qp = ohca_qp_take(slot->storm->setup.qps, NULL, NULL);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	slot->qp = qp;
	at_connect_attr(&slot->storm->setup, qp->qp_num, &slot->attr);
	return ohca_async_connect_qp(&slot->op, qp, &slot->attr, AT_CONNECT_MASK);
}

static int at_slot_modify(struct at_slot *slot, enum ib_qp_state state)
{
	slot->attr.qp_state = state;
	return ohca_async_modify_qp(&slot->op, slot->qp, &slot->attr, IB_QP_STATE);
}

static int at_slot_start(struct at_slot *slot)
{
	switch (slot->phase) {
	case AT_IDLE:
		return at_slot_connect(slot);
	case AT_CONNECTED:
		return at_slot_modify(slot, IB_QPS_SQD);
	case AT_SQD:
		return at_slot_modify(slot, IB_QPS_RTS);
	case AT_RTS:
		return ohca_async_query_qp(&slot->op, slot->qp, &slot->attr, NULL);
	case AT_QUERIED:
		return ohca_async_disconnect_qp(&slot->op, slot->qp);
	default:
		return ohca_qp_give_back(&slot->op, slot->qp);
	}
}

static bool at_out_of_commands(struct at_storm *storm)
{
	return READ_ONCE(storm->stopping) ||
	       (storm->target && atomic64_read(&storm->started) >= storm->target);
}

/* Its next operation.  Any context. */
static void at_slot_go(struct at_slot *slot)
{
	struct at_storm *storm = slot->storm;
	int ret = -ESHUTDOWN;

	if (!slot->last && !at_out_of_commands(storm)) {
		ohca_op_init(&slot->op, storm->setup.async, at_slot_ended, slot);
		WRITE_ONCE(slot->in_flight, true);
		atomic64_inc(&storm->started);
		ret = at_slot_start(slot);
		if (!ret)
			return;
		atomic64_dec(&storm->started);
		WRITE_ONCE(slot->in_flight, false);
		at_note(storm, ret);
		if (ret == -EAGAIN) {
			hrtimer_start(&slot->timer, ms_to_ktime(10), HRTIMER_MODE_REL_SOFT);
			return;
		}
	}
	/* Its end: what it has goes back. */
	if (slot->qp && !slot->last) {
		slot->last = true;
		ohca_op_init(&slot->op, storm->setup.async, at_slot_ended, slot);
		WRITE_ONCE(slot->in_flight, true);
		atomic64_inc(&storm->started);
		ret = ohca_qp_give_back(&slot->op, slot->qp);
		if (!ret)
			return;
		at_note(storm, -EBADE);
	}
	atomic_dec(&storm->active);
}

static enum hrtimer_restart at_slot_timer(struct hrtimer *timer)
{
	at_slot_go(container_of(timer, struct at_slot, timer));
	return HRTIMER_NORESTART;
}

static void at_slot_work(struct work_struct *work)
{
	struct at_slot *slot = container_of(work, struct at_slot, work);
	unsigned long flags;

	spin_lock_irqsave(&slot->storm->lock, flags);
	at_slot_go(slot);
	spin_unlock_irqrestore(&slot->storm->lock, flags);
}

static void at_slot_ended(struct ohca_op *op)
{
	struct at_slot *slot = op->context;
	struct at_storm *storm = slot->storm;

	if (!READ_ONCE(slot->in_flight) || !irqs_disabled())
		atomic_inc(&storm->double_callbacks);
	WRITE_ONCE(slot->in_flight, false);
	at_note_end(storm, op->result);
	if (slot->last || slot->phase == AT_DISCONNECTED) {
		slot->phase = AT_IDLE;
		slot->qp = NULL;
	} else if (op->result) {
		slot->phase = AT_DISCONNECTED;	/* nothing but giving it back */
	} else {
		slot->phase++;
	}
	switch ((slot - storm->slots) % 4) {
	case 2:
		hrtimer_start(&slot->timer, ns_to_ktime(5 * NSEC_PER_USEC), HRTIMER_MODE_REL_SOFT);
		break;
	case 3:
		queue_work(system_unbound_wq, &slot->work);
		break;
	default:
		at_slot_go(slot);
	}
}

/* --- the ticks ------------------------------------------------------------ */

static void at_tick_ended(struct ohca_op *op)
{
	struct at_ticker *ticker = op->context;

	if (!READ_ONCE(ticker->in_flight))
		atomic_inc(&ticker->storm->double_callbacks);
	at_note_end(ticker->storm, op->result);
	/* The timer may use it again. */
	smp_store_release(&ticker->in_flight, false);
}

static void at_tick_start(struct at_ticker *ticker, bool polled)
{
	struct at_storm *storm = ticker->storm;
	int ret;

	ohca_op_init(&ticker->op, storm->setup.async, polled ? NULL : at_tick_ended, ticker);
	WRITE_ONCE(ticker->in_flight, !polled);
	atomic64_inc(&storm->started);
	ret = ohca_async_nop(&ticker->op);
	if (ret) {
		atomic64_dec(&storm->started);
		WRITE_ONCE(ticker->in_flight, false);
		at_note(storm, ret);
	} else if (polled) {
		at_note_end(storm, ohca_op_poll(&ticker->op, storm->poll_us));
	}
}

static enum hrtimer_restart at_tick(struct hrtimer *timer)
{
	struct at_ticker *ticker = container_of(timer, struct at_ticker, timer);

	if (at_out_of_commands(ticker->storm))
		return HRTIMER_NORESTART;
	/* Pairs with the release in at_tick_ended(). */
	if (!smp_load_acquire(&ticker->in_flight))
		at_tick_start(ticker, ++ticker->ticks % AT_POLL_EVERY == 0);
	hrtimer_forward_now(timer, ns_to_ktime(AT_TICK_US * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

/* In a hard interrupt of the CPU: its share of the slots, and its timer. */
static void at_storm_start_here(void *argument)
{
	struct at_storm *storm = argument;
	struct at_ticker *ticker = this_cpu_ptr(storm->tickers);
	u32 i;

	for (i = atomic_inc_return(&storm->cpus) - 1; i < AT_SLOTS; i += storm->cpu_count)
		at_slot_go(&storm->slots[i]);
	hrtimer_start(&ticker->timer, ns_to_ktime(AT_TICK_US * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static int at_storm_alloc(struct at_storm *storm)
{
	struct at_ticker *ticker;
	struct at_slot *slot;
	int i;

	storm->slots = vzalloc(array_size(AT_SLOTS, sizeof(*storm->slots)));
	storm->tickers = alloc_percpu(struct at_ticker);
	if (!storm->slots || !storm->tickers)
		return -ENOMEM;
	for (i = 0; i < AT_SLOTS; i++) {
		slot = &storm->slots[i];
		slot->storm = storm;
		INIT_WORK(&slot->work, at_slot_work);
		hrtimer_init(&slot->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
		slot->timer.function = at_slot_timer;
	}
	for_each_possible_cpu(i) {
		ticker = per_cpu_ptr(storm->tickers, i);
		ticker->storm = storm;
		hrtimer_init(&ticker->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		ticker->timer.function = at_tick;
	}
	return 0;
}

static void at_storm_free(struct at_storm *storm)
{
	free_percpu(storm->tickers);
	vfree(storm->slots);
	kfree(storm);
}

struct at_storm *at_storm_prepare(struct ib_device *device, u64 commands, u32 poll_us)
{
	struct at_storm *storm = kzalloc(sizeof(*storm), GFP_KERNEL);
	int ret;

	if (!storm)
		return ERR_PTR(-ENOMEM);
	storm->target = commands;
	storm->poll_us = poll_us;
	spin_lock_init(&storm->lock);
	ret = at_storm_alloc(storm);
	if (!ret)
		ret = at_open(&storm->setup, device, AT_SLOTS);
	if (ret) {
		at_storm_free(storm);
		return ERR_PTR(ret);
	}
	atomic_set(&storm->active, AT_SLOTS);
	return storm;
}

void at_storm_begin(struct at_storm *storm)
{
	storm->begun = true;
	cpus_read_lock();
	storm->cpu_count = num_online_cpus();
	on_each_cpu(at_storm_start_here, storm, 1);
	cpus_read_unlock();
}

bool at_storm_over(struct at_storm *storm)
{
	return !atomic_read(&storm->active);
}

u64 at_storm_ended(struct at_storm *storm)
{
	return atomic64_read(&storm->ended);
}

static int at_storm_wait(struct at_storm *storm)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(AT_WAIT_MS);
	int cpu;

	while (!at_storm_over(storm)) {
		if (time_after(jiffies, deadline)) {
			pr_err("atomic: %d slots have not ended within %u ms\n",
			       atomic_read(&storm->active), AT_WAIT_MS);
			return -ETIMEDOUT;
		}
		msleep(10);
	}
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(storm->tickers, cpu)->timer);
	/* A tick's own operation may be in flight. */
	while (atomic64_read(&storm->started) != atomic64_read(&storm->ended) &&
	       time_before(jiffies, deadline))
		msleep(10);
	return 0;
}

static void at_storm_tell(struct at_storm *storm, struct at_tally *tally)
{
	struct at_tally own = {
		.started = atomic64_read(&storm->started),
		.ended = atomic64_read(&storm->ended),
		.double_callbacks = atomic_read(&storm->double_callbacks),
		.timed_out = atomic64_read(&storm->timed_out),
		.lost = atomic64_read(&storm->lost),
		.failures = atomic_read(&storm->failures),
		.first_failure = storm->first_failure,
	};

	pr_info("atomic: storm: %lld operations started, %lld ended, %lld timed out, %lld lost, %lld double, %lld failed (%d)\n",
		own.started, own.ended, own.timed_out, own.lost, own.double_callbacks,
		own.failures, own.first_failure);
	tally->started += own.started;
	tally->ended += own.ended;
	tally->double_callbacks += own.double_callbacks;
	tally->timed_out += own.timed_out;
	tally->lost += own.lost;
	tally->failures += own.failures;
	if (!tally->first_failure)
		tally->first_failure = own.first_failure;
}

/* Sleeps.  All operations end, and what was counted is compared. */
int at_storm_stop(struct at_storm *storm, struct at_tally *tally)
{
	int i, ret = 0;

	WRITE_ONCE(storm->stopping, true);
	if (storm->begun)
		ret = at_storm_wait(storm);
	if (ret)
		return ret;	/* what is in flight refers to it: it stays */
	for (i = 0; i < AT_SLOTS; i++) {
		hrtimer_cancel(&storm->slots[i].timer);
		cancel_work_sync(&storm->slots[i].work);
	}
	at_storm_tell(storm, tally);
	if (atomic64_read(&storm->started) != atomic64_read(&storm->ended) ||
	    atomic_read(&storm->double_callbacks) || atomic_read(&storm->failures))
		ret = -EBADE;
	at_close(&storm->setup);
	at_storm_free(storm);
	return ret;
}
