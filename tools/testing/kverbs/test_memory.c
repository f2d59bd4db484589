// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fast registration and what else ULPs do with keys. */

#include "region.h"

static int kv_cycle(struct kv_pair *pair, const struct kv_region *region)
{
	enum ib_wc_status status;
	u32 old;
	int i;

	/* Free until registered. */
	KV_CHECK(!kv_check_refused(pair, region, region->mr->rkey));
	for (i = 0; i < 3; i++) {
		old = region->mr->rkey;
		ib_update_fast_reg_key(region->mr, ib_inc_rkey(old));
		KV_CHECK(!kv_register(pair, region, KV_ACCESS, &status) && !status);
		KV_CHECK(!kv_use_region(pair, region));
		/* The consumer key is what the work request said. */
		KV_CHECK(!kv_check_refused(pair, region, old));
		KV_CHECK(!kv_invalidate(pair, 1, region->mr->rkey, 0, &status) && !status);
		KV_CHECK(!kv_check_refused(pair, region, region->mr->rkey));
	}
	return 0;
}

static int kv_test_register(struct kv_pair *pair)
{
	struct kv_region region = kv_region_pages;
	int ret;

	ret = kv_region_open(pair, &region, IB_MR_TYPE_MEM_REG);
	if (ret)
		return ret;
	ret = kv_cycle(pair, &region);
	ib_dereg_mr(region.mr);
	return ret;
}

static int kv_test_gaps(struct kv_pair *pair)
{
	struct kv_region region = kv_region_blocks;
	int ret;

	if (!(pair->device->attrs.kernel_cap_flags & IBK_SG_GAPS_REG))
		return -EOPNOTSUPP;
	ret = kv_region_open(pair, &region, IB_MR_TYPE_SG_GAPS);
	if (ret)
		return ret;
	ret = kv_cycle(pair, &region);
	ib_dereg_mr(region.mr);
	return ret;
}

/* A work request may use the key that the one before it in the same list makes valid. */
static int kv_ordered(struct kv_pair *pair, struct kv_region *region)
{
	u32 length = kv_region_length(region);
	struct ib_sge sge = {
		.addr = region->mr->iova, .length = length, .lkey = region->mr->lkey,
	};
	struct ib_send_wr invalidate = {
		.wr_id = 3, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = region->mr->rkey,
	};
	struct ib_send_wr send = {
		.wr_id = 2, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED, .next = &invalidate,
	};
	struct ib_send_wr late = send;
	struct ib_reg_wr reg = kv_reg_wr(region, IB_ACCESS_LOCAL_WRITE);
	u8 *gathered = pair->buffer[0] + 32768;
	struct ib_wc wc;
	int i;

	kv_pattern(pair->buffer[1], KV_BUFFER_SIZE, 5);
	late.wr_id = 4;
	late.next = NULL;
	invalidate.next = &late;
	reg.wr.wr_id = 1;
	reg.wr.next = &send;
	KV_CHECK(!kv_post_recv(pair, 0, 9, 0, 16384));
	KV_CHECK(!ib_post_send(pair->qp[1], &reg.wr, NULL));
	for (i = 1; i <= 4; i++) {
		KV_CHECK(!kv_poll(pair->cq[1], &wc));
		KV_CHECK(wc.wr_id == i);
		/* The key is gone when the last of them is carried out. */
		KV_CHECK(wc.status == (i == 4 ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS));
	}
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.byte_len == length);
	kv_region_gather(pair, region, gathered);
	KV_CHECK(!memcmp(pair->buffer[0], gathered, length));
	return 0;
}

static int kv_test_order(struct kv_pair *pair)
{
	struct kv_region region = kv_region_pages;
	int ret;

	ret = kv_region_open(pair, &region, IB_MR_TYPE_MEM_REG);
	if (ret)
		return ret;
	ret = kv_ordered(pair, &region);
	ib_dereg_mr(region.mr);
	return ret;
}

static int kv_send_inv(struct kv_pair *pair, u32 rkey, struct ib_wc *wc)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, 20);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED, .ex.invalidate_rkey = rkey,
	};

	KV_CHECK(!kv_post_recv(pair, 1, 8, 60000, 100));
	KV_CHECK(!ib_post_send(pair->qp[0], &wr, NULL));
	return kv_poll(pair->cq[0], wc);
}

static int kv_remote_invalidate(struct kv_pair *pair, struct kv_region *region)
{
	enum ib_wc_status status;
	u32 key = region->mr->rkey;
	struct ib_wc wc;

	KV_CHECK(!kv_register(pair, region, KV_ACCESS, &status) && !status);
	KV_CHECK(!kv_send_inv(pair, key, &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.wc_flags & IB_WC_WITH_INVALIDATE && wc.ex.invalidate_rkey == key);
	KV_CHECK(!kv_check_refused(pair, region, key));
	/* Free again, so that it can be registered. */
	KV_CHECK(!kv_register(pair, region, KV_ACCESS, &status) && !status);
	KV_CHECK(!kv_use_region(pair, region));
	/* Memory that is no fast registration is not a peer's to invalidate. */
	KV_CHECK(!kv_send_inv(pair, pair->mr->rkey, &wc) && wc.status != IB_WC_SUCCESS);
	return 0;
}

static int kv_test_send_invalidate(struct kv_pair *pair)
{
	struct kv_region region = kv_region_pages;
	int ret;

	ret = kv_region_open(pair, &region, IB_MR_TYPE_MEM_REG);
	if (ret)
		return ret;
	ret = kv_remote_invalidate(pair, &region);
	ib_dereg_mr(region.mr);
	return ret;
}

static int kv_bad_registrations(struct kv_pair *pair, struct kv_region *region)
{
	struct ib_reg_wr wr = kv_reg_wr(region, IB_ACCESS_ON_DEMAND);
	enum ib_wc_status status;

	KV_CHECK(ib_post_send(pair->qp[1], &wr.wr, NULL) == -EINVAL);
	wr.access = KV_ACCESS;
	wr.mr = pair->mr;
	KV_CHECK(ib_post_send(pair->qp[1], &wr.wr, NULL) == -EINVAL);

	KV_CHECK(!kv_invalidate(pair, 1, region->mr->rkey ^ 0x1000000, 0, &status) && status);
	KV_CHECK(!kv_reconnect(pair));
	KV_CHECK(!kv_register(pair, region, KV_ACCESS, &status) && !status);
	/* Valid already. */
	KV_CHECK(!kv_register(pair, region, KV_ACCESS, &status) && status);
	KV_CHECK(!kv_reconnect(pair));
	KV_CHECK(!kv_use_region(pair, region));
	return 0;
}

static int kv_test_bad_registrations(struct kv_pair *pair)
{
	struct kv_region region = kv_region_pages;
	struct ib_mr *mr;
	int ret;

	ret = kv_region_open(pair, &region, IB_MR_TYPE_MEM_REG);
	if (ret)
		return ret;
	ret = kv_bad_registrations(pair, &region);
	ib_dereg_mr(region.mr);
	mr = ib_alloc_mr(pair->pd, IB_MR_TYPE_MEM_REG,
			 pair->device->attrs.max_fast_reg_page_list_len + 1);
	KV_CHECK(PTR_ERR_OR_ZERO(mr) == -EINVAL);
	mr = ib_alloc_mr(pair->pd, IB_MR_TYPE_MEM_REG,
			 pair->device->attrs.max_fast_reg_page_list_len);
	KV_CHECK(!IS_ERR(mr) && !ib_dereg_mr(mr));
	return ret;
}

static int kv_read_inv(struct kv_pair *pair, const struct kv_region *region)
{
	struct ib_sge sge = { .addr = region->mr->iova, .length = 5000, .lkey = region->mr->lkey };
	struct ib_rdma_wr read = {
		.wr = {
			.wr_id = 1, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_RDMA_READ_WITH_INV, .send_flags = IB_SEND_SIGNALED,
			.ex.invalidate_rkey = region->mr->rkey,
		},
		.remote_addr = pair->dma[1], .rkey = pair->mr->rkey,
	};
	enum ib_wc_status status;
	struct ib_wc wc;

	kv_pattern(pair->buffer[1], 5000, 77);
	KV_CHECK(!kv_register(pair, region, KV_ACCESS, &status) && !status);
	KV_CHECK(!ib_post_send(pair->qp[0], &read.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.opcode == IB_WC_RDMA_READ);
	kv_region_gather(pair, region, pair->buffer[1] + 32768);
	KV_CHECK(!memcmp(pair->buffer[1], pair->buffer[1] + 32768, 5000));

	/* A fence holds LOCAL_INV back until the READ before it is done. */
	KV_CHECK(!kv_register(pair, region, KV_ACCESS, &status) && !status);
	read.wr.opcode = IB_WR_RDMA_READ;
	read.wr.send_flags = 0;
	KV_CHECK(!ib_post_send(pair->qp[0], &read.wr, NULL));
	KV_CHECK(!kv_invalidate(pair, 0, region->mr->rkey, IB_SEND_FENCE, &status) && !status);
	/* Both have taken the key away. */
	read.wr.send_flags = IB_SEND_SIGNALED;
	KV_CHECK(!ib_post_send(pair->qp[0], &read.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_LOC_PROT_ERR);
	return 0;
}

static int kv_test_read_invalidate(struct kv_pair *pair)
{
	struct kv_region region = kv_region_pages;
	int ret;

	region.side = 0;
	ret = kv_region_open(pair, &region, IB_MR_TYPE_MEM_REG);
	if (ret)
		return ret;
	ret = kv_read_inv(pair, &region);
	ib_dereg_mr(region.mr);
	return ret;
}

static int kv_masked(struct kv_pair *pair, struct ib_atomic_wr *wr, u64 *old)
{
	struct ib_sge sge = kv_sge(pair, 0, 64, 8);
	struct ib_wc wc;

	wr->wr.sg_list = &sge;
	wr->wr.num_sge = 1;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	wr->remote_addr = pair->dma[1];
	wr->rkey = pair->mr->rkey;
	KV_CHECK(!ib_post_send(pair->qp[0], &wr->wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.opcode == (wr->wr.opcode == IB_WR_MASKED_ATOMIC_FETCH_AND_ADD ?
			       IB_WC_MASKED_FETCH_ADD : IB_WC_MASKED_COMP_SWAP));
	*old = *(u64 *)(pair->buffer[0] + 64);
	return 0;
}

static int kv_test_masked_atomics(struct kv_pair *pair)
{
	struct ib_atomic_wr add = {
		.wr.opcode = IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
		.compare_add = 0x0000000100000001ULL, .compare_add_mask = 0x0000000080000000ULL,
	};
	struct ib_atomic_wr swap = {
		.wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		.compare_add = 0xff12, .compare_add_mask = 0xff,
		.swap = 0xaabbccdd, .swap_mask = 0xff00,
	};
	u64 *target = (u64 *)pair->buffer[1];
	u64 old;

	if (pair->device->attrs.masked_atomic_cap == IB_ATOMIC_NONE)
		return -EOPNOTSUPP;
	/* The carry out of bit 31 is dropped. */
	*target = 0x00000005ffffffffULL;
	KV_CHECK(!kv_masked(pair, &add, &old));
	KV_CHECK(old == 0x00000005ffffffffULL && *target == 0x0000000600000000ULL);
	*target = 0x1234567812ULL;
	KV_CHECK(!kv_masked(pair, &swap, &old));
	KV_CHECK(old == 0x1234567812ULL && *target == 0x123456cc12ULL);
	*target = 0x13;
	KV_CHECK(!kv_masked(pair, &swap, &old));
	KV_CHECK(old == 0x13 && *target == 0x13);
	return 0;
}

static int kv_test_atomic_write(struct kv_pair *pair)
{
	u64 *target = (u64 *)(pair->buffer[1] + 24);
	struct ib_wc wc;

	if (!(pair->device->attrs.device_cap_flags & IB_DEVICE_ATOMIC_WRITE))
		return -EOPNOTSUPP;
	*target = 0;
	*(u64 *)pair->buffer[0] = 0x1122334455667788ULL;
	KV_CHECK(!kv_rdma_key(pair, IB_WR_ATOMIC_WRITE, 8, pair->dma[1] + 24, pair->mr->rkey, &wc));
	KV_CHECK(wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_ATOMIC_WRITE);
	KV_CHECK(*target == 0x1122334455667788ULL);
	return 0;
}

const struct kv_test kv_memory_tests[] = {
	{ "register pages, use, invalidate", kv_test_register },
	{ "register blocks with gaps", kv_test_gaps },
	{ "order of registration, use and invalidation", kv_test_order },
	{ "send with invalidate", kv_test_send_invalidate },
	{ "registrations that are refused", kv_test_bad_registrations },
	{ "read with invalidate, fence", kv_test_read_invalidate },
	{ "masked atomics", kv_test_masked_atomics },
	{ "atomic write", kv_test_atomic_write },
};

const int kv_memory_test_count = ARRAY_SIZE(kv_memory_tests);
