// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A ULP at work until the device goes away: writes from both sides on CQs of
 * each kind of poll context, drained and destroyed as ULPs do, whether the
 * device is alive then or not.
 */

#include <linux/slab.h>

#include "kverbs.h"

#define KV_CONTEXTS	2	/* softirq, workqueue */

struct kv_flow {
	struct kv_pair pair;
	struct ib_cq *cq;
	struct ib_cqe cqe;
	struct ib_sge sge;
	struct ib_rdma_wr wr;
	bool stop;
	atomic64_t done, flushed;
};

struct kv_traffic {
	struct kv_flow flows[KV_CONTEXTS];
};

static void kv_flow_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_flow *flow = container_of(wc->wr_cqe, struct kv_flow, cqe);

	if (wc->status == IB_WC_SUCCESS)
		atomic64_inc(&flow->done);
	else
		atomic64_inc(&flow->flushed);
	if (!READ_ONCE(flow->stop) && wc->status == IB_WC_SUCCESS)
		ib_post_send(wc->qp, &flow->wr.wr, NULL);
}

/* The pair's own CQs are replaced by one of the given poll context. */
static int kv_flow_start(struct kv_flow *flow, struct ib_device *device,
			 enum ib_poll_context context)
{
	struct kv_pair *pair = &flow->pair;
	struct ib_cq *own[2];
	int i, ret;

	ret = kv_pair_open(pair, device, IB_QPT_RC);
	if (ret)
		return ret;
	kv_pair_destroy_qps(pair);
	flow->cq = ib_alloc_cq(device, flow, 4 * KV_DEPTH, 0, context);
	if (IS_ERR(flow->cq)) {
		ret = PTR_ERR(flow->cq);
		goto err_close;
	}
	for (i = 0; i < 2; i++) {
		own[i] = pair->cq[i];
		pair->cq[i] = flow->cq;
	}
	ret = kv_pair_create_qps(pair);
	for (i = 0; i < 2; i++)
		pair->cq[i] = own[i];
	if (!ret)
		ret = kv_pair_connect(pair);
	if (ret)
		goto err_cq;

	flow->cqe.done = kv_flow_done;
	flow->sge = kv_sge(pair, 0, 0, 4096);
	flow->wr.wr.wr_cqe = &flow->cqe;
	flow->wr.wr.sg_list = &flow->sge;
	flow->wr.wr.num_sge = 1;
	flow->wr.wr.opcode = IB_WR_RDMA_WRITE;
	flow->wr.wr.send_flags = IB_SEND_SIGNALED;
	flow->wr.remote_addr = pair->dma[1];
	flow->wr.rkey = pair->mr->rkey;
	for (i = 0; i < KV_DEPTH / 2 && !ret; i++)
		ret = ib_post_send(pair->qp[i % 2], &flow->wr.wr, NULL);
	if (ret)
		goto err_cq;
	return 0;

err_cq:
	kv_pair_destroy_qps(pair);
	ib_free_cq(flow->cq);
err_close:
	kv_pair_close(pair);
	return ret;
}

static void kv_flow_stop(struct kv_flow *flow)
{
	WRITE_ONCE(flow->stop, true);
	ib_drain_qp(flow->pair.qp[0]);
	ib_drain_qp(flow->pair.qp[1]);
	kv_pair_destroy_qps(&flow->pair);
	ib_free_cq(flow->cq);
	kv_pair_close(&flow->pair);
	pr_info("kverbs: traffic stopped: %lld writes, %lld flushed\n",
		atomic64_read(&flow->done), atomic64_read(&flow->flushed));
}

struct kv_traffic *kv_traffic_start(struct ib_device *device)
{
	static const enum ib_poll_context contexts[KV_CONTEXTS] = {
		IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE,
	};
	struct kv_traffic *traffic = kzalloc(sizeof(*traffic), GFP_KERNEL);
	int i, ret;

	if (!traffic)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < KV_CONTEXTS; i++) {
		ret = kv_flow_start(&traffic->flows[i], device, contexts[i]);
		if (ret) {
			while (i--)
				kv_flow_stop(&traffic->flows[i]);
			kfree(traffic);
			return ERR_PTR(ret);
		}
	}
	return traffic;
}

void kv_traffic_stop(struct kv_traffic *traffic)
{
	int i;

	for (i = 0; i < KV_CONTEXTS; i++)
		kv_flow_stop(&traffic->flows[i]);
	kfree(traffic);
}
