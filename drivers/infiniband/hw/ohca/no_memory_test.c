// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of creation when memory runs out: each allocation on the way fails
 * once, and nothing is left behind, neither at the device nor in the kernel
 * (which kmemleak looks at when all tests are over).
 */

#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "fake_verbs.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

/* Far more than any of these needs. */
#define OHCA_TEST_ALLOCATIONS	500

/* Settings of the kernel's injection of failed allocations. */
struct ohca_test_injection {
	bool *slab_wait;
	bool *page_wait;
	bool *page_highmem;
	u32 *page_order;
	unsigned long *slab_verbose;
	unsigned long *page_verbose;
};

/* There is no way to them but files, and nobody here to write these. */
static void *ohca_test_setting(const char *folder, const char *file)
{
	struct dentry *dir = debugfs_lookup(folder, NULL);
	struct dentry *entry = dir ? debugfs_lookup(file, dir) : NULL;
	void *setting = entry ? d_inode(entry)->i_private : NULL;

	dput(entry);
	dput(dir);
	return setting;
}

/* Also allocations that may wait, also of single pages; and without a word about each. */
static void ohca_test_inject(const struct ohca_test_injection *injection, bool all)
{
	*injection->slab_wait = !all;
	*injection->page_wait = !all;
	*injection->page_highmem = !all;
	*injection->page_order = all ? 0 : 1;
	*injection->slab_verbose = all ? 0 : 2;
	*injection->page_verbose = all ? 0 : 2;
}

static struct ohca_test_injection ohca_test_injection;

static int ohca_test_suite_init(struct kunit_suite *suite)
{
	struct ohca_test_injection *injection = &ohca_test_injection;

	injection->slab_wait = ohca_test_setting("failslab", "ignore-gfp-wait");
	injection->page_wait = ohca_test_setting("fail_page_alloc", "ignore-gfp-wait");
	injection->page_highmem = ohca_test_setting("fail_page_alloc", "ignore-gfp-highmem");
	injection->page_order = ohca_test_setting("fail_page_alloc", "min-order");
	injection->slab_verbose = ohca_test_setting("failslab", "verbose");
	injection->page_verbose = ohca_test_setting("fail_page_alloc", "verbose");
	if (!injection->slab_wait || !injection->page_wait || !injection->page_highmem ||
	    !injection->page_order || !injection->slab_verbose || !injection->page_verbose)
		return -ENOENT;
	ohca_test_inject(injection, true);
	return 0;
}

static void ohca_test_suite_exit(struct kunit_suite *suite)
{
	ohca_test_inject(&ohca_test_injection, false);
}

/* What is made, and unmade if it was. */
struct ohca_test_subject {
	int (*make)(struct ohca_test_verbs *verbs);
	void (*unmake)(struct ohca_test_verbs *verbs);
};

static void ohca_test_snapshot(struct ohca_fake_device *fake, u32 *objects)
{
	int kind;

	for (kind = 0; kind < OHCA_FAKE_KIND_COUNT; kind++)
		objects[kind] = ohca_fake_objects(fake, kind);
}

static void ohca_test_starve(struct kunit *test, struct ohca_test_verbs *verbs,
			     const struct ohca_test_subject *subject)
{
	u32 before[OHCA_FAKE_KIND_COUNT], after[OHCA_FAKE_KIND_COUNT];
	struct ohca_cmdq *q = &verbs->fake->dev->cmdq;
	unsigned int nth, failed = 0;
	bool injected = true;
	int ret;

	ohca_test_snapshot(verbs->fake, before);
	for (nth = 1; injected; nth++) {
		KUNIT_ASSERT_LT(test, nth, OHCA_TEST_ALLOCATIONS);
		current->fail_nth = nth;
		ret = subject->make(verbs);
		injected = !current->fail_nth;
		current->fail_nth = 0;
		/* Some can do without: they are for the look of it, or there is another way. */
		if (ret)
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "allocation %u", nth);
		failed += !!ret;
		subject->unmake(verbs);
		ohca_test_snapshot(verbs->fake, after);
		KUNIT_EXPECT_MEMEQ_MSG(test, before, after, sizeof(before), "allocation %u", nth);
		KUNIT_EXPECT_EQ(test, q->free_count, q->depth);
		KUNIT_ASSERT_FALSE(test, ohca_failed(verbs->fake->dev));
	}
	/* The last attempt had all that it wanted. */
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_GE(test, failed, 1);
	kunit_info(test, "%u allocations, %u of them necessary\n", nth - 2, failed);
}

static void ohca_test_queue_pair(struct kunit *test)
{
	static const struct ohca_test_subject subject = {
		.make = ohca_test_verbs_build,
		.unmake = ohca_test_verbs_destroy,
	};
	struct ohca_test_verbs *verbs = kunit_kzalloc(test, sizeof(*verbs), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, verbs);
	verbs->fake = ohca_fake_device_start(test);
	ohca_test_starve(test, verbs, &subject);
}

static int ohca_test_make_mr(struct ohca_test_verbs *verbs)
{
	struct ib_mr *mr = ib_alloc_mr(verbs->pd, IB_MR_TYPE_SG_GAPS, 16);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	verbs->object = mr;
	return 0;
}

static int ohca_test_make_integrity_mr(struct ohca_test_verbs *verbs)
{
	struct ib_mr *mr = ib_alloc_mr_integrity(verbs->pd, 16, 16);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	verbs->object = mr;
	return 0;
}

static void ohca_test_unmake_mr(struct ohca_test_verbs *verbs)
{
	if (verbs->object)
		ib_dereg_mr(verbs->object);
	verbs->object = NULL;
}

static void ohca_test_fast_region(struct kunit *test)
{
	static const struct ohca_test_subject subject = {
		.make = ohca_test_make_mr,
		.unmake = ohca_test_unmake_mr,
	};

	ohca_test_starve(test, ohca_test_verbs_create(test), &subject);
}

static void ohca_test_integrity_region(struct kunit *test)
{
	static const struct ohca_test_subject subject = {
		.make = ohca_test_make_integrity_mr,
		.unmake = ohca_test_unmake_mr,
	};

	ohca_test_starve(test, ohca_test_verbs_create(test), &subject);
}

static int ohca_test_make_srq(struct ohca_test_verbs *verbs)
{
	struct ib_srq_init_attr attr = {
		.srq_type = IB_SRQT_BASIC,
		.attr = {
			.max_wr = 100,
			.max_sge = 3,
		},
	};
	struct ib_srq *srq = ib_create_srq(verbs->pd, &attr);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	verbs->object = srq;
	return 0;
}

static void ohca_test_unmake_srq(struct ohca_test_verbs *verbs)
{
	if (verbs->object)
		ib_destroy_srq(verbs->object);
	verbs->object = NULL;
}

static void ohca_test_shared_receive_queue(struct kunit *test)
{
	static const struct ohca_test_subject subject = {
		.make = ohca_test_make_srq,
		.unmake = ohca_test_unmake_srq,
	};

	ohca_test_starve(test, ohca_test_verbs_create(test), &subject);
}

static int ohca_test_make_eqs(struct ohca_test_verbs *verbs)
{
	int ret = ohca_eqs_create(verbs->fake->dev);

	verbs->completions = !ret;
	return ret;
}

static void ohca_test_unmake_eqs(struct ohca_test_verbs *verbs)
{
	if (verbs->completions)
		ohca_eqs_destroy(verbs->fake->dev);
	verbs->completions = 0;
}

static void ohca_test_event_queues(struct kunit *test)
{
	static const struct ohca_test_subject subject = {
		.make = ohca_test_make_eqs,
		.unmake = ohca_test_unmake_eqs,
	};
	struct ohca_test_verbs *verbs = kunit_kzalloc(test, sizeof(*verbs), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, verbs);
	verbs->fake = ohca_fake_device_enable(test);
	ohca_test_starve(test, verbs, &subject);
}

static struct kunit_case ohca_no_memory_cases[] = {
	KUNIT_CASE(ohca_test_queue_pair),
	KUNIT_CASE(ohca_test_fast_region),
	KUNIT_CASE(ohca_test_integrity_region),
	KUNIT_CASE(ohca_test_shared_receive_queue),
	KUNIT_CASE(ohca_test_event_queues),
	{}
};

static struct kunit_suite ohca_no_memory_suite = {
	.name = "ohca_no_memory",
	.suite_init = ohca_test_suite_init,
	.suite_exit = ohca_test_suite_exit,
	.test_cases = ohca_no_memory_cases,
};

kunit_test_suite(ohca_no_memory_suite);

#endif /* CONFIG_FAULT_INJECTION_DEBUG_FS */
