// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Runs a function where nothing may sleep, and waits for it where sleeping is allowed. */

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/spinlock.h>

#include "atomic.h"

const char * const at_context_names[AT_CONTEXT_COUNT] = {
	[AT_HARD_INTERRUPT] = "hard interrupt",
	[AT_HARD_TIMER] = "hard timer",
	[AT_SOFT_INTERRUPT] = "softirq",
	[AT_SPINLOCK] = "spinlock held",
	[AT_PREEMPT_OFF] = "preemption off",
	[AT_PROCESS] = "process",
};

static DEFINE_SPINLOCK(at_lock);

struct at_call {
	int (*function)(void *argument);
	void *argument;
	int ret;
	struct completion over;
	struct irq_work work;
	struct hrtimer timer;
};

static void at_call(struct at_call *call)
{
	call->ret = call->function(call->argument);
	complete(&call->over);
}

static void at_irq_work(struct irq_work *work)
{
	WARN_ON_ONCE(!in_hardirq());
	at_call(container_of(work, struct at_call, work));
}

static enum hrtimer_restart at_timer(struct hrtimer *timer)
{
	at_call(container_of(timer, struct at_call, timer));
	return HRTIMER_NORESTART;
}

static int at_run_in_timer(struct at_call *call, enum hrtimer_mode mode)
{
	hrtimer_init_on_stack(&call->timer, CLOCK_MONOTONIC, mode);
	call->timer.function = at_timer;
	hrtimer_start(&call->timer, ns_to_ktime(10 * NSEC_PER_USEC), mode);
	wait_for_completion(&call->over);
	/* The handler has told, but may not have returned. */
	hrtimer_cancel(&call->timer);
	destroy_hrtimer_on_stack(&call->timer);
	return call->ret;
}

int at_run(enum at_context context, int (*function)(void *argument), void *argument)
{
	struct at_call call = { .function = function, .argument = argument };
	unsigned long flags;
	int ret;

	init_completion(&call.over);
	switch (context) {
	case AT_HARD_INTERRUPT:
		call.work = IRQ_WORK_INIT_HARD(at_irq_work);
		irq_work_queue(&call.work);
		wait_for_completion(&call.over);
		irq_work_sync(&call.work);
		return call.ret;
	case AT_HARD_TIMER:
		return at_run_in_timer(&call, HRTIMER_MODE_REL_HARD);
	case AT_SOFT_INTERRUPT:
		return at_run_in_timer(&call, HRTIMER_MODE_REL_SOFT);
	case AT_SPINLOCK:
		spin_lock_irqsave(&at_lock, flags);
		ret = function(argument);
		spin_unlock_irqrestore(&at_lock, flags);
		return ret;
	case AT_PREEMPT_OFF:
		preempt_disable();
		ret = function(argument);
		preempt_enable();
		return ret;
	default:
		return function(argument);
	}
}
