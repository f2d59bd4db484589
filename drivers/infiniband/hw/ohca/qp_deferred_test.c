// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of queue pairs that are created and destroyed by operations: to whom
 * they belong at any moment, and that nothing is left.
 */

#include <linux/delay.h>

#include "fake_verbs.h"

#define OHCA_TEST_UNCLAIMED	4

struct ohca_test_deferred {
	struct ohca_test_verbs *verbs;
	struct ohca_fake_device *fake;
	struct ohca_dev *dev;
	struct ohca_async *handle;
	struct ohca_ucontext ucontext;
	struct ohca_unclaimed_owner owner;
	struct ohca_op op;
	struct ohca_qp *qp;		/* that claims */
	u32 ended;
};

static void ohca_test_deferred_done(struct ohca_op *op)
{
	struct ohca_test_deferred *test = op->context;

	test->ended++;
}

static void ohca_test_deferred_close(void *data)
{
	struct ohca_test_deferred *test = data;

	test->fake->held = false;
	ohca_fake_answer_all(test->fake);
	ohca_async_close(test->handle);
	ohca_unclaimed_destroy(&test->owner);
	if (test->qp->life == OHCA_QP_LIVE && test->qp->qpn) {
		ohca_cmd_destroy(test->dev, OHCA_CMD_DESTROY_QP, test->qp->qpn);
		ohca_qp_unpublish(test->dev, test->qp);
	}
	xa_destroy(&test->ucontext.unclaimed);
}

static struct ohca_test_deferred *ohca_test_deferred_create(struct kunit *test)
{
	struct ohca_test_deferred *deferred = kunit_kzalloc(test, sizeof(*deferred), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, deferred);
	deferred->qp = kunit_kzalloc(test, sizeof(*deferred->qp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, deferred->qp);
	deferred->verbs = ohca_test_verbs_create(test);
	deferred->fake = deferred->verbs->fake;
	deferred->dev = deferred->fake->dev;
	deferred->ucontext.ibucontext.device = &deferred->dev->ibdev;
	xa_init(&deferred->ucontext.unclaimed);
	deferred->owner.ucontext = &deferred->ucontext;
	deferred->owner.max = OHCA_TEST_UNCLAIMED;
	deferred->qp->user = true;
	deferred->qp->ibqp.device = &deferred->dev->ibdev;
	deferred->qp->ibqp.real_qp = &deferred->qp->ibqp;
	deferred->qp->ibqp.qp_type = IB_QPT_RC;
	ohca_op_queue_init(&deferred->qp->ops);
	deferred->handle = ohca_async_open(&deferred->dev->ibdev);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, deferred->handle);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_deferred_close, deferred),
			0);
	return deferred;
}

/* As ohca_unclaimed_alloc(), for which an application would have to be here. */
static struct ohca_unclaimed_qp *ohca_test_unclaimed(struct kunit *test,
						     struct ohca_test_deferred *deferred)
{
	struct ohca_unclaimed_qp *unclaimed = kzalloc(sizeof(*unclaimed), GFP_KERNEL);
	struct ib_qp *model;

	KUNIT_ASSERT_NOT_NULL(test, unclaimed);
	model = &unclaimed->model.ibqp;
	unclaimed->owner = &deferred->owner;
	model->device = &deferred->dev->ibdev;
	model->qp_type = IB_QPT_RC;
	model->pd = deferred->verbs->pd;
	model->send_cq = deferred->verbs->cq;
	model->recv_cq = deferred->verbs->cq;
	atomic_inc(&model->pd->usecnt);
	atomic_add(2, &model->send_cq->usecnt);
	return unclaimed;
}

static void ohca_test_start_creation(struct kunit *test, struct ohca_test_deferred *deferred)
{
	struct ohca_unclaimed_qp *unclaimed = ohca_test_unclaimed(test, deferred);

	KUNIT_ASSERT_EQ(test, ohca_unclaimed_reserve(&deferred->owner, 1), 0);
	ohca_op_init(&deferred->op, deferred->handle, ohca_test_deferred_done, deferred);
	deferred->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_start_create_unclaimed(&deferred->op, unclaimed), 0);
	KUNIT_ASSERT_EQ(test, deferred->fake->count, 1);
}

/* The queue pair that verbs_create() has made, and @count others. */
static void ohca_expect_qps(struct kunit *test, struct ohca_test_deferred *deferred, u32 count)
{
	KUNIT_EXPECT_EQ(test, ohca_fake_objects(deferred->fake, OHCA_FAKE_QP), 1 + count);
	KUNIT_EXPECT_EQ(test, atomic_read(&deferred->verbs->cq->usecnt), 2 + 2 * count);
	KUNIT_EXPECT_EQ(test, atomic_read(&deferred->verbs->pd->usecnt), 1 + count);
}

static u32 ohca_test_create(struct kunit *test, struct ohca_test_deferred *deferred)
{
	u32 ended = deferred->ended;

	ohca_test_start_creation(test, deferred);
	ohca_fake_answer(deferred->fake, 0);
	msleep(200);
	deferred->fake->held = false;
	KUNIT_ASSERT_EQ(test, deferred->ended, ended + 1);
	KUNIT_ASSERT_EQ(test, deferred->op.result, 0);
	return le32_to_cpu(deferred->op.out.create_qp.qpn);
}

static int ohca_test_claim(struct ohca_test_deferred *deferred, u32 qpn)
{
	const struct ohca_create_qp_req req = { .qpn = qpn };
	struct ohca_create_qp_params params = {};

	return ohca_qp_claim(deferred->dev, &deferred->ucontext, deferred->qp, &params, &req) ?:
	       ohca_qp_publish(deferred->dev, deferred->qp);
}

static void ohca_test_unclaimed_ends(struct kunit *test)
{
	struct ohca_test_deferred *deferred = ohca_test_deferred_create(test);
	u32 i;

	for (i = 0; i < OHCA_TEST_UNCLAIMED; i++)
		ohca_test_create(test, deferred);
	ohca_expect_qps(test, deferred, OHCA_TEST_UNCLAIMED);
	KUNIT_EXPECT_EQ(test, ohca_unclaimed_reserve(&deferred->owner, 1), -EAGAIN);
	ohca_unclaimed_destroy(&deferred->owner);
	ohca_expect_qps(test, deferred, 0);
	KUNIT_EXPECT_EQ(test, deferred->owner.count, 0);
}

static void ohca_test_creation_refused(struct kunit *test)
{
	struct ohca_test_deferred *deferred = ohca_test_deferred_create(test);

	ohca_test_start_creation(test, deferred);
	ohca_fake_refuse(deferred->fake, 0, OHCA_CMD_STATUS_NO_RESOURCES);
	msleep(200);
	KUNIT_EXPECT_EQ(test, deferred->ended, 1);
	KUNIT_EXPECT_EQ(test, deferred->op.result, -ENOMEM);
	KUNIT_EXPECT_EQ(test, deferred->owner.count, 0);
	ohca_expect_qps(test, deferred, 0);
}

/* The answer that comes too late has created an object that is nobody's. */
static void ohca_test_creation_late(struct kunit *test)
{
	struct ohca_test_deferred *deferred = ohca_test_deferred_create(test);
	struct ohca_op nop;

	ohca_test_start_creation(test, deferred);
	msleep(4000);
	/* So that the device is not given up. */
	ohca_op_init(&nop, deferred->handle, ohca_test_deferred_done, deferred);
	KUNIT_ASSERT_EQ(test, ohca_async_nop(&nop), 0);
	ohca_fake_answer(deferred->fake, 1);
	msleep(4000);
	KUNIT_EXPECT_EQ(test, deferred->ended, 2);
	KUNIT_EXPECT_EQ(test, deferred->op.result, -ETIMEDOUT);
	deferred->fake->held = false;
	ohca_fake_answer(deferred->fake, 0);
	msleep(1000);
	KUNIT_EXPECT_EQ(test, deferred->ended, 2);
	KUNIT_EXPECT_TRUE(test, xa_empty(&deferred->ucontext.unclaimed));
	ohca_expect_qps(test, deferred, 0);
}

static void ohca_test_claimed_once(struct kunit *test)
{
	struct ohca_test_deferred *deferred = ohca_test_deferred_create(test);
	u32 qpn = ohca_test_create(test, deferred);

	KUNIT_EXPECT_EQ(test, ohca_test_claim(deferred, qpn + 1), -EINVAL);
	/* Not what has been created. */
	deferred->qp->sq.max_sge = 1;
	KUNIT_EXPECT_EQ(test, ohca_test_claim(deferred, qpn), -EINVAL);
	deferred->qp->sq.max_sge = 0;
	KUNIT_EXPECT_EQ(test, deferred->owner.count, 1);
	KUNIT_ASSERT_EQ(test, ohca_test_claim(deferred, qpn), 0);
	KUNIT_EXPECT_EQ(test, deferred->qp->qpn, qpn);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&deferred->dev->qps, qpn), (void *)deferred->qp);
	KUNIT_EXPECT_EQ(test, deferred->owner.count, 0);
	KUNIT_EXPECT_EQ(test, ohca_test_claim(deferred, qpn), -EINVAL);
	ohca_unclaimed_destroy(&deferred->owner);
	KUNIT_EXPECT_EQ(test, ohca_fake_objects(deferred->fake, OHCA_FAKE_QP), 2);
}

static void ohca_test_destruction(struct kunit *test)
{
	struct ohca_test_deferred *deferred = ohca_test_deferred_create(test);
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp *ibqp = &deferred->qp->ibqp;
	struct ohca_op other;

	KUNIT_ASSERT_EQ(test, ohca_test_claim(deferred, ohca_test_create(test, deferred)), 0);
	deferred->fake->held = true;
	ohca_op_init(&deferred->op, deferred->handle, ohca_test_deferred_done, deferred);
	ohca_op_init(&other, deferred->handle, ohca_test_deferred_done, deferred);
	KUNIT_ASSERT_EQ(test, ohca_start_destroy_qp(&deferred->op, ibqp), 0);
	KUNIT_EXPECT_EQ(test, ohca_start_destroy_qp(&other, ibqp), -EBUSY);
	KUNIT_EXPECT_EQ(test, ohca_async_modify_qp(&other, ibqp, &attr, IB_QP_STATE), -ENODEV);
	/* Refused: it is as it was. */
	ohca_fake_refuse(deferred->fake, 0, OHCA_CMD_STATUS_IN_USE);
	msleep(200);
	KUNIT_EXPECT_EQ(test, deferred->ended, 2);
	KUNIT_EXPECT_EQ(test, deferred->op.result, -EBUSY);
	KUNIT_EXPECT_EQ(test, deferred->qp->life, OHCA_QP_LIVE);

	ohca_op_init(&deferred->op, deferred->handle, ohca_test_deferred_done, deferred);
	KUNIT_ASSERT_EQ(test, ohca_start_destroy_qp(&deferred->op, ibqp), 0);
	ohca_fake_answer(deferred->fake, 0);
	ohca_qp_wait_settled(deferred->qp);
	msleep(200);
	KUNIT_EXPECT_EQ(test, deferred->ended, 3);
	KUNIT_EXPECT_EQ(test, deferred->op.result, 0);
	KUNIT_EXPECT_EQ(test, deferred->qp->life, OHCA_QP_GONE);
	KUNIT_EXPECT_EQ(test, ohca_start_destroy_qp(&other, ibqp), -EINVAL);
	KUNIT_EXPECT_EQ(test, ohca_async_modify_qp(&other, ibqp, &attr, IB_QP_STATE), -EINVAL);
	ohca_expect_qps(test, deferred, 0);
}

/* A dead device has destroyed everything, once it has been stopped. */
static void ohca_test_destruction_failed(struct kunit *test)
{
	struct ohca_test_deferred *deferred = ohca_test_deferred_create(test);

	KUNIT_ASSERT_EQ(test, ohca_test_claim(deferred, ohca_test_create(test, deferred)), 0);
	deferred->fake->held = true;
	ohca_op_init(&deferred->op, deferred->handle, ohca_test_deferred_done, deferred);
	KUNIT_ASSERT_EQ(test, ohca_start_destroy_qp(&deferred->op, &deferred->qp->ibqp), 0);
	ohca_fake_set_status(deferred->fake, OHCA_STATUS_READY | OHCA_STATUS_FAILED,
			     OHCA_FAIL_ENGINE_DIED);
	msleep(1000);
	KUNIT_EXPECT_EQ(test, deferred->ended, 2);
	KUNIT_EXPECT_EQ(test, deferred->op.result, 0);
	KUNIT_EXPECT_EQ(test, deferred->qp->life, OHCA_QP_GONE);
	KUNIT_EXPECT_TRUE(test, deferred->dev->quiesced);
}

static struct kunit_case ohca_qp_deferred_cases[] = {
	KUNIT_CASE(ohca_test_unclaimed_ends),
	KUNIT_CASE(ohca_test_creation_refused),
	KUNIT_CASE(ohca_test_creation_late),
	KUNIT_CASE(ohca_test_claimed_once),
	KUNIT_CASE(ohca_test_destruction),
	KUNIT_CASE(ohca_test_destruction_failed),
	{}
};

static struct kunit_suite ohca_qp_deferred_suite = {
	.name = "ohca_qp_deferred",
	.test_cases = ohca_qp_deferred_cases,
};

kunit_test_suite(ohca_qp_deferred_suite);
