// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of verbs from any context: each operation ends exactly once,
 * whatever the device does, and those of one queue pair in their order.
 */

#include <linux/delay.h>

#include "fake_async.h"

#define OHCA_TEST_OPS		600	/* more than there are slots */

static void ohca_test_batch_done(struct ohca_op_batch *batch)
{
	struct ohca_test_async *async = batch->context;

	async->ended++;
}

static int ohca_test_to_error(struct ohca_test_op *to, struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ohca_async_modify_qp(&to->op, qp, &attr, IB_QP_STATE);
}

static void ohca_expect_ended(struct kunit *test, struct ohca_test_op *ops, u32 count, int result)
{
	u32 i;

	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_EQ(test, ops[i].done, 1);
		KUNIT_EXPECT_EQ(test, ops[i].op.result, result);
	}
}

static void ohca_test_once(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, OHCA_TEST_OPS);
	unsigned long flags;
	u32 i;

	async->fake->held = true;
	local_irq_save(flags);
	for (i = 0; i < OHCA_TEST_OPS; i++)
		KUNIT_EXPECT_EQ(test, ohca_async_nop(&ops[i].op), 0);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, async->ended, 0);
	/* Out of order; what waits for a slot follows. */
	while (async->ended < OHCA_TEST_OPS && async->fake->count) {
		for (i = 0; i < 64 && async->fake->count; i++)
			ohca_fake_answer(async->fake, (i * 37) % async->fake->count);
		msleep(100);
	}
	ohca_expect_ended(test, ops, OHCA_TEST_OPS, 0);
	KUNIT_EXPECT_EQ(test, async->ended, OHCA_TEST_OPS);
	KUNIT_EXPECT_EQ(test, async->soft, 0);
}

/* Of one queue pair: the next begins when the last has ended. */
static void ohca_test_order(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 5);
	u32 i;

	async->fake->held = true;
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, ohca_async_disconnect_qp(&ops[i].op, async->verbs->qp), 0);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_EQ(test, async->fake->count, 1);
		KUNIT_EXPECT_EQ(test, async->ended, i);
		ohca_fake_answer(async->fake, 0);
		msleep(100);
		KUNIT_EXPECT_EQ(test, ops[i].number, i + 1);
	}
	KUNIT_EXPECT_EQ(test, async->fake->count, 0);
}

static void ohca_test_busy(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 1);

	async->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_async_disconnect_qp(&ops->op, async->verbs->qp), 0);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(async->verbs->qp), -EBUSY);
	ohca_fake_answer(async->fake, 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops->done, 1);
}

/* The answer that comes after the end is nobody's. */
static void ohca_test_unanswered(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 3);

	async->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_async_nop(&ops[0].op), 0);
	msleep(4000);
	KUNIT_ASSERT_EQ(test, ohca_async_nop(&ops[1].op), 0);
	ohca_fake_answer(async->fake, 1);
	msleep(4000);
	KUNIT_EXPECT_EQ(test, ops[0].done, 1);
	KUNIT_EXPECT_EQ(test, ops[0].op.result, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ops[1].op.result, 0);
	ohca_fake_answer(async->fake, 0);
	msleep(1000);
	KUNIT_EXPECT_EQ(test, ops[0].done, 1);
	KUNIT_EXPECT_FALSE(test, ohca_failed(async->fake->dev));
}

/* Begun, waiting for a slot, and waiting for their turn. */
static void ohca_test_failure(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, OHCA_TEST_OPS);
	u32 i;

	async->fake->held = true;
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test, ohca_async_disconnect_qp(&ops[i].op, async->verbs->qp), 0);
	for (; i < OHCA_TEST_OPS; i++)
		KUNIT_ASSERT_EQ(test, ohca_async_nop(&ops[i].op), 0);
	ohca_fake_set_status(async->fake, OHCA_STATUS_READY | OHCA_STATUS_FAILED,
			     OHCA_FAIL_ENGINE_DIED);
	msleep(1000);
	for (i = 0; i < OHCA_TEST_OPS; i++)
		KUNIT_EXPECT_EQ(test, ops[i].done, 1);
	/* What takes a queue pair out of service has happened: the device is reset. */
	ohca_expect_ended(test, ops + 10, OHCA_TEST_OPS - 10, -EIO);
	KUNIT_EXPECT_EQ(test, ohca_async_nop(&ops[0].op), -EIO);
	KUNIT_EXPECT_EQ(test, ops[0].done, 1);
}

static void ohca_test_polled(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *to = ohca_test_ops(test, async, 1);
	unsigned long flags;
	int ret;

	ohca_op_init(&to->op, async->handle, NULL, NULL);
	local_irq_save(flags);
	ret = ohca_test_to_error(to, async->verbs->qp) ?: ohca_op_poll(&to->op, 1000);
	local_irq_restore(flags);
	/* From RESET there is no way to ERR. */
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);

	ohca_op_init(&to->op, async->handle, NULL, NULL);
	local_irq_save(flags);
	ret = ohca_async_nop(&to->op) ?: ohca_op_poll(&to->op, 1000);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, ret, 0);

	async->fake->held = true;
	ohca_op_init(&to->op, async->handle, NULL, NULL);
	KUNIT_ASSERT_EQ(test, ohca_async_nop(&to->op), 0);
	KUNIT_EXPECT_EQ(test, ohca_op_poll(&to->op, 1000), -ETIMEDOUT);
	/* It is the caller's again: the answer does not find it. */
	memset(to, 0xff, sizeof(*to));
	ohca_fake_answer(async->fake, 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, async->fake->dev->cmdq.quarantined, 0);
}

static void ohca_test_batch(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, OHCA_TEST_OPS);
	struct ohca_op_batch batch;
	u32 kicks, i;

	async->fake->held = true;
	ohca_batch_init(&batch, async->handle, ohca_test_batch_done, async);
	KUNIT_EXPECT_EQ(test, ohca_batch_submit(&batch), -EINVAL);
	for (i = 0; i < OHCA_TEST_OPS; i++) {
		ohca_op_init(&ops[i].op, async->handle, NULL, NULL);
		ohca_batch_add(&batch, &ops[i].op);
		KUNIT_ASSERT_EQ(test, ohca_async_nop(&ops[i].op), 0);
	}
	kicks = async->fake->kicks;
	KUNIT_EXPECT_EQ(test, async->fake->count, 0);
	KUNIT_ASSERT_EQ(test, ohca_batch_submit(&batch), 0);
	/* All slots are filled with one doorbell. */
	KUNIT_EXPECT_EQ(test, async->fake->kicks, kicks + 1);
	KUNIT_EXPECT_EQ(test, async->fake->count, OHCA_FAKE_COMMANDS);
	ohca_fake_refuse(async->fake, 3, OHCA_CMD_STATUS_NO_RESOURCES);
	while (async->fake->count) {
		KUNIT_EXPECT_EQ(test, async->ended, 0);
		ohca_fake_answer_all(async->fake);
		msleep(100);
	}
	KUNIT_EXPECT_EQ(test, async->ended, 1);
	KUNIT_EXPECT_EQ(test, batch.result, -ENOMEM);
}

/* Those that do not fit into the interrupt are called from a thread, behind those that did. */
static void ohca_test_long_callbacks(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 5);
	unsigned long flags;
	u32 i;

	async->fake->held = true;
	for (i = 0; i < 4; i++) {
		ops[i].delay_us = OHCA_CALLBACK_BUDGET_NS / NSEC_PER_USEC * 2 / 3;
		KUNIT_ASSERT_EQ(test, ohca_async_nop(&ops[i].op), 0);
	}
	/* One interrupt for all of them. */
	local_irq_save(flags);
	ohca_fake_answer_all(async->fake);
	local_irq_restore(flags);
	msleep(100);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, ops[i].done, 1);
		KUNIT_EXPECT_EQ(test, ops[i].number, i + 1);
		KUNIT_EXPECT_EQ(test, ops[i].in_thread, i > 1);
	}
	/* There is time again. */
	KUNIT_ASSERT_EQ(test, ohca_async_nop(&ops[4].op), 0);
	ohca_fake_answer_all(async->fake);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[4].done, 1);
	KUNIT_EXPECT_FALSE(test, ops[4].in_thread);
	KUNIT_EXPECT_EQ(test, async->soft, 0);
}

static struct kunit_case ohca_async_cases[] = {
	KUNIT_CASE(ohca_test_once),
	KUNIT_CASE(ohca_test_order),
	KUNIT_CASE(ohca_test_busy),
	KUNIT_CASE(ohca_test_unanswered),
	KUNIT_CASE(ohca_test_failure),
	KUNIT_CASE(ohca_test_polled),
	KUNIT_CASE(ohca_test_batch),
	KUNIT_CASE(ohca_test_long_callbacks),
	{}
};

static struct kunit_suite ohca_async_suite = {
	.name = "ohca_async",
	.test_cases = ohca_async_cases,
};

kunit_test_suite(ohca_async_suite);
