// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of the event queues: dispatch, nonsense, overrun, and the race of arming. */

#include <linux/delay.h>
#include <linux/interrupt.h>

#include "fake_device.h"

#define OHCA_TEST_CQN		7
#define OHCA_TEST_QPN		9
/* The completion vector of the only CPU. */
#define OHCA_TEST_VECTOR	1

struct ohca_test_eq {
	struct ohca_fake_device *fake;
	struct ohca_cq cq;
	struct ohca_qp qp;
	u32 completions;
	u32 hard;			/* ... in hard interrupt */
	u32 events;
	enum ib_event_type last;
	void (*on_completion)(struct ohca_test_eq *eq);
};

static void ohca_test_completion(struct ib_cq *ibcq, void *context)
{
	struct ohca_test_eq *eq = context;

	eq->completions++;
	eq->hard += !!in_hardirq();
	if (eq->on_completion)
		eq->on_completion(eq);
}

static void ohca_test_event(struct ib_event *event, void *context)
{
	struct ohca_test_eq *eq = context;

	eq->events++;
	eq->last = event->event;
}

static void ohca_test_eq_release(void *data)
{
	struct ohca_test_eq *eq = data;
	struct ohca_dev *dev = eq->fake->dev;

	ohca_eqs_destroy(dev);
	xa_erase_irq(&dev->cqs, OHCA_TEST_CQN);
	xa_erase_irq(&dev->qps, OHCA_TEST_QPN);
}

static struct ohca_test_eq *ohca_test_eq_create(struct kunit *test)
{
	struct ohca_test_eq *eq = kunit_kzalloc(test, sizeof(*eq), GFP_KERNEL);
	struct ohca_dev *dev;

	KUNIT_ASSERT_NOT_NULL(test, eq);
	eq->fake = ohca_fake_device_enable(test);
	dev = eq->fake->dev;
	KUNIT_ASSERT_EQ(test, ohca_eqs_create(dev), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_eq_release, eq), 0);

	eq->cq.ibcq.device = &dev->ibdev;
	eq->cq.ibcq.comp_handler = ohca_test_completion;
	eq->cq.ibcq.event_handler = ohca_test_event;
	eq->cq.ibcq.cq_context = eq;
	refcount_set(&eq->cq.refs, 1);
	init_completion(&eq->cq.unused);
	KUNIT_ASSERT_EQ(test, xa_insert_irq(&dev->cqs, OHCA_TEST_CQN, &eq->cq, GFP_KERNEL), 0);

	eq->qp.ibqp.device = &dev->ibdev;
	eq->qp.ibqp.event_handler = ohca_test_event;
	eq->qp.ibqp.qp_context = eq;
	refcount_set(&eq->qp.refs, 1);
	init_completion(&eq->qp.unused);
	KUNIT_ASSERT_EQ(test, xa_insert_irq(&dev->qps, OHCA_TEST_QPN, &eq->qp, GFP_KERNEL), 0);
	return eq;
}

static void ohca_test_raise(struct ohca_test_eq *eq, unsigned int vector)
{
	ohca_fake_interrupt(eq->fake, vector, false);
	msleep(100);
}

static void ohca_test_completion_event(struct kunit *test)
{
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	const struct ohca_eq_record *record = eq->fake->eqs[OHCA_TEST_VECTOR].record;
	u32 i;

	ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
	KUNIT_EXPECT_EQ(test, eq->completions, 0);
	ohca_test_raise(eq, OHCA_TEST_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->completions, 1);
	KUNIT_EXPECT_EQ(test, eq->hard, 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&eq->cq.refs), 1);
	/* It is armed again, each time. */
	for (i = 2; i <= 5; i++) {
		KUNIT_EXPECT_EQ(test, le32_to_cpu(record->interrupt_arm), 1);
		ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
		ohca_test_raise(eq, OHCA_TEST_VECTOR);
		KUNIT_EXPECT_EQ(test, eq->completions, i);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(record->consumer), i);
	}
}

/* Several times around the ring, as full as it can be. */
static void ohca_test_wrap(struct kunit *test)
{
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	u32 depth = eq->fake->eqs[OHCA_TEST_VECTOR].depth;
	u32 i, round;

	for (round = 1; round <= 4; round++) {
		for (i = 0; i < depth; i++)
			ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION,
					OHCA_TEST_CQN);
		ohca_test_raise(eq, OHCA_TEST_VECTOR);
		KUNIT_EXPECT_EQ(test, eq->completions, round * depth);
	}
}

/* OHCA-EQ-H4 OHCA-GEN-H3 */
static void ohca_test_eq_garbage(struct kunit *test)
{
	static const u32 numbers[] = { 0, 1, OHCA_TEST_CQN + 1, 0xffffff, 0x1000000, U32_MAX };
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	u32 i, type;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, numbers[i]);
	for (type = OHCA_EVENT_COMPLETION + 1; type <= U8_MAX; type += 7)
		ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, type, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_TEST_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->completions, 0);
	KUNIT_EXPECT_EQ(test, eq->events, 0);

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		for (type = 0; type <= OHCA_EVENT_SRQ_ERROR + 1; type++)
			ohca_fake_event(eq->fake, OHCA_CMD_VECTOR, type, numbers[i]);
	ohca_fake_event(eq->fake, OHCA_CMD_VECTOR, U8_MAX, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_CMD_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->events, 0);

	/* Both go on. */
	ohca_fake_event(eq->fake, OHCA_CMD_VECTOR, OHCA_EVENT_CQ_ERROR, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_CMD_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->events, 1);
	ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_TEST_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->completions, 1);
}

static void ohca_test_async_events(struct kunit *test)
{
	static const struct {
		u8 type;
		u32 number;
		enum ib_event_type event;
	} cases[] = {
		{ OHCA_EVENT_CQ_ERROR, OHCA_TEST_CQN, IB_EVENT_CQ_ERR },
		{ OHCA_EVENT_QP_FATAL, OHCA_TEST_QPN, IB_EVENT_QP_FATAL },
		{ OHCA_EVENT_QP_REQUEST_ERROR, OHCA_TEST_QPN, IB_EVENT_QP_REQ_ERR },
		{ OHCA_EVENT_QP_ACCESS_ERROR, OHCA_TEST_QPN, IB_EVENT_QP_ACCESS_ERR },
		{ OHCA_EVENT_COMM_ESTABLISHED, OHCA_TEST_QPN, IB_EVENT_COMM_EST },
		{ OHCA_EVENT_SQ_DRAINED, OHCA_TEST_QPN, IB_EVENT_SQ_DRAINED },
		{ OHCA_EVENT_QP_LAST_WQE, OHCA_TEST_QPN, IB_EVENT_QP_LAST_WQE_REACHED },
	};
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ohca_fake_event(eq->fake, OHCA_CMD_VECTOR, cases[i].type, cases[i].number);
		ohca_test_raise(eq, OHCA_CMD_VECTOR);
		KUNIT_EXPECT_EQ(test, eq->events, i + 1);
		KUNIT_EXPECT_EQ(test, eq->last, cases[i].event);
	}
	KUNIT_EXPECT_EQ(test, refcount_read(&eq->cq.refs), 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&eq->qp.refs), 1);
}

/* OHCA-EQ-H5 OHCA-EQ-H7 */
static void ohca_test_overrun(struct kunit *test)
{
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	u32 depth = eq->fake->eqs[OHCA_CMD_VECTOR].depth;
	u32 i;

	/* What a device that overruns its ring all the same leaves of two passes. */
	for (i = 0; i < 2 * depth; i++)
		ohca_fake_event(eq->fake, OHCA_CMD_VECTOR, OHCA_EVENT_CQ_ERROR, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_CMD_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->events, 0);
	for (i = 0; i < depth; i++)
		ohca_fake_event(eq->fake, OHCA_CMD_VECTOR, OHCA_EVENT_EQ_OVERRUN, 0);
	ohca_fake_interrupt(eq->fake, OHCA_CMD_VECTOR, true);
	msleep(100);
	KUNIT_EXPECT_EQ(test, eq->events, 0);
	/* Interrupts without anything to tell, the device having taken the arm for them. */
	for (i = 0; i < 3; i++) {
		ohca_fake_interrupt(eq->fake, OHCA_CMD_VECTOR, true);
		ohca_fake_interrupt(eq->fake, OHCA_TEST_VECTOR, true);
		msleep(100);
	}
	KUNIT_EXPECT_FALSE(test, ohca_failed(eq->fake->dev));
	ohca_fake_event(eq->fake, OHCA_CMD_VECTOR, OHCA_EVENT_CQ_ERROR, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_CMD_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->events, 1);
}

/* The device writes another entry while the last is being handled. */
static void ohca_test_one_more(struct ohca_test_eq *eq)
{
	if (eq->completions < 4)
		ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
	/* And looks at interrupt_arm, which is not set: no interrupt is going to come. */
	ohca_fake_interrupt(eq->fake, OHCA_TEST_VECTOR, false);
}

/* OHCA-EQ-H3 */
static void ohca_test_arm_race(struct kunit *test)
{
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	u32 before = eq->fake->interrupts_raised;

	eq->on_completion = ohca_test_one_more;
	ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_TEST_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->completions, 4);
	KUNIT_EXPECT_EQ(test, eq->fake->interrupts_raised, before + 1);
}

/* A device that always has one more entry does not keep the CPU in the handler. */
static void ohca_test_endless_one_more(struct ohca_test_eq *eq)
{
	ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
}

static void ohca_test_endless(struct kunit *test)
{
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	u32 depth = eq->fake->eqs[OHCA_TEST_VECTOR].depth;

	eq->on_completion = ohca_test_endless_one_more;
	ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_TEST_VECTOR);
	KUNIT_EXPECT_GE(test, eq->completions, depth);
	KUNIT_EXPECT_LE(test, eq->completions, 16 * depth);
}

/* The device has taken the arm, but no interrupt has come. */
static void ohca_test_lose(struct ohca_test_eq *eq, unsigned int vector, u8 type)
{
	ohca_fake_event(eq->fake, vector, type, OHCA_TEST_CQN);
	eq->fake->mute = true;
	ohca_fake_interrupt(eq->fake, vector, false);
	eq->fake->mute = false;
	msleep(100);
}

/* OHCA-EQ-H8 */
static void ohca_test_lost_interrupt(struct kunit *test)
{
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	struct ohca_dev *dev = eq->fake->dev;
	const struct ohca_eq_record *record = eq->fake->eqs[OHCA_TEST_VECTOR].record;

	ohca_test_lose(eq, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION);
	ohca_test_lose(eq, OHCA_CMD_VECTOR, OHCA_EVENT_CQ_ERROR);
	/* The first look finds them, and leaves them to the interrupt. */
	ohca_eqs_check(dev);
	KUNIT_EXPECT_EQ(test, eq->completions + eq->events, 0);
	ohca_eqs_check(dev);
	KUNIT_EXPECT_EQ(test, eq->completions, 1);
	KUNIT_EXPECT_EQ(test, eq->events, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&dev->lost_interrupts), 2);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(record->interrupt_arm), 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(record->consumer), 1);
	/* From here on by interrupts again. */
	ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
	ohca_test_raise(eq, OHCA_TEST_VECTOR);
	KUNIT_EXPECT_EQ(test, eq->completions, 2);
	KUNIT_EXPECT_EQ(test, eq->hard, 1);
}

/* Each look finds an entry, but never the same one: the interrupts do come. */
static void ohca_test_late_interrupt(struct kunit *test)
{
	struct ohca_test_eq *eq = ohca_test_eq_create(test);
	struct ohca_dev *dev = eq->fake->dev;
	u32 i;

	for (i = 0; i < 5; i++) {
		ohca_fake_event(eq->fake, OHCA_TEST_VECTOR, OHCA_EVENT_COMPLETION, OHCA_TEST_CQN);
		ohca_eqs_check(dev);
		KUNIT_EXPECT_EQ(test, eq->completions, i);
		ohca_test_raise(eq, OHCA_TEST_VECTOR);
		KUNIT_EXPECT_EQ(test, eq->completions, i + 1);
	}
	KUNIT_EXPECT_EQ(test, eq->hard, 5);
	KUNIT_EXPECT_EQ(test, atomic64_read(&dev->lost_interrupts), 0);
}

static struct kunit_case ohca_eq_cases[] = {
	KUNIT_CASE(ohca_test_completion_event),
	KUNIT_CASE(ohca_test_wrap),
	KUNIT_CASE(ohca_test_eq_garbage),
	KUNIT_CASE(ohca_test_async_events),
	KUNIT_CASE(ohca_test_overrun),
	KUNIT_CASE(ohca_test_arm_race),
	KUNIT_CASE(ohca_test_endless),
	KUNIT_CASE(ohca_test_lost_interrupt),
	KUNIT_CASE(ohca_test_late_interrupt),
	{}
};

static struct kunit_suite ohca_eq_suite = {
	.name = "ohca_eq",
	.test_cases = ohca_eq_cases,
};

kunit_test_suite(ohca_eq_suite);
