// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Storms over the lives of a device: who loads the module says through
 * /sys/module/atomic/parameters/control when one begins, so that faults can be
 * injected into the whole of it and into nothing else.
 *
 *   "open N"	prepare a storm that ends after N operations, or with its device
 *   "begin"	let it go
 *
 * Reads as STATE ENDED: absent (no device), closed, open, running or over, and
 * how many operations have ended in all storms.
 */

#include <linux/moduleparam.h>
#include <linux/mutex.h>

#include "atomic.h"

/* One that polls with interrupts off holds up all others of its CPU. */
#define AT_LIVES_POLL_US	20000

static DEFINE_MUTEX(at_lives_lock);	/* all of it */
static struct ib_device *at_lives_device;
static struct at_storm *at_lives_storm;
static bool at_lives_begun;
static struct at_tally at_lives_tally;
static int at_lives_error;

static void at_lives_close(void)
{
	int ret;

	if (!at_lives_storm)
		return;
	ret = at_storm_stop(at_lives_storm, &at_lives_tally);
	if (!at_lives_error)
		at_lives_error = ret;
	at_lives_storm = NULL;
	at_lives_begun = false;
}

static int at_lives_open(u64 operations)
{
	struct at_storm *storm;

	if (!at_lives_device)
		return -ENODEV;
	at_lives_close();
	storm = at_storm_prepare(at_lives_device, operations, AT_LIVES_POLL_US);
	if (IS_ERR(storm))
		return PTR_ERR(storm);
	at_lives_storm = storm;
	return 0;
}

static int at_lives_begin(void)
{
	if (!at_lives_storm || at_lives_begun)
		return -EINVAL;
	at_lives_begun = true;
	at_storm_begin(at_lives_storm);
	return 0;
}

static int at_lives_set(const char *value, const struct kernel_param *parameter)
{
	unsigned long long operations;
	int ret = -EINVAL;

	mutex_lock(&at_lives_lock);
	if (sscanf(value, "open %llu", &operations) == 1)
		ret = at_lives_open(operations);
	else if (sysfs_streq(value, "begin"))
		ret = at_lives_begin();
	mutex_unlock(&at_lives_lock);
	return ret;
}

static int at_lives_get(char *buffer, const struct kernel_param *parameter)
{
	const char *state = "absent";
	u64 ended;
	int ret;

	mutex_lock(&at_lives_lock);
	ended = at_lives_tally.ended;
	if (at_lives_storm)
		ended += at_storm_ended(at_lives_storm);
	if (at_lives_begun)
		state = at_storm_over(at_lives_storm) ? "over" : "running";
	else if (at_lives_device)
		state = at_lives_storm ? "open" : "closed";
	ret = sysfs_emit(buffer, "%s %llu\n", state, ended);
	mutex_unlock(&at_lives_lock);
	return ret;
}

const struct kernel_param_ops at_lives_control = {
	.set = at_lives_set,
	.get = at_lives_get,
};

void at_lives_add(struct ib_device *device)
{
	mutex_lock(&at_lives_lock);
	at_lives_device = device;
	mutex_unlock(&at_lives_lock);
}

void at_lives_remove(void)
{
	mutex_lock(&at_lives_lock);
	at_lives_close();
	at_lives_device = NULL;
	mutex_unlock(&at_lives_lock);
}

/* The last device is gone: the result of all lives. */
int at_lives_end(void)
{
	const struct at_tally *tally = &at_lives_tally;

	pr_info("atomic: lives: %llu operations started, %llu ended, %llu timed out, %llu lost, %llu double, %llu failed (%d)\n",
		tally->started, tally->ended, tally->timed_out, tally->lost,
		tally->double_callbacks, tally->failures, tally->first_failure);
	return at_lives_error;
}
