// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of the command queue against a device that answers out of order,
 * late, twice, nonsense or never.
 *
 * Time is User Mode Linux' own (time-travel=inf-cpu): waiting costs nothing.
 */

#include <linux/delay.h>

#include "fake_device.h"

#define OHCA_TEST_DEPTH		BIT(OHCA_CMDQ_LOG_DEPTH)
/* Longer than command_timeout_ms. */
#define OHCA_TEST_TIMEOUT_MS	5500

/* A command and what became of it. */
struct ohca_test_cmd {
	struct ohca_cmd cmd;
	struct ohca_cmd_handle in;
	struct ohca_cmd_handle out;
	u32 done;			/* how often the callback has run */
};

static void ohca_test_done(struct ohca_cmd *cmd)
{
	struct ohca_test_cmd *tc = cmd->context;

	tc->done++;
}

static void ohca_test_init_cmd(struct ohca_test_cmd *tc, u16 opcode, u16 flags)
{
	memset(tc, 0, sizeof(*tc));
	tc->cmd = (struct ohca_cmd) {
		.opcode = opcode,
		.flags = flags,
		.in = &tc->in,
		.out = &tc->out,
		.out_length = opcode == OHCA_CMD_NOP ? 0 : sizeof(tc->out),
		.done = ohca_test_done,
		.context = tc,
	};
}

static struct ohca_test_cmd *ohca_test_cmds(struct kunit *test, u32 count)
{
	struct ohca_test_cmd *cmds = kunit_kcalloc(test, count, sizeof(*cmds), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, cmds);
	for (i = 0; i < count; i++)
		ohca_test_init_cmd(&cmds[i], OHCA_CMD_NOP, 0);
	return cmds;
}

static void ohca_test_submit(struct kunit *test, struct ohca_fake_device *fake,
			     struct ohca_test_cmd *cmds, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		KUNIT_ASSERT_EQ(test, ohca_cmdq_submit(fake->dev, &cmds[i].cmd), 0);
}

/* Every slot is free, nobody waits, and the free list has each slot once. */
static void ohca_expect_idle(struct kunit *test, struct ohca_fake_device *fake)
{
	struct ohca_cmdq *q = &fake->dev->cmdq;
	unsigned long *seen = kunit_kzalloc(test, BITS_TO_LONGS(OHCA_TEST_DEPTH) * sizeof(long),
					    GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	KUNIT_EXPECT_EQ(test, q->free_count, q->depth);
	KUNIT_EXPECT_EQ(test, q->quarantined, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&q->waiters));
	for (i = 0; i < q->free_count; i++) {
		KUNIT_ASSERT_LT(test, q->free_slots[i], q->depth);
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit(q->free_slots[i], seen));
	}
}

static void ohca_expect_all_done(struct kunit *test, struct ohca_test_cmd *cmds, u32 count,
				 int result)
{
	u32 i;

	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_EQ(test, cmds[i].done, 1);
		KUNIT_EXPECT_EQ(test, cmds[i].cmd.result, result);
	}
}

/* OHCA-CMD-H1 */
static void ohca_test_polled(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *tc = ohca_test_cmds(test, 1);
	u32 i;

	/* Thrice around the rings, so that the phase is right in each. */
	for (i = 0; i < 3 * OHCA_TEST_DEPTH; i++)
		KUNIT_ASSERT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &tc->cmd, 1000), 0);
	KUNIT_EXPECT_EQ(test, fake->handled[OHCA_CMD_NOP], 3 * OHCA_TEST_DEPTH);
	ohca_expect_idle(test, fake);
}

static void ohca_test_statuses(struct kunit *test)
{
	static const struct {
		u8 status;
		int result;
	} cases[] = {
		{ OHCA_CMD_STATUS_OK, 0 },
		{ OHCA_CMD_STATUS_BAD_OPCODE, -EOPNOTSUPP },
		{ OHCA_CMD_STATUS_BAD_LENGTH, -EINVAL },
		{ OHCA_CMD_STATUS_BAD_PARAMETER, -EINVAL },
		{ OHCA_CMD_STATUS_BAD_HANDLE, -EINVAL },
		{ OHCA_CMD_STATUS_BAD_STATE, -EINVAL },
		{ OHCA_CMD_STATUS_IN_USE, -EBUSY },
		{ OHCA_CMD_STATUS_NO_RESOURCES, -ENOMEM },
		{ OHCA_CMD_STATUS_DMA_FAULT, -EFAULT },
		{ OHCA_CMD_STATUS_BUSY_SLOT, -EINVAL },
		{ OHCA_CMD_STATUS_UNSUPPORTED, -EOPNOTSUPP },
		{ OHCA_CMD_STATUS_UNSUPPORTED + 1, -EIO },
		{ U8_MAX, -EIO },
	};
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, ARRAY_SIZE(cases));
	u32 i;

	fake->held = true;
	ohca_test_submit(test, fake, cmds, ARRAY_SIZE(cases));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		ohca_fake_refuse(fake, 0, cases[i].status);
	KUNIT_EXPECT_TRUE(test, ohca_cmdq_drain(fake->dev));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_EQ(test, cmds[i].done, 1);
		KUNIT_EXPECT_EQ_MSG(test, cmds[i].cmd.result, cases[i].result, "status %u",
				    cases[i].status);
	}
	ohca_expect_idle(test, fake);
}

/* A refused command leaves its output alone. */
static void ohca_test_output(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, 2);
	u32 i;

	fake->held = true;
	for (i = 0; i < 2; i++) {
		ohca_test_init_cmd(&cmds[i], OHCA_CMD_CREATE_PD, 0);
		cmds[i].out.handle = cpu_to_le32(0xdead);
	}
	ohca_test_submit(test, fake, cmds, 2);
	ohca_fake_refuse(fake, 1, OHCA_CMD_STATUS_NO_RESOURCES);
	ohca_fake_answer(fake, 0);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_LT(test, le32_to_cpu(cmds[0].out.handle), OHCA_FAKE_HANDLES);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(cmds[1].out.handle), 0xdead);
	KUNIT_EXPECT_EQ(test, cmds[1].cmd.result, -ENOMEM);
}

/* A mailbox is as long as is said. */
static void ohca_test_longest(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *tc = ohca_test_cmds(test, 1);

	tc->cmd.in_length = OHCA_CMDQ_INPUT_SIZE;
	tc->cmd.in = kunit_kzalloc(test, OHCA_CMDQ_INPUT_SIZE, GFP_KERNEL);
	tc->cmd.out_length = OHCA_CMDQ_OUTPUT_SIZE;
	tc->cmd.out = kunit_kzalloc(test, OHCA_CMDQ_OUTPUT_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tc->cmd.in);
	KUNIT_ASSERT_NOT_NULL(test, tc->cmd.out);
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &tc->cmd, 1000), 0);
}

static void ohca_test_out_of_order(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, OHCA_TEST_DEPTH);
	u32 i, position = 0;

	fake->held = true;
	for (i = 0; i < OHCA_TEST_DEPTH; i++)
		ohca_test_init_cmd(&cmds[i], OHCA_CMD_CREATE_PD, 0);
	ohca_test_submit(test, fake, cmds, OHCA_TEST_DEPTH);
	KUNIT_ASSERT_EQ(test, fake->count, OHCA_TEST_DEPTH);
	while (fake->count) {
		/* 97 and the number of slots have no divisor in common. */
		position = (position + 97) % fake->count;
		ohca_fake_answer(fake, position);
		if (fake->count % 5 == 0)
			ohca_cmdq_drain(fake->dev);
	}
	ohca_cmdq_drain(fake->dev);
	ohca_expect_all_done(test, cmds, OHCA_TEST_DEPTH, 0);
	/* Each got the answer that was its own. */
	for (i = 0; i < OHCA_TEST_DEPTH; i++) {
		u32 handle = le32_to_cpu(cmds[i].out.handle);

		KUNIT_ASSERT_LT(test, handle, OHCA_FAKE_HANDLES);
		KUNIT_EXPECT_TRUE(test, test_and_clear_bit(handle, fake->objects[OHCA_FAKE_PD]));
	}
	ohca_expect_idle(test, fake);
}

/* OHCA-CMD-H3 OHCA-CMD-H4 */
static void ohca_test_duplicate(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, 2);
	struct ohca_cmd_entry entry;

	fake->held = true;
	ohca_test_submit(test, fake, cmds, 1);
	entry = fake->commands[0].entry;
	ohca_fake_answer(fake, 0);
	ohca_fake_complete(fake, le16_to_cpu(entry.slot), le32_to_cpu(entry.generation),
			   OHCA_CMD_STATUS_OK);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, cmds[0].done, 1);
	ohca_expect_idle(test, fake);

	/* Nor does it end the next command of that slot. */
	ohca_test_submit(test, fake, &cmds[1], 1);
	KUNIT_ASSERT_EQ(test, le16_to_cpu(fake->commands[0].entry.slot), le16_to_cpu(entry.slot));
	ohca_fake_complete(fake, le16_to_cpu(entry.slot), le32_to_cpu(entry.generation),
			   OHCA_CMD_STATUS_OK);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, cmds[1].done, 0);
	ohca_fake_answer(fake, 0);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, cmds[1].done, 1);
	ohca_expect_idle(test, fake);
}

/* OHCA-CMD-H4 OHCA-GEN-H3 */
static void ohca_test_garbage(struct kunit *test)
{
	static const u16 slots[] = { 0, 1, OHCA_TEST_DEPTH - 1, OHCA_TEST_DEPTH, 0x7fff, U16_MAX };
	static const u32 generations[] = { 0, 1, 2, 3, U32_MAX };
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, 1);
	u32 slot, generation, i, j;

	fake->held = true;
	ohca_test_submit(test, fake, cmds, 1);
	slot = le16_to_cpu(fake->commands[0].entry.slot);
	generation = le32_to_cpu(fake->commands[0].entry.generation);
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		for (j = 0; j < ARRAY_SIZE(generations); j++)
			if (slots[i] != slot || generations[j] != generation)
				ohca_fake_complete(fake, slots[i], generations[j], i + j);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, cmds[0].done, 0);
	ohca_fake_answer(fake, 0);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, cmds[0].done, 1);
	KUNIT_EXPECT_EQ(test, cmds[0].cmd.result, 0);
	ohca_expect_idle(test, fake);
}

/* A ring full of nonsense, again and again, only costs the time to read it. */
static void ohca_test_garbage_ring(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_cmdq *q = &fake->dev->cmdq;
	u32 i, round, before = q->consumer;

	for (round = 1; round <= 3; round++) {
		for (i = 0; i < OHCA_TEST_DEPTH; i++)
			ohca_fake_complete(fake, U16_MAX - i, i, U8_MAX);
		KUNIT_EXPECT_TRUE(test, ohca_cmdq_drain(fake->dev));
		KUNIT_EXPECT_EQ(test, q->consumer, before + round * OHCA_TEST_DEPTH);
	}
	KUNIT_EXPECT_FALSE(test, ohca_cmdq_drain(fake->dev));
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
	ohca_expect_idle(test, fake);
}

/* OHCA-CMD-H2 */
static void ohca_test_exhaustion(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, OHCA_TEST_DEPTH + 1);
	struct ohca_cmd *refused = &cmds[OHCA_TEST_DEPTH].cmd;

	fake->held = true;
	ohca_test_submit(test, fake, cmds, OHCA_TEST_DEPTH);
	refused->flags = OHCA_CMD_NOWAIT;
	KUNIT_EXPECT_EQ(test, ohca_cmdq_submit(fake->dev, refused), -EBUSY);
	KUNIT_EXPECT_EQ(test, fake->count, OHCA_TEST_DEPTH);
	/* Answered, but not looked at: the slot is not free. */
	ohca_fake_answer(fake, 0);
	KUNIT_EXPECT_EQ(test, ohca_cmdq_submit(fake->dev, refused), -EBUSY);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, ohca_cmdq_submit(fake->dev, refused), 0);
	ohca_fake_answer_all(fake);
	ohca_cmdq_drain(fake->dev);
	ohca_expect_all_done(test, cmds, OHCA_TEST_DEPTH + 1, 0);
	ohca_expect_idle(test, fake);
}

/* Those who wait for a slot get one in the order in which they came, and before others. */
static void ohca_test_fairness(struct kunit *test)
{
	const u32 waiting = 2 * OHCA_TEST_DEPTH;
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, OHCA_TEST_DEPTH + waiting + 1);
	struct ohca_cmd *late = &cmds[OHCA_TEST_DEPTH + waiting].cmd;
	u32 i;

	fake->held = true;
	/* Told apart by their input. */
	for (i = 0; i < OHCA_TEST_DEPTH + waiting; i++) {
		cmds[i].in.handle = cpu_to_le32(i);
		cmds[i].cmd.in_length = sizeof(cmds[i].in);
	}
	ohca_test_submit(test, fake, cmds, OHCA_TEST_DEPTH + waiting);
	late->flags = OHCA_CMD_NOWAIT;
	for (i = 0; i < waiting; i++) {
		const struct ohca_cmd_handle *in;

		KUNIT_EXPECT_EQ(test, ohca_cmdq_submit(fake->dev, late), -EBUSY);
		ohca_fake_answer(fake, (i * 31) % fake->count);
		ohca_cmdq_drain(fake->dev);
		KUNIT_ASSERT_EQ(test, fake->count, OHCA_TEST_DEPTH);
		in = (void *)fake->commands[OHCA_TEST_DEPTH - 1].in;
		KUNIT_EXPECT_EQ(test, le32_to_cpu(in->handle), OHCA_TEST_DEPTH + i);
	}
	ohca_fake_answer_all(fake);
	ohca_cmdq_drain(fake->dev);
	ohca_expect_all_done(test, cmds, OHCA_TEST_DEPTH + waiting, 0);
	ohca_expect_idle(test, fake);
}

/* A callback may submit, also the very command that has ended. */
struct ohca_test_chain {
	struct ohca_test_cmd tc;
	struct ohca_dev *dev;
	u32 left;
	int ret;
};

static void ohca_test_chain_done(struct ohca_cmd *cmd)
{
	struct ohca_test_chain *chain = cmd->context;

	chain->tc.done++;
	if (--chain->left)
		chain->ret = chain->ret ?: ohca_cmdq_submit(chain->dev, cmd);
}

static void ohca_test_resubmit(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_chain *chain = kunit_kzalloc(test, sizeof(*chain), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, chain);
	ohca_test_init_cmd(&chain->tc, OHCA_CMD_NOP, 0);
	chain->tc.cmd.done = ohca_test_chain_done;
	chain->tc.cmd.context = chain;
	chain->dev = fake->dev;
	chain->left = 1000;
	KUNIT_ASSERT_EQ(test, ohca_cmdq_submit(fake->dev, &chain->tc.cmd), 0);
	for (i = 0; i < 1000 && chain->left; i++)
		ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, chain->ret, 0);
	KUNIT_EXPECT_EQ(test, chain->tc.done, 1000);
	ohca_expect_idle(test, fake);
}

static void ohca_test_poll_deadline(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *tc = ohca_test_cmds(test, 1);
	ktime_t before, passed;
	unsigned long flags;

	fake->held = true;
	local_irq_save(flags);
	before = ktime_get();
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &tc->cmd, 20), -ETIMEDOUT);
	passed = ktime_sub(ktime_get(), before);
	local_irq_restore(flags);
	KUNIT_EXPECT_GE(test, ktime_to_ms(passed), 20);
	KUNIT_EXPECT_LE(test, ktime_to_ms(passed), 100);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.quarantined, 1);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
	ohca_fake_answer(fake, 0);
	ohca_cmdq_drain(fake->dev);
	ohca_expect_idle(test, fake);
}

/* OHCA-CMD-H7: the late answer has created an object that nobody owns: it is destroyed. */
static void ohca_test_late_answer(struct kunit *test)
{
	static const struct {
		u16 create;
		u16 destroy;
	} kinds[] = {
		{ OHCA_CMD_CREATE_UAR, OHCA_CMD_DESTROY_UAR },
		{ OHCA_CMD_CREATE_PD, OHCA_CMD_DESTROY_PD },
		{ OHCA_CMD_CREATE_MKEY, OHCA_CMD_DESTROY_MKEY },
		{ OHCA_CMD_CREATE_CQ, OHCA_CMD_DESTROY_CQ },
		{ OHCA_CMD_CREATE_QP, OHCA_CMD_DESTROY_QP },
		{ OHCA_CMD_CREATE_SRQ, OHCA_CMD_DESTROY_SRQ },
		{ OHCA_CMD_CREATE_XRCD, OHCA_CMD_DESTROY_XRCD },
	};
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, ARRAY_SIZE(kinds));
	u32 i;

	fake->held = true;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		ohca_test_init_cmd(&cmds[i], kinds[i].create, 0);
		KUNIT_ASSERT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &cmds[i].cmd, 0),
				-ETIMEDOUT);
		/* Whoever gave up may have given its memory back. */
		memset(&cmds[i], 0xff, sizeof(cmds[i]));
	}
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.quarantined, ARRAY_SIZE(kinds));
	KUNIT_ASSERT_EQ(test, fake->count, ARRAY_SIZE(kinds));
	ohca_fake_answer_all(fake);
	ohca_cmdq_drain(fake->dev);
	KUNIT_ASSERT_EQ(test, fake->count, ARRAY_SIZE(kinds));
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		KUNIT_EXPECT_EQ(test, ohca_fake_opcode(fake, i), kinds[i].destroy);
	ohca_fake_answer_all(fake);
	ohca_cmdq_drain(fake->dev);
	for (i = 0; i < OHCA_FAKE_KIND_COUNT; i++)
		KUNIT_EXPECT_EQ(test, ohca_fake_objects(fake, i), 0);
	ohca_expect_idle(test, fake);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
}

/* A late refusal has created nothing. */
static void ohca_test_late_refusal(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *tc = ohca_test_cmds(test, 1);

	fake->held = true;
	ohca_test_init_cmd(tc, OHCA_CMD_CREATE_PD, 0);
	KUNIT_ASSERT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &tc->cmd, 0), -ETIMEDOUT);
	ohca_fake_refuse(fake, 0, OHCA_CMD_STATUS_NO_RESOURCES);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, fake->count, 0);
	ohca_expect_idle(test, fake);
}

static void ohca_test_never(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, 2);

	fake->held = true;
	ohca_test_submit(test, fake, cmds, 1);
	/* Others are answered, so the device as such is well. */
	msleep(OHCA_TEST_TIMEOUT_MS);
	fake->held = false;
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &cmds[1].cmd, 1000), 0);
	msleep(1000);
	ohca_cmdq_expire(fake->dev);
	KUNIT_EXPECT_EQ(test, cmds[0].done, 1);
	KUNIT_EXPECT_EQ(test, cmds[0].cmd.result, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.quarantined, 1);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.free_count, OHCA_TEST_DEPTH - 1);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
	/* The rest of the queue goes on. */
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &cmds[1].cmd, 1000), 0);
}

/* Commands that wait for a slot are given up, too, and their order is kept. */
static void ohca_test_waiter_times_out(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, OHCA_TEST_DEPTH + 2);

	fake->held = true;
	ohca_test_submit(test, fake, cmds, OHCA_TEST_DEPTH);
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &cmds[OHCA_TEST_DEPTH].cmd, 10),
			-ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.quarantined, 0);
	ohca_test_submit(test, fake, &cmds[OHCA_TEST_DEPTH + 1], 1);
	ohca_fake_answer(fake, 7);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, fake->count, OHCA_TEST_DEPTH);
	ohca_fake_answer_all(fake);
	ohca_cmdq_drain(fake->dev);
	ohca_expect_all_done(test, cmds, OHCA_TEST_DEPTH, 0);
	KUNIT_EXPECT_EQ(test, cmds[OHCA_TEST_DEPTH + 1].done, 1);
	ohca_expect_idle(test, fake);
}

static void ohca_test_silent(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, 2);

	fake->held = true;
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec(fake->dev, &cmds[0].cmd), -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec(fake->dev, &cmds[1].cmd), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
	flush_work(&fake->dev->fatal_work);
	KUNIT_EXPECT_EQ(test, ohca_cmdq_submit(fake->dev, &cmds[0].cmd), -EIO);
	KUNIT_EXPECT_STREQ(test, fake->dev->fail_reason, "no command is answered");
}

static void ohca_test_destroy_unanswered(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);

	fake->held = true;
	/* Success: the device has been reset, so it does not know the object any more. */
	KUNIT_EXPECT_EQ(test, ohca_cmd_destroy(fake->dev, OHCA_CMD_DESTROY_PD, 2), 0);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
	KUNIT_EXPECT_TRUE(test, fake->dev->quiesced);
	KUNIT_EXPECT_EQ(test, fake->resets, 2);
}

static void ohca_test_quarantine_full(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *tc = ohca_test_cmds(test, 1);
	u32 i;

	fake->held = true;
	for (i = 0; i < OHCA_TEST_DEPTH / 2; i++) {
		KUNIT_ASSERT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &tc->cmd, 0), -ETIMEDOUT);
		KUNIT_ASSERT_FALSE(test, ohca_failed(fake->dev));
	}
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &tc->cmd, 0), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
	flush_work(&fake->dev->fatal_work);
}

/* At every moment of its life: issued, answered, given up, waiting for a slot. */
static void ohca_test_stop(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_test_cmd *cmds = ohca_test_cmds(test, OHCA_TEST_DEPTH + 10);
	u32 i;

	fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &cmds[0].cmd, 0), -ETIMEDOUT);
	for (i = 1; i < OHCA_TEST_DEPTH + 10; i++)
		KUNIT_ASSERT_EQ(test, ohca_cmdq_submit(fake->dev, &cmds[i].cmd), 0);
	ohca_fake_answer(fake, 1);
	ohca_cmdq_stop(fake->dev);
	for (i = 1; i < OHCA_TEST_DEPTH + 10; i++) {
		KUNIT_EXPECT_EQ(test, cmds[i].done, 1);
		KUNIT_EXPECT_EQ(test, cmds[i].cmd.result, -EIO);
	}
	KUNIT_EXPECT_EQ(test, ohca_cmdq_submit(fake->dev, &cmds[1].cmd), -EIO);
	KUNIT_EXPECT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &cmds[1].cmd, 10), -EIO);
	/* What comes now is nobody's, and nothing is sent in answer to it. */
	ohca_fake_answer_all(fake);
	ohca_cmdq_drain(fake->dev);
	KUNIT_EXPECT_EQ(test, cmds[1].done, 1);
	KUNIT_EXPECT_EQ(test, fake->count, 0);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.quarantined, 0);
}

static struct kunit_case ohca_cmdq_cases[] = {
	KUNIT_CASE(ohca_test_polled),
	KUNIT_CASE(ohca_test_statuses),
	KUNIT_CASE(ohca_test_output),
	KUNIT_CASE(ohca_test_longest),
	KUNIT_CASE(ohca_test_out_of_order),
	KUNIT_CASE(ohca_test_duplicate),
	KUNIT_CASE(ohca_test_garbage),
	KUNIT_CASE(ohca_test_garbage_ring),
	KUNIT_CASE(ohca_test_exhaustion),
	KUNIT_CASE(ohca_test_fairness),
	KUNIT_CASE(ohca_test_resubmit),
	KUNIT_CASE(ohca_test_poll_deadline),
	KUNIT_CASE(ohca_test_late_answer),
	KUNIT_CASE(ohca_test_late_refusal),
	KUNIT_CASE(ohca_test_never),
	KUNIT_CASE(ohca_test_waiter_times_out),
	KUNIT_CASE(ohca_test_silent),
	KUNIT_CASE(ohca_test_destroy_unanswered),
	KUNIT_CASE(ohca_test_quarantine_full),
	KUNIT_CASE(ohca_test_stop),
	{}
};

static struct kunit_suite ohca_cmdq_suite = {
	.name = "ohca_cmdq",
	.test_cases = ohca_cmdq_cases,
};

kunit_test_suite(ohca_cmdq_suite);
