// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What operations cost their caller: instructions, in a guest whose time-stamp counter
 * counts them (QEMU with -icount shift=0).  A loop of known length tells whether it does.
 *
 * In a timer interrupt: many operations are started, the device has time to
 * carry them out, and then they are polled to their ends, which are there.
 */

#include <linux/delay.h>
#include <linux/slab.h>

#include <asm/msr.h>

#include "atomic.h"

#define AT_COST_OPS		64
#define AT_COST_ROUNDS		5
#define AT_COST_PAUSE_MS	50
#define AT_COST_LOOPS		10000	/* of two instructions */

struct at_cost {
	struct at_setup setup;
	struct ib_qp *qps[AT_COST_OPS];
	struct ohca_op ops[AT_COST_OPS];
	struct ib_qp_attr attr;
	int (*start)(struct at_cost *cost, int index);
	u64 submission;		/* ticks, of all */
	u64 completion;
};

static u64 at_cost_calibrate(void)
{
	unsigned long loops = AT_COST_LOOPS, flags;
	u64 begin, end;

	local_irq_save(flags);
	begin = rdtsc_ordered();
	asm volatile("1: dec %0; jnz 1b" : "+r" (loops));
	end = rdtsc_ordered();
	local_irq_restore(flags);
	return end - begin;
}

static int at_cost_nop(struct at_cost *cost, int index)
{
	return ohca_async_nop(&cost->ops[index]);
}

static int at_cost_take_connected(struct at_cost *cost, int index)
{
	struct ib_qp *qp = ohca_qp_take_connected(&cost->ops[index], cost->setup.qps, NULL, NULL,
						  &cost->attr, AT_CONNECT_MASK);

	cost->qps[index] = qp;
	return PTR_ERR_OR_ZERO(qp);
}

static int at_cost_modify(struct at_cost *cost, int index)
{
	cost->attr.qp_state = IB_QPS_SQD;
	return ohca_async_modify_qp(&cost->ops[index], cost->qps[index], &cost->attr, IB_QP_STATE);
}

static int at_cost_query(struct at_cost *cost, int index)
{
	return ohca_async_query_qp(&cost->ops[index], cost->qps[index], &cost->attr, NULL);
}

static int at_cost_disconnect(struct at_cost *cost, int index)
{
	return ohca_async_disconnect_qp(&cost->ops[index], cost->qps[index]);
}

static int at_cost_give_back(struct at_cost *cost, int index)
{
	return ohca_qp_give_back(&cost->ops[index], cost->qps[index]);
}

static const struct {
	const char *name;
	int (*start)(struct at_cost *cost, int index);
} at_cost_steps[] = {
	{ "nop", at_cost_nop },
	{ "take_connected", at_cost_take_connected },
	{ "modify_qp", at_cost_modify },
	{ "query_qp", at_cost_query },
	{ "disconnect_qp", at_cost_disconnect },
	{ "give_back", at_cost_give_back },
};

/* In a hard timer interrupt. */
static int at_cost_measure(void *argument)
{
	struct at_cost *cost = argument;
	u64 begin = rdtsc_ordered();
	int i, ret = 0;

	for (i = 0; !ret && i < AT_COST_OPS; i++) {
		ohca_op_init(&cost->ops[i], cost->setup.async, NULL, NULL);
		ret = cost->start(cost, i);
	}
	cost->submission = rdtsc_ordered() - begin;
	if (ret)
		return ret;
	mdelay(AT_COST_PAUSE_MS);
	begin = rdtsc_ordered();
	for (i = 0; i < AT_COST_OPS; i++)
		ret = ohca_op_poll(&cost->ops[i], AT_POLL_US) ?: ret;
	cost->completion = rdtsc_ordered() - begin;
	return ret;
}

/* The least of the rounds: a device that was late is waited for, which is not what is asked. */
static int at_cost_round(struct at_cost *cost, u64 *submission, u64 *completion)
{
	int step, ret = 0;

	at_connect_attr(&cost->setup, 2, &cost->attr);
	for (step = 0; !ret && step < ARRAY_SIZE(at_cost_steps); step++) {
		cost->start = at_cost_steps[step].start;
		ret = at_run(AT_HARD_TIMER, at_cost_measure, cost);
		submission[step] = min(submission[step], cost->submission);
		completion[step] = min(completion[step], cost->completion);
	}
	return ret;
}

int at_cost(struct ib_device *device)
{
	u64 submission[ARRAY_SIZE(at_cost_steps)], completion[ARRAY_SIZE(at_cost_steps)];
	struct at_cost *cost = kzalloc(sizeof(*cost), GFP_KERNEL);
	int i, ret;

	if (!cost)
		return -ENOMEM;
	ret = at_open(&cost->setup, device, AT_COST_OPS);
	if (ret)
		goto out;
	memset(submission, 0xff, sizeof(submission));
	memset(completion, 0xff, sizeof(completion));
	for (i = 0; !ret && i < AT_COST_ROUNDS; i++)
		ret = at_cost_round(cost, submission, completion);
	/* After a failure members may be out. */
	if (ret)
		return ret;
	pr_info("atomic: cost: %u instructions are %llu ticks\n", 2 * AT_COST_LOOPS,
		at_cost_calibrate());
	for (i = 0; i < ARRAY_SIZE(at_cost_steps); i++)
		pr_info("atomic: cost: %s: submission %llu ticks, completion %llu ticks\n",
			at_cost_steps[i].name, submission[i] / AT_COST_OPS,
			completion[i] / AT_COST_OPS);
	at_close(&cost->setup);
out:
	kfree(cost);
	return ret;
}
