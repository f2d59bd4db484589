// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Set-up of connections: create a queue pair, bring it to RTS, destroy it.
 * Synchronous verbs on any device; on ohca also as operations, started by one thread.
 */

#include <linux/slab.h>
#include <linux/tick.h>
#include <linux/vmalloc.h>

#include <rdma/ib_cache.h>

#include "atomic.h"

#define AT_PARALLEL	64

/* One after the other, as every ULP does. */
static int at_bench_one(struct at_setup *setup)
{
	struct ib_qp_init_attr init_attr = at_qp_init_attr(setup);
	struct ib_qp *qp = ib_create_qp(setup->pd, &init_attr);
	struct ib_qp_attr attr;
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	at_connect_attr(setup, qp->qp_num, &attr);
	attr.ah_attr.grh.sgid_attr = NULL;	/* ib_core takes its own */
	attr.qp_state = IB_QPS_INIT;
	ret = ib_modify_qp(qp, &attr, AT_INIT_MASK);
	attr.qp_state = IB_QPS_RTR;
	if (!ret)
		ret = ib_modify_qp(qp, &attr, AT_RTR_MASK);
	attr.qp_state = IB_QPS_RTS;
	if (!ret)
		ret = ib_modify_qp(qp, &attr, AT_RTS_MASK);
	return ib_destroy_qp(qp) ?: ret;
}

struct at_bench_clock {
	ktime_t begin;
	u64 idle_us;		/* of all processors */
};

static u64 at_bench_idle_us(void)
{
	u64 idle = 0;
	int cpu;

	for_each_online_cpu(cpu)
		idle += get_cpu_idle_time_us(cpu, NULL);
	return idle;
}

static void at_bench_begin_clock(struct at_bench_clock *clock)
{
	clock->begin = ktime_get();
	clock->idle_us = at_bench_idle_us();
}

/* Processor time is that of the whole guest: a nanosecond an instruction under -icount shift=0. */
static void at_bench_tell(const char *how, u32 connections, const struct at_bench_clock *clock)
{
	u64 us = ktime_us_delta(ktime_get(), clock->begin);
	u64 busy_us = us * num_online_cpus() - (at_bench_idle_us() - clock->idle_us);

	pr_info("atomic: bench: %s: %u connections, %llu per second, %llu ns of processors each\n",
		how, connections, div64_u64((u64)connections * USEC_PER_SEC, us ?: 1),
		div64_u64(busy_us * NSEC_PER_USEC, connections));
}

/* As many as asked for, or as many as there is time for. */
static bool at_bench_time_over(const struct at_bench_clock *clock, u32 limit_ms)
{
	return limit_ms && ktime_ms_delta(ktime_get(), clock->begin) >= limit_ms;
}

static int at_bench_sync(struct ib_device *device, u32 connections, u32 limit_ms)
{
	struct ib_cq_init_attr attr = { .cqe = 4 * AT_DEPTH };
	struct at_setup setup = { .device = device };
	struct at_bench_clock clock;
	int ret = 0;
	u32 i;

	setup.gid = rdma_get_gid_attr(device, AT_PORT, 0);
	if (IS_ERR(setup.gid))
		return PTR_ERR(setup.gid);
	setup.pd = ib_alloc_pd(device, 0);
	if (IS_ERR(setup.pd)) {
		ret = PTR_ERR(setup.pd);
		goto err_gid;
	}
	setup.cq = ib_create_cq(device, NULL, NULL, NULL, &attr);
	if (IS_ERR(setup.cq)) {
		ret = PTR_ERR(setup.cq);
		goto err_pd;
	}
	at_bench_begin_clock(&clock);
	for (i = 0; !ret && i < connections && !at_bench_time_over(&clock, limit_ms); i++)
		ret = at_bench_one(&setup);
	if (!ret)
		at_bench_tell("synchronous", i, &clock);
	ib_destroy_cq(setup.cq);
err_pd:
	ib_dealloc_pd(setup.pd);
err_gid:
	rdma_put_gid_attr(setup.gid);
	return ret;
}

struct at_bench;

struct at_bench_slot {
	struct at_bench *bench;
	struct ohca_op op;
	struct ib_qp_attr attr;
};

struct at_bench {
	struct at_setup setup;
	struct at_bench_clock clock;
	u32 limit_ms;		/* 0: none */
	struct at_bench_slot slots[AT_PARALLEL];
	atomic_t left;		/* connections to be begun */
	atomic_t count;		/* of those begun */
	atomic_t active;
	int error;
	struct completion over;
};

static void at_bench_begin(struct at_bench_slot *slot);

static void at_bench_end(struct at_bench *bench, int error)
{
	if (error)
		cmpxchg(&bench->error, 0, error);
	if (atomic_dec_and_test(&bench->active))
		complete(&bench->over);
}

static void at_bench_gone(struct ohca_op *op)
{
	struct at_bench_slot *slot = op->context;

	if (op->result)
		at_bench_end(slot->bench, op->result);
	else
		at_bench_begin(slot);
}

static void at_bench_connected(struct ohca_op *op)
{
	struct at_bench_slot *slot = op->context;
	struct ib_qp *qp = op->qp;
	int ret = op->result;

	if (!ret) {
		ohca_op_init(&slot->op, slot->bench->setup.async, at_bench_gone, slot);
		ret = ohca_qp_give_back(&slot->op, qp);
	}
	if (ret)
		at_bench_end(slot->bench, ret);
}

/* Peer is the queue pair that had the slot before: it does not matter which, nothing is sent. */
static void at_bench_begin(struct at_bench_slot *slot)
{
	struct at_bench *bench = slot->bench;
	struct ib_qp *qp;

	if (atomic_dec_return(&bench->left) < 0 ||
	    at_bench_time_over(&bench->clock, bench->limit_ms)) {
		at_bench_end(bench, 0);
		return;
	}
	atomic_inc(&bench->count);
	ohca_op_init(&slot->op, bench->setup.async, at_bench_connected, slot);
	/* What it returns the callback has in its operation, and may have had already. */
	qp = ohca_qp_take_connected(&slot->op, bench->setup.qps, NULL, NULL, &slot->attr,
				    AT_CONNECT_MASK);
	if (IS_ERR(qp))
		at_bench_end(bench, PTR_ERR(qp));
}

static int at_bench_async(struct ib_device *device, u32 connections, u32 limit_ms)
{
	struct at_bench *bench = vzalloc(sizeof(*bench));
	int i, ret;

	if (!bench)
		return -ENOMEM;
	ret = at_open(&bench->setup, device, AT_PARALLEL);
	if (ret)
		goto out;
	init_completion(&bench->over);
	atomic_set(&bench->left, connections);
	atomic_set(&bench->active, AT_PARALLEL);
	bench->limit_ms = limit_ms;
	at_bench_begin_clock(&bench->clock);
	for (i = 0; i < AT_PARALLEL; i++) {
		bench->slots[i].bench = bench;
		at_connect_attr(&bench->setup, 2, &bench->slots[i].attr);
		at_bench_begin(&bench->slots[i]);
	}
	wait_for_completion(&bench->over);
	ret = bench->error;
	if (!ret)
		at_bench_tell("asynchronous", atomic_read(&bench->count), &bench->clock);
	at_close(&bench->setup);
out:
	vfree(bench);
	return ret;
}

/* @form: synchronous or asynchronous; both if it is empty and the device has both */
int at_bench(struct ib_device *device, u32 connections, u32 limit_ms, const char *form)
{
	bool only_sync = !strcmp(form, "synchronous"), only_async = !strcmp(form, "asynchronous");
	struct ohca_async *async = ohca_async_open(device);
	int ret = 0;

	if (!IS_ERR(async))
		ohca_async_close(async);
	else if (only_async)
		return PTR_ERR(async);
	if (!only_async)
		ret = at_bench_sync(device, connections, limit_ms);
	if (ret || only_sync || IS_ERR(async))	/* another driver's */
		return ret;
	return at_bench_async(device, connections, limit_ms);
}
