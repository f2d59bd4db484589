// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions that are filled by work requests, and what can be seen of them. */

#include "region.h"

/* Whole pages inside, parts of pages at both ends. */
const struct kv_region kv_region_pages = {
	.side = 1, .pieces = 3,
	.offset = { 4 * 4096 + 100, 2 * 4096, 7 * 4096 }, .length = { 3996, 4096, 1000 },
};

const struct kv_region kv_region_blocks = {
	.side = 1, .pieces = 4,
	.offset = { 8193, 77, 30001, 20000 }, .length = { 1, 333, 4099, 10 },
};

u32 kv_region_length(const struct kv_region *region)
{
	u32 length = 0;
	int i;

	for (i = 0; i < region->pieces; i++)
		length += region->length[i];
	return length;
}

static int kv_region_map(struct kv_pair *pair, struct kv_region *region)
{
	int i, mapped;

	sg_init_table(region->sg, region->pieces);
	for (i = 0; i < region->pieces; i++) {
		sg_dma_address(&region->sg[i]) = pair->dma[region->side] + region->offset[i];
		sg_dma_len(&region->sg[i]) = region->length[i];
	}
	mapped = ib_map_mr_sg(region->mr, region->sg, region->pieces, NULL, SZ_4K);
	KV_CHECK(mapped == region->pieces);
	KV_CHECK(region->mr->length == kv_region_length(region));
	return 0;
}

int kv_region_open(struct kv_pair *pair, struct kv_region *region, enum ib_mr_type type)
{
	int ret;

	region->mr = ib_alloc_mr(pair->pd, type, 16);
	if (IS_ERR(region->mr))
		return PTR_ERR(region->mr);
	ret = kv_region_map(pair, region);
	if (ret)
		ib_dereg_mr(region->mr);
	return ret;
}

/* The bytes of the region as its key's address space has them. */
void kv_region_gather(struct kv_pair *pair, const struct kv_region *region, u8 *to)
{
	int i;

	for (i = 0; i < region->pieces; i++) {
		memcpy(to, pair->buffer[region->side] + region->offset[i], region->length[i]);
		to += region->length[i];
	}
}

struct ib_reg_wr kv_reg_wr(const struct kv_region *region, int access)
{
	return (struct ib_reg_wr) {
		.wr = {
			.wr_id = 0x4e6, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED,
		},
		.mr = region->mr,
		.key = region->mr->rkey,
		.access = access,
	};
}

int kv_register(struct kv_pair *pair, const struct kv_region *region, int access,
		enum ib_wc_status *status)
{
	struct ib_reg_wr wr = kv_reg_wr(region, access);
	struct ib_wc wc;

	KV_CHECK(!ib_post_send(pair->qp[region->side], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[region->side], &wc));
	KV_CHECK(wc.wr_id == 0x4e6);
	KV_CHECK(wc.status != IB_WC_SUCCESS || wc.opcode == IB_WC_REG_MR);
	*status = wc.status;
	return 0;
}

int kv_invalidate(struct kv_pair *pair, int side, u32 key, int flags, enum ib_wc_status *status)
{
	struct ib_send_wr wr = {
		.wr_id = 0x11, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED | flags, .ex.invalidate_rkey = key,
	};
	struct ib_wc wc;

	KV_CHECK(!ib_post_send(pair->qp[side], &wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[side], &wc));
	KV_CHECK(wc.wr_id == 0x11);
	KV_CHECK(wc.status != IB_WC_SUCCESS || wc.opcode == IB_WC_LOCAL_INV);
	*status = wc.status;
	return 0;
}

/* Write to it, read from it, compare with what the pieces hold. */
int kv_use_region(struct kv_pair *pair, const struct kv_region *region)
{
	u32 length = kv_region_length(region);
	u8 *gathered = pair->buffer[0] + 32768;
	struct ib_mr *mr = region->mr;
	struct ib_wc wc;

	kv_pattern(pair->buffer[0], length, 17);
	KV_CHECK(!kv_rdma_key(pair, IB_WR_RDMA_WRITE, length, mr->iova, mr->rkey, &wc));
	KV_CHECK(wc.status == IB_WC_SUCCESS);
	kv_region_gather(pair, region, gathered);
	KV_CHECK(!memcmp(pair->buffer[0], gathered, length));
	memset(pair->buffer[0], 0, length);
	KV_CHECK(!kv_rdma_key(pair, IB_WR_RDMA_READ, length - 50, mr->iova + 50, mr->rkey, &wc));
	KV_CHECK(wc.status == IB_WC_SUCCESS);
	KV_CHECK(!memcmp(pair->buffer[0], gathered + 50, length - 50));
	return 0;
}

int kv_reconnect(struct kv_pair *pair)
{
	kv_pair_destroy_qps(pair);
	KV_CHECK(!kv_pair_create_qps(pair));
	return kv_pair_connect(pair);
}

int kv_check_refused(struct kv_pair *pair, const struct kv_region *region, u32 key)
{
	struct ib_wc wc;

	KV_CHECK(!kv_rdma_key(pair, IB_WR_RDMA_WRITE, 8, region->mr->iova, key, &wc));
	KV_CHECK(wc.status == IB_WC_REM_ACCESS_ERR);
	return kv_reconnect(pair);
}
