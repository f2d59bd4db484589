// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of the command queue: where commands come from, where their
 * callbacks run, and interrupts that get lost.
 */

#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/timer.h>

#include "fake_verbs.h"

/* More than there are slots. */
#define OHCA_TEST_COMMANDS	(3 << OHCA_CMDQ_LOG_DEPTH)

struct ohca_test_context {
	struct ohca_fake_device *fake;
	struct irq_work interrupt;
	struct timer_list timer;
	struct tasklet_struct tasklet;
	spinlock_t lock;		/* held while submitting; taken by nobody else */
	u16 flags;			/* of the commands */
	bool right_place;		/* the submitter ran where it was meant to */
	u32 accepted;
	u32 refused;
	u32 wrong;
	atomic_t done;
	atomic_t failed;
	struct ohca_cmd cmds[OHCA_TEST_COMMANDS];
};

static void ohca_test_context_done(struct ohca_cmd *cmd)
{
	struct ohca_test_context *context = cmd->context;

	if (cmd->result || cmd->opcode != OHCA_CMD_NOP)
		atomic_inc(&context->failed);
	/* A second callback of the same command would be seen. */
	cmd->opcode = 0;
	atomic_inc(&context->done);
}

static void ohca_test_submit_all(struct ohca_test_context *context)
{
	unsigned long flags;
	int i, ret;

	spin_lock_irqsave(&context->lock, flags);
	for (i = 0; i < OHCA_TEST_COMMANDS; i++) {
		context->cmds[i] = (struct ohca_cmd) {
			.opcode = OHCA_CMD_NOP,
			.flags = context->flags,
			.done = ohca_test_context_done,
			.context = context,
		};
		ret = ohca_cmdq_submit(context->fake->dev, &context->cmds[i]);
		if (!ret)
			context->accepted++;
		else if (ret == -EBUSY && context->flags & OHCA_CMD_NOWAIT)
			context->refused++;
		else
			context->wrong++;
	}
	spin_unlock_irqrestore(&context->lock, flags);
}

static void ohca_test_from_interrupt(struct irq_work *interrupt)
{
	struct ohca_test_context *context =
		container_of(interrupt, struct ohca_test_context, interrupt);

	context->right_place = in_hardirq();
	ohca_test_submit_all(context);
}

static void ohca_test_from_timer(struct timer_list *timer)
{
	struct ohca_test_context *context = from_timer(context, timer, timer);

	context->right_place = in_serving_softirq();
	ohca_test_submit_all(context);
}

static void ohca_test_from_tasklet(struct tasklet_struct *tasklet)
{
	struct ohca_test_context *context = from_tasklet(context, tasklet, tasklet);

	context->right_place = in_serving_softirq();
	ohca_test_submit_all(context);
}

static void ohca_test_cancel(void *data)
{
	struct ohca_test_context *context = data;

	irq_work_sync(&context->interrupt);
	del_timer_sync(&context->timer);
	tasklet_kill(&context->tasklet);
}

static struct ohca_test_context *ohca_test_context_create(struct kunit *test)
{
	struct ohca_test_context *context = kunit_kzalloc(test, sizeof(*context), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, context);
	context->fake = ohca_fake_device_start(test);
	spin_lock_init(&context->lock);
	context->interrupt = IRQ_WORK_INIT_HARD(ohca_test_from_interrupt);
	timer_setup(&context->timer, ohca_test_from_timer, 0);
	tasklet_setup(&context->tasklet, ohca_test_from_tasklet);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_cancel, context), 0);
	return context;
}

/* Every accepted command ends once and well, without anybody asking: by interrupts. */
static void ohca_expect_ended(struct kunit *test, struct ohca_test_context *context)
{
	msleep(1000);
	KUNIT_EXPECT_TRUE(test, context->right_place);
	KUNIT_EXPECT_EQ(test, context->wrong, 0);
	KUNIT_EXPECT_EQ(test, context->accepted + context->refused, OHCA_TEST_COMMANDS);
	if (!(context->flags & OHCA_CMD_NOWAIT))
		KUNIT_EXPECT_EQ(test, context->accepted, OHCA_TEST_COMMANDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&context->done), context->accepted);
	KUNIT_EXPECT_EQ(test, atomic_read(&context->failed), 0);
	KUNIT_EXPECT_EQ(test, context->fake->dev->cmdq.free_count, context->fake->dev->cmdq.depth);
}

static void ohca_test_hard_interrupt(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);

	irq_work_queue(&context->interrupt);
	ohca_expect_ended(test, context);
}

static void ohca_test_hard_interrupt_nowait(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);

	context->flags = OHCA_CMD_NOWAIT;
	irq_work_queue(&context->interrupt);
	ohca_expect_ended(test, context);
	/* Nothing is answered while interrupts are off: exactly the slots were filled. */
	KUNIT_EXPECT_EQ(test, context->accepted, context->fake->dev->cmdq.depth);
}

static void ohca_test_timer(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);

	mod_timer(&context->timer, jiffies + 1);
	ohca_expect_ended(test, context);
}

static void ohca_test_tasklet(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);

	tasklet_schedule(&context->tasklet);
	ohca_expect_ended(test, context);
}

static void ohca_test_spinlock(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);

	context->right_place = true;
	ohca_test_submit_all(context);
	ohca_expect_ended(test, context);
}

static void ohca_test_preempt_off(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);
	struct ohca_cmd cmd = { .opcode = OHCA_CMD_NOP };
	int ret;

	preempt_disable();
	ret = ohca_cmdq_exec_polled(context->fake->dev, &cmd, 1000);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, ret, 0);
}

static void ohca_test_sleeping(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	struct ohca_cmd cmd = { .opcode = OHCA_CMD_NOP };
	u32 before = fake->interrupts_raised;
	unsigned long start = jiffies;

	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec(fake->dev, &cmd), 0);
	/* It was the interrupt that ended it, not the look that a waiter takes now and then. */
	KUNIT_EXPECT_EQ(test, fake->interrupts_raised, before + 1);
	KUNIT_EXPECT_LT(test, jiffies - start, HZ / 8);
}

static void ohca_test_lost_interrupt(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	struct ohca_cmd cmd = { .opcode = OHCA_CMD_NOP };
	unsigned long start = jiffies;
	u32 i;

	fake->mute = true;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, ohca_cmdq_exec(fake->dev, &cmd), 0);
	KUNIT_EXPECT_LT(test, jiffies - start, 2 * HZ);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
}

/* Nobody waits for the command: the periodic check finds its answer. */
static void ohca_test_lost_interrupt_async(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);

	context->fake->mute = true;
	context->right_place = true;
	ohca_test_submit_all(context);
	msleep(10000);
	KUNIT_EXPECT_EQ(test, atomic_read(&context->done), OHCA_TEST_COMMANDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&context->failed), 0);
	KUNIT_EXPECT_FALSE(test, ohca_failed(context->fake->dev));
}

/* An engine that dies, with commands under way and commands that wait for a slot. */
static void ohca_test_device_fails(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);
	struct ohca_fake_device *fake = context->fake;

	fake->held = true;
	ohca_test_submit_all(context);
	ohca_fake_set_status(fake, OHCA_STATUS_READY | OHCA_STATUS_FAILED, OHCA_FAIL_ENGINE_DIED);
	msleep(1000);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
	KUNIT_EXPECT_STREQ(test, fake->dev->fail_reason, "engine process died");
	KUNIT_EXPECT_EQ(test, atomic_read(&context->done), OHCA_TEST_COMMANDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&context->failed), OHCA_TEST_COMMANDS);
	KUNIT_EXPECT_EQ(test, context->cmds[0].result, -EIO);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(fake->uars[0].device_state), OHCA_UAR_DEVICE_FAILED);
}

/* OHCA-PCI-H5: unplugged: all registers read ones, and no interrupt ever comes. */
static void ohca_test_device_gone(struct kunit *test)
{
	struct ohca_test_context *context = ohca_test_context_create(test);
	struct ohca_fake_device *fake = context->fake;

	fake->held = true;
	fake->mute = true;
	ohca_test_submit_all(context);
	ohca_fake_set_status(fake, OHCA_STATUS_GONE, 0);
	msleep(2000);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
	KUNIT_EXPECT_STREQ(test, fake->dev->fail_reason, "device process is gone");
	KUNIT_EXPECT_EQ(test, atomic_read(&context->done), OHCA_TEST_COMMANDS);
	KUNIT_EXPECT_EQ(test, atomic_read(&context->failed), OHCA_TEST_COMMANDS);
}

/* A failure, then a reset: everything works again, under the same name, in the same module. */
static void ohca_test_back_in_service(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_fake_device *fake = verbs->fake;
	struct ohca_cmd cmd = { .opcode = OHCA_CMD_NOP };
	char name[IB_DEVICE_NAME_MAX];
	int round;

	strscpy(name, dev_name(&fake->dev->ibdev.dev));
	for (round = 0; round < 3; round++) {
		ohca_fake_set_status(fake, OHCA_STATUS_READY | OHCA_STATUS_FAILED,
				     OHCA_FAIL_ENGINE_DIED);
		msleep(1000);
		KUNIT_ASSERT_TRUE(test, ohca_failed(fake->dev));
		KUNIT_EXPECT_EQ(test, ohca_cmdq_exec(fake->dev, &cmd), -EIO);
		/* Users can leave a dead device. */
		ohca_test_verbs_destroy(verbs);
		KUNIT_ASSERT_EQ(test, ohca_fake_device_reset(fake), 0);
		KUNIT_EXPECT_STREQ(test, dev_name(&fake->dev->ibdev.dev), name);
		KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
		KUNIT_EXPECT_EQ(test, ohca_cmdq_exec(fake->dev, &cmd), 0);
		KUNIT_ASSERT_EQ(test, ohca_test_verbs_build(verbs), 0);
	}
}

static struct kunit_case ohca_context_cases[] = {
	KUNIT_CASE(ohca_test_hard_interrupt),
	KUNIT_CASE(ohca_test_hard_interrupt_nowait),
	KUNIT_CASE(ohca_test_timer),
	KUNIT_CASE(ohca_test_tasklet),
	KUNIT_CASE(ohca_test_spinlock),
	KUNIT_CASE(ohca_test_preempt_off),
	KUNIT_CASE(ohca_test_sleeping),
	KUNIT_CASE(ohca_test_lost_interrupt),
	KUNIT_CASE(ohca_test_lost_interrupt_async),
	KUNIT_CASE(ohca_test_device_fails),
	KUNIT_CASE(ohca_test_device_gone),
	KUNIT_CASE(ohca_test_back_in_service),
	{}
};

static struct kunit_suite ohca_context_suite = {
	.name = "ohca_context",
	.test_cases = ohca_context_cases,
};

kunit_test_suite(ohca_context_suite);
