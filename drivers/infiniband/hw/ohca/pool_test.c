// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of pools: who has a member, and what becomes of it when its reset fails. */

#include <linux/delay.h>

#include "fake_async.h"

#define OHCA_TEST_MEMBERS	3

struct ohca_test_pool {
	struct ohca_test_async *async;
	struct ohca_fake_device *fake;
	struct ohca_pool *pool;
	struct ohca_test_op *ops;
};

static void ohca_test_pool_destroy(void *pool)
{
	ohca_pool_destroy(pool);
}

static struct ohca_test_pool *ohca_test_pool_create(struct kunit *test)
{
	struct ohca_test_pool *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	KUNIT_ASSERT_NOT_NULL(test, tp);
	tp->async = ohca_test_async_create(test);
	tp->fake = tp->async->fake;
	tp->ops = ohca_test_ops(test, tp->async, 4);
	attr.send_cq = tp->async->verbs->cq;
	attr.recv_cq = tp->async->verbs->cq;
	tp->pool = ohca_qp_pool_create(tp->async->handle, tp->async->verbs->pd, &attr,
				       OHCA_TEST_MEMBERS);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tp->pool);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_pool_destroy, tp->pool), 0);
	return tp;
}

static struct ib_qp *ohca_test_take(struct kunit *test, struct ohca_test_pool *tp)
{
	struct ib_qp *qp = ohca_qp_take(tp->pool, NULL, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	return qp;
}

/* The end of an operation comes by an interrupt. */
static void ohca_test_give_back(struct kunit *test, struct ohca_test_pool *tp, struct ib_qp *qp)
{
	struct ohca_test_op *to = tp->ops;

	to->done = 0;
	KUNIT_ASSERT_EQ(test, ohca_qp_give_back(&to->op, qp), 0);
	msleep(100);
	KUNIT_ASSERT_EQ(test, to->done, 1);
	KUNIT_ASSERT_EQ(test, to->op.result, 0);
}

static void ohca_test_pool_empty(struct kunit *test)
{
	struct ohca_test_pool *tp = ohca_test_pool_create(test);
	struct ib_qp *qps[OHCA_TEST_MEMBERS];
	u32 resets, i;

	for (i = 0; i < OHCA_TEST_MEMBERS; i++)
		qps[i] = ohca_test_take(test, tp);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_qp_take(tp->pool, NULL, NULL)), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ohca_pool_destroy(tp->pool), -EBUSY);

	resets = tp->fake->handled[OHCA_CMD_MODIFY_QP];
	ohca_test_give_back(test, tp, qps[1]);
	KUNIT_EXPECT_EQ(test, tp->fake->handled[OHCA_CMD_MODIFY_QP], resets + 1);
	KUNIT_EXPECT_EQ(test, tp->fake->modify_qp.attributes.state, OHCA_QP_STATE_RESET);
	/* It, and no other, and once. */
	KUNIT_EXPECT_PTR_EQ(test, ohca_test_take(test, tp), qps[1]);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_qp_take(tp->pool, NULL, NULL)), -EAGAIN);
	for (i = 0; i < OHCA_TEST_MEMBERS; i++)
		ohca_test_give_back(test, tp, qps[i]);
	/* The one used last is taken first. */
	for (i = OHCA_TEST_MEMBERS; i > 0; i--)
		KUNIT_EXPECT_PTR_EQ(test, ohca_test_take(test, tp), qps[i - 1]);
	for (i = 0; i < OHCA_TEST_MEMBERS; i++)
		ohca_test_give_back(test, tp, qps[i]);
}

/* It belongs to the pool, in or out, and to nobody twice. */
static void ohca_test_pool_owner(struct kunit *test)
{
	struct ohca_test_pool *tp = ohca_test_pool_create(test);
	struct ib_qp *qp = ohca_test_take(test, tp);
	struct ohca_test_op *to = &tp->ops[1];

	KUNIT_EXPECT_EQ(test, ib_destroy_qp(qp), -EBUSY);
	ohca_test_give_back(test, tp, qp);
	KUNIT_EXPECT_EQ(test, ohca_qp_give_back(&to->op, qp), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(qp), -EBUSY);
	/* One of no pool. */
	KUNIT_EXPECT_EQ(test, ohca_qp_give_back(&to->op, tp->async->verbs->qp), -EINVAL);
	msleep(100);
	KUNIT_EXPECT_EQ(test, to->done, 0);
}

/* What is under way before it ends before it, and nothing can be started behind it. */
static void ohca_test_pool_in_flight(struct kunit *test)
{
	struct ohca_test_pool *tp = ohca_test_pool_create(test);
	struct ib_qp *qp = ohca_test_take(test, tp);
	struct ohca_test_op *ops = tp->ops;

	tp->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_async_disconnect_qp(&ops[0].op, qp), 0);
	KUNIT_ASSERT_EQ(test, ohca_qp_give_back(&ops[1].op, qp), 0);
	KUNIT_EXPECT_EQ(test, ohca_async_disconnect_qp(&ops[2].op, qp), -ENODEV);
	KUNIT_EXPECT_EQ(test, tp->fake->count, 1);
	ohca_fake_answer(tp->fake, 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[0].number, 1);
	KUNIT_EXPECT_EQ(test, ops[1].done, 0);
	ohca_fake_answer_all(tp->fake);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[1].number, 2);
	KUNIT_EXPECT_EQ(test, ops[2].done, 0);
	/* As new. */
	KUNIT_EXPECT_PTR_EQ(test, ohca_test_take(test, tp), qp);
	tp->fake->held = false;
	KUNIT_EXPECT_EQ(test, ohca_async_disconnect_qp(&ops[2].op, qp), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[2].done, 1);
	ohca_test_give_back(test, tp, qp);
}

/* An event handler has found it: it returns when that lets go. */
static void ohca_test_pool_referred(struct kunit *test)
{
	struct ohca_test_pool *tp = ohca_test_pool_create(test);
	struct ib_qp *ibqp = ohca_test_take(test, tp);
	struct ohca_qp *qp = ohca_get_qp(tp->fake->dev, ibqp->qp_num);

	KUNIT_ASSERT_PTR_EQ(test, qp, to_ohca_qp(ibqp));
	KUNIT_ASSERT_EQ(test, ohca_qp_give_back(&tp->ops[0].op, ibqp), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, tp->ops[0].done, 0);
	KUNIT_EXPECT_EQ(test, ohca_pool_destroy(tp->pool), -EBUSY);
	ohca_put_qp(qp);
	msleep(100);
	KUNIT_EXPECT_EQ(test, tp->ops[0].done, 1);
	KUNIT_EXPECT_EQ(test, tp->ops[0].op.result, 0);
	ohca_test_give_back(test, tp, ohca_test_take(test, tp));
}

/* Whoever has it is rid of it in any case; nobody gets it before a reset has worked. */
static void ohca_test_pool_broken(struct kunit *test, bool answered)
{
	struct ohca_test_pool *tp = ohca_test_pool_create(test);
	struct ib_qp *qps[OHCA_TEST_MEMBERS];
	u32 i;

	for (i = 0; i < OHCA_TEST_MEMBERS; i++)
		qps[i] = ohca_test_take(test, tp);
	tp->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_qp_give_back(&tp->ops[0].op, qps[0]), 0);
	if (answered)
		ohca_fake_refuse(tp->fake, 0, OHCA_CMD_STATUS_NO_RESOURCES);
	else
		ohca_fake_forget(tp->fake, 0);
	for (i = 0; i < 200 && !tp->ops[0].done; i++)
		msleep(50);
	KUNIT_EXPECT_EQ(test, tp->ops[0].done, 1);
	KUNIT_EXPECT_EQ(test, tp->ops[0].op.result, answered ? -ENOMEM : -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_qp_take(tp->pool, NULL, NULL)), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ohca_qp_give_back(&tp->ops[1].op, qps[0]), -EINVAL);
	/* The repair tries by itself. */
	for (i = 0; i < 100 && !tp->fake->count; i++)
		msleep(50);
	KUNIT_EXPECT_EQ(test, ohca_fake_opcode(tp->fake, 0), OHCA_CMD_MODIFY_QP);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_qp_take(tp->pool, NULL, NULL)), -EAGAIN);
	tp->fake->held = false;
	ohca_fake_answer_all(tp->fake);
	msleep(1000);
	KUNIT_EXPECT_PTR_EQ(test, ohca_test_take(test, tp), qps[0]);
	KUNIT_EXPECT_EQ(test, tp->ops[0].done, 1);
	for (i = 0; i < OHCA_TEST_MEMBERS; i++)
		ohca_test_give_back(test, tp, qps[i]);
}

static void ohca_test_pool_unanswered(struct kunit *test)
{
	ohca_test_pool_broken(test, false);
}

static void ohca_test_pool_refused(struct kunit *test)
{
	ohca_test_pool_broken(test, true);
}

/* A dead device resets nothing, and still everything goes back. */
static void ohca_test_pool_dead(struct kunit *test)
{
	struct ohca_test_pool *tp = ohca_test_pool_create(test);
	struct ib_qp *before = ohca_test_take(test, tp);
	struct ib_qp *after = ohca_test_take(test, tp);

	tp->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_qp_give_back(&tp->ops[0].op, before), 0);
	ohca_fake_set_status(tp->fake, OHCA_STATUS_READY | OHCA_STATUS_FAILED,
			     OHCA_FAIL_ENGINE_DIED);
	msleep(1000);
	KUNIT_EXPECT_EQ(test, tp->ops[0].done, 1);
	KUNIT_EXPECT_EQ(test, tp->ops[0].op.result, -EIO);
	KUNIT_EXPECT_EQ(test, ohca_qp_give_back(&tp->ops[1].op, after), 0);
	msleep(1000);
	KUNIT_EXPECT_EQ(test, tp->ops[1].done, 1);
	KUNIT_EXPECT_EQ(test, tp->ops[1].op.result, -EIO);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_qp_take(tp->pool, NULL, NULL)), -EIO);
	KUNIT_EXPECT_EQ(test, tp->pool->out_count, 0);
}

/* Connecting it is refused: it has not been out. */
static void ohca_test_pool_take_connected(struct kunit *test)
{
	struct ohca_test_pool *tp = ohca_test_pool_create(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	u32 i;

	for (i = 0; i < 2 * OHCA_TEST_MEMBERS; i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_qp_take_connected(&tp->ops[0].op, tp->pool, NULL,
								     NULL, &attr, IB_QP_STATE)),
				-EINVAL);
	KUNIT_EXPECT_EQ(test, tp->ops[0].done, 0);
	KUNIT_EXPECT_EQ(test, tp->pool->out_count, 0);
}

static void ohca_test_pool_cqs(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 1);
	const struct ib_cq_init_attr attr = { .cqe = 16 };
	struct ohca_pool *pool = ohca_cq_pool_create(async->handle, &attr, 1);
	struct ib_cq *cq;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_pool_destroy, pool), 0);
	cq = ohca_cq_take(pool, NULL, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_cq_take(pool, NULL, NULL, NULL)), -EAGAIN);
	/* As if queue pairs completed there. */
	atomic_inc(&cq->usecnt);
	KUNIT_EXPECT_EQ(test, ohca_cq_give_back(&ops->op, cq), -EBUSY);
	atomic_dec(&cq->usecnt);
	KUNIT_ASSERT_EQ(test, ohca_cq_give_back(&ops->op, cq), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops->done, 1);
	KUNIT_EXPECT_EQ(test, ops->op.result, 0);
	KUNIT_EXPECT_EQ(test, ohca_cq_give_back(&ops->op, cq), -EINVAL);
}

/* Whoever has kept the key of a region's last user reaches nothing by it. */
static void ohca_test_pool_mrs(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 1);
	struct ohca_pool *pool = ohca_mr_pool_create(async->handle, async->verbs->pd,
						     IB_MR_TYPE_MEM_REG, 4, 1);
	struct ib_mr *mr;
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_pool_destroy, pool), 0);
	mr = ohca_mr_take(pool);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	key = mr->rkey;
	KUNIT_ASSERT_EQ(test, ohca_mr_give_back(&ops->op, mr), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops->done, 1);
	KUNIT_EXPECT_EQ(test, async->fake->handled[OHCA_CMD_INVALIDATE_MKEY], 1);
	KUNIT_EXPECT_PTR_EQ(test, ohca_mr_take(pool), mr);
	KUNIT_EXPECT_EQ(test, mr->rkey >> 8, key >> 8);
	KUNIT_EXPECT_NE(test, mr->rkey, key);
	KUNIT_ASSERT_EQ(test, ohca_mr_give_back(&ops->op, mr), 0);
	msleep(100);
}

/* Pools are of no use for a device that cannot reset their members. */
static void ohca_test_pool_unsupported(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ib_cq_init_attr attr = { .cqe = 16 };

	async->fake->dev->features &= ~OHCA_FEATURE_RECYCLE;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_cq_pool_create(async->handle, &attr, 1)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ohca_mr_pool_create(async->handle, async->verbs->pd,
							  IB_MR_TYPE_MEM_REG, 4, 1)), -EOPNOTSUPP);
}

static struct kunit_case ohca_pool_cases[] = {
	KUNIT_CASE(ohca_test_pool_empty),
	KUNIT_CASE(ohca_test_pool_owner),
	KUNIT_CASE(ohca_test_pool_in_flight),
	KUNIT_CASE(ohca_test_pool_referred),
	KUNIT_CASE(ohca_test_pool_unanswered),
	KUNIT_CASE(ohca_test_pool_refused),
	KUNIT_CASE(ohca_test_pool_dead),
	KUNIT_CASE(ohca_test_pool_take_connected),
	KUNIT_CASE(ohca_test_pool_cqs),
	KUNIT_CASE(ohca_test_pool_mrs),
	KUNIT_CASE(ohca_test_pool_unsupported),
	{}
};

static struct kunit_suite ohca_pool_suite = {
	.name = "ohca_pool",
	.test_cases = ohca_pool_cases,
};

kunit_test_suite(ohca_pool_suite);
