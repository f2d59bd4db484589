// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of the compound commands: what the driver makes of a connect and of a disconnect. */

#include <linux/delay.h>

#include "fake_async.h"

#define OHCA_TEST_CONNECT_MASK						\
	(IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS | IB_QP_AV |	\
	 IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |	\
	 IB_QP_MIN_RNR_TIMER | IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |		\
	 IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC)

static const struct ib_qp_attr ohca_test_connect_attr = {
	.qp_state = IB_QPS_RTS,
	.path_mtu = IB_MTU_1024,
	.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	.dest_qp_num = 0x1234,
	.rq_psn = 0xabcdef,
	.sq_psn = 0xfedcba,
	.max_rd_atomic = 5,
	.max_dest_rd_atomic = 6,
	.min_rnr_timer = 12,
	.port_num = OHCA_PORT,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 3,
	.ah_attr = {
		.type = RDMA_AH_ATTR_TYPE_ROCE,
		.ah_flags = IB_AH_GRH,
		.port_num = OHCA_PORT,
		.grh = {
			.dgid.raw = { 0xfe, 0x80, [15] = 0x99 },
			.hop_limit = 64,
		},
		.roce.dmac = { 2, 3, 4, 5, 6, 7 },
	},
};

static int ohca_test_connect(struct ohca_test_op *to, struct ib_qp *qp)
{
	return ohca_async_connect_qp(&to->op, qp, &ohca_test_connect_attr, OHCA_TEST_CONNECT_MASK);
}

static void ohca_test_connects(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 2);
	const struct ohca_cmd_modify_qp_in *in = &async->fake->modify_qp;
	struct ohca_qp *qp = to_ohca_qp(async->verbs->qp);

	KUNIT_ASSERT_EQ(test, ohca_test_connect(&ops[0], async->verbs->qp), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[0].done, 1);
	KUNIT_EXPECT_EQ(test, ops[0].op.result, 0);
	/* All the way by one command. */
	KUNIT_EXPECT_EQ(test, async->fake->handled[OHCA_CMD_CONNECT_QP], 1);
	KUNIT_EXPECT_EQ(test, async->fake->handled[OHCA_CMD_MODIFY_QP], 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->qpn), qp->qpn);
	KUNIT_EXPECT_EQ(test, in->attributes.state, OHCA_QP_STATE_RTS);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->attributes.dest_qpn), 0x1234);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->attributes.rq_psn), 0xabcdef);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->attributes.sq_psn), 0xfedcba);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, qp->dest_qpn, 0x1234);
	/* It is connected: refused without asking the device. */
	KUNIT_EXPECT_EQ(test, ohca_test_connect(&ops[1], async->verbs->qp), -EINVAL);
	KUNIT_EXPECT_EQ(test, async->fake->handled[OHCA_CMD_CONNECT_QP], 1);
	KUNIT_EXPECT_EQ(test, ops[1].done, 0);
}

/* The device names the phase; all is as it was, and can be tried again. */
static void ohca_test_connect_refused(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 2);
	struct ohca_qp *qp = to_ohca_qp(async->verbs->qp);
	u32 detail = OHCA_QP_STATE_RTR << OHCA_CMD_DETAIL_PHASE_SHIFT | OHCA_CMD_DETAIL_GID;

	async->fake->held = true;
	async->fake->detail = detail;
	KUNIT_ASSERT_EQ(test, ohca_test_connect(&ops[0], async->verbs->qp), 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RESET);
	ohca_fake_refuse(async->fake, 0, OHCA_CMD_STATUS_BAD_PARAMETER);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[0].done, 1);
	KUNIT_EXPECT_EQ(test, ops[0].op.result, -EINVAL);
	KUNIT_EXPECT_EQ(test, ops[0].op.detail, detail);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, qp->dest_qpn, 0);
	async->fake->held = false;
	KUNIT_ASSERT_EQ(test, ohca_test_connect(&ops[1], async->verbs->qp), 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[1].op.result, 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RTS);
}

/* What depends on the state is looked at when it is the operation's turn. */
static void ohca_test_connect_queued(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 3);
	struct ohca_qp *qp = to_ohca_qp(async->verbs->qp);

	async->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_test_connect(&ops[0], async->verbs->qp), 0);
	KUNIT_ASSERT_EQ(test, ohca_test_connect(&ops[1], async->verbs->qp), 0);
	KUNIT_ASSERT_EQ(test, ohca_async_disconnect_qp(&ops[2].op, async->verbs->qp), 0);
	KUNIT_EXPECT_EQ(test, async->fake->count, 1);
	ohca_fake_answer(async->fake, 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[0].op.result, 0);
	KUNIT_EXPECT_EQ(test, ops[1].done, 1);
	KUNIT_EXPECT_EQ(test, ops[1].op.result, -EINVAL);
	KUNIT_EXPECT_EQ(test, ops[2].done, 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, ohca_fake_opcode(async->fake, 0), OHCA_CMD_DISCONNECT_QP);
	ohca_fake_answer(async->fake, 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[2].number, 3);
	KUNIT_EXPECT_EQ(test, ops[2].op.result, 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
}

/* The caller's mistakes, before anything is started. */
static void ohca_test_connect_wrong(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 1);
	struct ib_qp_attr attr = ohca_test_connect_attr;
	struct ib_qp *qp = async->verbs->qp;
	enum ib_qp_state state;

	for (state = IB_QPS_RESET; state <= IB_QPS_ERR; state++) {
		attr.qp_state = state;
		if (state == IB_QPS_RTR || state == IB_QPS_RTS)
			continue;
		KUNIT_EXPECT_EQ(test, ohca_async_connect_qp(&ops->op, qp, &attr,
							    OHCA_TEST_CONNECT_MASK), -EINVAL);
	}
	attr.qp_state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, ohca_async_connect_qp(&ops->op, qp, &attr,
						    OHCA_TEST_CONNECT_MASK & ~IB_QP_STATE),
			-EINVAL);
	attr.timeout = 32;
	KUNIT_EXPECT_EQ(test, ohca_async_connect_qp(&ops->op, qp, &attr, OHCA_TEST_CONNECT_MASK),
			-EINVAL);
	async->fake->dev->features &= ~OHCA_FEATURE_COMPOUND;
	KUNIT_EXPECT_EQ(test, ohca_test_connect(ops, qp), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ohca_async_disconnect_qp(&ops->op, qp), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ops->done, 0);
	KUNIT_EXPECT_EQ(test, async->fake->handled[OHCA_CMD_CONNECT_QP], 0);
}

/* Flushing takes the device time; other commands end meanwhile. */
static void ohca_test_disconnect_slow(struct kunit *test)
{
	struct ohca_test_async *async = ohca_test_async_create(test);
	struct ohca_test_op *ops = ohca_test_ops(test, async, 2);
	struct ohca_qp *qp = to_ohca_qp(async->verbs->qp);

	async->fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_async_disconnect_qp(&ops[0].op, async->verbs->qp), 0);
	KUNIT_ASSERT_EQ(test, ohca_async_nop(&ops[1].op), 0);
	ohca_fake_answer(async->fake, 1);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[1].number, 1);
	KUNIT_EXPECT_EQ(test, ops[0].done, 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RESET);
	ohca_fake_answer(async->fake, 0);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ops[0].number, 2);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
}

static struct kunit_case ohca_async_qp_cases[] = {
	KUNIT_CASE(ohca_test_connects),
	KUNIT_CASE(ohca_test_connect_refused),
	KUNIT_CASE(ohca_test_connect_queued),
	KUNIT_CASE(ohca_test_connect_wrong),
	KUNIT_CASE(ohca_test_disconnect_slow),
	{}
};

static struct kunit_suite ohca_async_qp_suite = {
	.name = "ohca_async_qp",
	.test_cases = ohca_async_qp_cases,
};

kunit_test_suite(ohca_async_qp_suite);
