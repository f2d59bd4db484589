// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * kverbs - a kernel consumer of the verbs, which knows ib_core only.
 *
 * insmod kverbs.ko device=ohca0		runs the tests; loading fails if one fails
 * insmod kverbs.ko device=ohca0 missing=srq+xrc	tests which features there are
 * insmod kverbs.ko device=ohca0 traffic=1	keeps the device busy until either leaves
 * insmod kverbs.ko device=ohca0 registrations=N	measures fast registration
 *
 * The results are in the kernel log, as KTAP.
 */

#include <linux/module.h>

#include "kverbs.h"

static char *device = "ohca0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the RDMA device");

static bool traffic;
module_param(traffic, bool, 0444);
MODULE_PARM_DESC(traffic, "no tests, but traffic until the module or the device leaves");

static char *missing;
module_param(missing, charp, 0444);
MODULE_PARM_DESC(missing, "no other tests: all features work save these, separated by \"+\"");

static unsigned int first = 1;
module_param(first, uint, 0444);
MODULE_PARM_DESC(first, "number of the first test to run");

static unsigned int registrations;
module_param(registrations, uint, 0444);
MODULE_PARM_DESC(registrations, "no tests, but the time of so many REG_MR and LOCAL_INV");

static int kv_failed = -ENODEV;

static struct ib_client kv_client;

static int kv_add(struct ib_device *ibdev)
{
	struct kv_traffic *running;

	if (strcmp(dev_name(&ibdev->dev), device))
		return -EOPNOTSUPP;
	if (registrations) {
		kv_failed = kv_measure_registrations(ibdev, registrations);
		return -EOPNOTSUPP;
	}
	if (!traffic) {
		int failures = missing ? kv_run_feature_tests(ibdev, missing) :
					 kv_run_tests(ibdev, first);

		kv_failed = failures ? -EBADE : 0;
		return -EOPNOTSUPP;
	}
	running = kv_traffic_start(ibdev);
	kv_failed = PTR_ERR_OR_ZERO(running);
	if (!kv_failed)
		ib_set_client_data(ibdev, &kv_client, running);
	return kv_failed;
}

static void kv_remove(struct ib_device *ibdev, void *data)
{
	kv_traffic_stop(data);
}

static struct ib_client kv_client = {
	.name = "kverbs",
	.add = kv_add,
	.remove = kv_remove,
};

static int __init kv_init(void)
{
	int ret = ib_register_client(&kv_client);

	if (!ret && kv_failed) {
		ib_unregister_client(&kv_client);
		ret = kv_failed;
	}
	return ret;
}
module_init(kv_init);

static void __exit kv_exit(void)
{
	ib_unregister_client(&kv_client);
}
module_exit(kv_exit);

MODULE_DESCRIPTION("test of the kernel verbs");
MODULE_LICENSE("Dual BSD/GPL");
