// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * atomic - a kernel user of ohca's operations, in contexts that may not sleep.
 *
 * insmod atomic.ko device=ohca0	runs the tests; loading fails if one fails
 * insmod atomic.ko device=ohca0 storm=N	N operations, likewise
 * insmod atomic.ko device=ohca0 forever=1	until the module or the device leaves
 * insmod atomic.ko device=ohca0 bench=N	sets up N connections and tells how fast
 * insmod atomic.ko device=ohca0 bench=N form=synchronous	only so (or asynchronous)
 * insmod atomic.ko device=ohca0 cost=1	tells what operations cost their caller
 * insmod atomic.ko device=ohca0 lives=1	operations as `control` says, see lives.c
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

static char *form = "";
module_param(form, charp, 0444);
MODULE_PARM_DESC(form, "of the benchmark: synchronous or asynchronous; both");

static uint limit_ms;
module_param(limit_ms, uint, 0444);
MODULE_PARM_DESC(limit_ms, "of the benchmark: as many connections as there are in so much time, but no more");

static bool cost;
module_param(cost, bool, 0444);
MODULE_PARM_DESC(cost, "no tests, but what operations cost their caller");

static bool lives;
module_param(lives, bool, 0444);
MODULE_PARM_DESC(lives, "no tests, but operations as they are asked for, also after the device has failed");

module_param_cb(control, &at_lives_control, NULL, 0600);
MODULE_PARM_DESC(control, "lives: open N, begin; reads as STATE ENDED");

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
	struct at_storm *running = at_storm_prepare(ibdev, storm, AT_POLL_US);
	struct at_tally tally = {};
	int ret;

	if (IS_ERR(running))
		return PTR_ERR(running);
	at_storm_begin(running);
	while (!at_storm_over(running))
		msleep(10);
	ret = at_storm_stop(running, &tally);
	if (!ret && tally.ended < storm)
		ret = -ENODATA;
	return ret;
}

static int at_once(struct ib_device *ibdev)
{
	if (bench)
		return at_bench(ibdev, bench, limit_ms, form);
	if (cost)
		return at_cost(ibdev);
	if (storm)
		return at_report(at_run_storm(ibdev), "%lu operations from all contexts", storm);
	return at_test_verbs(ibdev) ?: at_test_rules(ibdev);
}

static int at_add(struct ib_device *ibdev)
{
	struct at_storm *running;

	if (strcmp(dev_name(&ibdev->dev), device))
		return -EOPNOTSUPP;
	if (lives) {
		at_result = 0;
		at_lives_add(ibdev);
		return 0;
	}
	if (!forever) {
		at_result = at_once(ibdev);
		return -EOPNOTSUPP;
	}
	running = at_storm_prepare(ibdev, 0, AT_POLL_US);
	at_result = PTR_ERR_OR_ZERO(running);
	if (at_result)
		return at_result;
	ib_set_client_data(ibdev, &at_client, running);
	at_storm_begin(running);
	return 0;
}

static void at_remove(struct ib_device *ibdev, void *data)
{
	struct at_tally tally = {};

	if (lives)
		at_lives_remove();
	else
		at_report(at_storm_stop(data, &tally), "callbacks when the storm ends");
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
	if (lives)
		at_report(at_lives_end(), "operations over the lives of the device");
}
module_exit(at_exit);

MODULE_DESCRIPTION("test of ohca's verbs from any context");
MODULE_LICENSE("Dual BSD/GPL");
