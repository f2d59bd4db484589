// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of queue pair states: which transitions and attributes the driver
 * lets through to the device, and what it says then.
 */

#include "fake_device.h"
#include "fake_verbs.h"

#define OHCA_TEST_STATES	(IB_QPS_ERR + 1)

/*
 * Transitions of an RC queue pair: IBTA 10.3.1, figure 124; to the same state
 * as the verbs of Linux have it.  A row for each state, a column for each next.
 */
static const bool ohca_test_legal[OHCA_TEST_STATES][OHCA_TEST_STATES] = {
	/*                RESET  INIT   RTR    RTS    SQD    SQE    ERR */
	[IB_QPS_RESET] = { true, true, false, false, false, false, false },
	[IB_QPS_INIT] =  { true, true, true,  false, false, false, true },
	[IB_QPS_RTR] =   { true, false, false, true, false, false, true },
	[IB_QPS_RTS] =   { true, false, false, true, true,  false, true },
	[IB_QPS_SQD] =   { true, false, false, true, true,  false, true },
	[IB_QPS_SQE] =   { true, false, false, true, false, false, true },
	[IB_QPS_ERR] =   { true, false, false, false, false, false, true },
};

/* What must be given to enter a state from the one before. */
static int ohca_test_required(enum ib_qp_state from, enum ib_qp_state to)
{
	if (from == IB_QPS_RESET && to == IB_QPS_INIT)
		return IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	if (from == IB_QPS_INIT && to == IB_QPS_RTR)
		return IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
		       IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	if (from == IB_QPS_RTR && to == IB_QPS_RTS)
		return IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
		       IB_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

static void ohca_test_attributes(struct ib_qp_attr *attr, enum ib_qp_state state)
{
	*attr = (struct ib_qp_attr) {
		.qp_state = state,
		.path_mtu = IB_MTU_1024,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE,
		.dest_qp_num = 0x123456,
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
			.sl = 4,
			.grh = {
				.dgid.raw = { 0xfe, 0x80, [15] = 0x99 },
				.flow_label = 0xfff12345,
				.sgid_index = 3,
				.hop_limit = 64,
				.traffic_class = 0x20,
			},
			.roce.dmac = { 2, 3, 4, 5, 6, 7 },
		},
	};
}

/* 1: the device was told; 0: it was not; and whether that went well. */
static int ohca_test_modify(struct ohca_test_verbs *verbs, const struct ib_qp_attr *wanted,
			    int mask, int *ret)
{
	u32 before = verbs->fake->handled[OHCA_CMD_MODIFY_QP];
	struct ib_qp_attr attr = *wanted;

	*ret = ohca_modify_qp(verbs->qp, &attr, mask, NULL);
	return verbs->fake->handled[OHCA_CMD_MODIFY_QP] - before;
}

static void ohca_test_transitions(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_qp *qp = to_ohca_qp(verbs->qp);
	struct ib_qp_attr attr;
	int from, to, ret, told;

	for (from = IB_QPS_RESET; from <= IB_QPS_ERR; from++) {
		for (to = IB_QPS_RESET; to <= IB_QPS_ERR; to++) {
			bool legal = ohca_test_legal[from][to];

			qp->state = from;
			ohca_test_attributes(&attr, to);
			told = ohca_test_modify(verbs, &attr,
						IB_QP_STATE | ohca_test_required(from, to), &ret);
			KUNIT_EXPECT_EQ_MSG(test, ret, legal ? 0 : -EINVAL, "%d to %d", from, to);
			KUNIT_EXPECT_EQ_MSG(test, told, legal, "%d to %d", from, to);
			KUNIT_EXPECT_EQ(test, qp->state, legal ? to : from);
		}
	}
	qp->state = IB_QPS_RESET;
}

/* Each attribute that is missing, and each that does not belong there. */
static void ohca_test_masks(struct kunit *test)
{
	static const enum ib_qp_state path[] = { IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR,
						 IB_QPS_RTS };
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_qp *qp = to_ohca_qp(verbs->qp);
	struct ib_qp_attr attr;
	int i, bit, ret;

	for (i = 0; i < ARRAY_SIZE(path) - 1; i++) {
		int required = ohca_test_required(path[i], path[i + 1]);

		ohca_test_attributes(&attr, path[i + 1]);
		for (bit = 1; bit <= required; bit <<= 1) {
			if (!(required & bit))
				continue;
			qp->state = path[i];
			KUNIT_EXPECT_EQ(test, ohca_test_modify(verbs, &attr, IB_QP_STATE |
							       (required & ~bit), &ret), 0);
			KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, "to %d without %#x", path[i + 1],
					    bit);
		}
		/* SQ drained is nobody's business on the way up, a Q_Key not that of an RC QP. */
		KUNIT_EXPECT_EQ(test, ohca_test_modify(verbs, &attr, IB_QP_STATE | required |
						       IB_QP_EN_SQD_ASYNC_NOTIFY, &ret), 0);
		KUNIT_EXPECT_EQ(test, ret, -EINVAL);
		KUNIT_EXPECT_EQ(test, ohca_test_modify(verbs, &attr, IB_QP_STATE | required |
						       IB_QP_QKEY, &ret), 0);
		KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	}
	qp->state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, ohca_test_modify(verbs, &attr, IB_QP_STATE | IB_QP_ALT_PATH, &ret),
			0);
	KUNIT_EXPECT_EQ(test, ret, -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ohca_test_modify(verbs, &attr, IB_QP_STATE | IB_QP_CAP, &ret), 0);
	KUNIT_EXPECT_EQ(test, ret, -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ohca_test_modify(verbs, &attr, BIT(30), &ret), 0);
	KUNIT_EXPECT_EQ(test, ret, -EOPNOTSUPP);
	qp->state = IB_QPS_RESET;
}

#define OHCA_TEST_BAD(field, value)					\
	do {								\
		ohca_test_attributes(&attr, to);			\
		attr.field = value;					\
		KUNIT_EXPECT_EQ_MSG(test, ohca_test_modify(verbs, &attr, mask, &ret), 0, #field); \
		KUNIT_EXPECT_EQ_MSG(test, ret, -EINVAL, #field);	\
	} while (0)

static void ohca_test_ranges(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_qp *qp = to_ohca_qp(verbs->qp);
	enum ib_qp_state to = IB_QPS_INIT;
	struct ib_qp_attr attr;
	int ret, mask;

	qp->state = IB_QPS_RESET;
	mask = IB_QP_STATE | ohca_test_required(IB_QPS_RESET, IB_QPS_INIT);
	OHCA_TEST_BAD(port_num, 0);
	OHCA_TEST_BAD(port_num, 2);
	OHCA_TEST_BAD(pkey_index, 1);
	OHCA_TEST_BAD(qp_access_flags, IB_ACCESS_MW_BIND);

	qp->state = IB_QPS_INIT;
	to = IB_QPS_RTR;
	mask = IB_QP_STATE | ohca_test_required(IB_QPS_INIT, IB_QPS_RTR);
	OHCA_TEST_BAD(path_mtu, 0);
	OHCA_TEST_BAD(path_mtu, IB_MTU_2048);	/* above the port's */
	OHCA_TEST_BAD(path_mtu, IB_MTU_4096 + 1);
	OHCA_TEST_BAD(dest_qp_num, 0x1000000);
	OHCA_TEST_BAD(max_dest_rd_atomic, 17);
	OHCA_TEST_BAD(min_rnr_timer, 32);
	OHCA_TEST_BAD(ah_attr.type, RDMA_AH_ATTR_TYPE_IB);
	OHCA_TEST_BAD(ah_attr.ah_flags, 0);
	OHCA_TEST_BAD(ah_attr.port_num, 2);
	OHCA_TEST_BAD(ah_attr.sl, 16);
	OHCA_TEST_BAD(ah_attr.grh.sgid_index, OHCA_FAKE_GIDS);

	qp->state = IB_QPS_RTR;
	to = IB_QPS_RTS;
	mask = IB_QP_STATE | ohca_test_required(IB_QPS_RTR, IB_QPS_RTS);
	OHCA_TEST_BAD(timeout, 32);
	OHCA_TEST_BAD(retry_cnt, 8);
	OHCA_TEST_BAD(rnr_retry, 8);
	OHCA_TEST_BAD(max_rd_atomic, 17);
	mask |= IB_QP_PATH_MIG_STATE;
	OHCA_TEST_BAD(path_mig_state, IB_MIG_ARMED);
	qp->state = IB_QPS_RESET;
}

static void ohca_test_translation(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	const struct ohca_cmd_modify_qp_in *in = &verbs->fake->modify_qp;
	const struct ohca_qp_attributes *out = &in->attributes;
	struct ohca_qp *qp = to_ohca_qp(verbs->qp);
	struct ib_qp_attr attr;
	int ret;

	qp->state = IB_QPS_INIT;
	ohca_test_attributes(&attr, IB_QPS_RTR);
	ohca_test_modify(verbs, &attr, IB_QP_STATE | ohca_test_required(IB_QPS_INIT, IB_QPS_RTR),
			 &ret);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->qpn), qp->qpn);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->mask),
			OHCA_QP_ATTR_STATE | OHCA_QP_ATTR_PATH_MTU | OHCA_QP_ATTR_MIN_RNR_TIMER |
			OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC | OHCA_QP_ATTR_DEST_QPN |
			OHCA_QP_ATTR_RQ_PSN | OHCA_QP_ATTR_PATH);
	KUNIT_EXPECT_EQ(test, out->state, OHCA_QP_STATE_RTR);
	KUNIT_EXPECT_EQ(test, out->path_mtu, 10);
	KUNIT_EXPECT_EQ(test, out->max_dest_read_atomic, 6);
	KUNIT_EXPECT_EQ(test, out->min_rnr_timer, 12);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(out->dest_qpn), 0x123456);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(out->rq_psn), 0xabcdef);
	KUNIT_EXPECT_EQ(test, out->dgid[0], 0xfe);
	KUNIT_EXPECT_EQ(test, out->dgid[15], 0x99);
	KUNIT_EXPECT_EQ(test, out->dmac[5], 7);
	KUNIT_EXPECT_EQ(test, out->sgid_index, 3);
	KUNIT_EXPECT_EQ(test, out->hop_limit, 64);
	KUNIT_EXPECT_EQ(test, out->traffic_class, 0x20);
	KUNIT_EXPECT_EQ(test, out->service_level, 4);
	/* The header's field has 20 bits. */
	KUNIT_EXPECT_EQ(test, le32_to_cpu(out->flow_label), 0x12345);
	/* What was not given is not in the command either. */
	KUNIT_EXPECT_EQ(test, out->ack_timeout, 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(out->access), 0);
	KUNIT_EXPECT_FALSE(test, in->check_current_state);
	qp->state = IB_QPS_RESET;
}

/* The caller's idea of the current state is the device's to judge. */
static void ohca_test_current_state(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_qp *qp = to_ohca_qp(verbs->qp);
	struct ib_qp_attr attr;
	int ret;

	/* The driver has it in another state: from there, RTS would take more attributes. */
	qp->state = IB_QPS_RTR;
	ohca_test_attributes(&attr, IB_QPS_RTS);
	attr.cur_qp_state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, ohca_test_modify(verbs, &attr, IB_QP_STATE | IB_QP_CUR_STATE, &ret),
			1);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_TRUE(test, verbs->fake->modify_qp.check_current_state);
	KUNIT_EXPECT_EQ(test, verbs->fake->modify_qp.current_state, OHCA_QP_STATE_RTS);
	qp->state = IB_QPS_RESET;
}

/* Also a state that nobody has heard of. */
static void ohca_test_query(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_qp *qp = to_ohca_qp(verbs->qp);
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr attr;

	verbs->fake->qp = (struct ohca_qp_attributes) {
		.state = OHCA_QP_STATE_ERR,
		.path_mtu = 12,
		.dest_qpn = cpu_to_le32(77),
	};
	KUNIT_EXPECT_EQ(test, ohca_query_qp(verbs->qp, &attr, 0, &init_attr), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, attr.path_mtu, IB_MTU_4096);
	KUNIT_EXPECT_EQ(test, attr.dest_qp_num, 77);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);

	verbs->fake->qp.state = OHCA_QP_STATE_ERR + 1;
	KUNIT_EXPECT_EQ(test, ohca_query_qp(verbs->qp, &attr, 0, &init_attr), -EIO);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
	verbs->fake->qp.state = OHCA_QP_STATE_RTS;
	verbs->fake->qp.path_mtu = 255;
	KUNIT_EXPECT_EQ(test, ohca_query_qp(verbs->qp, &attr, 0, &init_attr), 0);
	KUNIT_EXPECT_EQ(test, attr.path_mtu, IB_MTU_4096);
}

static struct kunit_case ohca_qp_state_cases[] = {
	KUNIT_CASE(ohca_test_transitions),
	KUNIT_CASE(ohca_test_masks),
	KUNIT_CASE(ohca_test_ranges),
	KUNIT_CASE(ohca_test_translation),
	KUNIT_CASE(ohca_test_current_state),
	KUNIT_CASE(ohca_test_query),
	{}
};

static struct kunit_suite ohca_qp_state_suite = {
	.name = "ohca_qp_state",
	.test_cases = ohca_qp_state_cases,
};

kunit_test_suite(ohca_qp_state_suite);
