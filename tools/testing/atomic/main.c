// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * atomic - a kernel user of ohca's operations, in contexts that may not sleep.
 *
 * insmod atomic.ko device=ohca0	runs the tests; loading fails if one fails
 * insmod atomic.ko device=ohca0 storm=N	N operations, likewise
 * insmod atomic.ko device=ohca0 forever=1	until the module or the device leaves
 * insmod atomic.ko device=ohca0 bench=N	sets up N connections and tells how fast
 */

#include <linux/delay.h>
#include <linux/module.h>

#include "atomic.h"

static char *device = "ohca0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the RDMA device");

static ulong storm;
module_param(storm, ulong, 0444);
MODULE_PARM_DESC(storm, "no tests, but so many operations");

static bool forever;
module_param(forever, bool, 0444);
MODULE_PARM_DESC(forever, "no tests, but operations until the module or the device leaves");

static uint bench;
module_param(bench, uint, 0444);
MODULE_PARM_DESC(bench, "no tests, but the set-up of so many connections");

static int at_result = -ENODEV;

static struct ib_client at_client;

int at_report(int ret, const char *format, ...)
{
	struct va_format name;
	va_list arguments;

	va_start(arguments, format);
	name.fmt = format;
	name.va = &arguments;
	pr_info("atomic: %s: %pV: %d\n", ret ? "not ok" : "ok", &name, ret);
	va_end(arguments);
	return ret;
}

static int at_run_storm(struct ib_device *ibdev)
{
	struct at_storm *running = at_storm_start(ibdev, storm);

	if (IS_ERR(running))
		return PTR_ERR(running);
	while (!at_storm_over(running))
		msleep(10);
	return at_storm_stop(running);
}

static int at_once(struct ib_device *ibdev)
{
	if (bench)
		return at_bench(ibdev, bench);
	if (storm)
		return at_report(at_run_storm(ibdev), "%lu operations from all contexts", storm);
	return at_test_verbs(ibdev) ?: at_test_rules(ibdev);
}

static int at_add(struct ib_device *ibdev)
{
	struct at_storm *running;

	if (strcmp(dev_name(&ibdev->dev), device))
		return -EOPNOTSUPP;
	if (!forever) {
		at_result = at_once(ibdev);
		return -EOPNOTSUPP;
	}
	running = at_storm_start(ibdev, 0);
	at_result = PTR_ERR_OR_ZERO(running);
	if (!at_result)
		ib_set_client_data(ibdev, &at_client, running);
	return at_result;
}

static void at_remove(struct ib_device *ibdev, void *data)
{
	at_report(at_storm_stop(data), "callbacks when the storm ends");
}

static struct ib_client at_client = {
	.name = "atomic",
	.add = at_add,
	.remove = at_remove,
};

static int __init at_init(void)
{
	int ret = ib_register_client(&at_client);

	if (!ret && at_result) {
		ib_unregister_client(&at_client);
		ret = at_result;
	}
	return ret;
}
module_init(at_init);

static void __exit at_exit(void)
{
	ib_unregister_client(&at_client);
}
module_exit(at_exit);

MODULE_DESCRIPTION("test of ohca's verbs from any context");
MODULE_LICENSE("Dual BSD/GPL");
