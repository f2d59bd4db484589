/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef OHCA_CMDQ_H
#define OHCA_CMDQ_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <rdma/ohca.h>
#include <rdma/ohca_hw.h>

struct dma_pool;
struct ohca_dev;

#define OHCA_CMDQ_LOG_DEPTH	8
/* Every command's input and output fit; see format.c. */
#define OHCA_CMDQ_INPUT_SIZE	256
#define OHCA_CMDQ_OUTPUT_SIZE	512

struct ohca_cmdq_slot;

struct ohca_cmdq {
	spinlock_t lock;		/* everything below; taken in hard interrupts */
	struct ohca_cmd_entry *sq;
	dma_addr_t sq_dma;
	struct ohca_cmd_completion *cq;
	dma_addr_t cq_dma;
	struct ohca_cmdq_record *record;
	dma_addr_t record_dma;
	struct dma_pool *mailboxes;
	struct ohca_cmdq_slot *slots;
	u16 *free_slots;		/* a stack */
	u32 free_count;
	u32 depth;
	u8 log_depth;
	u32 producer;
	u32 consumer;
	struct list_head waiters;	/* for a slot, in order */
	u32 quarantined;		/* slots whose command timed out */
	unsigned long last_answer;	/* jiffies: or the first command since none was under way */
	bool entered;			/* something, since the doorbell was rung */
	bool stopped;			/* -EIO for everybody */
};

int ohca_cmdq_init(struct ohca_dev *dev);
void ohca_cmdq_free(struct ohca_dev *dev);
void ohca_cmdq_stop(struct ohca_dev *dev);

int ohca_cmdq_submit(struct ohca_dev *dev, struct ohca_cmd *cmd);
void ohca_cmdq_submit_list(struct ohca_dev *dev, struct list_head *cmds);
bool ohca_cmdq_give_up(struct ohca_dev *dev, struct ohca_cmd *cmd);
int ohca_cmdq_exec(struct ohca_dev *dev, struct ohca_cmd *cmd);
int ohca_cmdq_exec_polled(struct ohca_dev *dev, struct ohca_cmd *cmd, u32 timeout_ms);
bool ohca_cmdq_reap(struct ohca_dev *dev);
bool ohca_cmdq_drain(struct ohca_dev *dev);
void ohca_cmdq_expire(struct ohca_dev *dev);

#endif /* OHCA_CMDQ_H */
