// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit test of everything at once: operations without pause, as many outstanding
 * as there are command slots, while of each fault that can be injected there
 * is some.  Whenever that is the end of the device it is reset, and it goes on.
 *
 * Time stands still while code runs, so that waiting for answers that do not come
 * costs nothing.
 */

#include <linux/delay.h>

#include "fake_async.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

/* KUnit allows a case 300 s, of virtual time: a million in parts. */
#define OHCA_STORM_PARTS	10
#define OHCA_STORM_OPS		100000
#define OHCA_STORM_ACTORS	BIT(OHCA_CMDQ_LOG_DEPTH)
#define OHCA_STORM_QPS		(OHCA_STORM_ACTORS / 2)
#define OHCA_STORM_PERCENT	1
/* More than there will be: the kernel counts down. */
#define OHCA_STORM_TIMES	1000000000
/* Virtual: the longest that an actor waits, several times over. */
#define OHCA_STORM_IDLE_MS	60000

struct ohca_storm;

/* Those with an even number: one NOP after the other; the others: lives of queue pairs. */
struct ohca_storm_actor {
	struct ohca_storm *storm;
	struct ohca_op op;
	struct ib_qp *qp;
	bool connected;
	bool in_flight;
};

struct ohca_storm {
	struct ohca_test_verbs verbs;
	struct ohca_async *handle;
	struct ohca_pool *pool;
	struct ohca_storm_actor actors[OHCA_STORM_ACTORS];
	u32 injected[OHCA_FAULT_COUNT];
	/* Callbacks are one at a time, in interrupts, and there is one processor. */
	u32 active;
	u32 started;
	u32 ended;
	u32 timed_out;
	u32 lost;			/* with the device */
	u32 doubled;
	u32 unexpected;
	u32 lives;
};

static void ohca_storm_done(struct ohca_op *op);

static int ohca_storm_start_qp(struct ohca_storm_actor *actor)
{
	struct ib_qp *qp;

	if (!actor->qp) {
		qp = ohca_qp_take(actor->storm->pool, NULL, NULL);
		if (IS_ERR(qp))
			return PTR_ERR(qp);
		actor->qp = qp;
		return ohca_async_disconnect_qp(&actor->op, qp);
	}
	return ohca_qp_give_back(&actor->op, actor->qp);
}

/* Any context: the next operation; or the actor has come to its end. */
static void ohca_storm_go(struct ohca_storm_actor *actor)
{
	struct ohca_storm *storm = actor->storm;
	bool over = storm->started >= OHCA_STORM_OPS;
	int ret = -ESHUTDOWN;

	/* What it has taken goes back in any case. */
	if (!over || actor->qp) {
		ohca_op_init(&actor->op, storm->handle, ohca_storm_done, actor);
		actor->in_flight = true;
		storm->started++;
		if ((actor - storm->actors) & 1)
			ret = ohca_storm_start_qp(actor);
		else
			ret = ohca_async_nop(&actor->op);
		if (!ret)
			return;
		actor->in_flight = false;
		storm->started--;
	}
	/* -EAGAIN: all members of the pool wait to be repaired. */
	if (ret != -ESHUTDOWN && ret != -EIO && ret != -EAGAIN)
		storm->unexpected++;
	storm->active--;
}

static void ohca_storm_done(struct ohca_op *op)
{
	struct ohca_storm_actor *actor = op->context;
	struct ohca_storm *storm = actor->storm;

	storm->ended++;
	if (!actor->in_flight)
		storm->doubled++;
	actor->in_flight = false;
	if (op->result == -ETIMEDOUT)
		storm->timed_out++;
	else if (op->result == -EIO)
		storm->lost++;
	else if (op->result)
		storm->unexpected++;
	/* The first is the life of the queue pair, the second its return. */
	if (actor->qp && actor->connected)
		actor->qp = NULL;
	actor->connected = actor->qp;
	ohca_storm_go(actor);
}

static int ohca_storm_open(struct ohca_storm *storm)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	int ret = ohca_test_verbs_build(&storm->verbs);

	if (ret)
		return ret;
	storm->handle = ohca_async_open(&storm->verbs.fake->dev->ibdev);
	if (IS_ERR(storm->handle))
		return PTR_ERR(storm->handle);
	attr.send_cq = storm->verbs.cq;
	attr.recv_cq = storm->verbs.cq;
	storm->pool = ohca_qp_pool_create(storm->handle, storm->verbs.pd, &attr, OHCA_STORM_QPS);
	return PTR_ERR_OR_ZERO(storm->pool);
}

/* 0, or -EBUSY if members of the pool are missing. */
static int ohca_storm_close(struct ohca_storm *storm)
{
	int ret = ohca_pool_destroy(storm->pool);

	if (ret)
		return ret;
	ohca_async_close(storm->handle);
	ohca_test_verbs_destroy(&storm->verbs);
	return 0;
}

static void ohca_storm_ask_for(struct ohca_storm *storm, u32 percent)
{
	struct fault_attr *attrs = storm->verbs.fake->dev->faults.attrs;
	int i;

	for (i = 0; i < OHCA_FAULT_COUNT; i++) {
		attrs[i].verbose = 0;
		attrs[i].probability = percent;
		if (percent)
			atomic_set(&attrs[i].times, OHCA_STORM_TIMES);
		else
			storm->injected[i] += OHCA_STORM_TIMES - atomic_read(&attrs[i].times);
	}
}

/* Until the device fails or all operations have been started and ended.  False: it hangs. */
static bool ohca_storm_live(struct ohca_storm *storm)
{
	unsigned long flags;
	u32 i, idle = 0, before;

	storm->lives++;
	storm->active = OHCA_STORM_ACTORS;
	ohca_storm_ask_for(storm, OHCA_STORM_PERCENT);
	for (i = 0; i < OHCA_STORM_ACTORS; i++) {
		storm->actors[i].storm = storm;
		local_irq_save(flags);
		ohca_storm_go(&storm->actors[i]);
		local_irq_restore(flags);
	}
	while (READ_ONCE(storm->active) && idle < OHCA_STORM_IDLE_MS) {
		before = READ_ONCE(storm->ended);
		msleep(20);
		idle = READ_ONCE(storm->ended) == before ? idle + 20 : 0;
	}
	ohca_storm_ask_for(storm, 0);
	return !storm->active;
}

/* In a device that lives: each slot is free, or its answer was lost in this life. */
static void ohca_storm_check_slots(struct kunit *test, struct ohca_storm *storm, const u32 *before)
{
	const struct ohca_cmdq *q = &storm->verbs.fake->dev->cmdq;
	u32 lost = storm->injected[OHCA_FAULT_ANSWER_LOST] - before[OHCA_FAULT_ANSWER_LOST] +
		   storm->injected[OHCA_FAULT_ANSWER_CORRUPT] - before[OHCA_FAULT_ANSWER_CORRUPT];

	/* Late ones come, and what is broken is repaired. */
	msleep(20000);
	if (ohca_failed(storm->verbs.fake->dev))
		return;
	KUNIT_EXPECT_EQ(test, q->quarantined, lost);
	KUNIT_EXPECT_EQ(test, q->free_count, q->depth - lost);
}

/* Of all parts. */
static struct {
	u32 ended;
	u32 timed_out;
	u32 lost;
	u32 lives;
	u32 injected[OHCA_FAULT_COUNT];
} ohca_storm_total;

static void ohca_storm_check(struct kunit *test, const struct ohca_storm *storm)
{
	int i;

	KUNIT_EXPECT_GE(test, storm->ended, OHCA_STORM_OPS);
	KUNIT_EXPECT_EQ(test, storm->ended, storm->started);
	KUNIT_EXPECT_EQ(test, storm->doubled, 0);
	KUNIT_EXPECT_EQ(test, storm->unexpected, 0);
	ohca_storm_total.ended += storm->ended;
	ohca_storm_total.timed_out += storm->timed_out;
	ohca_storm_total.lost += storm->lost;
	ohca_storm_total.lives += storm->lives;
	for (i = 0; i < OHCA_FAULT_COUNT; i++)
		ohca_storm_total.injected[i] += storm->injected[i];
}

/* OHCA-CMD-H2 OHCA-CMD-H9 OHCA-RST-H5 */
static void ohca_test_storm(struct kunit *test)
{
	struct ohca_storm *storm = kunit_kzalloc(test, sizeof(*storm), GFP_KERNEL);
	u32 before[OHCA_FAULT_COUNT];

	KUNIT_ASSERT_NOT_NULL(test, storm);
	storm->verbs.fake = ohca_fake_device_start(test);
	for (;;) {
		KUNIT_ASSERT_EQ(test, ohca_storm_open(storm), 0);
		memcpy(before, storm->injected, sizeof(before));
		KUNIT_ASSERT_TRUE(test, ohca_storm_live(storm));
		if (storm->ended >= OHCA_STORM_OPS)
			ohca_storm_check_slots(test, storm, before);
		KUNIT_ASSERT_EQ(test, ohca_storm_close(storm), 0);
		if (storm->ended >= OHCA_STORM_OPS)
			break;
		KUNIT_ASSERT_EQ(test, ohca_fake_device_reset(storm->verbs.fake), 0);
	}
	ohca_storm_check(test, storm);
}

/* It was what was asked for. */
static void ohca_test_storm_total(struct kunit *test)
{
	static const enum ohca_fault of_answers[] = {
		OHCA_FAULT_ANSWER_LOST, OHCA_FAULT_ANSWER_CORRUPT, OHCA_FAULT_ANSWER_LATE,
		OHCA_FAULT_ANSWER_DUPLICATE,
	};
	const u32 *injected = ohca_storm_total.injected;
	u32 wanted = OHCA_STORM_PARTS * OHCA_STORM_OPS / 100 * OHCA_STORM_PERCENT;
	int i;

	/* Without the storm there is nothing to look at. */
	if (!ohca_storm_total.ended)
		kunit_skip(test, "of all parts together");
	kunit_info(test, "%u operations, %u timed out, %u lost with the device, %u lives\n",
		   ohca_storm_total.ended, ohca_storm_total.timed_out, ohca_storm_total.lost,
		   ohca_storm_total.lives);
	for (i = 0; i < OHCA_FAULT_COUNT; i++)
		kunit_info(test, "fault %d: %u times\n", i, injected[i]);
	for (i = 0; i < ARRAY_SIZE(of_answers); i++) {
		KUNIT_EXPECT_GT(test, injected[of_answers[i]], wanted * 8 / 10);
		KUNIT_EXPECT_LT(test, injected[of_answers[i]], wanted * 12 / 10);
	}
	KUNIT_EXPECT_GT(test, injected[OHCA_FAULT_INTERRUPT_LOST], 0);
	/* A few each, drawn once a second. */
	KUNIT_EXPECT_GT(test, injected[OHCA_FAULT_SILENCE] + injected[OHCA_FAULT_DEVICE], 0);
}

static const void *ohca_storm_next_part(const void *last, char *name)
{
	unsigned long part = (unsigned long)last + 1;

	if (part > OHCA_STORM_PARTS)
		return NULL;
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "part %lu of %u", part, OHCA_STORM_PARTS);
	return (const void *)part;
}

static struct kunit_case ohca_storm_cases[] = {
	KUNIT_CASE_PARAM_ATTR(ohca_test_storm, ohca_storm_next_part, { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(ohca_test_storm_total),
	{}
};

static struct kunit_suite ohca_storm_suite = {
	.name = "ohca_storm",
	.test_cases = ohca_storm_cases,
};

kunit_test_suite(ohca_storm_suite);

#endif /* CONFIG_FAULT_INJECTION_DEBUG_FS */
