/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device for the KUnit tests: registers, UAR page, interrupts and a command
 * processor, in the kernel that the driver runs in.
 *
 * It knows which objects exist, and nothing of queues or data.  Commands that
 * arrive are answered at once or, while it is held, when the test says so and
 * as the test says.
 */
#ifndef OHCA_FAKE_DEVICE_H
#define OHCA_FAKE_DEVICE_H

#include <kunit/test.h>

#include "ohca.h"

#define OHCA_FAKE_VECTORS	3
#define OHCA_FAKE_COMMANDS	BIT(OHCA_CMDQ_LOG_DEPTH)
/* Handles of each kind of object are below; no test has so many at a time. */
#define OHCA_FAKE_HANDLES	512
#define OHCA_FAKE_GIDS		16
#define OHCA_FAKE_FEATURES	(OHCA_FEATURES_ALL & ~(OHCA_FEATURE_UD | OHCA_FEATURE_MULTICAST))

enum ohca_fake_kind {
	OHCA_FAKE_EQ,
	OHCA_FAKE_UAR,
	OHCA_FAKE_PD,
	OHCA_FAKE_MKEY,
	OHCA_FAKE_CQ,
	OHCA_FAKE_QP,
	OHCA_FAKE_SRQ,
	OHCA_FAKE_XRCD,
	OHCA_FAKE_KIND_COUNT
};

/* A command that has arrived and is not answered yet. */
struct ohca_fake_command {
	struct ohca_cmd_entry entry;
	u8 in[OHCA_CMDQ_INPUT_SIZE];
};

struct ohca_fake_device {
	struct ohca_dev *dev;
	bool started;			/* ... and registered */
	struct device *parent;
	struct irq_domain *interrupts;
	struct ohca_uar *uars;
	spinlock_t lock;		/* all below */
	u64 features;
	u32 status;			/* OHCA_STATUS_* */
	u32 fail_reason;
	u32 registers[OHCA_CONTROL_BAR_SIZE / sizeof(u32)];
	bool held;			/* do not answer by itself */
	bool mute;			/* raise no interrupt */
	u32 detail;			/* of completions */
	bool boasting;			/* QUERY_DEVICE: all limits are as high as can be told */
	u32 interrupts_raised;
	u32 resets;
	u32 kicks;			/* doorbells that were rung */
	u32 fetched;			/* index of the next command to look at */
	u32 completed;			/* index of the next completion to write */
	struct ohca_fake_command commands[OHCA_FAKE_COMMANDS];
	u32 count;			/* of commands, in the order of their arrival */
	u32 handled[0x40];		/* by opcode: commands answered with OK */
	DECLARE_BITMAP(objects[OHCA_FAKE_KIND_COUNT], OHCA_FAKE_HANDLES);
	u32 next_handle[OHCA_FAKE_KIND_COUNT];
	u8 consumer_keys[OHCA_FAKE_HANDLES];	/* of memory keys */
	/* What the driver has said last. */
	struct ohca_cmd_modify_qp_in modify_qp;
	struct ohca_cmd_create_mkey_in create_mkey;
	struct ohca_cmd_create_qp_in create_qp;
	struct ohca_qp_attributes qp;	/* answer of QUERY_QP */
	struct ohca_cmd_set_gid_in gids[OHCA_FAKE_GIDS];
	struct {
		struct ohca_eq_record *record;
		struct ohca_eqe *ring;
		u32 depth;
		u32 producer;
	} eqs[OHCA_FAKE_VECTORS];
};

/* All of these are undone at the end of the test, and end it if they fail. */

/* A driver's device on a fake one: mapped and probed, and nothing more. */
struct ohca_fake_device *ohca_fake_device_create(struct kunit *test);
/* Also its command queue, live; commands are polled, as before EQs exist. */
struct ohca_fake_device *ohca_fake_device_enable(struct kunit *test);
/* As ohca_start() does it: with interrupts, and registered with ib_core. */
struct ohca_fake_device *ohca_fake_device_start(struct kunit *test);
/* The driver of a started one does what it does when its function is reset: 0 or an errno. */
int ohca_fake_device_reset(struct ohca_fake_device *fake);

/* Answer the command that arrived as the number @position of those left. */
void ohca_fake_answer(struct ohca_fake_device *fake, u32 position);
/* Refuse it. */
void ohca_fake_refuse(struct ohca_fake_device *fake, u32 position, u8 status);
/* Never answer it. */
void ohca_fake_forget(struct ohca_fake_device *fake, u32 position);
void ohca_fake_answer_all(struct ohca_fake_device *fake);
/* Write any completion. */
void ohca_fake_complete(struct ohca_fake_device *fake, u16 slot, u32 generation, u8 status);
u16 ohca_fake_opcode(struct ohca_fake_device *fake, u32 position);

/* Write any entry into the EQ of @vector. */
void ohca_fake_event(struct ohca_fake_device *fake, unsigned int vector, u8 type, u32 number);
/* Raise the vector if the driver wants it, or @always. */
void ohca_fake_interrupt(struct ohca_fake_device *fake, unsigned int vector, bool always);

/* Set what STATUS reads, and interrupt as a device does that fails. */
void ohca_fake_set_status(struct ohca_fake_device *fake, u32 status, u32 reason);
u32 ohca_fake_objects(struct ohca_fake_device *fake, enum ohca_fake_kind kind);

#endif /* OHCA_FAKE_DEVICE_H */
