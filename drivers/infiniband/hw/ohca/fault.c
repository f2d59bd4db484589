// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injected faults: their files.  See fault.h. */

#include <linux/debugfs.h>

#include "ohca.h"

static const char * const ohca_fault_names[OHCA_FAULT_COUNT] = {
	[OHCA_FAULT_ANSWER_LOST] = "fail_answer_lost",
	[OHCA_FAULT_ANSWER_CORRUPT] = "fail_answer_corrupt",
	[OHCA_FAULT_ANSWER_LATE] = "fail_answer_late",
	[OHCA_FAULT_ANSWER_DUPLICATE] = "fail_answer_duplicate",
	[OHCA_FAULT_INTERRUPT_LOST] = "fail_interrupt_lost",
	[OHCA_FAULT_COMPLETION_INTERRUPT_LOST] = "fail_completion_interrupt_lost",
	[OHCA_FAULT_SILENCE] = "fail_silence",
	[OHCA_FAULT_DEVICE] = "fail_device",
};

/* The folder of the driver is there while one of its functions is. */
static DEFINE_MUTEX(ohca_fault_mutex);
static struct dentry *ohca_fault_root;
static unsigned int ohca_fault_users;

/* Without files there are no faults: that is no reason to do without the device. */
void ohca_faults_init(struct ohca_dev *dev)
{
	static const struct fault_attr off = FAULT_ATTR_INITIALIZER;
	struct ohca_faults *faults = &dev->faults;
	int i;

	for (i = 0; i < OHCA_FAULT_COUNT; i++)
		faults->attrs[i] = off;
	mutex_lock(&ohca_fault_mutex);
	if (!ohca_fault_users++)
		ohca_fault_root = debugfs_create_dir(OHCA_DRIVER_NAME, NULL);
	mutex_unlock(&ohca_fault_mutex);
	faults->dir = debugfs_create_dir(dev_name(ohca_device(dev)), ohca_fault_root);
	for (i = 0; i < OHCA_FAULT_COUNT; i++)
		fault_create_debugfs_attr(ohca_fault_names[i], faults->dir, &faults->attrs[i]);
	/* Where each slot is when nothing is under way: one or the other. */
	debugfs_create_u32("command_slots_free", 0400, faults->dir, &dev->cmdq.free_count);
	debugfs_create_u32("command_slots_unanswered", 0400, faults->dir, &dev->cmdq.quarantined);
}

void ohca_faults_remove(struct ohca_dev *dev)
{
	debugfs_remove(dev->faults.dir);
	mutex_lock(&ohca_fault_mutex);
	if (!--ohca_fault_users)
		debugfs_remove(ohca_fault_root);
	mutex_unlock(&ohca_fault_mutex);
}

bool ohca_fault(struct ohca_dev *dev, enum ohca_fault fault)
{
	struct fault_attr *attr = &dev->faults.attrs[fault];

	/* A task whose allocations are to fail (fail_nth) has not asked for this. */
	return READ_ONCE(attr->probability) && should_fail(attr, 1);
}

static bool ohca_fault_keep(struct ohca_faults *faults, const struct ohca_cmd_completion *c,
			    unsigned long due)
{
	u32 last;

	if (faults->late_count == OHCA_FAULT_LATE_MAX)
		return false;
	last = (faults->late_first + faults->late_count++) % OHCA_FAULT_LATE_MAX;
	faults->late[last].completion = *c;
	faults->late[last].due = due;
	return true;
}

unsigned int ohca_fault_answer(struct ohca_dev *dev, struct ohca_cmd_completion *c,
			       unsigned long patience)
{
	struct ohca_faults *faults = &dev->faults;

	lockdep_assert_held(&dev->cmdq.lock);
	if (READ_ONCE(faults->silent) || ohca_fault(dev, OHCA_FAULT_ANSWER_LOST))
		return 0;
	if (ohca_fault(dev, OHCA_FAULT_ANSWER_LATE) &&
	    ohca_fault_keep(faults, c, jiffies + patience))
		return 0;
	if (ohca_fault(dev, OHCA_FAULT_ANSWER_CORRUPT))
		c->generation = ~c->generation;
	return ohca_fault(dev, OHCA_FAULT_ANSWER_DUPLICATE) ? 2 : 1;
}

bool ohca_fault_late(struct ohca_dev *dev, struct ohca_cmd_completion *c)
{
	struct ohca_faults *faults = &dev->faults;
	u32 first = faults->late_first;

	lockdep_assert_held(&dev->cmdq.lock);
	if (!faults->late_count || time_before(jiffies, faults->late[first].due))
		return false;
	*c = faults->late[first].completion;
	faults->late_first = (first + 1) % OHCA_FAULT_LATE_MAX;
	faults->late_count--;
	return true;
}

const char *ohca_fault_health(struct ohca_dev *dev)
{
	if (ohca_fault(dev, OHCA_FAULT_SILENCE))
		WRITE_ONCE(dev->faults.silent, true);
	return ohca_fault(dev, OHCA_FAULT_DEVICE) ? "fault injected" : NULL;
}
