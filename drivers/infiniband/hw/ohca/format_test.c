// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of what the contract says in bytes: commands as the device finds
 * them, and answers that promise more than the driver can handle.  Offsets are
 * those of the hardware manual.
 */

#include <linux/unaligned.h>

#include "fake_verbs.h"

static u32 ohca_test_le32(const void *structure, u32 offset)
{
	return get_unaligned_le32(structure + offset);
}

static u64 ohca_test_le64(const void *structure, u32 offset)
{
	return get_unaligned_le64(structure + offset);
}

/* Documentation/hw/commands.rst: the entry. */
static void ohca_test_entry(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_cmd_handle in = { .handle = cpu_to_le32(0x12345678) };
	struct ohca_cmd cmd = {
		.opcode = OHCA_CMD_DESTROY_PD,
		.in = &in,
		.in_length = sizeof(in),
	};
	const u8 *entry = (const void *)&fake->commands[0].entry;

	fake->held = true;
	KUNIT_ASSERT_EQ(test, ohca_cmdq_exec_polled(fake->dev, &cmd, 0), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, get_unaligned_le16(entry), OHCA_CMD_DESTROY_PD);
	KUNIT_EXPECT_LT(test, get_unaligned_le16(entry + 2), 1 << OHCA_CMDQ_LOG_DEPTH);
	KUNIT_EXPECT_NE(test, ohca_test_le32(entry, 4), 0);
	KUNIT_EXPECT_EQ(test, ohca_test_le64(entry, 8) % 64, 0);
	KUNIT_EXPECT_EQ(test, ohca_test_le64(entry, 16) % 64, 0);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(entry, 24), 8);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(entry, 28), OHCA_CMDQ_OUTPUT_SIZE);
	KUNIT_EXPECT_NULL(test, memchr_inv(entry + 32, 0, 32));
	KUNIT_EXPECT_EQ(test, ohca_test_le32(fake->commands[0].in, 0), 0x12345678);
}

static void ohca_test_create_qp(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	const u8 *in = (const void *)&verbs->fake->create_qp;
	struct ohca_qp *qp = to_ohca_qp(verbs->qp);

	KUNIT_EXPECT_EQ(test, ohca_test_le64(in, 0), qp->buffer.dma);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 16), qp->buffer.size / SZ_4K);
	KUNIT_EXPECT_EQ(test, in[20], 12);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 24), to_ohca_pd(verbs->pd)->pdn);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 28), to_ohca_cq(verbs->cq)->cqn);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 32), to_ohca_cq(verbs->cq)->cqn);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 36), 0);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 40), qp->sq.offset);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 44), qp->rq.offset);
	KUNIT_EXPECT_EQ(test, in[48], OHCA_QP_TYPE_RC);
	KUNIT_EXPECT_EQ(test, in[49], 0);
	KUNIT_EXPECT_EQ(test, in[50], 4);
	KUNIT_EXPECT_EQ(test, in[51], 4);
	/* Rings begin behind the record, each entry aligned to its size, and do not overlap. */
	KUNIT_EXPECT_GE(test, qp->sq.offset, OHCA_RECORD_SIZE);
	KUNIT_EXPECT_EQ(test, qp->sq.offset % (1 << in[52]), 0);
	KUNIT_EXPECT_GE(test, qp->rq.offset, qp->sq.offset + (16 << in[52]));
	KUNIT_EXPECT_EQ(test, qp->rq.offset % (1 << in[53]), 0);
	KUNIT_EXPECT_LE(test, qp->rq.offset + (16 << in[53]), qp->buffer.size);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 56), 0);
	KUNIT_EXPECT_EQ(test, ohca_test_le32(in, 60), 0);
}

/* OHCA-CMD-H8 OHCA-GEN-H3: a device that promises everything there is. */
static void ohca_test_promises(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_caps *caps = &fake->dev->caps;
	struct ib_device_attr attr = {};

	fake->boasting = true;
	KUNIT_ASSERT_EQ(test, ohca_cmd_query_device(fake->dev, caps), 0);
	KUNIT_EXPECT_EQ(test, caps->max_qp, INT_MAX);
	KUNIT_EXPECT_EQ(test, caps->max_mkey, INT_MAX);
	KUNIT_EXPECT_LE(test, caps->max_inline, OHCA_SQ_STRIDE_MAX);
	KUNIT_EXPECT_LE(test, caps->max_send_sge * sizeof(struct ohca_sge) +
			sizeof(struct ohca_sq_wqe), OHCA_SQ_STRIDE_MAX);
	KUNIT_EXPECT_LE(test, caps->max_recv_sge * sizeof(struct ohca_sge) +
			sizeof(struct ohca_rq_wqe), OHCA_RQ_STRIDE_MAX);
	KUNIT_EXPECT_LE(test, caps->counter_count * sizeof(__le64), OHCA_CMDQ_OUTPUT_SIZE);
	KUNIT_EXPECT_LE(test, caps->log_max_sq_depth, 30);
	KUNIT_EXPECT_LE(test, caps->log_max_rq_depth, 30);
	KUNIT_EXPECT_LE(test, caps->log_max_cq_depth, 30);
	KUNIT_EXPECT_LE(test, caps->log_max_eq_depth, 30);
	KUNIT_EXPECT_LE(test, caps->log_max_srq_depth, 30);
	KUNIT_EXPECT_LE(test, ohca_gid_count(fake->dev), 256);
	KUNIT_EXPECT_EQ(test, ohca_query_device(&fake->dev->ibdev, &attr, NULL), 0);
	KUNIT_EXPECT_GT(test, attr.max_qp_wr, 0);
	KUNIT_EXPECT_GT(test, attr.max_cqe, 0);
}

/* A device that the driver cannot use. */
static void ohca_test_refused_device(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_create(test);

	fake->features &= ~OHCA_FEATURE_RC;
	KUNIT_EXPECT_NE(test, ohca_start(fake->dev, ""), 0);
	fake->features |= OHCA_FEATURE_RC;
	fake->status = OHCA_STATUS_GONE;
	KUNIT_EXPECT_EQ(test, ohca_hw_probe(fake->dev), -ENODEV);
}

static struct kunit_case ohca_format_cases[] = {
	KUNIT_CASE(ohca_test_entry),
	KUNIT_CASE(ohca_test_create_qp),
	KUNIT_CASE(ohca_test_promises),
	KUNIT_CASE(ohca_test_refused_device),
	{}
};

static struct kunit_suite ohca_format_suite = {
	.name = "ohca_format",
	.test_cases = ohca_format_cases,
};

kunit_test_suite(ohca_format_suite);
