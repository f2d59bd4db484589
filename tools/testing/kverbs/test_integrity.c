// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* T10-DIF signatures: insert, strip, pass and check, and what is reported. */

#include <linux/slab.h>
#include <linux/unaligned.h>

#include "integrity.h"
#include "region.h"

static const u32 kv_intervals[] = { 512, 520, 4096, 4104 };

/* Room for the data, or the tuples, of a region as they follow each other. */
static u8 *kv_scratch(const struct kv_integrity *it)
{
	return it->pair->buffer[1] + 32768;
}

/* Data, and tuples if there are any, in memory; nothing on the wire. */
static void kv_fill_memory(struct kv_integrity *it, u8 seed)
{
	u8 *scratch = kv_scratch(it);
	u8 tuples[KV_INTERVALS * KV_TUPLE];
	int i;

	kv_pattern(scratch, KV_INTERVALS * it->interval, seed);
	for (i = 0; i < KV_INTERVALS; i++)
		kv_tuple(&it->dif, i, scratch + i * it->interval, tuples + i * KV_TUPLE);
	kv_copy_pieces(it, it->data, scratch, true);
	kv_copy_pieces(it, it->meta, tuples, true);
	memset(it->pair->buffer[1], 0, kv_wire_length(it));
}

static void kv_fill_wire(struct kv_integrity *it, u8 seed)
{
	int i;

	for (i = 0; i < KV_INTERVALS; i++) {
		u8 *data = kv_wire_data(it, i);

		kv_pattern(data, it->interval, seed + i);
		if (it->wire)
			kv_tuple(&it->dif, i, data, data + it->interval);
	}
	memset(it->pair->buffer[0], 0, KV_BUFFER_SIZE);
}

/* Both domains hold the same data with the tuples that belong to it. */
static bool kv_domains_agree(struct kv_integrity *it)
{
	u8 *scratch = kv_scratch(it);
	u8 tuples[KV_INTERVALS * KV_TUPLE];
	u8 tuple[KV_TUPLE];
	bool ok = true;
	int i;

	kv_copy_pieces(it, it->data, scratch, false);
	kv_copy_pieces(it, it->meta, tuples, false);
	for (i = 0; i < KV_INTERVALS; i++) {
		u8 *data = kv_wire_data(it, i);

		kv_tuple(&it->dif, i, data, tuple);
		ok &= !memcmp(data, scratch + i * it->interval, it->interval);
		ok &= !it->wire || !memcmp(data + it->interval, tuple, KV_TUPLE);
		ok &= !it->memory || !memcmp(tuples + i * KV_TUPLE, tuple, KV_TUPLE);
	}
	return ok;
}

static int kv_both_ways(struct kv_integrity *it, u8 seed)
{
	kv_fill_memory(it, seed);
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_WRITE));
	KV_CHECK(!it->status.fail_status && kv_domains_agree(it));
	kv_fill_wire(it, seed + 1);
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_READ));
	KV_CHECK(!it->status.fail_status && kv_domains_agree(it));
	return 0;
}

static int kv_every_kind(struct kv_integrity *it)
{
	int kind, ret;

	for (kind = 0; kind < 8; kind++) {
		it->memory = kind & 1;
		it->wire = kind & 2;
		it->dif = kv_t10_dif(it->interval, kind & 4 ? IB_T10DIF_CSUM : IB_T10DIF_CRC);
		ret = kv_both_ways(it, kind * 16);
		if (ret) {
			pr_err("kverbs: interval %u, kind %d\n", it->interval, kind);
			return ret;
		}
	}
	return 0;
}

static int kv_with_integrity(struct kv_pair *pair, u32 interval,
			     int (*run)(struct kv_integrity *it))
{
	struct kv_integrity *it = kzalloc(sizeof(*it), GFP_KERNEL);
	int ret;

	if (!it)
		return -ENOMEM;
	it->interval = interval;
	it->check_mask = 0xff;
	ret = kv_integrity_open(pair, it);
	if (!ret) {
		ret = run(it);
		kv_integrity_close(it);
	}
	kfree(it);
	return ret;
}

/* OHCA-INTEGRITY-D2 OHCA-INTEGRITY-D3 OHCA-INTEGRITY-D4 */
static int kv_test_insert_strip_pass(struct kv_pair *pair)
{
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(kv_intervals) && !ret; i++)
		ret = kv_with_integrity(pair, kv_intervals[i], kv_every_kind);
	return ret;
}

/* A tuple with one wrong field, which is reported with what it should be. */
static const struct kv_fault {
	u32 byte;
	u8 check_mask;
	enum ib_sig_err_type type;
} kv_faults[] = {
	{ 1, IB_SIG_CHECK_GUARD, IB_SIG_BAD_GUARD },
	{ 3, IB_SIG_CHECK_APPTAG, IB_SIG_BAD_APPTAG },
	{ 7, IB_SIG_CHECK_REFTAG, IB_SIG_BAD_REFTAG },
};

static u32 kv_field(const u8 *tuple, enum ib_sig_err_type type)
{
	switch (type) {
	case IB_SIG_BAD_GUARD:
		return get_unaligned_be16(tuple);
	case IB_SIG_BAD_APPTAG:
		return get_unaligned_be16(tuple + 2);
	default:
		return get_unaligned_be32(tuple + 4);
	}
}

static int kv_expect_fault(struct kv_integrity *it, const struct kv_fault *fault, u32 index,
			   const u8 *good)
{
	const struct ib_sig_err *err = &it->status.sig_err;
	u8 bad[KV_TUPLE];

	memcpy(bad, good, KV_TUPLE);
	bad[fault->byte] ^= 4;
	KV_CHECK(it->status.fail_status == IB_MR_CHECK_SIG_STATUS);
	KV_CHECK(err->err_type == fault->type);
	KV_CHECK(err->expected == kv_field(good, fault->type));
	KV_CHECK(err->actual == kv_field(bad, fault->type));
	KV_CHECK(err->sig_err_offset == (u64)index * (it->interval + KV_TUPLE));
	KV_CHECK(err->key == it->mr->lkey);
	return 0;
}

/* From the wire: the peer's tuple of interval 3, and a later one that is not reported. */
static int kv_fault_on_wire(struct kv_integrity *it, const struct kv_fault *fault)
{
	u8 good[KV_TUPLE];
	u8 *tuple;

	kv_fill_wire(it, 70);
	tuple = kv_wire_data(it, 3) + it->interval;
	memcpy(good, tuple, KV_TUPLE);
	tuple[fault->byte] ^= 4;
	kv_wire_data(it, 4)[it->interval + fault->byte] ^= 8;
	it->check_mask = fault->check_mask;
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_READ));
	KV_CHECK(!kv_expect_fault(it, fault, 3, good));
	/* What is not asked for is not checked. */
	it->check_mask = ~fault->check_mask;
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_READ));
	KV_CHECK(!it->status.fail_status);
	return 0;
}

static int kv_fault_in_memory(struct kv_integrity *it, const struct kv_fault *fault)
{
	u8 tuples[KV_INTERVALS * KV_TUPLE];
	u8 good[KV_TUPLE];

	kv_fill_memory(it, 90);
	kv_copy_pieces(it, it->meta, tuples, false);
	memcpy(good, tuples + KV_TUPLE, KV_TUPLE);
	tuples[KV_TUPLE + fault->byte] ^= 4;
	kv_copy_pieces(it, it->meta, tuples, true);
	it->check_mask = fault->check_mask;
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_WRITE));
	KV_CHECK(!kv_expect_fault(it, fault, 1, good));
	/* Handed on as it is, so that the peer sees it, too. */
	if (it->wire)
		KV_CHECK(!memcmp(kv_wire_data(it, 1) + it->interval, tuples + KV_TUPLE, KV_TUPLE));
	it->check_mask = ~fault->check_mask;
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_WRITE));
	KV_CHECK(!it->status.fail_status);
	return 0;
}

static int kv_every_fault(struct kv_integrity *it)
{
	int i, other, ret = 0;

	it->dif = kv_t10_dif(it->interval, IB_T10DIF_CRC);
	for (i = 0; i < ARRAY_SIZE(kv_faults); i++) {
		for (other = 0; other < 2 && !ret; other++) {
			it->wire = true;
			it->memory = other;
			ret = kv_fault_on_wire(it, &kv_faults[i]);
			if (ret)
				break;
			it->memory = true;
			it->wire = other;
			ret = kv_fault_in_memory(it, &kv_faults[i]);
		}
		if (ret) {
			pr_err("kverbs: interval %u, fault %d\n", it->interval, i);
			return ret;
		}
	}
	return 0;
}

/* OHCA-INTEGRITY-D5 OHCA-INTEGRITY-D6 OHCA-INTEGRITY-H2 */
static int kv_test_faults(struct kv_pair *pair)
{
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(kv_intervals) && !ret; i++)
		ret = kv_with_integrity(pair, kv_intervals[i], kv_every_fault);
	return ret;
}

/* T10-DIF: an application tag of all ones disables the checks of its interval. */
static int kv_escape(struct kv_integrity *it)
{
	u8 *tuple;

	it->wire = true;
	it->dif = kv_t10_dif(it->interval, IB_T10DIF_CRC);
	it->dif.app_escape = true;
	kv_fill_wire(it, 33);
	tuple = kv_wire_data(it, 2) + it->interval;
	memset(tuple, 0, KV_TUPLE);
	put_unaligned_be16(0xffff, tuple + 2);
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_READ));
	KV_CHECK(!it->status.fail_status);
	/* Type 3: both tags. */
	it->dif.ref_escape = true;
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_READ));
	KV_CHECK(it->status.fail_status && it->status.sig_err.err_type == IB_SIG_BAD_GUARD);
	put_unaligned_be32(0xffffffff, tuple + 4);
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_READ));
	KV_CHECK(!it->status.fail_status);
	return 0;
}

/* OHCA-INTEGRITY-D7 */
static int kv_test_escapes(struct kv_pair *pair)
{
	return kv_with_integrity(pair, 512, kv_escape);
}

/* Without metadata the tuples are expected in the data: memory is then as the wire is. */
static int kv_among(struct kv_integrity *it)
{
	u8 *memory = kv_among_data(it);
	u32 length;

	it->among_data = true;
	it->memory = true;
	it->wire = true;
	it->dif = kv_t10_dif(it->interval, IB_T10DIF_CRC);
	length = kv_wire_length(it);
	kv_fill_wire(it, 50);
	memcpy(memory, it->pair->buffer[1], length);
	memset(it->pair->buffer[1], 0, length);
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_WRITE) && !it->status.fail_status);
	KV_CHECK(!memcmp(memory, it->pair->buffer[1], length));
	memset(memory, 0, length);
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_READ) && !it->status.fail_status);
	KV_CHECK(!memcmp(memory, it->pair->buffer[1], length));
	memory[2 * (it->interval + KV_TUPLE)] ^= 1;
	KV_CHECK(!kv_integrity_move(it, IB_WR_RDMA_WRITE) && it->status.fail_status);
	KV_CHECK(it->status.sig_err.err_type == IB_SIG_BAD_GUARD);
	KV_CHECK(it->status.sig_err.sig_err_offset == 2 * (it->interval + KV_TUPLE));
	return 0;
}

static int kv_test_among_data(struct kv_pair *pair)
{
	return kv_with_integrity(pair, 520, kv_among);
}

/* As an initiator does: the key goes to the peer, which reads and writes the wire domain. */
static int kv_remote_key(struct kv_integrity *it)
{
	struct kv_pair *pair = it->pair;
	u32 length;
	struct ib_sge sge;
	struct ib_rdma_wr wr = {
		.wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IB_SEND_SIGNALED },
	};
	enum ib_wc_status status;
	struct ib_reg_wr reg;
	struct ib_wc wc;
	int write;

	it->memory = true;
	it->wire = true;
	it->dif = kv_t10_dif(it->interval, IB_T10DIF_CRC);
	length = kv_wire_length(it);
	sge = kv_sge(pair, 1, 0, length);
	for (write = 0; write < 2; write++) {
		if (write)
			kv_fill_wire(it, 7);
		else
			kv_fill_memory(it, 8);
		KV_CHECK(!kv_integrity_reg(it, &reg, KV_ACCESS));
		reg.wr.send_flags = IB_SEND_SIGNALED;
		KV_CHECK(!ib_post_send(pair->qp[0], &reg.wr, NULL));
		KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.opcode == IB_WC_REG_MR && !wc.status);
		wr.wr.opcode = write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ;
		wr.remote_addr = it->mr->iova;
		wr.rkey = it->mr->rkey;
		KV_CHECK(!ib_post_send(pair->qp[1], &wr.wr, NULL));
		KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_SUCCESS);
		KV_CHECK(!ib_check_mr_status(it->mr, IB_MR_CHECK_SIG_STATUS, &it->status));
		KV_CHECK(!it->status.fail_status && kv_domains_agree(it));
		KV_CHECK(!kv_invalidate(pair, 0, it->mr->rkey, 0, &status) && !status);
	}
	/* It is gone, and never reached beyond the wire domain. */
	KV_CHECK(!ib_post_send(pair->qp[1], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_REM_ACCESS_ERR);
	KV_CHECK(!kv_reconnect(pair));
	KV_CHECK(!kv_integrity_reg(it, &reg, KV_ACCESS));
	reg.wr.send_flags = IB_SEND_SIGNALED;
	KV_CHECK(!ib_post_send(pair->qp[0], &reg.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && !wc.status);
	wr.remote_addr = it->mr->iova + 1;
	wr.rkey = it->mr->rkey;
	KV_CHECK(!ib_post_send(pair->qp[1], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_REM_ACCESS_ERR);
	return 0;
}

static int kv_test_remote_key(struct kv_pair *pair)
{
	return kv_with_integrity(pair, 520, kv_remote_key);
}

static int kv_refusals(struct kv_integrity *it)
{
	struct kv_pair *pair = it->pair;
	struct ib_sig_attrs *attrs = it->mr->sig_attrs;
	struct ib_mr_status status;
	struct ib_reg_wr reg;

	it->memory = true;
	it->wire = true;
	it->dif = kv_t10_dif(it->interval, IB_T10DIF_CRC);
	KV_CHECK(!kv_integrity_reg(it, &reg, IB_ACCESS_LOCAL_WRITE));
	reg.wr.send_flags = IB_SEND_SIGNALED;
	attrs->wire.sig.dif.pi_interval = 4096;
	KV_CHECK(ib_post_send(pair->qp[0], &reg.wr, NULL) == -EINVAL);
	attrs->mem.sig.dif.pi_interval = 4096;
	/* The data is not a whole number of intervals. */
	KV_CHECK(ib_post_send(pair->qp[0], &reg.wr, NULL) == -EINVAL);
	KV_CHECK(ib_check_mr_status(pair->mr, IB_MR_CHECK_SIG_STATUS, &status) == -EINVAL);

	/* Nor on a queue pair that has not been made for it. */
	pair->create_flags = 0;
	KV_CHECK(!kv_reconnect(pair));
	KV_CHECK(!kv_integrity_reg(it, &reg, IB_ACCESS_LOCAL_WRITE));
	KV_CHECK(ib_post_send(pair->qp[0], &reg.wr, NULL) == -EINVAL);
	return 0;
}

/* OHCA-INTEGRITY-D1 */
static int kv_test_refusals(struct kv_pair *pair)
{
	return kv_with_integrity(pair, 512, kv_refusals);
}

const struct kv_test kv_integrity_tests[] = {
	{ "signatures: insert, strip, pass", kv_test_insert_strip_pass },
	{ "signatures: wrong tuples are reported", kv_test_faults },
	{ "signatures: escapes", kv_test_escapes },
	{ "signatures: tuples among the data", kv_test_among_data },
	{ "signatures: a peer uses the key", kv_test_remote_key },
	{ "signatures: registrations that are refused", kv_test_refusals },
	{ "signatures: reads and writes of the rdma_rw API", kv_test_rw_signature },
};

const int kv_integrity_test_count = ARRAY_SIZE(kv_integrity_tests);
