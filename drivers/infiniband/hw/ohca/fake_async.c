// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests: operations on a fake device, whose ends are counted. */

#include <linux/delay.h>

#include "fake_async.h"

static void ohca_test_op_done(struct ohca_op *op)
{
	struct ohca_test_op *to = op->context;

	to->done++;
	to->number = ++to->async->ended;
	to->async->soft += !irqs_disabled();
	to->in_thread = in_task();
	udelay(to->delay_us);
}

static void ohca_test_async_close(void *data)
{
	struct ohca_test_async *async = data;

	async->fake->held = false;
	ohca_fake_answer_all(async->fake);
	ohca_async_close(async->handle);
}

struct ohca_test_async *ohca_test_async_create(struct kunit *test)
{
	struct ohca_test_async *async = kunit_kzalloc(test, sizeof(*async), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, async);
	async->verbs = ohca_test_verbs_create(test);
	async->fake = async->verbs->fake;
	async->handle = ohca_async_open(&async->fake->dev->ibdev);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, async->handle);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_async_close, async), 0);
	return async;
}

struct ohca_test_op *ohca_test_ops(struct kunit *test, struct ohca_test_async *async, u32 count)
{
	struct ohca_test_op *ops = kunit_kcalloc(test, count, sizeof(*ops), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, ops);
	for (i = 0; i < count; i++) {
		ops[i].async = async;
		ohca_op_init(&ops[i].op, async->handle, ohca_test_op_done, &ops[i]);
	}
	return ops;
}
