// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of memory keys: index and consumer key, rights, what is told to the device. */

#include "fake_verbs.h"

/* OHCA-MEM-H4 */
static void ohca_test_consumer_key(struct kunit *test)
{
	struct ohca_fake_device *fake = ohca_fake_device_create(test);
	u8 first = ohca_next_consumer_key(fake->dev);
	int i;

	/* Never the same twice in a row; each once before any comes again. */
	for (i = 1; i < 3 * 256; i++)
		KUNIT_EXPECT_EQ(test, ohca_next_consumer_key(fake->dev), (u8)(first + i));
	atomic_set(&fake->dev->next_consumer_key, INT_MAX);
	KUNIT_EXPECT_EQ(test, ohca_next_consumer_key(fake->dev), 0);
}

static void ohca_test_keys(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	struct ohca_fake_device *fake = verbs->fake;
	u32 live = ohca_fake_objects(fake, OHCA_FAKE_MKEY);
	u32 last = 0;
	int i;

	for (i = 0; i < 600; i++) {
		struct ib_mr *mr = ib_alloc_mr(verbs->pd, IB_MR_TYPE_MEM_REG, 4);

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
		KUNIT_EXPECT_EQ(test, mr->lkey, mr->rkey);
		KUNIT_EXPECT_EQ(test, mr->rkey & 0xff, fake->consumer_keys[mr->rkey >> 8]);
		KUNIT_EXPECT_NE(test, mr->rkey & 0xff, last & 0xff);
		last = mr->rkey;
		/* A new consumer key leaves the index, and so the object, as it is. */
		ib_update_fast_reg_key(mr, (u8)(mr->rkey + 1));
		KUNIT_EXPECT_EQ(test, mr->rkey >> 8, last >> 8);
		KUNIT_EXPECT_EQ(test, ib_dereg_mr(mr), 0);
		KUNIT_EXPECT_EQ(test, ohca_fake_objects(fake, OHCA_FAKE_MKEY), live);
	}
}

static void ohca_test_dma_region(struct kunit *test)
{
	struct ohca_test_verbs *verbs = ohca_test_verbs_create(test);
	const struct ohca_cmd_create_mkey_in *in = &verbs->fake->create_mkey;
	struct ib_mr *mr;

	mr = ohca_get_dma_mr(verbs->pd, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mr->device = verbs->pd->device;
	KUNIT_EXPECT_EQ(test, in->flags, OHCA_MKEY_LINEAR);
	KUNIT_EXPECT_EQ(test, in->type, OHCA_MKEY_TYPE_REGION);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->access),
			OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(in->pd), to_ohca_pd(verbs->pd)->pdn);
	KUNIT_EXPECT_EQ(test, ohca_dereg_mr(mr, NULL), 0);
}

/* A right is there if the device has what it is for. */
static void ohca_test_rights(struct kunit *test)
{
	static const struct {
		int access;
		u64 feature;
	} rights[] = {
		{ 0, 0 },
		{ IB_ACCESS_LOCAL_WRITE, 0 },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ, 0 },
		{ IB_ACCESS_RELAXED_ORDERING | IB_ACCESS_HUGETLB | IB_ZERO_BASED, 0 },
		{ IB_ACCESS_REMOTE_ATOMIC, OHCA_FEATURE_ATOMIC },
		{ IB_ACCESS_MW_BIND, OHCA_FEATURE_WINDOW },
		{ IB_ACCESS_FLUSH_GLOBAL, OHCA_FEATURE_FLUSH },
	};
	struct ohca_fake_device *fake = ohca_fake_device_enable(test);
	struct ohca_dev *dev = fake->dev;
	int expected;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		dev->features = OHCA_FEATURES_ALL;
		KUNIT_EXPECT_EQ(test, ohca_check_access(dev, rights[i].access), 0);
		dev->features &= ~rights[i].feature;
		expected = rights[i].feature ? -EOPNOTSUPP : 0;
		KUNIT_EXPECT_EQ(test, ohca_check_access(dev, rights[i].access), expected);
	}
	dev->features = OHCA_FEATURES_ALL;
	KUNIT_EXPECT_EQ(test, ohca_check_access(dev, IB_ACCESS_ON_DEMAND), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ohca_check_access(dev, IB_ACCESS_FLUSH_PERSISTENT), -EOPNOTSUPP);
	/* Hints from the future do no harm. */
	KUNIT_EXPECT_EQ(test, ohca_check_access(dev, IB_ACCESS_OPTIONAL), 0);
}

static struct kunit_case ohca_key_cases[] = {
	KUNIT_CASE(ohca_test_consumer_key),
	KUNIT_CASE(ohca_test_keys),
	KUNIT_CASE(ohca_test_dma_region),
	KUNIT_CASE(ohca_test_rights),
	{}
};

static struct kunit_suite ohca_key_suite = {
	.name = "ohca_keys",
	.test_cases = ohca_key_cases,
};

kunit_test_suite(ohca_key_suite);
