/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults of the device, on demand: what a test asks for in
 * /sys/kernel/debug/ohca/FUNCTION/fail_*, as with the kernel's other faults
 * (Documentation/fault-injection/).  Nothing happens unless it is asked for, and
 * nothing is there without CONFIG_FAULT_INJECTION_DEBUG_FS.
 */
#ifndef OHCA_FAULT_H
#define OHCA_FAULT_H

#include <linux/fault-inject.h>
#include <linux/types.h>

#include "cmdq.h"

struct dentry;
struct ohca_dev;

/**
 * enum ohca_fault - what may go wrong
 * @OHCA_FAULT_ANSWER_LOST:	a command is never answered
 * @OHCA_FAULT_ANSWER_CORRUPT:	a completion names another slot or generation
 * @OHCA_FAULT_ANSWER_LATE:	it comes when nobody waits for it any more
 * @OHCA_FAULT_ANSWER_DUPLICATE: it comes twice
 * @OHCA_FAULT_INTERRUPT_LOST:	an interrupt of vector 0 does not come
 * @OHCA_FAULT_COMPLETION_INTERRUPT_LOST: likewise of the others
 * @OHCA_FAULT_SILENCE:		no command is answered any more, until the next reset; looked
 *				at once a second
 * @OHCA_FAULT_DEVICE:		the device fails; likewise
 * @OHCA_FAULT_COUNT:		of them
 */
enum ohca_fault {
	OHCA_FAULT_ANSWER_LOST,
	OHCA_FAULT_ANSWER_CORRUPT,
	OHCA_FAULT_ANSWER_LATE,
	OHCA_FAULT_ANSWER_DUPLICATE,
	OHCA_FAULT_INTERRUPT_LOST,
	OHCA_FAULT_COMPLETION_INTERRUPT_LOST,
	OHCA_FAULT_SILENCE,
	OHCA_FAULT_DEVICE,
	OHCA_FAULT_COUNT
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

/* The answer to each command may be late. */
#define OHCA_FAULT_LATE_MAX	BIT(OHCA_CMDQ_LOG_DEPTH)

struct ohca_faults {
	struct dentry *dir;
	struct fault_attr attrs[OHCA_FAULT_COUNT];
	bool silent;
	/* Completions that are kept back, the oldest first; under the command queue's lock. */
	struct {
		struct ohca_cmd_completion completion;
		unsigned long due;	/* jiffies */
	} late[OHCA_FAULT_LATE_MAX];
	u32 late_first;
	u32 late_count;
};

void ohca_faults_init(struct ohca_dev *dev);
void ohca_faults_remove(struct ohca_dev *dev);
/* Any context. */
bool ohca_fault(struct ohca_dev *dev, enum ohca_fault fault);
/*
 * A completion has been taken from the ring, with the queue's lock held: how often it has arrived.
 * One that is late will be @patience (jiffies) old when ohca_fault_late() hands it out.
 */
unsigned int ohca_fault_answer(struct ohca_dev *dev, struct ohca_cmd_completion *c,
			       unsigned long patience);
/* One that arrives now, if there is any.  Likewise. */
bool ohca_fault_late(struct ohca_dev *dev, struct ohca_cmd_completion *c);
/* Once a second: NULL, or what the device is said to suffer from. */
const char *ohca_fault_health(struct ohca_dev *dev);

#else

struct ohca_faults {
};

static inline void ohca_faults_init(struct ohca_dev *dev) {}
static inline void ohca_faults_remove(struct ohca_dev *dev) {}
static inline bool ohca_fault(struct ohca_dev *dev, enum ohca_fault fault) { return false; }

static inline unsigned int ohca_fault_answer(struct ohca_dev *dev, struct ohca_cmd_completion *c,
					     unsigned long patience)
{
	return 1;
}

static inline bool ohca_fault_late(struct ohca_dev *dev, struct ohca_cmd_completion *c)
{
	return false;
}

static inline const char *ohca_fault_health(struct ohca_dev *dev) { return NULL; }

#endif
#endif /* OHCA_FAULT_H */
