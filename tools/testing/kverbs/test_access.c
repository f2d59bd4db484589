// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a registration permits, where its addresses begin, and who may take it back. */

#include <linux/slab.h>

#include "region.h"

/* A region of pages for the time of @run. */
static int kv_with_region(struct kv_pair *pair,
			  int (*run)(struct kv_pair *pair, struct kv_region *region))
{
	struct kv_region region = kv_region_pages;
	int ret;

	ret = kv_region_open(pair, &region, IB_MR_TYPE_MEM_REG);
	if (ret)
		return ret;
	ret = run(pair, &region);
	ib_dereg_mr(region.mr);
	return ret;
}

static int kv_must_register(struct kv_pair *pair, const struct kv_region *region, int access)
{
	enum ib_wc_status status;

	KV_CHECK(!kv_register(pair, region, access, &status));
	KV_CHECK(status == IB_WC_SUCCESS);
	return 0;
}

static int kv_must_invalidate(struct kv_pair *pair, const struct kv_region *region)
{
	enum ib_wc_status status;

	KV_CHECK(!kv_invalidate(pair, region->side, region->mr->rkey, 0, &status));
	KV_CHECK(status == IB_WC_SUCCESS);
	return 0;
}

/* @allowed or refused; a refusal costs the connection. */
static int kv_try_remote(struct kv_pair *pair, enum ib_wr_opcode opcode, u64 address, u32 length,
			 u32 key, bool allowed)
{
	struct ib_wc wc;

	KV_CHECK(!kv_rdma_key(pair, opcode, length, address, key, &wc));
	KV_CHECK(wc.status == (allowed ? IB_WC_SUCCESS : IB_WC_REM_ACCESS_ERR));
	return allowed ? 0 : kv_reconnect(pair);
}

static int kv_try_atomic(struct kv_pair *pair, const struct kv_region *region, bool allowed)
{
	struct ib_sge sge = kv_sge(pair, 0, 64, 8);
	struct ib_atomic_wr wr = {
		.wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = ALIGN(region->mr->iova, 8),
		.rkey = region->mr->rkey,
		.compare_add = 1,
	};
	struct ib_wc wc;

	KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc));
	KV_CHECK(wc.status == (allowed ? IB_WC_SUCCESS : IB_WC_REM_ACCESS_ERR));
	return allowed ? 0 : kv_reconnect(pair);
}

/* Whether what its owner reads from the peer may go to the region. */
static int kv_try_local_write(struct kv_pair *pair, const struct kv_region *region, bool allowed)
{
	struct ib_sge sge = {
		.addr = region->mr->iova, .length = 100, .lkey = region->mr->lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = pair->dma[!region->side],
		.rkey = pair->mr->rkey,
	};
	struct ib_wc wc;

	KV_CHECK(!ib_post_send(pair->qp[region->side], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[region->side], &wc));
	KV_CHECK(wc.status == (allowed ? IB_WC_SUCCESS : IB_WC_LOC_PROT_ERR));
	return allowed ? 0 : kv_reconnect(pair);
}

/* Each right alone, and what the others would have allowed. OHCA-MEM-D4 */
static int kv_rights(struct kv_pair *pair, struct kv_region *region)
{
	static const int rights[] = {
		0,
		IB_ACCESS_LOCAL_WRITE,
		IB_ACCESS_REMOTE_READ,
		IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
		IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC,
	};
	u64 start = region->mr->iova;
	u32 key = region->mr->rkey;
	int i, ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(rights); i++) {
		int has = rights[i];

		ret = kv_must_register(pair, region, has) ?:
		      kv_try_remote(pair, IB_WR_RDMA_READ, start, 100, key,
				    has & IB_ACCESS_REMOTE_READ) ?:
		      kv_try_remote(pair, IB_WR_RDMA_WRITE, start, 100, key,
				    has & IB_ACCESS_REMOTE_WRITE) ?:
		      kv_try_atomic(pair, region, has & IB_ACCESS_REMOTE_ATOMIC) ?:
		      kv_try_local_write(pair, region, has & IB_ACCESS_LOCAL_WRITE) ?:
		      kv_must_invalidate(pair, region);
		if (ret)
			pr_err("kverbs: with access %#x\n", has);
	}
	return ret;
}

static int kv_test_rights(struct kv_pair *pair)
{
	return kv_with_region(pair, kv_rights);
}

/* Remote rights to change memory take the local one. OHCA-MEM-D18 */
static int kv_bad_rights(struct kv_pair *pair, struct kv_region *region)
{
	struct ib_reg_wr wr = kv_reg_wr(region, IB_ACCESS_REMOTE_WRITE);
	struct ib_wc wc;

	/* Either the verb or the device says so. */
	if (!ib_post_send(pair->qp[1], &wr.wr, NULL)) {
		KV_CHECK(!kv_poll(pair->cq[1], &wc));
		KV_CHECK(wc.status != IB_WC_SUCCESS && wc.status != IB_WC_WR_FLUSH_ERR);
		KV_CHECK(!kv_reconnect(pair));
	}
	KV_CHECK(!kv_check_refused(pair, region, region->mr->rkey));
	return 0;
}

static int kv_test_bad_rights(struct kv_pair *pair)
{
	return kv_with_region(pair, kv_bad_rights);
}

/* The first byte and the last, and one beyond either. OHCA-MEM-D5 */
static int kv_bounds(struct kv_pair *pair, struct kv_region *region)
{
	u32 length = kv_region_length(region), key = region->mr->rkey;
	u64 start = region->mr->iova;

	return kv_must_register(pair, region, KV_ACCESS) ?:
	       kv_try_remote(pair, IB_WR_RDMA_WRITE, start, length, key, true) ?:
	       kv_try_remote(pair, IB_WR_RDMA_WRITE, start + length - 1, 1, key, true) ?:
	       kv_try_remote(pair, IB_WR_RDMA_WRITE, start, length + 1, key, false) ?:
	       kv_try_remote(pair, IB_WR_RDMA_WRITE, start + length, 1, key, false) ?:
	       kv_try_remote(pair, IB_WR_RDMA_READ, start - 1, 2, key, false);
}

static int kv_test_bounds(struct kv_pair *pair)
{
	return kv_with_region(pair, kv_bounds);
}

/* Addresses count from 0, for peers and for the owner. */
static int kv_zero_based(struct kv_pair *pair, struct kv_region *region)
{
	u32 length = kv_region_length(region), key = region->mr->rkey;
	struct ib_sge sge = { .addr = 5, .length = length - 5, .lkey = region->mr->lkey };
	struct ib_send_wr send = {
		.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	u8 *gathered = pair->buffer[0] + 32768;
	struct ib_wc wc;

	KV_CHECK(region->mr->iova >= length);
	KV_CHECK(!kv_must_register(pair, region, KV_ACCESS | IB_ZERO_BASED));
	kv_pattern(pair->buffer[0], length, 21);
	KV_CHECK(!kv_try_remote(pair, IB_WR_RDMA_WRITE, 0, length, key, true));
	kv_region_gather(pair, region, gathered);
	KV_CHECK(!memcmp(pair->buffer[0], gathered, length));
	memset(pair->buffer[0], 0, length);
	KV_CHECK(!kv_post_recv(pair, 0, 1, 0, length));
	KV_CHECK(!ib_post_send(pair->qp[1], &send, NULL));
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.byte_len == length - 5);
	KV_CHECK(!memcmp(pair->buffer[0], gathered + 5, length - 5));
	KV_CHECK(!kv_try_remote(pair, IB_WR_RDMA_WRITE, region->mr->iova, 8, key, false));
	return kv_try_remote(pair, IB_WR_RDMA_WRITE, length, 1, key, false);
}

static int kv_test_zero_based(struct kv_pair *pair)
{
	return kv_with_region(pair, kv_zero_based);
}

/* An error of the work request itself, which ends the connection. */
static int kv_refuse_invalidate(struct kv_pair *pair, int side, u32 key)
{
	enum ib_wc_status status;

	KV_CHECK(!kv_invalidate(pair, side, key, 0, &status));
	KV_CHECK(status != IB_WC_SUCCESS && status != IB_WC_WR_FLUSH_ERR);
	return kv_reconnect(pair);
}

/* A free key, one of an index that is not there, a stale one. OHCA-MEM-D19 */
static int kv_bad_invalidations(struct kv_pair *pair, struct kv_region *region)
{
	u32 key = region->mr->rkey;

	KV_CHECK(!kv_refuse_invalidate(pair, 1, key));
	KV_CHECK(!kv_must_register(pair, region, KV_ACCESS));
	KV_CHECK(!kv_refuse_invalidate(pair, 1, ib_inc_rkey(key)));
	KV_CHECK(!kv_refuse_invalidate(pair, 1, key ^ 0xffff0000));
	/* Memory that no work request has registered. */
	KV_CHECK(!kv_refuse_invalidate(pair, 1, pair->mr->rkey));
	KV_CHECK(!kv_try_remote(pair, IB_WR_RDMA_WRITE, pair->dma[1], 8, pair->mr->rkey, true));
	/* None of this has touched the region. */
	KV_CHECK(!kv_use_region(pair, region));
	KV_CHECK(!kv_must_invalidate(pair, region));
	return kv_refuse_invalidate(pair, 1, key);
}

static int kv_test_bad_invalidations(struct kv_pair *pair)
{
	return kv_with_region(pair, kv_bad_invalidations);
}

/* @other has queue pairs in a protection domain of its own. */
static int kv_foreign(struct kv_pair *pair, struct kv_region *region, struct kv_pair *other)
{
	struct ib_reg_wr wr = kv_reg_wr(region, KV_ACCESS);
	struct ib_wc wc;

	/* Registered there, although the key is of this domain. */
	KV_CHECK(!ib_post_send(other->qp[1], &wr.wr, NULL));
	KV_CHECK(!kv_poll(other->cq[1], &wc));
	KV_CHECK(wc.status != IB_WC_SUCCESS && wc.status != IB_WC_WR_FLUSH_ERR);
	KV_CHECK(!kv_reconnect(other));
	KV_CHECK(!kv_check_refused(pair, region, region->mr->rkey));

	KV_CHECK(!kv_must_register(pair, region, KV_ACCESS));
	KV_CHECK(!kv_refuse_invalidate(other, 1, region->mr->rkey));
	KV_CHECK(!kv_check_refused(other, region, region->mr->rkey));
	return kv_use_region(pair, region);
}

static int kv_with_other_pd(struct kv_pair *pair, struct kv_region *region)
{
	struct kv_pair *other = kzalloc(sizeof(*other), GFP_KERNEL);
	int ret;

	if (!other)
		return -ENOMEM;
	ret = kv_pair_open(other, pair->device, IB_QPT_RC);
	if (!ret) {
		ret = kv_pair_connect(other) ?: kv_foreign(pair, region, other);
		kv_pair_close(other);
	}
	kfree(other);
	return ret;
}

static int kv_test_other_pd(struct kv_pair *pair)
{
	return kv_with_region(pair, kv_with_other_pd);
}

#define KV_MANY_PAGES	4096

/* The same few pages again and again: what counts is how many the list has. OHCA-MEM-D22 */
static int kv_map_many(struct kv_pair *pair, struct ib_mr *mr, struct scatterlist *sg)
{
	int i;

	sg_init_table(sg, KV_MANY_PAGES);
	for (i = 0; i < KV_MANY_PAGES; i++) {
		sg_dma_address(&sg[i]) = pair->dma[1] + (i * 7 % 16) * SZ_4K;
		sg_dma_len(&sg[i]) = SZ_4K;
	}
	KV_CHECK(ib_map_mr_sg(mr, sg, KV_MANY_PAGES, NULL, SZ_4K) == KV_MANY_PAGES);
	KV_CHECK(mr->length == (u64)KV_MANY_PAGES * SZ_4K);
	return 0;
}

static int kv_use_many(struct kv_pair *pair, struct ib_mr *mr)
{
	struct kv_region region = { .mr = mr, .side = 1 };
	struct ib_wc wc;
	int page;

	KV_CHECK(!kv_must_register(pair, &region, KV_ACCESS));
	for (page = 0; page < KV_MANY_PAGES; page += 315) {
		kv_pattern(pair->buffer[0], SZ_4K, page);
		KV_CHECK(!kv_rdma_key(pair, IB_WR_RDMA_WRITE, SZ_4K,
				      mr->iova + (u64)page * SZ_4K, mr->rkey, &wc));
		KV_CHECK(wc.status == IB_WC_SUCCESS);
		KV_CHECK(!memcmp(pair->buffer[0], pair->buffer[1] + (page * 7 % 16) * SZ_4K,
				 SZ_4K));
	}
	return kv_must_invalidate(pair, &region);
}

static int kv_test_many_pages(struct kv_pair *pair)
{
	struct scatterlist *sg;
	struct ib_mr *mr;
	int ret;

	if (pair->device->attrs.max_fast_reg_page_list_len < KV_MANY_PAGES)
		return -EOPNOTSUPP;
	mr = ib_alloc_mr(pair->pd, IB_MR_TYPE_MEM_REG, KV_MANY_PAGES);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg = kvcalloc(KV_MANY_PAGES, sizeof(*sg), GFP_KERNEL);
	ret = sg ? kv_map_many(pair, mr, sg) ?: kv_use_many(pair, mr) : -ENOMEM;
	kvfree(sg);
	ib_dereg_mr(mr);
	return ret;
}

const struct kv_test kv_access_tests[] = {
	{ "each access right alone", kv_test_rights },
	{ "remote write without local write", kv_test_bad_rights },
	{ "bounds of a region", kv_test_bounds },
	{ "zero-based region", kv_test_zero_based },
	{ "invalidations that are refused", kv_test_bad_invalidations },
	{ "keys of another protection domain", kv_test_other_pd },
	{ "a region of 4,096 pages", kv_test_many_pages },
};

const int kv_access_test_count = ARRAY_SIZE(kv_access_tests);
