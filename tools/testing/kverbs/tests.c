// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a ULP may expect of kernel queue pairs. Each test starts with a connected pair. */

#include <linux/delay.h>
#include <linux/spinlock.h>

#include "kverbs.h"

int kv_post_recv(struct kv_pair *pair, int side, u64 wr_id, u32 offset, u32 length)
{
	struct ib_sge sge = kv_sge(pair, side, offset, length);
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(pair->qp[side], &wr, NULL);
}

void kv_pattern(u8 *to, u32 length, u8 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		to[i] = seed + i * 7;
}

static int kv_test_send(struct kv_pair *pair)
{
	struct ib_sge sge[3] = {
		kv_sge(pair, 0, 0, 100), kv_sge(pair, 0, 100, 3000), kv_sge(pair, 0, 3100, 900),
	};
	struct ib_send_wr wr = {
		.wr_id = 0x1234567890, .sg_list = sge, .num_sge = 3,
		.opcode = IB_WR_SEND_WITH_IMM, .send_flags = IB_SEND_SIGNALED,
		.ex.imm_data = cpu_to_be32(0xabcd1234),
	};
	struct ib_wc wc;

	kv_pattern(pair->buffer[0], 4000, 3);
	KV_CHECK(!kv_post_recv(pair, 1, 77, 8, 5000));
	KV_CHECK(!ib_post_send(pair->qp[0], &wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc));
	KV_CHECK(wc.wr_id == 0x1234567890 && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.opcode == IB_WC_SEND && wc.qp == pair->qp[0]);
	KV_CHECK(!kv_poll(pair->cq[1], &wc));
	KV_CHECK(wc.wr_id == 77 && wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RECV);
	KV_CHECK(wc.byte_len == 4000 && wc.wc_flags & IB_WC_WITH_IMM);
	KV_CHECK(wc.ex.imm_data == cpu_to_be32(0xabcd1234));
	KV_CHECK(wc.qp == pair->qp[1]);
	KV_CHECK(!memcmp(pair->buffer[1] + 8, pair->buffer[0], 4000));
	return 0;
}

static int kv_test_inline(struct kv_pair *pair)
{
	u8 text[KV_INLINE];
	struct ib_sge sge = { .addr = (uintptr_t)text, .length = sizeof(text) };
	struct ib_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE | IB_SEND_SOLICITED,
	};
	struct ib_wc wc;

	kv_pattern(text, sizeof(text), 9);
	KV_CHECK(!kv_post_recv(pair, 1, 2, 0, 4096));
	KV_CHECK(!ib_post_send(pair->qp[0], &wr, NULL));
	memset(text, 0, sizeof(text));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.byte_len == sizeof(text));
	KV_CHECK(!(wc.wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE)));
	kv_pattern(text, sizeof(text), 9);
	KV_CHECK(!memcmp(pair->buffer[1], text, sizeof(text)));

	sge.length = KV_INLINE + 1;
	KV_CHECK(ib_post_send(pair->qp[0], &wr, NULL) == -EINVAL);
	return 0;
}

/* From the start of buffer 0, or to it. */
int kv_rdma_key(struct kv_pair *pair, enum ib_wr_opcode opcode, u32 length, u64 address, u32 rkey,
		struct ib_wc *wc)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, length);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = opcode, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED, .ex.imm_data = cpu_to_be32(5),
		},
		.remote_addr = address,
		.rkey = rkey,
	};

	KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], wc));
	KV_CHECK(wc->wr_id == opcode);
	return 0;
}

static int kv_rdma(struct kv_pair *pair, enum ib_wr_opcode opcode, u32 length, struct ib_wc *wc)
{
	return kv_rdma_key(pair, opcode, length, pair->dma[1] + 16, pair->mr->rkey, wc);
}

static int kv_test_rdma(struct kv_pair *pair)
{
	struct ib_wc wc;

	kv_pattern(pair->buffer[0], 60000, 1);
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_WRITE, 60000, &wc));
	KV_CHECK(wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RDMA_WRITE);
	KV_CHECK(!memcmp(pair->buffer[1] + 16, pair->buffer[0], 60000));

	memset(pair->buffer[0], 0, 60000);
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_READ, 60000, &wc));
	KV_CHECK(wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RDMA_READ);
	KV_CHECK(!memcmp(pair->buffer[1] + 16, pair->buffer[0], 60000));

	KV_CHECK(!kv_post_recv(pair, 1, 3, 0, 0));
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_WRITE_WITH_IMM, 10, &wc));
	KV_CHECK(!kv_poll(pair->cq[1], &wc));
	KV_CHECK(wc.opcode == IB_WC_RECV_RDMA_WITH_IMM && wc.ex.imm_data == cpu_to_be32(5));
	KV_CHECK(wc.wc_flags & IB_WC_WITH_IMM && wc.byte_len == 10);
	return 0;
}

static int kv_atomic(struct kv_pair *pair, enum ib_wr_opcode opcode, u64 compare_add, u64 swap,
		     u64 *old)
{
	struct ib_sge sge = kv_sge(pair, 0, 64, 8);
	struct ib_atomic_wr wr = {
		.wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = pair->dma[1],
		.rkey = pair->mr->rkey,
		.compare_add = compare_add,
		.swap = swap,
	};
	struct ib_wc wc;

	KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.opcode == (opcode == IB_WR_ATOMIC_FETCH_AND_ADD ? IB_WC_FETCH_ADD :
								      IB_WC_COMP_SWAP));
	*old = *(u64 *)(pair->buffer[0] + 64);
	return 0;
}

static int kv_test_atomics(struct kv_pair *pair)
{
	u64 *target = (u64 *)pair->buffer[1];
	u64 old;

	*target = 1000;
	KV_CHECK(!kv_atomic(pair, IB_WR_ATOMIC_FETCH_AND_ADD, 5, 0, &old));
	KV_CHECK(old == 1000 && *target == 1005);
	KV_CHECK(!kv_atomic(pair, IB_WR_ATOMIC_CMP_AND_SWP, 1005, ~0ULL, &old));
	KV_CHECK(old == 1005 && *target == ~0ULL);
	KV_CHECK(!kv_atomic(pair, IB_WR_ATOMIC_CMP_AND_SWP, 1, 2, &old));
	KV_CHECK(old == ~0ULL && *target == ~0ULL);
	return 0;
}

/* A signaled work request retires the unsignaled ones before it; the ring goes round. OHCA-SQ-H4 */
/* OHCA-SQ-D6 */
static int kv_test_unsignaled(struct kv_pair *pair)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, 8);
	struct ib_rdma_wr wr = {
		.wr = { .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE },
		.remote_addr = pair->dma[1],
		.rkey = pair->mr->rkey,
	};
	struct ib_wc wc;
	int i;

	for (i = 1; i <= 1000; i++) {
		wr.wr.wr_id = i;
		wr.wr.send_flags = i % 10 ? 0 : IB_SEND_SIGNALED;
		KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
		if (i % 10)
			continue;
		KV_CHECK(!kv_poll(pair->cq[0], &wc));
		KV_CHECK(wc.wr_id == i && wc.status == IB_WC_SUCCESS);
	}
	KV_CHECK(!ib_poll_cq(pair->cq[0], 1, &wc));
	return 0;
}

/* OHCA-SQ-H2 OHCA-RQ-H2 */
static int kv_test_refusals(struct kv_pair *pair)
{
	struct ib_sge sge[KV_SGE + 1] = {};
	struct ib_send_wr second = { .opcode = IB_WR_LSO };
	struct ib_send_wr first = { .opcode = IB_WR_SEND, .next = &second };
	struct ib_send_wr many = {
		.opcode = IB_WR_SEND, .sg_list = sge, .num_sge = KV_SGE + 1,
	};
	const struct ib_send_wr *bad = NULL;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	int i;

	KV_CHECK(ib_post_send(pair->qp[0], &many, &bad) == -EINVAL && bad == &many);
	KV_CHECK(ib_post_send(pair->qp[0], &first, &bad) == -EINVAL && bad == &second);
	for (i = 0; i < KV_DEPTH; i++)
		KV_CHECK(!kv_post_recv(pair, 0, i, 0, 64));
	KV_CHECK(kv_post_recv(pair, 0, i, 0, 64) == -ENOMEM);
	KV_CHECK(ib_modify_qp(pair->qp[0], &attr, IB_QP_STATE) == -EINVAL);
	attr.qp_state = IB_QPS_RTS;
	attr.min_rnr_timer = 32;
	KV_CHECK(ib_modify_qp(pair->qp[0], &attr, IB_QP_STATE | IB_QP_MIN_RNR_TIMER) == -EINVAL);

	attr.qp_state = IB_QPS_RESET;
	KV_CHECK(!ib_modify_qp(pair->qp[0], &attr, IB_QP_STATE));
	KV_CHECK(ib_post_send(pair->qp[0], &first, &bad) == -EINVAL && bad == &first);
	KV_CHECK(kv_post_recv(pair, 0, 0, 0, 64) == -EINVAL);
	return 0;
}

/* The first bad one says why, those behind it are flushed, in order. */
/* OHCA-ERR-D2 OHCA-ERR-D3 OHCA-ERR-D6 */
static int kv_test_error(struct kv_pair *pair)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, 8);
	struct ib_rdma_wr wr = {
		.wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE,
		},
		.remote_addr = pair->dma[1],
		.rkey = pair->mr->rkey ^ 0x55,
	};
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr attr;
	struct ib_wc wc;
	int i;

	for (i = 0; i < 10; i++)
		KV_CHECK(!kv_post_recv(pair, 0, 100 + i, 0, 64));
	for (i = 0; i < 10; i++) {
		wr.wr.wr_id = i;
		KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
	}
	KV_CHECK(!kv_poll(pair->cq[0], &wc));
	KV_CHECK(wc.wr_id == 0 && wc.status == IB_WC_REM_ACCESS_ERR && wc.qp == pair->qp[0]);
	for (i = 0; i < 19; i++) {
		KV_CHECK(!kv_poll(pair->cq[0], &wc));
		KV_CHECK(wc.status == IB_WC_WR_FLUSH_ERR);
	}
	KV_CHECK(!ib_query_qp(pair->qp[0], &attr, IB_QP_STATE, &init_attr));
	KV_CHECK(attr.qp_state == IB_QPS_ERR);
	/* What is posted now is flushed, too. */
	KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_WR_FLUSH_ERR);
	KV_CHECK(!kv_post_recv(pair, 0, 5, 0, 64));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_WR_FLUSH_ERR);
	return 0;
}

/* Completions that nobody has polled vanish with their queue pair. OHCA-QP-H2 */
/* OHCA-CQ-D6 OHCA-CQ-H5 */
static int kv_test_destroy_with_completions(struct kv_pair *pair)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, 8);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = 99, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = pair->dma[1],
		.rkey = pair->mr->rkey,
	};
	struct ib_wc wc;
	int round, i;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 5; i++)
			KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
		usleep_range(1000, 2000);
		kv_pair_destroy_qps(pair);
		KV_CHECK(!ib_poll_cq(pair->cq[0], 1, &wc));
		KV_CHECK(!kv_pair_create_qps(pair));
		KV_CHECK(!kv_pair_connect(pair));
		KV_CHECK(!ib_poll_cq(pair->cq[0], 1, &wc));
	}
	return 0;
}

int kv_wait_events(atomic_t *events, int count)
{
	int i;

	for (i = 0; i < 200 && atomic_read(events) < count; i++)
		usleep_range(1000, 2000);
	/* Nor one too many. */
	usleep_range(1000, 2000);
	return atomic_read(events);
}

/* OHCA-CQ-D5 */
/* OHCA-EQ-H3, OHCA-EQ-H7 */
static int kv_test_events(struct kv_pair *pair)
{
	struct ib_wc wc;

	atomic_set(&pair->events[0], 0);
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_WRITE, 8, &wc));
	KV_CHECK(kv_wait_events(&pair->events[0], 0) == 0);

	KV_CHECK(!ib_req_notify_cq(pair->cq[0], IB_CQ_NEXT_COMP));
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_WRITE, 8, &wc));
	KV_CHECK(kv_wait_events(&pair->events[0], 1) == 1);
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_WRITE, 8, &wc));
	KV_CHECK(kv_wait_events(&pair->events[0], 2) == 1);

	/* Not solicited: no event; and NEXT is not weakened to SOLICITED. */
	KV_CHECK(!ib_req_notify_cq(pair->cq[0], IB_CQ_SOLICITED));
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_WRITE, 8, &wc));
	KV_CHECK(kv_wait_events(&pair->events[0], 2) == 1);
	KV_CHECK(!ib_req_notify_cq(pair->cq[0], IB_CQ_NEXT_COMP));
	KV_CHECK(!ib_req_notify_cq(pair->cq[0], IB_CQ_SOLICITED));
	KV_CHECK(!kv_rdma(pair, IB_WR_RDMA_WRITE, 8, &wc));
	KV_CHECK(kv_wait_events(&pair->events[0], 2) == 2);
	return 0;
}

/* OHCA-CQ-H3 */
static int kv_test_missed_events(struct kv_pair *pair)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, 8);
	struct ib_rdma_wr wr = {
		.wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = pair->dma[1],
		.rkey = pair->mr->rkey,
	};
	struct ib_wc wc;

	KV_CHECK(!ib_req_notify_cq(pair->cq[0], IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS));
	KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
	atomic_set(&pair->events[0], 0);
	KV_CHECK(kv_wait_events(&pair->events[0], 1) >= 0);
	KV_CHECK(ib_req_notify_cq(pair->cq[0], IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0);
	KV_CHECK(!kv_poll(pair->cq[0], &wc));
	return 0;
}

/* As rdma_cm and ipoib do. */
static int kv_test_ah_in_atomic_context(struct kv_pair *pair)
{
	struct rdma_ah_attr attr, out;
	DEFINE_SPINLOCK(lock);
	unsigned long flags;
	struct ib_ah *ah;
	int ret = 0;

	KV_CHECK(!kv_fill_ah(pair->device, 0, &attr));
	spin_lock_irqsave(&lock, flags);
	ah = rdma_create_ah(pair->pd, &attr, 0);
	if (!IS_ERR(ah)) {
		ret = rdma_query_ah(ah, &out);
		rdma_destroy_ah(ah, 0);
	}
	spin_unlock_irqrestore(&lock, flags);
	KV_CHECK(!IS_ERR(ah) && !ret);
	KV_CHECK(!memcmp(&out.grh.dgid, &attr.grh.dgid, sizeof(out.grh.dgid)));
	return 0;
}

/* OHCA-CMD-D11 */
static int kv_test_busy(struct kv_pair *pair)
{
	KV_CHECK(pair->device->ops.destroy_cq(pair->cq[0], NULL) == -EBUSY);
	KV_CHECK(pair->device->ops.dealloc_pd(pair->pd, NULL) == -EBUSY);
	return kv_test_send(pair);
}

/* Larger than any memory that is contiguous. */
static int kv_test_large_queues(struct kv_pair *pair)
{
	struct ib_cq_init_attr attr = { .cqe = min(1 << 18, pair->device->attrs.max_cqe) };
	struct ib_cq *cq[2];
	int side, ret = 0;

	kv_pair_destroy_qps(pair);
	pair->cap.max_send_wr = pair->device->attrs.max_qp_wr;
	pair->cap.max_recv_wr = pair->device->attrs.max_qp_wr;
	pair->cap.max_send_sge = pair->device->attrs.max_send_sge;
	pair->cap.max_recv_sge = pair->device->attrs.max_recv_sge;
	for (side = 0; side < 2; side++) {
		cq[side] = pair->cq[side];
		pair->cq[side] = ib_create_cq(pair->device, cq[side]->comp_handler, NULL,
					      &pair->events[side], &attr);
		if (IS_ERR(pair->cq[side]))
			ret = PTR_ERR(pair->cq[side]);
	}
	ret = ret ?: kv_pair_create_qps(pair) ?: kv_pair_connect(pair) ?:
	      kv_test_unsignaled(pair) ?: kv_test_send(pair);
	kv_pair_destroy_qps(pair);
	for (side = 0; side < 2; side++) {
		if (!IS_ERR(pair->cq[side]))
			ib_destroy_cq(pair->cq[side]);
		pair->cq[side] = cq[side];
	}
	return ret;
}

const struct kv_test kv_queue_tests[] = {
	{ "send with immediate, several elements", kv_test_send },
	{ "inline send", kv_test_inline },
	{ "write, read, write with immediate", kv_test_rdma },
	{ "compare and swap, fetch and add", kv_test_atomics },
	{ "unsignaled work requests", kv_test_unsignaled },
	{ "what is refused", kv_test_refusals },
	{ "error and flush", kv_test_error },
	{ "destroy with completions outstanding", kv_test_destroy_with_completions },
	{ "completion events", kv_test_events },
	{ "missed events", kv_test_missed_events },
	{ "address handle in atomic context", kv_test_ah_in_atomic_context },
	{ "destroy what is in use", kv_test_busy },
	{ "large queues", kv_test_large_queues },
};

const int kv_queue_test_count = ARRAY_SIZE(kv_queue_tests);
