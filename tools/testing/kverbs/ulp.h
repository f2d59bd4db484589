/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef KVERBS_ULP_H
#define KVERBS_ULP_H

#include "kverbs.h"

#define KV_RW_WAIT	(10 * HZ)

/* Work requests whose completions are counted; all: as many as are wanted. */
struct kv_counted {
	struct ib_cqe cqe;
	struct completion all;
	int done, failed, wanted;
};

void kv_count(struct ib_cq *cq, struct ib_wc *wc);

/* With a CQ for the pair that is polled for it, in a workqueue. */
int kv_with_polled_cq(struct kv_pair *pair, int (*run)(struct kv_pair *pair));

#endif /* KVERBS_ULP_H */
