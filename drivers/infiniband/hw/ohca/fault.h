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

struct dentry;
struct ohca_dev;

/**
 * enum ohca_fault - what may go wrong
 * @OHCA_FAULT_ANSWER_LOST:	a command is never answered; all of them: a silent device
 * @OHCA_FAULT_ANSWER_CORRUPT:	a completion names another slot or generation
 * @OHCA_FAULT_INTERRUPT_LOST:	an interrupt of vector 0 does not come
 * @OHCA_FAULT_DEVICE:		the device fails when its health is looked at
 * @OHCA_FAULT_COUNT:		of them
 */
enum ohca_fault {
	OHCA_FAULT_ANSWER_LOST,
	OHCA_FAULT_ANSWER_CORRUPT,
	OHCA_FAULT_INTERRUPT_LOST,
	OHCA_FAULT_DEVICE,
	OHCA_FAULT_COUNT
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

struct ohca_faults {
	struct dentry *dir;
	struct fault_attr attrs[OHCA_FAULT_COUNT];
};

void ohca_faults_init(struct ohca_dev *dev);
void ohca_faults_remove(struct ohca_dev *dev);
/* Any context. */
bool ohca_fault(struct ohca_dev *dev, enum ohca_fault fault);

#else

struct ohca_faults {
};

static inline void ohca_faults_init(struct ohca_dev *dev) {}
static inline void ohca_faults_remove(struct ohca_dev *dev) {}
static inline bool ohca_fault(struct ohca_dev *dev, enum ohca_fault fault) { return false; }

#endif
#endif /* OHCA_FAULT_H */
