// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signature regions, and what the tuples in them must be. */

#include <linux/unaligned.h>

#include "integrity.h"

#define KV_DATA_OFFSET	77
#define KV_META_OFFSET	40000

struct ib_t10_dif_domain kv_t10_dif(u32 interval, enum ib_t10_dif_bg_type type)
{
	return (struct ib_t10_dif_domain) {
		.bg_type = type, .pi_interval = interval, .app_tag = KV_APP_TAG,
		.ref_tag = KV_REF_TAG, .ref_remap = true, .apptag_check_mask = 0xffff,
	};
}

static u16 kv_crc(const u8 *data, u32 length)
{
	u32 crc = 0;
	int bit;

	while (length--) {
		crc ^= *data++ << 8;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x8bb7 : crc << 1;
	}
	return crc;
}

static u16 kv_ip_checksum(const u8 *data, u32 length)
{
	u32 sum = 0, i;

	for (i = 0; i < length; i += 2) {
		sum += get_unaligned_be16(data + i);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return ~sum;
}

void kv_tuple(const struct ib_t10_dif_domain *dif, u32 index, const u8 *data, u8 *tuple)
{
	u32 length = dif->pi_interval;

	put_unaligned_be16(dif->bg_type == IB_T10DIF_CRC ? kv_crc(data, length) :
							     kv_ip_checksum(data, length), tuple);
	put_unaligned_be16(dif->app_tag, tuple + 2);
	put_unaligned_be32(dif->ref_tag + (dif->ref_remap ? index : 0), tuple + 4);
}

u32 kv_wire_length(const struct kv_integrity *it)
{
	return KV_INTERVALS * (it->interval + (it->wire ? KV_TUPLE : 0));
}

u8 *kv_wire_data(const struct kv_integrity *it, u32 index)
{
	return it->pair->buffer[1] + index * (it->interval + (it->wire ? KV_TUPLE : 0));
}

static void kv_set_piece(struct kv_integrity *it, struct scatterlist *sg, u32 offset, u32 length)
{
	sg_dma_address(sg) = it->pair->dma[0] + offset;
	sg_dma_len(sg) = length;
}

int kv_integrity_open(struct kv_pair *pair, struct kv_integrity *it)
{
	u32 first = it->interval + 100, second = 2 * it->interval - 50;

	if (!(pair->device->attrs.kernel_cap_flags & IBK_INTEGRITY_HANDOVER))
		return -EOPNOTSUPP;
	it->pair = pair;
	kv_pair_destroy_qps(pair);
	pair->create_flags = IB_QP_CREATE_INTEGRITY_EN;
	KV_CHECK(!kv_pair_create_qps(pair) && !kv_pair_connect(pair));
	it->mr = ib_alloc_mr_integrity(pair->pd, KV_DATA_PIECES, KV_META_PIECES);
	if (IS_ERR(it->mr))
		return PTR_ERR(it->mr);
	sg_init_table(it->data, KV_DATA_PIECES);
	kv_set_piece(it, &it->data[0], KV_DATA_OFFSET, first);
	kv_set_piece(it, &it->data[1], KV_DATA_OFFSET + first + 33, second);
	kv_set_piece(it, &it->data[2], KV_DATA_OFFSET + first + second + 501,
		     KV_INTERVALS * it->interval - first - second);
	sg_init_table(it->meta, KV_META_PIECES);
	kv_set_piece(it, &it->meta[0], KV_META_OFFSET + 900, 13);
	kv_set_piece(it, &it->meta[1], KV_META_OFFSET, KV_INTERVALS * KV_TUPLE - 13);
	return 0;
}

void kv_integrity_close(struct kv_integrity *it)
{
	ib_dereg_mr(it->mr);
}

void kv_copy_pieces(struct kv_integrity *it, const struct scatterlist *pieces, u8 *bytes,
		    bool store)
{
	int i, count = pieces == it->data ? KV_DATA_PIECES : KV_META_PIECES;

	for (i = 0; i < count; i++) {
		u8 *at = it->pair->buffer[0] + (sg_dma_address(&pieces[i]) - it->pair->dma[0]);
		u32 length = sg_dma_len(&pieces[i]);

		memcpy(store ? at : bytes, store ? bytes : at, length);
		bytes += length;
	}
}

/* The first piece, made as long as all of it. */
u8 *kv_among_data(struct kv_integrity *it)
{
	kv_set_piece(it, &it->data[0], KV_DATA_OFFSET, KV_INTERVALS * (it->interval + KV_TUPLE));
	return it->pair->buffer[0] + KV_DATA_OFFSET;
}

int kv_integrity_reg(struct kv_integrity *it, struct ib_reg_wr *reg, int access)
{
	struct ib_sig_attrs *attrs = it->mr->sig_attrs;
	int data = it->among_data ? 1 : KV_DATA_PIECES;
	int meta = it->memory && !it->among_data ? KV_META_PIECES : 0;

	KV_CHECK(!ib_map_mr_sg_pi(it->mr, it->data, data, NULL, it->meta, meta, NULL, SZ_4K));
	KV_CHECK(it->mr->length == KV_INTERVALS * (it->interval + (it->memory ? KV_TUPLE : 0)));
	memset(attrs, 0, sizeof(*attrs));
	attrs->check_mask = it->check_mask;
	attrs->mem.sig_type = it->memory ? IB_SIG_TYPE_T10_DIF : IB_SIG_TYPE_NONE;
	attrs->mem.sig.dif = it->dif;
	attrs->wire.sig_type = it->wire ? IB_SIG_TYPE_T10_DIF : IB_SIG_TYPE_NONE;
	attrs->wire.sig.dif = it->dif;
	ib_update_fast_reg_key(it->mr, ib_inc_rkey(it->mr->rkey));
	*reg = (struct ib_reg_wr) {
		.wr = { .wr_id = 1, .opcode = IB_WR_REG_MR_INTEGRITY },
		.mr = it->mr, .key = it->mr->rkey, .access = access,
	};
	return 0;
}

int kv_integrity_move(struct kv_integrity *it, enum ib_wr_opcode opcode)
{
	struct kv_pair *pair = it->pair;
	struct ib_sge sge;
	struct ib_send_wr invalidate = {
		.wr_id = 3, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
	};
	struct ib_rdma_wr move = {
		.wr = {
			.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED, .next = &invalidate,
		},
		.remote_addr = pair->dma[1], .rkey = pair->mr->rkey,
	};
	struct ib_reg_wr reg;
	struct ib_wc wc;

	KV_CHECK(!kv_integrity_reg(it, &reg, IB_ACCESS_LOCAL_WRITE));
	sge = (struct ib_sge) {
		.addr = it->mr->iova, .length = kv_wire_length(it), .lkey = it->mr->lkey,
	};
	invalidate.ex.invalidate_rkey = it->mr->rkey;
	reg.wr.next = &move.wr;
	KV_CHECK(!ib_post_send(pair->qp[0], &reg.wr, NULL));
	/* Whatever the tuples are, the transfer itself is good. */
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.wr_id == 2 && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!ib_check_mr_status(it->mr, IB_MR_CHECK_SIG_STATUS, &it->status));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.wr_id == 3 && wc.status == IB_WC_SUCCESS);
	return 0;
}
