// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completions as ULPs take them. */

#include "ulp.h"

int kv_with_polled_cq(struct kv_pair *pair, int (*run)(struct kv_pair *pair))
{
	struct ib_cq *own[2] = { pair->cq[0], pair->cq[1] };
	struct ib_cq *cq;
	int ret;

	kv_pair_destroy_qps(pair);
	cq = ib_alloc_cq(pair->device, NULL, 4 * KV_DEPTH, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	pair->cq[0] = cq;
	pair->cq[1] = cq;
	ret = kv_pair_create_qps(pair) ?: kv_pair_connect(pair) ?: run(pair);
	kv_pair_destroy_qps(pair);
	pair->cq[0] = own[0];
	pair->cq[1] = own[1];
	ib_free_cq(cq);
	return ret;
}

void kv_count(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_counted *counted = container_of(wc->wr_cqe, struct kv_counted, cqe);

	counted->failed += wc->status != IB_WC_SUCCESS;
	if (++counted->done == counted->wanted)
		complete(&counted->all);
}
