// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of the lists of fast registration: pages, blocks, gaps, limits. */

#include <linux/scatterlist.h>

#include "fake_verbs.h"

#define OHCA_TEST_ENTRIES	8

struct ohca_test_element {
	u64 address;
	u32 length;
};

static struct scatterlist *ohca_test_sgl(struct kunit *test,
					 const struct ohca_test_element *elements, u32 count)
{
	struct scatterlist *sgl = kunit_kcalloc(test, count, sizeof(*sgl), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, sgl);
	sg_init_table(sgl, count);
	for (i = 0; i < count; i++) {
		sg_dma_address(&sgl[i]) = elements[i].address;
		sg_dma_len(&sgl[i]) = elements[i].length;
	}
	return sgl;
}

static void ohca_test_dereg(void *mr)
{
	ib_dereg_mr(mr);
}

static struct ohca_mr *ohca_test_mr(struct kunit *test, struct ohca_test_verbs *verbs,
				    enum ib_mr_type type)
{
	struct ib_mr *mr = ib_alloc_mr(verbs->pd, type, OHCA_TEST_ENTRIES);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_dereg, mr), 0);
	return to_ohca_mr(mr);
}

static void ohca_test_pages(struct kunit *test)
{
	static const struct ohca_test_element elements[] = {
		{ 0x100ff0, 0x10 }, { 0x300000, 0x2000 }, { 0x500000, 0x123 },
	};
	static const u64 pages[] = { 0x100000, 0x300000, 0x301000, 0x500000 };
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_mr *mr = ohca_test_mr(test, verbs, IB_MR_TYPE_MEM_REG);
	struct scatterlist *sgl = ohca_test_sgl(test, elements, ARRAY_SIZE(elements));
	__le64 *list = mr->list;
	u32 i;

	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, ARRAY_SIZE(elements), NULL, SZ_4K), 3);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 0x10 + 0x2000 + 0x123);
	KUNIT_EXPECT_EQ(test, mr->first_page_offset, 0xff0);
	KUNIT_ASSERT_EQ(test, mr->list_count, ARRAY_SIZE(pages));
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		KUNIT_EXPECT_EQ(test, le64_to_cpu(list[i]), pages[i]);
}

/* A hole that no page list can have ends the mapping before it. */
static void ohca_test_page_gap(struct kunit *test)
{
	static const struct ohca_test_element elements[] = {
		{ 0x100000, 0x800 }, { 0x300000, 0x1000 },
	};
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_mr *mr = ohca_test_mr(test, verbs, IB_MR_TYPE_MEM_REG);
	struct scatterlist *sgl = ohca_test_sgl(test, elements, ARRAY_SIZE(elements));

	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, ARRAY_SIZE(elements), NULL, SZ_4K), 1);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 0x800);
	KUNIT_EXPECT_EQ(test, mr->list_count, 1);
}

static void ohca_test_page_limit(struct kunit *test)
{
	static const struct ohca_test_element elements[] = {
		{ 0x100000, (OHCA_TEST_ENTRIES + 1) * SZ_4K },
	};
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_mr *mr = ohca_test_mr(test, verbs, IB_MR_TYPE_MEM_REG);
	struct scatterlist *sgl = ohca_test_sgl(test, elements, ARRAY_SIZE(elements));

	ib_map_mr_sg(&mr->ibmr, sgl, 1, NULL, SZ_4K);
	KUNIT_EXPECT_EQ(test, mr->list_count, OHCA_TEST_ENTRIES);
	/* ib_core does not count the last page. */
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, (OHCA_TEST_ENTRIES - 1) * SZ_4K);
	/* Larger pages make it fit. */
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 1, NULL, SZ_8K), 1);
	KUNIT_EXPECT_EQ(test, mr->list_count, DIV_ROUND_UP(OHCA_TEST_ENTRIES + 1, 2));
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, (OHCA_TEST_ENTRIES + 1) * SZ_4K);
}

static void ohca_test_page_sizes(struct kunit *test)
{
	static const struct ohca_test_element elements[] = { { 0x100000, 0x1000 } };
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_mr *mr = ohca_test_mr(test, verbs, IB_MR_TYPE_MEM_REG);
	struct scatterlist *sgl = ohca_test_sgl(test, elements, 1);

	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 1, NULL, SZ_2K), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 1, NULL, SZ_4K + SZ_8K), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 1, NULL, 1U << 31), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 0, NULL, SZ_4K), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 1, NULL, SZ_1G), 1);
}

static void ohca_test_blocks(struct kunit *test)
{
	/* The second goes on where the first ends, the third does not. */
	static const struct ohca_test_element elements[] = {
		{ 0x100001, 0x7ff }, { 0x100800, 0x11 }, { 0x300003, 0x1000 }, { 0x10, 1 },
	};
	static const struct ohca_test_element blocks[] = {
		{ 0x100006, 0x80b }, { 0x300003, 0x1000 }, { 0x10, 1 },
	};
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_mr *mr = ohca_test_mr(test, verbs, IB_MR_TYPE_SG_GAPS);
	struct scatterlist *sgl = ohca_test_sgl(test, elements, ARRAY_SIZE(elements));
	const struct ohca_block *list = mr->list;
	unsigned int offset = 5;
	u32 i;

	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, ARRAY_SIZE(elements), &offset, SZ_4K),
			4);
	KUNIT_EXPECT_EQ(test, offset, 0);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, 0x100006);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 0x80b + 0x1000 + 1);
	KUNIT_ASSERT_EQ(test, mr->list_count, ARRAY_SIZE(blocks));
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		KUNIT_EXPECT_EQ(test, le64_to_cpu(list[i].address), blocks[i].address);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(list[i].length), blocks[i].length);
	}
}

static void ohca_test_block_limit(struct kunit *test)
{
	struct ohca_test_element elements[OHCA_TEST_ENTRIES + 2];
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_mr *mr = ohca_test_mr(test, verbs, IB_MR_TYPE_SG_GAPS);
	struct scatterlist *sgl;
	unsigned int offset;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(elements); i++)
		elements[i] = (struct ohca_test_element) { 0x1000 * (i + 1), 0x10 };
	sgl = ohca_test_sgl(test, elements, ARRAY_SIZE(elements));
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, ARRAY_SIZE(elements), NULL, SZ_4K),
			OHCA_TEST_ENTRIES);
	KUNIT_EXPECT_EQ(test, mr->list_count, OHCA_TEST_ENTRIES);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 0x10 * OHCA_TEST_ENTRIES);
	offset = 0x11;
	KUNIT_EXPECT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 1, &offset, SZ_4K), -EINVAL);
}

static void ohca_test_alloc_limits(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	u32 max = verbs->fake->dev->caps.max_list_entries;

	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr(verbs->pd, IB_MR_TYPE_MEM_REG, 0),
			    ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr(verbs->pd, IB_MR_TYPE_MEM_REG, max + 1),
			    ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr(verbs->pd, IB_MR_TYPE_INTEGRITY, 1),
			    ERR_PTR(-EOPNOTSUPP));
	verbs->fake->dev->features &= ~OHCA_FEATURE_SG_GAPS;
	KUNIT_EXPECT_PTR_EQ(test, ohca_alloc_mr(verbs->pd, IB_MR_TYPE_SG_GAPS, 1),
			    ERR_PTR(-EOPNOTSUPP));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(verbs->fake->create_mkey.list_entry_max), 0);
}

static void ohca_test_work_request(struct kunit *test)
{
	static const struct ohca_test_element elements[] = { { 0x100123, 0x1000 } };
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_mr *mr = ohca_test_mr(test, verbs, IB_MR_TYPE_MEM_REG);
	struct scatterlist *sgl = ohca_test_sgl(test, elements, 1);
	struct {
		struct ohca_sq_wqe wqe;
		struct ohca_wqe_register args;
	} out = {};
	struct ib_reg_wr wr = {
		.mr = &mr->ibmr,
		.key = 0x1234,
		.access = IB_ACCESS_REMOTE_READ,
	};

	/* Not mapped yet. */
	KUNIT_EXPECT_EQ(test, ohca_build_reg_mr(verbs->fake->dev, &out.wqe, &wr.wr), -EINVAL);
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(&mr->ibmr, sgl, 1, NULL, SZ_4K), 1);
	/* As users do that have numbers of their own: the bytes do not move. */
	mr->ibmr.iova = 0x7000456;
	KUNIT_ASSERT_EQ(test, ohca_build_reg_mr(verbs->fake->dev, &out.wqe, &wr.wr), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(out.wqe.rkey), 0x1234);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(out.args.start), 0x7000456);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(out.args.length), 0x1000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(out.args.list_address), mr->list_dma);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(out.args.first_page_offset), 0x123);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(out.args.entry_count), 2);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(out.args.access), OHCA_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, out.args.log_page_size, 12);
	wr.access = IB_ACCESS_ON_DEMAND;
	KUNIT_EXPECT_EQ(test, ohca_build_reg_mr(verbs->fake->dev, &out.wqe, &wr.wr), -EINVAL);
}

static struct kunit_case ohca_fast_registration_cases[] = {
	KUNIT_CASE(ohca_test_pages),
	KUNIT_CASE(ohca_test_page_gap),
	KUNIT_CASE(ohca_test_page_limit),
	KUNIT_CASE(ohca_test_page_sizes),
	KUNIT_CASE(ohca_test_blocks),
	KUNIT_CASE(ohca_test_block_limit),
	KUNIT_CASE(ohca_test_alloc_limits),
	KUNIT_CASE(ohca_test_work_request),
	{}
};

static struct kunit_suite ohca_fast_registration_suite = {
	.name = "ohca_fast_registration",
	.test_cases = ohca_fast_registration_cases,
};

kunit_test_suite(ohca_fast_registration_suite);
