// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What fast registration costs: REG_MR and LOCAL_INV, as a ULP posts them. */

#include <linux/ktime.h>
#include <linux/slab.h>

#include "region.h"

#define KV_RATE_PAGES	16	/* of each region */
#define KV_RATE_REGIONS	16	/* registered and invalidated with one doorbell */

struct kv_rate {
	struct kv_pair pair;
	struct ib_mr *mr[KV_RATE_REGIONS];
	struct ib_reg_wr reg[KV_RATE_REGIONS];
	struct ib_send_wr invalidate[KV_RATE_REGIONS];
};

static int kv_rate_open(struct kv_rate *rate)
{
	struct scatterlist sg[1];
	int i;

	sg_init_table(sg, 1);
	sg_dma_address(sg) = rate->pair.dma[0];
	sg_dma_len(sg) = KV_RATE_PAGES * SZ_4K;
	for (i = 0; i < KV_RATE_REGIONS; i++) {
		struct ib_mr *mr = ib_alloc_mr(rate->pair.pd, IB_MR_TYPE_MEM_REG, KV_RATE_PAGES);

		if (IS_ERR(mr))
			return PTR_ERR(mr);
		rate->mr[i] = mr;
		KV_CHECK(ib_map_mr_sg(mr, sg, 1, NULL, SZ_4K) == 1);
		rate->invalidate[i] = (struct ib_send_wr) {
			.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = mr->rkey,
			.next = i + 1 < KV_RATE_REGIONS ? &rate->reg[i + 1].wr : NULL,
		};
		rate->reg[i] = (struct ib_reg_wr) {
			.wr = { .opcode = IB_WR_REG_MR, .next = &rate->invalidate[i] },
			.mr = mr, .key = mr->rkey, .access = KV_ACCESS,
		};
	}
	rate->invalidate[KV_RATE_REGIONS - 1].send_flags = IB_SEND_SIGNALED;
	return 0;
}

static void kv_rate_close(struct kv_rate *rate)
{
	int i;

	kv_pair_destroy_qps(&rate->pair);
	for (i = 0; i < KV_RATE_REGIONS; i++)
		if (rate->mr[i])
			ib_dereg_mr(rate->mr[i]);
	kv_pair_close(&rate->pair);
}

/* Busily: a sleep would be longer than what is measured. */
static int kv_rate_wait(struct kv_rate *rate)
{
	ktime_t end = ktime_add_ms(ktime_get(), 1000);
	struct ib_wc wc;

	while (!ib_poll_cq(rate->pair.cq[0], 1, &wc)) {
		KV_CHECK(ktime_before(ktime_get(), end));
		cond_resched();
	}
	KV_CHECK(wc.status == IB_WC_SUCCESS);
	return 0;
}

static int kv_rate_measure(struct kv_rate *rate, unsigned int pairs)
{
	unsigned int done;
	ktime_t start;
	s64 ns;

	KV_CHECK(!kv_pair_connect(&rate->pair) && !kv_rate_open(rate));
	start = ktime_get();
	for (done = 0; done < pairs; done += KV_RATE_REGIONS) {
		KV_CHECK(!ib_post_send(rate->pair.qp[0], &rate->reg[0].wr, NULL));
		KV_CHECK(!kv_rate_wait(rate));
	}
	ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	pr_info("kverbs: %u registrations of %u pages in %lld ns\n", done, KV_RATE_PAGES, ns);
	return 0;
}

/* At least @pairs of them; prints how long they took. */
int kv_measure_registrations(struct ib_device *device, unsigned int pairs)
{
	struct kv_rate *rate = kzalloc(sizeof(*rate), GFP_KERNEL);
	int ret;

	if (!rate)
		return -ENOMEM;
	ret = kv_pair_open(&rate->pair, device, IB_QPT_RC);
	if (!ret) {
		ret = kv_rate_measure(rate, pairs);
		kv_rate_close(rate);
	}
	kfree(rate);
	return ret;
}
