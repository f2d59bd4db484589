// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of integrity MRs: lists, work requests, the status that the device leaves. */

#include <linux/scatterlist.h>

#include "fake_verbs.h"

#define OHCA_TEST_DATA	4
#define OHCA_TEST_META	2

struct ohca_test_integrity {
	struct ohca_test_verbs *verbs;
	struct ib_qp *qp;
	struct ohca_mr *mr;
	struct scatterlist data[OHCA_TEST_DATA + OHCA_TEST_META + 1];
	struct scatterlist meta[OHCA_TEST_META];
	struct {
		struct ohca_sq_wqe wqe;
		struct ohca_wqe_register_integrity args;
	} out;
	struct ib_reg_wr wr;
};

static void ohca_test_dereg_integrity(void *mr)
{
	ib_dereg_mr(mr);
}

/* 13 intervals of 512 bytes in 0x1000, 0x800 and 0x200 bytes, their tuples in 0x40 and 0x28. */
static struct ohca_test_integrity *ohca_test_integrity_create(struct kunit *test)
{
	struct ohca_test_integrity *it = kunit_kzalloc(test, sizeof(*it), GFP_KERNEL);
	struct ib_mr *mr;

	KUNIT_ASSERT_NOT_NULL(test, it);
	it->verbs = ohca_test_verbs_create(test);
	it->qp = it->verbs->qp;
	it->qp->integrity_en = true;
	mr = ib_alloc_mr_integrity(it->verbs->pd, OHCA_TEST_DATA, OHCA_TEST_META);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_dereg_integrity, mr), 0);
	it->mr = to_ohca_mr(mr);
	sg_init_table(it->data, ARRAY_SIZE(it->data));
	sg_init_table(it->meta, ARRAY_SIZE(it->meta));
	sg_dma_address(&it->data[0]) = 0x100000;
	sg_dma_len(&it->data[0]) = 0x1000;
	sg_dma_address(&it->data[1]) = 0x101000;
	sg_dma_len(&it->data[1]) = 0x800;
	sg_dma_address(&it->data[2]) = 0x300010;
	sg_dma_len(&it->data[2]) = 0x200;
	/* Goes on where the data ends, and is something else. */
	sg_dma_address(&it->meta[0]) = 0x300210;
	sg_dma_len(&it->meta[0]) = 0x40;
	sg_dma_address(&it->meta[1]) = 0x500008;
	sg_dma_len(&it->meta[1]) = 0x28;
	it->wr = (struct ib_reg_wr) { .mr = mr, .key = 0x1234, .access = IB_ACCESS_LOCAL_WRITE };
	return it;
}

static int ohca_test_map(struct ohca_test_integrity *it)
{
	return ib_map_mr_sg_pi(&it->mr->ibmr, it->data, 3, NULL, it->meta, 2, NULL, SZ_4K);
}

static int ohca_test_build(struct ohca_test_integrity *it)
{
	memset(&it->out, 0, sizeof(it->out));
	return ohca_build_reg_integrity(to_ohca_qp(it->qp), &it->out.wqe, &it->wr.wr);
}

static void ohca_test_integrity_list(struct kunit *test)
{
	static const struct { u64 address, length; } blocks[] = {
		{ 0x100000, 0x1800 }, { 0x300010, 0x200 }, { 0x300210, 0x40 }, { 0x500008, 0x28 },
	};
	struct ohca_test_integrity *it = ohca_test_integrity_create(test);
	const struct ohca_block *list = it->mr->list;
	u32 i;

	KUNIT_ASSERT_EQ(test, ohca_test_map(it), 0);
	KUNIT_EXPECT_EQ(test, it->mr->ibmr.length, 0x1a00 + 0x68);
	KUNIT_EXPECT_EQ(test, it->mr->ibmr.sig_attrs->meta_length, 0x68);
	KUNIT_EXPECT_EQ(test, it->mr->data_count, 2);
	KUNIT_ASSERT_EQ(test, it->mr->list_count, ARRAY_SIZE(blocks));
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		KUNIT_EXPECT_EQ(test, le64_to_cpu(list[i].address), blocks[i].address);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(list[i].length), blocks[i].length);
	}
	/* None in memory. */
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg_pi(&it->mr->ibmr, it->data, 3, NULL, NULL, 0, NULL,
					      SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, it->mr->ibmr.length, 0x1a00);
	KUNIT_EXPECT_EQ(test, it->mr->ibmr.sig_attrs->meta_length, 0);
}

static void ohca_test_integrity_limits(struct kunit *test)
{
	struct ohca_test_integrity *it = ohca_test_integrity_create(test);
	struct ib_pd *pd = it->verbs->pd;
	u32 max = it->verbs->fake->dev->caps.max_list_entries;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(it->data); i++) {
		sg_dma_address(&it->data[i]) = 0x10000 * (i + 1);
		sg_dma_len(&it->data[i]) = 0x200;
	}
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg_pi(&it->mr->ibmr, it->data, ARRAY_SIZE(it->data), NULL,
					      NULL, 0, NULL, SZ_4K), -ENOMEM);
	/* Nothing is left of it. */
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg_pi(&it->mr->ibmr, it->data, 5, NULL, it->meta, 2, NULL,
					      SZ_4K), -ENOMEM);
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg_pi(&it->mr->ibmr, it->data, 0, NULL, NULL, 0, NULL,
					      SZ_4K), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr_integrity(pd, 0, 1), ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr_integrity(pd, max, 1), ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr_integrity(pd, U32_MAX, U32_MAX),
			    ERR_PTR(-EINVAL));
	it->verbs->fake->dev->features &= ~OHCA_FEATURE_INTEGRITY;
	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr_integrity(pd, 1, 1), ERR_PTR(-EOPNOTSUPP));
}

static void ohca_test_integrity_work_request(struct kunit *test)
{
	struct ohca_test_integrity *it = ohca_test_integrity_create(test);
	struct ib_sig_attrs *attrs = it->mr->ibmr.sig_attrs;
	struct ohca_wqe_register_integrity *args = &it->out.args;

	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);	/* not mapped yet */
	KUNIT_ASSERT_EQ(test, ohca_test_map(it), 0);
	attrs->check_mask = IB_SIG_CHECK_GUARD | IB_SIG_CHECK_REFTAG;
	attrs->mem.sig_type = IB_SIG_TYPE_T10_DIF;
	attrs->mem.sig.dif = (struct ib_t10_dif_domain) {
		.bg_type = IB_T10DIF_CSUM, .pi_interval = 512, .bg = 0x1111, .app_tag = 0x2222,
		.ref_tag = 0x33333333, .ref_remap = true, .app_escape = true, .ref_escape = true,
		.apptag_check_mask = 0x4444,
	};
	it->mr->status->error = cpu_to_le32(OHCA_INTEGRITY_BAD_GUARD);
	KUNIT_ASSERT_EQ(test, ohca_test_build(it), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(it->out.wqe.rkey), 0x1234);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(args->start), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(args->list_address), it->mr->list_dma);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(args->status_address), it->mr->list_dma +
			(OHCA_TEST_DATA + OHCA_TEST_META) * sizeof(struct ohca_block));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(args->data_entry_count), 2);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(args->protection_entry_count), 2);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(args->access), OHCA_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(args->interval), 512);
	KUNIT_EXPECT_EQ(test, args->check_mask, 0xcf);
	KUNIT_EXPECT_EQ(test, args->memory.type, OHCA_SIGNATURE_T10_DIF);
	KUNIT_EXPECT_EQ(test, args->memory.guard_type, OHCA_GUARD_IP_CHECKSUM);
	KUNIT_EXPECT_EQ(test, args->memory.flags, OHCA_SIGNATURE_FLAGS_ALL);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(args->memory.guard_seed), 0x1111);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(args->memory.app_tag), 0x2222);
	KUNIT_EXPECT_EQ(test, le16_to_cpu(args->memory.app_tag_mask), 0x4444);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(args->memory.ref_tag), 0x33333333);
	KUNIT_EXPECT_EQ(test, args->wire.type, OHCA_SIGNATURE_NONE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(it->mr->status->error), OHCA_INTEGRITY_NONE);
}

static void ohca_test_integrity_refusals(struct kunit *test)
{
	static const u16 bad[] = { 0, 8, 504, 516, 65535 };
	struct ohca_test_integrity *it = ohca_test_integrity_create(test);
	struct ib_sig_attrs *attrs = it->mr->ibmr.sig_attrs;
	struct ib_reg_wr other = it->wr;
	struct ib_mr *plain;
	u32 i;

	KUNIT_ASSERT_EQ(test, ohca_test_map(it), 0);
	attrs->mem.sig_type = IB_SIG_TYPE_T10_DIF;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		attrs->mem.sig.dif.pi_interval = bad[i];
		KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	}
	attrs->mem.sig.dif.pi_interval = 512;
	attrs->wire = attrs->mem;
	attrs->wire.sig.dif.pi_interval = 520;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	attrs->wire.sig.dif.pi_interval = 512;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), 0);
	attrs->wire.sig_type = IB_SIG_TYPE_T10_DIF + 1;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	attrs->wire.sig_type = IB_SIG_TYPE_T10_DIF;
	attrs->wire.sig.dif.bg_type = IB_T10DIF_CSUM + 1;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	attrs->wire.sig_type = IB_SIG_TYPE_NONE;
	it->wr.access |= IB_ACCESS_REMOTE_ATOMIC;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	it->wr.access = IB_ACCESS_LOCAL_WRITE;
	it->qp->integrity_en = false;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	it->qp->integrity_en = true;

	/* No whole intervals; a tuple too few; none, and no room among the data. */
	attrs->mem.sig.dif.pi_interval = 4096;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	attrs->mem.sig.dif.pi_interval = 512;
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), 0);
	sg_dma_len(&it->meta[1]) -= 8;
	KUNIT_ASSERT_EQ(test, ohca_test_map(it), 0);
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg_pi(&it->mr->ibmr, it->data, 3, NULL, NULL, 0, NULL,
					      SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), -EINVAL);
	sg_dma_len(&it->data[2]) = 520 * 13 - 0x1800;
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg_pi(&it->mr->ibmr, it->data, 3, NULL, NULL, 0, NULL,
					      SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, ohca_test_build(it), 0);

	/* Each kind of MR has a work request of its own. */
	KUNIT_EXPECT_EQ(test, ohca_build_reg_mr(it->verbs->fake->dev, &it->out.wqe, &it->wr.wr),
			-EINVAL);
	plain = ib_alloc_mr(it->verbs->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, plain);
	other.mr = plain;
	KUNIT_EXPECT_EQ(test, ohca_build_reg_integrity(to_ohca_qp(it->qp), &it->out.wqe,
						       &other.wr), -EINVAL);
	ib_dereg_mr(plain);
}

static void ohca_test_integrity_status(struct kunit *test)
{
	static const struct {
		u32 error;
		enum ib_sig_err_type type;
	} errors[] = {
		{ OHCA_INTEGRITY_BAD_GUARD, IB_SIG_BAD_GUARD },
		{ OHCA_INTEGRITY_BAD_REF_TAG, IB_SIG_BAD_REFTAG },
		{ OHCA_INTEGRITY_BAD_APP_TAG, IB_SIG_BAD_APPTAG },
	};
	struct ohca_test_integrity *it = ohca_test_integrity_create(test);
	struct ib_sig_attrs *attrs = it->mr->ibmr.sig_attrs;
	struct ib_mr *mr = &it->mr->ibmr;
	struct ib_mr_status status;
	u32 i;

	KUNIT_ASSERT_EQ(test, ohca_test_map(it), 0);
	attrs->mem.sig_type = IB_SIG_TYPE_T10_DIF;
	attrs->mem.sig.dif.pi_interval = 512;
	KUNIT_ASSERT_EQ(test, ohca_test_build(it), 0);
	KUNIT_EXPECT_EQ(test, ib_check_mr_status(mr, IB_MR_CHECK_SIG_STATUS, &status), 0);
	KUNIT_EXPECT_EQ(test, status.fail_status, 0);
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		*it->mr->status = (struct ohca_integrity_status) {
			.error = cpu_to_le32(errors[i].error), .key = cpu_to_le32(0x1234),
			.expected = cpu_to_le32(5), .actual = cpu_to_le32(6),
			.interval_index = cpu_to_le64(3),
		};
		KUNIT_EXPECT_EQ(test, ib_check_mr_status(mr, IB_MR_CHECK_SIG_STATUS, &status), 0);
		KUNIT_EXPECT_EQ(test, status.fail_status, IB_MR_CHECK_SIG_STATUS);
		KUNIT_EXPECT_EQ(test, status.sig_err.err_type, errors[i].type);
		KUNIT_EXPECT_EQ(test, status.sig_err.expected, 5);
		KUNIT_EXPECT_EQ(test, status.sig_err.actual, 6);
		KUNIT_EXPECT_EQ(test, status.sig_err.sig_err_offset, 3 * (512 + 8));
		KUNIT_EXPECT_EQ(test, status.sig_err.key, 0x1234);
	}
	/* Nothing that this driver knows. */
	it->mr->status->error = cpu_to_le32(OHCA_INTEGRITY_BAD_APP_TAG + 1);
	KUNIT_EXPECT_EQ(test, ib_check_mr_status(mr, IB_MR_CHECK_SIG_STATUS, &status), -EIO);
	KUNIT_EXPECT_EQ(test, ib_check_mr_status(mr, 0, &status), 0);
	KUNIT_EXPECT_EQ(test, ib_check_mr_status(mr, IB_MR_CHECK_SIG_STATUS << 1, &status),
			-EINVAL);
}

static struct kunit_case ohca_integrity_cases[] = {
	KUNIT_CASE(ohca_test_integrity_list),
	KUNIT_CASE(ohca_test_integrity_limits),
	KUNIT_CASE(ohca_test_integrity_work_request),
	KUNIT_CASE(ohca_test_integrity_refusals),
	KUNIT_CASE(ohca_test_integrity_status),
	{}
};

static struct kunit_suite ohca_integrity_suite = {
	.name = "ohca_integrity",
	.test_cases = ohca_integrity_cases,
};

kunit_test_suite(ohca_integrity_suite);
