// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the command queue against the real device, run when a function is
 * probed.  Only in modules built with CONFIG_INFINIBAND_OHCA_SELFTEST=y.
 *
 * What matters is where commands come from: a hard interrupt with a lock held,
 * more at once than there are slots, interrupts off, nobody to wait for them.
 */

#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/slab.h>

#include "ohca.h"

#define OHCA_TEST_COMMANDS	1000
#define OHCA_TEST_WAIT_MS	10000
#define OHCA_TEST_POLLED	100

struct ohca_test {
	struct ohca_dev *dev;
	struct irq_work interrupt;
	spinlock_t lock;		/* held while submitting; taken by nobody else */
	u16 flags;			/* of the commands */
	atomic_t accepted;
	atomic_t done;
	atomic_t failed;
	struct completion submitted;
	struct ohca_cmd cmds[OHCA_TEST_COMMANDS];
};

static void ohca_test_done(struct ohca_cmd *cmd)
{
	struct ohca_test *test = cmd->context;

	/* A second callback would be seen as a failure: the command says DONE once. */
	if (cmd->result || cmd->opcode != OHCA_CMD_NOP)
		atomic_inc(&test->failed);
	cmd->opcode = 0;
	atomic_inc(&test->done);
}

static void ohca_test_submit_all(struct irq_work *interrupt)
{
	struct ohca_test *test = container_of(interrupt, struct ohca_test, interrupt);
	unsigned long flags;
	int i, ret;

	if (!in_hardirq())
		atomic_inc(&test->failed);
	spin_lock_irqsave(&test->lock, flags);
	for (i = 0; i < OHCA_TEST_COMMANDS; i++) {
		test->cmds[i] = (struct ohca_cmd) {
			.opcode = OHCA_CMD_NOP,
			.flags = test->flags,
			.done = ohca_test_done,
			.context = test,
		};
		ret = ohca_cmdq_submit(test->dev, &test->cmds[i]);
		if (!ret)
			atomic_inc(&test->accepted);
		else if (ret != -EBUSY || !(test->flags & OHCA_CMD_NOWAIT))
			atomic_inc(&test->failed);
	}
	spin_unlock_irqrestore(&test->lock, flags);
	complete(&test->submitted);
}

/* Every accepted command ends once, well; without NOWAIT every one is accepted. */
static const char *ohca_test_interrupt(struct ohca_test *test, u16 flags)
{
	int i;

	test->flags = flags;
	atomic_set(&test->accepted, 0);
	atomic_set(&test->done, 0);
	atomic_set(&test->failed, 0);
	reinit_completion(&test->submitted);
	irq_work_queue(&test->interrupt);
	wait_for_completion(&test->submitted);
	for (i = 0; i < OHCA_TEST_WAIT_MS; i++) {
		if (atomic_read(&test->done) == atomic_read(&test->accepted))
			break;
		usleep_range(1000, 2000);
	}
	/* Long enough for a callback too many. */
	usleep_range(10000, 20000);
	if (atomic_read(&test->done) != atomic_read(&test->accepted))
		return "callbacks missing, or too many";
	if (atomic_read(&test->failed))
		return "commands failed";
	if (!flags && atomic_read(&test->accepted) != OHCA_TEST_COMMANDS)
		return "commands not accepted";
	return NULL;
}

static const char *ohca_test_waiters(struct ohca_test *test)
{
	return ohca_test_interrupt(test, 0);
}

static const char *ohca_test_nowait(struct ohca_test *test)
{
	return ohca_test_interrupt(test, OHCA_CMD_NOWAIT);
}

static const char *ohca_test_polled(struct ohca_test *test)
{
	struct ohca_cmd cmd = { .opcode = OHCA_CMD_NOP };
	unsigned long flags;
	int i, ret = 0;

	for (i = 0; i < OHCA_TEST_POLLED && !ret; i++) {
		local_irq_save(flags);
		ret = ohca_cmdq_exec_polled(test->dev, &cmd, OHCA_TEST_WAIT_MS);
		local_irq_restore(flags);
	}
	return ret ? "polled command failed" : NULL;
}

static const char *ohca_test_refused(struct ohca_test *test)
{
	struct ohca_cmd cmd = { .opcode = 0xffff };

	return ohca_cmdq_exec(test->dev, &cmd) == -EOPNOTSUPP ? NULL : "unknown opcode accepted";
}

static bool ohca_test_idle(struct ohca_cmdq *q)
{
	bool idle;

	spin_lock_irq(&q->lock);
	idle = q->free_count == q->depth && !q->quarantined && list_empty(&q->waiters);
	spin_unlock_irq(&q->lock);
	return idle;
}

/* Creators that give up at once: slots and objects come back when the answers do. */
static const char *ohca_test_late_answers(struct ohca_test *test)
{
	struct ohca_cmd_handle out;
	struct ohca_cmd cmd = {
		.opcode = OHCA_CMD_CREATE_PD,
		.out = &out,
		.out_length = sizeof(out),
	};
	int i, ret, late = 0;

	for (i = 0; i < OHCA_TEST_POLLED; i++) {
		ret = ohca_cmdq_exec_polled(test->dev, &cmd, 0);
		if (!ret)
			ret = ohca_cmd_destroy(test->dev, OHCA_CMD_DESTROY_PD,
					       le32_to_cpu(out.handle));
		else if (ret == -ETIMEDOUT)
			late++;
		else
			return "unexpected result";
	}
	for (i = 0; i < OHCA_TEST_WAIT_MS && !ohca_test_idle(&test->dev->cmdq); i++)
		usleep_range(1000, 2000);
	dev_info(ohca_device(test->dev), "selftest: %d late answers\n", late);
	if (!ohca_test_idle(&test->dev->cmdq))
		return "slots did not come back";
	return ohca_failed(test->dev) ? "device failed" : NULL;
}

static const struct {
	const char *name;
	const char *(*run)(struct ohca_test *test);
} ohca_tests[] = {
	{ "submit from hard interrupt, more than slots", ohca_test_waiters },
	{ "submit from hard interrupt, no waiting", ohca_test_nowait },
	{ "poll with interrupts off", ohca_test_polled },
	{ "unknown opcode", ohca_test_refused },
	{ "late answers", ohca_test_late_answers },
};

void ohca_selftest(struct ohca_dev *dev)
{
	struct ohca_test *test = kvzalloc(sizeof(*test), GFP_KERNEL);
	const char *problem;
	int i;

	if (!test)
		return;
	test->dev = dev;
	spin_lock_init(&test->lock);
	init_completion(&test->submitted);
	test->interrupt = IRQ_WORK_INIT_HARD(ohca_test_submit_all);
	for (i = 0; i < ARRAY_SIZE(ohca_tests); i++) {
		problem = ohca_tests[i].run(test);
		dev_info(ohca_device(dev), "selftest: %s: %s%s%s\n", problem ? "not ok" : "ok",
			 ohca_tests[i].name, problem ? ": " : "", problem ?: "");
	}
	irq_work_sync(&test->interrupt);
	kvfree(test);
}
