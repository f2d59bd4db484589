// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signatures as targets use them: rdma_rw_ctx_signature_*(). */

#include <linux/slab.h>

#include <rdma/rw.h>

#include "integrity.h"
#include "ulp.h"

#define KV_SIG_PAGES	6
#define KV_SIG_LENGTH	(KV_SIG_PAGES * SZ_4K)
#define KV_SIG_INTERVAL	512
#define KV_SIG_COUNT	(KV_SIG_LENGTH / KV_SIG_INTERVAL)
#define KV_SIG_ROUNDS	3	/* each region is used again */

struct kv_sig_rw {
	u8 *memory[KV_SIG_PAGES];
	u8 *tuples;
	struct scatterlist sg[KV_SIG_PAGES];
	struct scatterlist meta;
	struct ib_sig_attrs attrs;
	struct ib_mr_status status;
	struct rdma_rw_ctx ctx;
	struct kv_counted counted;
};

static u8 *kv_sig_data(struct kv_sig_rw *rw, int index)
{
	int offset = index * KV_SIG_INTERVAL;

	return rw->memory[offset / SZ_4K] + offset % SZ_4K;
}

static u8 *kv_sig_wire(struct kv_pair *pair, const struct kv_sig_rw *rw, int index)
{
	int tuple = rw->attrs.wire.sig_type == IB_SIG_TYPE_NONE ? 0 : KV_TUPLE;

	return pair->buffer[1] + index * (KV_SIG_INTERVAL + tuple);
}

static int kv_sig_move(struct kv_pair *pair, struct kv_sig_rw *rw,
		       enum dma_data_direction direction)
{
	struct ib_qp *qp = pair->qp[0];
	bool done;
	int i, ret;

	sg_init_table(rw->sg, KV_SIG_PAGES);
	for (i = 0; i < KV_SIG_PAGES; i++)
		sg_set_buf(&rw->sg[i], rw->memory[i], SZ_4K);
	sg_init_one(&rw->meta, rw->tuples, KV_SIG_COUNT * KV_TUPLE);
	rw->counted = (struct kv_counted) { .cqe.done = kv_count, .wanted = 1 };
	init_completion(&rw->counted.all);
	ret = rdma_rw_ctx_signature_init(&rw->ctx, qp, 1, rw->sg, KV_SIG_PAGES, &rw->meta, 1,
					 &rw->attrs, pair->dma[1], pair->mr->rkey, direction);
	KV_CHECK(ret > 0);
	done = !rdma_rw_ctx_post(&rw->ctx, qp, 1, &rw->counted.cqe, NULL) &&
	       wait_for_completion_timeout(&rw->counted.all, KV_RW_WAIT);
	/* Nothing may be in flight when the memory is unmapped. */
	if (!done)
		ib_drain_qp(qp);
	ret = ib_check_mr_status(rw->ctx.reg->mr, IB_MR_CHECK_SIG_STATUS, &rw->status);
	rdma_rw_ctx_destroy_signature(&rw->ctx, qp, 1, rw->sg, KV_SIG_PAGES, &rw->meta, 1,
				      direction);
	KV_CHECK(done && !rw->counted.failed && !ret);
	return 0;
}

/* Memory and wire hold the same data, and tuples that belong to it where there are any. */
static int kv_sig_compare(struct kv_pair *pair, struct kv_sig_rw *rw)
{
	u8 tuple[KV_TUPLE];
	int i;

	for (i = 0; i < KV_SIG_COUNT; i++) {
		u8 *data = kv_sig_data(rw, i), *wire = kv_sig_wire(pair, rw, i);

		KV_CHECK(!memcmp(data, wire, KV_SIG_INTERVAL));
		kv_tuple(&rw->attrs.mem.sig.dif, i, data, tuple);
		if (rw->attrs.wire.sig_type != IB_SIG_TYPE_NONE)
			KV_CHECK(!memcmp(wire + KV_SIG_INTERVAL, tuple, KV_TUPLE));
		if (rw->attrs.mem.sig_type != IB_SIG_TYPE_NONE)
			KV_CHECK(!memcmp(rw->tuples + i * KV_TUPLE, tuple, KV_TUPLE));
	}
	return 0;
}

static void kv_sig_fill(struct kv_pair *pair, struct kv_sig_rw *rw, u8 seed)
{
	u8 *wire;
	int i;

	for (i = 0; i < KV_SIG_COUNT; i++) {
		kv_pattern(kv_sig_data(rw, i), KV_SIG_INTERVAL, seed + i);
		kv_tuple(&rw->attrs.mem.sig.dif, i, kv_sig_data(rw, i), rw->tuples + i * KV_TUPLE);
		wire = kv_sig_wire(pair, rw, i);
		kv_pattern(wire, KV_SIG_INTERVAL, seed + i + 99);
		if (rw->attrs.wire.sig_type != IB_SIG_TYPE_NONE)
			kv_tuple(&rw->attrs.wire.sig.dif, i, wire, wire + KV_SIG_INTERVAL);
	}
}

/* Both ways; then a tuple is wrong where the data comes from. */
static int kv_sig_use(struct kv_pair *pair, struct kv_sig_rw *rw, u8 seed)
{
	enum dma_data_direction direction;
	bool protected;
	u8 *tuple;

	for (direction = DMA_TO_DEVICE; direction <= DMA_FROM_DEVICE; direction++) {
		kv_sig_fill(pair, rw, seed);
		KV_CHECK(!kv_sig_move(pair, rw, direction));
		KV_CHECK(!rw->status.fail_status);
		KV_CHECK(!kv_sig_compare(pair, rw));

		tuple = direction == DMA_TO_DEVICE ? rw->tuples + 17 * KV_TUPLE :
			kv_sig_wire(pair, rw, 17) + KV_SIG_INTERVAL;
		protected = (direction == DMA_TO_DEVICE ? rw->attrs.mem.sig_type :
							  rw->attrs.wire.sig_type) !=
			    IB_SIG_TYPE_NONE;
		if (!protected)
			continue;
		tuple[5] ^= 1;
		KV_CHECK(!kv_sig_move(pair, rw, direction));
		KV_CHECK(rw->status.fail_status == IB_MR_CHECK_SIG_STATUS);
		KV_CHECK(rw->status.sig_err.err_type == IB_SIG_BAD_REFTAG);
		KV_CHECK(rw->status.sig_err.sig_err_offset == 17 * (KV_SIG_INTERVAL + KV_TUPLE));
	}
	return 0;
}

static int kv_sig_every_kind(struct kv_pair *pair, struct kv_sig_rw *rw)
{
	int kind, round, ret;

	for (kind = 1; kind < 4; kind++) {
		rw->attrs = (struct ib_sig_attrs) { .check_mask = 0xff };
		rw->attrs.mem.sig.dif = kv_t10_dif(KV_SIG_INTERVAL, IB_T10DIF_CRC);
		rw->attrs.wire.sig.dif = rw->attrs.mem.sig.dif;
		rw->attrs.mem.sig_type = kind & 1 ? IB_SIG_TYPE_T10_DIF : IB_SIG_TYPE_NONE;
		rw->attrs.wire.sig_type = kind & 2 ? IB_SIG_TYPE_T10_DIF : IB_SIG_TYPE_NONE;
		for (round = 0; round < KV_SIG_ROUNDS; round++) {
			ret = kv_sig_use(pair, rw, 3 * round);
			if (ret) {
				pr_err("kverbs: kind %d, round %d\n", kind, round);
				return ret;
			}
		}
	}
	return 0;
}

static int kv_sig_rw(struct kv_pair *pair)
{
	struct kv_sig_rw *rw = kzalloc(sizeof(*rw), GFP_KERNEL);
	int i, ret = 0;

	if (!rw)
		return -ENOMEM;
	rw->tuples = kzalloc(KV_SIG_COUNT * KV_TUPLE, GFP_KERNEL);
	if (!rw->tuples)
		ret = -ENOMEM;
	for (i = 0; i < KV_SIG_PAGES; i++) {
		rw->memory[i] = (u8 *)get_zeroed_page(GFP_KERNEL);
		if (!rw->memory[i])
			ret = -ENOMEM;
	}
	if (!ret)
		ret = kv_sig_every_kind(pair, rw);
	for (i = 0; i < KV_SIG_PAGES; i++)
		free_page((unsigned long)rw->memory[i]);
	kfree(rw->tuples);
	kfree(rw);
	return ret;
}

int kv_test_rw_signature(struct kv_pair *pair)
{
	if (!(pair->device->attrs.kernel_cap_flags & IBK_INTEGRITY_HANDOVER))
		return -EOPNOTSUPP;
	pair->cap.max_rdma_ctxs = 4;
	pair->create_flags = IB_QP_CREATE_INTEGRITY_EN;
	return kv_with_polled_cq(pair, kv_sig_rw);
}
