/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef ATOMIC_H
#define ATOMIC_H

#include <linux/completion.h>
#include <linux/types.h>

#include <rdma/ohca.h>

#define AT_PORT		1
#define AT_DEPTH	16
#define AT_WAIT_MS	20000
#define AT_POLL_US	5000000	/* one that was answered is over long before */
#define AT_BUFFER_SIZE	4096

/* Where a function runs. */
enum at_context {
	AT_HARD_INTERRUPT,	/* irq_work */
	AT_HARD_TIMER,		/* hrtimer that expires in hard interrupt context */
	AT_SOFT_INTERRUPT,	/* hrtimer that expires in a softirq */
	AT_SPINLOCK,		/* process, interrupts off, a lock held */
	AT_PREEMPT_OFF,
	AT_PROCESS,
	AT_CONTEXT_COUNT
};

extern const char * const at_context_names[AT_CONTEXT_COUNT];
int at_run(enum at_context context, int (*function)(void *argument), void *argument);

/* What all tests of a device share: pools, and something to send. */
struct at_setup {
	struct ib_device *device;
	struct ohca_async *async;
	struct ib_pd *pd;
	struct ib_mr *memory;		/* all of it, all rights */
	struct ib_cq *cq;
	struct ohca_pool *qps;		/* RC, on cq */
	struct ohca_pool *ud_qps;
	struct ohca_pool *cqs;
	struct ohca_pool *srqs;
	struct ohca_pool *mrs;
	void *buffer;
	dma_addr_t dma;
	const struct ib_gid_attr *gid;
};

int at_open(struct at_setup *setup, struct ib_device *device, u32 qps);
void at_close(struct at_setup *setup);
/* Of all queue pairs of the tests and of the benchmark. */
struct ib_qp_init_attr at_qp_init_attr(const struct at_setup *setup);
void at_connect_attr(struct at_setup *setup, u32 peer, struct ib_qp_attr *attr);

#define AT_INIT_MASK	(IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS)
#define AT_RTR_MASK	(IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | \
			 IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define AT_RTS_MASK	(IB_QP_STATE | IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | \
			 IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC)
#define AT_CONNECT_MASK	(AT_INIT_MASK | AT_RTR_MASK | AT_RTS_MASK)

/* A failed expectation ends the function with -EBADE and says where. */
#define AT_CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			pr_err("atomic: %s:%d: %s\n", __func__,		\
			       __LINE__, #condition);			\
			return -EBADE;					\
		}							\
	} while (0)

/* Prints one result; returns whether it is a failure. */
int at_report(int ret, const char *format, ...) __printf(2, 3);

int at_test_verbs(struct ib_device *device);
int at_test_rules(struct ib_device *device);

/* What has become of the operations of a storm, or of several. */
struct at_tally {
	u64 started;
	u64 ended;
	u64 double_callbacks;
	u64 timed_out;		/* -ETIMEDOUT */
	u64 lost;		/* -EIO and -ENODEV: the device has failed or left */
	u64 failures;		/* other errors, which nothing explains */
	int first_failure;
};

/* Operations without end, or so many, from all CPUs and contexts. */
struct at_storm;
/* @poll_us: how long those wait that poll */
struct at_storm *at_storm_prepare(struct ib_device *device, u64 commands, u32 poll_us);
void at_storm_begin(struct at_storm *storm);
/* Adds to @tally: 0, or an errno if not each operation has ended once, and as expected. */
int at_storm_stop(struct at_storm *storm, struct at_tally *tally);
bool at_storm_over(struct at_storm *storm);
u64 at_storm_ended(struct at_storm *storm);

/* A storm that goes on when its device has failed and comes back: lives.c */
extern const struct kernel_param_ops at_lives_control;
void at_lives_add(struct ib_device *device);
void at_lives_remove(void);
int at_lives_end(void);

int at_bench(struct ib_device *device, u32 connections, u32 limit_ms, const char *form);
int at_cost(struct ib_device *device);

#endif /* ATOMIC_H */
