// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device's counters for those who may not sleep: a copy, and a command of
 * its own that brings it up to date.
 *
 * Whoever asks starts the command, unless the copy is fresh or the command is
 * under way already, and looks for the answer himself for a moment.  If it
 * takes longer he gets the copy as it was; the answer is still taken when it
 * comes.
 */

#include <linux/delay.h>

#include "ohca.h"

/* As old as this a copy is as good as a new one. */
#define OHCA_COUNTERS_FRESH	(HZ / 50)
/* A device that is awake answers in a few microseconds. */
#define OHCA_COUNTERS_SPIN_US	300

static void ohca_counters_done(struct ohca_cmd *cmd)
{
	struct ohca_dev *dev = cmd->context;
	struct ohca_counters *counters = &dev->counters;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&counters->lock, flags);
	if (!cmd->result) {
		for (i = 0; i < ohca_counter_count(dev); i++)
			counters->values[i] = le64_to_cpu(counters->raw[i]);
		counters->refreshed = jiffies;
		counters->valid = true;
	}
	/* The last access to the command: it may be used again. */
	WRITE_ONCE(counters->pending, false);
	spin_unlock_irqrestore(&counters->lock, flags);
}

static bool ohca_counters_start(struct ohca_counters *counters)
{
	unsigned long flags;
	bool start;

	spin_lock_irqsave(&counters->lock, flags);
	start = !counters->pending &&
		!(counters->valid &&
		  time_before(jiffies, counters->refreshed + OHCA_COUNTERS_FRESH));
	if (start)
		WRITE_ONCE(counters->pending, true);
	spin_unlock_irqrestore(&counters->lock, flags);
	return start;
}

/* Any context. */
void ohca_counters_read(struct ohca_dev *dev, u64 *values)
{
	struct ohca_counters *counters = &dev->counters;
	unsigned long flags;
	int us;

	if (ohca_counters_start(counters) &&
	    ohca_cmd_query_counters_async(dev, &counters->cmd, counters->raw,
					  dev->caps.counter_count, ohca_counters_done))
		WRITE_ONCE(counters->pending, false);
	for (us = 0; us < OHCA_COUNTERS_SPIN_US && READ_ONCE(counters->pending); us++) {
		if (!ohca_cmdq_drain(dev))
			udelay(1);
	}
	spin_lock_irqsave(&counters->lock, flags);
	memcpy(values, counters->values, sizeof(counters->values));
	spin_unlock_irqrestore(&counters->lock, flags);
}

void ohca_counters_init(struct ohca_dev *dev)
{
	spin_lock_init(&dev->counters.lock);
}
