// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What ULPs rely on: when invalidation takes effect, that a drained queue pair
 * is quiet, and the API for reading and writing a peer's memory.
 */

#include <linux/delay.h>
#include <linux/slab.h>

#include <rdma/rw.h>

#include "region.h"
#include "ulp.h"

/* While a READ waits for its answer: 4.096 us * 2^18, about a second, eight times. */
#define KV_LONG_TIMEOUT	18
#define KV_LOOKS	100

/*
 * A second pair in the same PD shows what is registered, while the READ of the
 * first one has nobody to answer it.
 */
struct kv_fence {
	struct kv_pair *pair;
	struct kv_pair probe;
	struct kv_region region;
};

/* Side 1 is not there yet. */
static int kv_fence_start(struct kv_fence *fence, int flags)
{
	struct kv_pair *pair = fence->pair;
	struct ib_mr *mr = fence->region.mr;
	struct ib_sge sge = { .addr = mr->iova, .length = 4000, .lkey = mr->lkey };
	struct ib_send_wr invalidate = {
		.wr_id = 2, .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = mr->rkey,
		.send_flags = IB_SEND_SIGNALED | flags,
	};
	struct ib_rdma_wr read = {
		.wr = {
			.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED, .next = &invalidate,
		},
		.remote_addr = pair->dma[1], .rkey = pair->mr->rkey,
	};
	enum ib_wc_status status;

	kv_pair_destroy_qps(pair);
	pair->timeout = KV_LONG_TIMEOUT;
	KV_CHECK(!kv_pair_create_qps(pair) && !kv_pair_connect_side(pair, 0));
	KV_CHECK(!kv_register(pair, &fence->region, KV_ACCESS, &status) && !status);
	kv_pattern(pair->buffer[1], 4000, 60);
	KV_CHECK(!ib_post_send(pair->qp[0], &read.wr, NULL));
	return 0;
}

/* Whether a peer may use the key: 1, 0 or a negative error. */
static int kv_fence_look(struct kv_fence *fence)
{
	struct ib_mr *mr = fence->region.mr;
	struct ib_wc wc;

	KV_CHECK(!kv_rdma_key(&fence->probe, IB_WR_RDMA_WRITE, 8, mr->iova + 5000, mr->rkey, &wc));
	if (wc.status == IB_WC_SUCCESS)
		return 1;
	KV_CHECK(wc.status == IB_WC_REM_ACCESS_ERR);
	return kv_reconnect(&fence->probe);
}

/* 0 once the key is gone, 1 if it stays. */
static int kv_fence_watch(struct kv_fence *fence, int looks)
{
	int ret = 1;

	while (ret == 1 && looks--) {
		usleep_range(1000, 2000);
		ret = kv_fence_look(fence);
	}
	return ret;
}

/* OHCA-SQ-D8 */
static int kv_fenced(struct kv_fence *fence)
{
	struct kv_pair *pair = fence->pair;
	u8 *gathered = pair->buffer[1] + 32768;
	struct ib_wc wc;

	KV_CHECK(!kv_fence_start(fence, IB_SEND_FENCE));
	KV_CHECK(kv_fence_watch(fence, 5) == 1);
	KV_CHECK(!kv_pair_connect_side(pair, 1));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.wr_id == 1 && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.wr_id == 2 && wc.status == IB_WC_SUCCESS);
	kv_region_gather(pair, &fence->region, gathered);
	KV_CHECK(!memcmp(pair->buffer[1], gathered, 4000));
	KV_CHECK(kv_fence_look(fence) == 0);
	return 0;
}

/*
 * It runs ahead, and the READ has nowhere to put its data any more.  A device may
 * do so and need not; ohca does.
 */
static int kv_unfenced(struct kv_fence *fence)
{
	struct kv_pair *pair = fence->pair;
	struct ib_wc wc;

	KV_CHECK(!kv_fence_start(fence, 0));
	KV_CHECK(kv_fence_watch(fence, KV_LOOKS) == 0);
	KV_CHECK(!kv_pair_connect_side(pair, 1));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.wr_id == 1);
	KV_CHECK(wc.status == IB_WC_LOC_PROT_ERR);
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.wr_id == 2);
	return 0;
}

static int kv_with_fence(struct kv_pair *pair, int (*run)(struct kv_fence *fence))
{
	struct kv_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	int ret;

	if (!fence)
		return -ENOMEM;
	fence->pair = pair;
	fence->region = kv_region_pages;
	fence->region.side = 0;
	ret = kv_region_open(pair, &fence->region, IB_MR_TYPE_MEM_REG);
	if (ret)
		goto out;
	fence->probe = *pair;
	memset(fence->probe.qp, 0, sizeof(fence->probe.qp));
	ret = kv_pair_create_qps(&fence->probe) ?: kv_pair_connect(&fence->probe) ?: run(fence);
	kv_pair_destroy_qps(&fence->probe);
	kv_pair_destroy_qps(pair);
	ib_dereg_mr(fence->region.mr);
out:
	kfree(fence);
	return ret;
}

static int kv_test_fenced(struct kv_pair *pair)
{
	return kv_with_fence(pair, kv_fenced);
}

static int kv_test_unfenced(struct kv_pair *pair)
{
	return kv_with_fence(pair, kv_unfenced);
}

#define KV_DRAINED	20

/* Both queues are full when they are drained; afterwards nothing comes any more. */
static int kv_drain(struct kv_pair *pair)
{
	struct kv_counted sent = { .cqe.done = kv_count }, received = { .cqe.done = kv_count };
	struct ib_sge sge = kv_sge(pair, 0, 0, 4096);
	struct ib_rdma_wr write = {
		.wr = {
			.wr_cqe = &sent.cqe, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = pair->dma[1], .rkey = pair->mr->rkey,
	};
	struct ib_recv_wr recv = { .wr_cqe = &received.cqe, .sg_list = &sge, .num_sge = 1 };
	int i;

	init_completion(&sent.all);
	init_completion(&received.all);
	for (i = 0; i < KV_DRAINED; i++) {
		KV_CHECK(!ib_post_recv(pair->qp[0], &recv, NULL));
		KV_CHECK(!ib_post_send(pair->qp[0], &write.wr, NULL));
	}
	ib_drain_qp(pair->qp[0]);
	KV_CHECK(sent.done == KV_DRAINED && received.done == KV_DRAINED);
	KV_CHECK(received.failed == KV_DRAINED);
	usleep_range(5000, 10000);
	KV_CHECK(sent.done == KV_DRAINED && received.done == KV_DRAINED);
	return 0;
}

static int kv_test_drain(struct kv_pair *pair)
{
	return kv_with_polled_cq(pair, kv_drain);
}

#define KV_RW_PAGES	9
#define KV_RW_LENGTH	(KV_RW_PAGES * SZ_4K - 200)

struct kv_rw {
	u8 *memory[KV_RW_PAGES];
	struct scatterlist sg[KV_RW_PAGES];
	struct rdma_rw_ctx ctx;
	struct kv_counted counted;
};

/* From or to the peer's buffer, as a target moves the data of a command. */
static int kv_rw_move(struct kv_pair *pair, struct kv_rw *rw, enum dma_data_direction direction)
{
	struct ib_qp *qp = pair->qp[0];
	bool done;
	int i;

	sg_init_table(rw->sg, KV_RW_PAGES);
	for (i = 0; i < KV_RW_PAGES; i++)
		sg_set_buf(&rw->sg[i], rw->memory[i] + (i ? 0 : 200), SZ_4K - (i ? 0 : 200));
	rw->counted = (struct kv_counted) { .cqe.done = kv_count, .wanted = 1 };
	init_completion(&rw->counted.all);
	KV_CHECK(rdma_rw_ctx_init(&rw->ctx, qp, 1, rw->sg, KV_RW_PAGES, 0, pair->dma[1],
				  pair->mr->rkey, direction) > 0);
	done = !rdma_rw_ctx_post(&rw->ctx, qp, 1, &rw->counted.cqe, NULL) &&
	       wait_for_completion_timeout(&rw->counted.all, KV_RW_WAIT);
	/* Nothing may be in flight when the memory is unmapped. */
	if (!done)
		ib_drain_qp(qp);
	rdma_rw_ctx_destroy(&rw->ctx, qp, 1, rw->sg, KV_RW_PAGES, direction);
	KV_CHECK(done && !rw->counted.failed);
	return 0;
}

static bool kv_rw_equal(struct kv_pair *pair, struct kv_rw *rw)
{
	const u8 *peer = pair->buffer[1];
	bool equal = !memcmp(peer, rw->memory[0] + 200, SZ_4K - 200);
	int i;

	for (i = 1; i < KV_RW_PAGES; i++)
		equal &= !memcmp(peer + i * SZ_4K - 200, rw->memory[i], SZ_4K);
	return equal;
}

static int kv_rw_use(struct kv_pair *pair, struct kv_rw *rw)
{
	int i;

	for (i = 0; i < KV_RW_PAGES; i++)
		kv_pattern(rw->memory[i], SZ_4K, 30 + i);
	memset(pair->buffer[1], 0, KV_RW_LENGTH);
	KV_CHECK(!kv_rw_move(pair, rw, DMA_TO_DEVICE));
	KV_CHECK(kv_rw_equal(pair, rw));
	kv_pattern(pair->buffer[1], KV_RW_LENGTH, 90);
	KV_CHECK(!kv_rw_move(pair, rw, DMA_FROM_DEVICE));
	KV_CHECK(kv_rw_equal(pair, rw));
	return 0;
}

static int kv_rw(struct kv_pair *pair)
{
	struct kv_rw *rw = kzalloc(sizeof(*rw), GFP_KERNEL);
	int i, ret = 0;

	if (!rw)
		return -ENOMEM;
	for (i = 0; i < KV_RW_PAGES; i++) {
		rw->memory[i] = (u8 *)get_zeroed_page(GFP_KERNEL);
		if (!rw->memory[i])
			ret = -ENOMEM;
	}
	if (!ret)
		ret = kv_rw_use(pair, rw);
	for (i = 0; i < KV_RW_PAGES; i++)
		free_page((unsigned long)rw->memory[i]);
	kfree(rw);
	return ret;
}

static int kv_test_rw(struct kv_pair *pair)
{
	pair->cap.max_rdma_ctxs = 4;
	return kv_with_polled_cq(pair, kv_rw);
}

const struct kv_test kv_ulp_tests[] = {
	{ "fenced invalidation waits for a read", kv_test_fenced },
	{ "invalidation runs ahead of a read", kv_test_unfenced },
	{ "drain of both queues", kv_test_drain },
	{ "reads and writes of the rdma_rw API", kv_test_rw },
};

const int kv_ulp_test_count = ARRAY_SIZE(kv_ulp_tests);
