// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* All tests in their order, each with a pair of its own; the results as KTAP. */

#include <linux/slab.h>

#include "kverbs.h"

static const struct {
	const struct kv_test *tests;
	const int *count;
} kv_lists[] = {
	{ kv_queue_tests, &kv_queue_test_count },
	{ kv_memory_tests, &kv_memory_test_count },
	{ kv_access_tests, &kv_access_test_count },
	{ kv_integrity_tests, &kv_integrity_test_count },
	{ kv_ulp_tests, &kv_ulp_test_count },
	{ kv_srq_tests, &kv_srq_test_count },
	{ kv_service_tests, &kv_service_test_count },
};

static int kv_run_one(struct ib_device *device, const struct kv_test *test)
{
	struct kv_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL);
	int ret;

	if (!pair)
		return -ENOMEM;
	ret = kv_pair_open(pair, device, test->type ?: IB_QPT_RC);
	if (!ret) {
		ret = kv_pair_connect(pair);
		if (!ret)
			ret = test->run(pair);
		kv_pair_close(pair);
	}
	kfree(pair);
	return ret;
}

static bool kv_report(unsigned int number, const char *name, int ret)
{
	/* The device lacks what is tested: then that is what was tested. */
	if (ret == -EOPNOTSUPP)
		pr_info("ok %u %s # SKIP not offered\n", number, name);
	else if (ret)
		pr_info("not ok %u %s # %d\n", number, name, ret);
	else
		pr_info("ok %u %s\n", number, name);
	return !ret || ret == -EOPNOTSUPP;
}

/* Those from number @first on; the number of failures. */
int kv_run_tests(struct ib_device *device, unsigned int first)
{
	unsigned int number = 0, total = 0;
	int list, i, failed = 0;

	for (list = 0; list < ARRAY_SIZE(kv_lists); list++)
		total += *kv_lists[list].count;
	pr_info("KTAP version 1\n1..%u\n", total);
	for (list = 0; list < ARRAY_SIZE(kv_lists); list++) {
		for (i = 0; i < *kv_lists[list].count; i++) {
			const struct kv_test *test = &kv_lists[list].tests[i];

			if (++number < first)
				continue;
			pr_info("# test %u %s\n", number, test->name);
			if (!kv_report(number, test->name, kv_run_one(device, test)))
				failed++;
		}
	}
	return failed;
}
