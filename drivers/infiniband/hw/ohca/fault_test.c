// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of injected faults: each does what its name says, and only if asked for. */

#include <linux/delay.h>

#include "fake_device.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

#define OHCA_TEST_COMMANDS	100

static void ohca_test_ask_for(struct ohca_fake_device *fake, enum ohca_fault fault, u32 percent,
			      int times)
{
	struct fault_attr *attr = &fake->dev->faults.attrs[fault];

	/* Said once is enough. */
	attr->verbose = 0;
	attr->probability = percent;
	atomic_set(&attr->times, times);
}

static int ohca_test_nop(struct ohca_fake_device *fake)
{
	struct ohca_cmd cmd = { .opcode = OHCA_CMD_NOP };

	return ohca_cmdq_exec(fake->dev, &cmd);
}

static void ohca_test_off(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	int i;

	for (i = 0; i < OHCA_TEST_COMMANDS; i++)
		KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), 0);
}

static void ohca_test_answer_lost(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	int i;

	ohca_test_ask_for(fake, OHCA_FAULT_ANSWER_LOST, 100, 1);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -ETIMEDOUT);
	/* Its slot is lost until the next reset, and nothing else. */
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.quarantined, 1);
	for (i = 0; i < OHCA_TEST_COMMANDS; i++)
		KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), 0);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.free_count, fake->dev->cmdq.depth - 1);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
}

static void ohca_test_silent(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);

	ohca_test_ask_for(fake, OHCA_FAULT_ANSWER_LOST, 100, -1);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -EIO);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
}

static void ohca_test_answer_corrupt(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);

	ohca_test_ask_for(fake, OHCA_FAULT_ANSWER_CORRUPT, 100, 1);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), 0);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
}

/* After the caller has given up, to the slot of its command. */
static void ohca_test_answer_late(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	struct ohca_cmdq *q = &fake->dev->cmdq;

	ohca_test_ask_for(fake, OHCA_FAULT_ANSWER_LATE, 100, 1);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, q->quarantined, 1);
	msleep(4000);
	KUNIT_EXPECT_EQ(test, q->quarantined, 0);
	KUNIT_EXPECT_EQ(test, q->free_count, q->depth);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
}

/* OHCA-CMD-H7: what it has created is destroyed, for nobody knows of it. */
static void ohca_test_creation_late(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	u32 pds = ohca_fake_objects(fake, OHCA_FAKE_PD), pdn;

	ohca_test_ask_for(fake, OHCA_FAULT_ANSWER_LATE, 100, 1);
	KUNIT_EXPECT_EQ(test, ohca_cmd_create_pd(fake->dev, &pdn), -EIO);
	KUNIT_EXPECT_EQ(test, ohca_fake_objects(fake, OHCA_FAKE_PD), pds + 1);
	msleep(4000);
	KUNIT_EXPECT_EQ(test, ohca_fake_objects(fake, OHCA_FAKE_PD), pds);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.free_count, fake->dev->cmdq.depth);
}

/* The second one finds nobody, or somebody else, whom it does not concern. */
static void ohca_test_answer_duplicate(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	int i;

	ohca_test_ask_for(fake, OHCA_FAULT_ANSWER_DUPLICATE, 100, -1);
	for (i = 0; i < OHCA_TEST_COMMANDS; i++)
		KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), 0);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.free_count, fake->dev->cmdq.depth);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
}

static void ohca_test_silence(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);

	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), 0);
	ohca_test_ask_for(fake, OHCA_FAULT_SILENCE, 100, 1);
	msleep(2000);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
	/* Until the reset. */
	KUNIT_ASSERT_EQ(test, ohca_fake_device_reset(fake), 0);
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), 0);
}

/* Nobody comes for the event, until it has been there for a while. */
static void ohca_test_completion_interrupt_lost(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	const struct ohca_eq *eq = &fake->dev->comp_eqs[0];

	ohca_test_ask_for(fake, OHCA_FAULT_COMPLETION_INTERRUPT_LOST, 100, 1);
	ohca_fake_event(fake, eq->vector, OHCA_EVENT_COMPLETION, 1);
	ohca_fake_interrupt(fake, eq->vector, false);
	msleep(100);
	KUNIT_EXPECT_EQ(test, eq->consumer, 0);
	msleep(3000);
	KUNIT_EXPECT_EQ(test, eq->consumer, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&fake->dev->lost_interrupts), 1);
}

static void ohca_test_interrupt_lost(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);
	int i;

	ohca_test_ask_for(fake, OHCA_FAULT_INTERRUPT_LOST, 100, -1);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), 0);
	KUNIT_EXPECT_EQ(test, fake->dev->cmdq.free_count, fake->dev->cmdq.depth);
	KUNIT_EXPECT_FALSE(test, ohca_failed(fake->dev));
}

static void ohca_test_device(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_start(test);

	ohca_test_ask_for(fake, OHCA_FAULT_DEVICE, 100, 1);
	msleep(3000);
	KUNIT_EXPECT_TRUE(test, ohca_failed(fake->dev));
	KUNIT_EXPECT_STREQ(test, fake->dev->fail_reason, "fault injected");
	KUNIT_EXPECT_EQ(test, ohca_test_nop(fake), -EIO);
}

static struct kunit_case ohca_fault_cases[] = {
	KUNIT_CASE(ohca_test_off),
	KUNIT_CASE(ohca_test_answer_lost),
	KUNIT_CASE(ohca_test_silent),
	KUNIT_CASE(ohca_test_answer_corrupt),
	KUNIT_CASE(ohca_test_answer_late),
	KUNIT_CASE(ohca_test_creation_late),
	KUNIT_CASE(ohca_test_answer_duplicate),
	KUNIT_CASE(ohca_test_silence),
	KUNIT_CASE(ohca_test_interrupt_lost),
	KUNIT_CASE(ohca_test_completion_interrupt_lost),
	KUNIT_CASE(ohca_test_device),
	{}
};

static struct kunit_suite ohca_fault_suite = {
	.name = "ohca_fault",
	.test_cases = ohca_fault_cases,
};

kunit_test_suite(ohca_fault_suite);

#endif /* CONFIG_FAULT_INJECTION_DEBUG_FS */
