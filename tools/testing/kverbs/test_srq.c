// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues, and draining. Side 1 receives from the SRQ. */

#include <linux/completion.h>

#include "kverbs.h"

#define KV_SLOT	256	/* bytes of the buffer for each work request */

static void kv_srq_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		atomic_inc(context);
}

static int kv_srq_open(struct kv_pair *pair, atomic_t *limits)
{
	struct ib_srq_init_attr attr = {
		.event_handler = kv_srq_event,
		.srq_context = limits,
		.attr = { .max_wr = KV_DEPTH, .max_sge = 2 },
		.srq_type = IB_SRQT_BASIC,
	};

	if (!pair->device->attrs.max_srq)
		return -EOPNOTSUPP;
	atomic_set(limits, 0);
	pair->srq = ib_create_srq(pair->pd, &attr);
	if (IS_ERR(pair->srq)) {
		int ret = PTR_ERR(pair->srq);

		pair->srq = NULL;
		return ret;
	}
	kv_pair_destroy_qps(pair);
	KV_CHECK(!kv_pair_create_qps(pair));
	return kv_pair_connect(pair);
}

static void kv_srq_close(struct kv_pair *pair)
{
	kv_pair_destroy_qps(pair);
	if (pair->srq)
		ib_destroy_srq(pair->srq);
	pair->srq = NULL;
}

static int kv_srq_post(struct kv_pair *pair, u64 wr_id)
{
	struct ib_sge sge = kv_sge(pair, 1, wr_id % KV_DEPTH * KV_SLOT, KV_SLOT);
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return ib_post_srq_recv(pair->srq, &wr, NULL);
}

/* One message, received by the SRQ's work request @wr_id. */
static int kv_srq_message(struct kv_pair *pair, u64 wr_id)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, 100);
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;

	kv_pattern(pair->buffer[0], 100, wr_id);
	KV_CHECK(!ib_post_send(pair->qp[0], &wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.wr_id == wr_id && wc.opcode == IB_WC_RECV && wc.byte_len == 100);
	KV_CHECK(wc.qp == pair->qp[1]);
	KV_CHECK(!memcmp(pair->buffer[0], pair->buffer[1] + wr_id % KV_DEPTH * KV_SLOT, 100));
	return 0;
}

static int kv_srq_go_round(struct kv_pair *pair)
{
	struct ib_srq_attr attr;
	u64 wr_id;

	KV_CHECK(kv_post_recv(pair, 1, 0, 0, 64) == -EINVAL);
	for (wr_id = 0; wr_id < KV_DEPTH; wr_id++)
		KV_CHECK(!kv_srq_post(pair, wr_id));
	KV_CHECK(kv_srq_post(pair, wr_id) == -ENOMEM);
	for (wr_id = 0; wr_id < 5 * KV_DEPTH; wr_id++) {
		KV_CHECK(!kv_srq_message(pair, wr_id));
		KV_CHECK(!kv_srq_post(pair, wr_id + KV_DEPTH));
	}
	KV_CHECK(!ib_query_srq(pair->srq, &attr));
	KV_CHECK(attr.max_wr == KV_DEPTH && attr.max_sge == 2 && !attr.srq_limit);
	return 0;
}

static int kv_srq_limit(struct kv_pair *pair, atomic_t *limits)
{
	struct ib_srq_attr attr = { .srq_limit = 4 };
	u64 wr_id;

	for (wr_id = 0; wr_id < 8; wr_id++)
		KV_CHECK(!kv_srq_post(pair, wr_id));
	KV_CHECK(!ib_modify_srq(pair->srq, &attr, IB_SRQ_LIMIT));
	KV_CHECK(!ib_query_srq(pair->srq, &attr) && attr.srq_limit == 4);
	for (wr_id = 0; wr_id < 4; wr_id++)
		KV_CHECK(!kv_srq_message(pair, wr_id));
	KV_CHECK(kv_wait_events(limits, 0) == 0);
	KV_CHECK(!kv_srq_message(pair, 4));
	KV_CHECK(kv_wait_events(limits, 1) == 1);
	/* Once. */
	KV_CHECK(!kv_srq_message(pair, 5));
	KV_CHECK(kv_wait_events(limits, 2) == 1);
	KV_CHECK(!ib_query_srq(pair->srq, &attr) && !attr.srq_limit);
	attr.srq_limit = KV_DEPTH + 1;
	KV_CHECK(ib_modify_srq(pair->srq, &attr, IB_SRQ_LIMIT) == -EINVAL);
	return 0;
}

static int kv_srq_resize(struct kv_pair *pair)
{
	struct ib_srq_attr attr = { .max_wr = 4 * KV_DEPTH };
	u64 wr_id, end;

	if (!(pair->device->attrs.device_cap_flags & IB_DEVICE_SRQ_RESIZE)) {
		KV_CHECK(ib_modify_srq(pair->srq, &attr, IB_SRQ_MAX_WR) == -EOPNOTSUPP);
		return -EOPNOTSUPP;
	}
	for (wr_id = 0; wr_id < KV_DEPTH; wr_id++)
		KV_CHECK(!kv_srq_post(pair, wr_id));
	for (wr_id = 0; wr_id < 10; wr_id++)
		KV_CHECK(!kv_srq_message(pair, wr_id));
	KV_CHECK(!ib_modify_srq(pair->srq, &attr, IB_SRQ_MAX_WR));
	KV_CHECK(attr.max_wr == 4 * KV_DEPTH);
	end = KV_DEPTH + 3 * KV_DEPTH + 10;
	for (wr_id = KV_DEPTH; wr_id < end; wr_id++)
		KV_CHECK(!kv_srq_post(pair, wr_id));
	KV_CHECK(kv_srq_post(pair, wr_id) == -ENOMEM);
	/* There is more in it than fits. */
	attr.max_wr = KV_DEPTH;
	KV_CHECK(ib_modify_srq(pair->srq, &attr, IB_SRQ_MAX_WR) == -EINVAL);
	for (wr_id = 10; wr_id < end - 8; wr_id++)
		KV_CHECK(!kv_srq_message(pair, wr_id));
	attr.max_wr = 8;
	KV_CHECK(!ib_modify_srq(pair->srq, &attr, IB_SRQ_MAX_WR));
	KV_CHECK(kv_srq_post(pair, end) == -ENOMEM);
	for (; wr_id < end + 30; wr_id++) {
		KV_CHECK(!kv_srq_message(pair, wr_id));
		KV_CHECK(!kv_srq_post(pair, wr_id + 8));
	}
	return 0;
}

/* In error it takes nothing more, and says so. What the SRQ has is for others. */
static int kv_srq_drain(struct kv_pair *pair)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_wc wc;

	atomic_set(&pair->last_wqes, 0);
	KV_CHECK(!kv_srq_post(pair, 1));
	KV_CHECK(!ib_modify_qp(pair->qp[1], &attr, IB_QP_STATE));
	KV_CHECK(kv_wait_events(&pair->last_wqes, 1) == 1);
	KV_CHECK(!ib_poll_cq(pair->cq[1], 1, &wc));
	kv_pair_destroy_qps(pair);
	KV_CHECK(!kv_pair_create_qps(pair) && !kv_pair_connect(pair));
	return kv_srq_message(pair, 1);
}

static int kv_test_srq(struct kv_pair *pair)
{
	atomic_t limits;
	int ret;

	ret = kv_srq_open(pair, &limits);
	if (!ret)
		ret = kv_srq_go_round(pair);
	kv_srq_close(pair);
	return ret;
}

static int kv_test_srq_limit(struct kv_pair *pair)
{
	atomic_t limits;
	int ret;

	ret = kv_srq_open(pair, &limits);
	if (!ret)
		ret = kv_srq_limit(pair, &limits);
	kv_srq_close(pair);
	return ret;
}

static int kv_test_srq_resize(struct kv_pair *pair)
{
	atomic_t limits;
	int ret;

	ret = kv_srq_open(pair, &limits);
	if (!ret)
		ret = kv_srq_resize(pair);
	kv_srq_close(pair);
	return ret;
}

static int kv_test_srq_error(struct kv_pair *pair)
{
	atomic_t limits;
	int ret;

	ret = kv_srq_open(pair, &limits);
	if (!ret)
		ret = kv_srq_drain(pair);
	kv_srq_close(pair);
	return ret;
}

struct kv_drained {
	struct ib_cqe cqe;
	atomic_t flushed;
};

static void kv_flushed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_drained *drained = container_of(wc->wr_cqe, struct kv_drained, cqe);

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		atomic_inc(&drained->flushed);
}

static int kv_drain_qp(struct kv_pair *pair, struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct kv_drained drained = { .cqe.done = kv_flushed };
	struct ib_sge sge = kv_sge(pair, 0, 0, 64);
	struct ib_recv_wr wr = { .wr_cqe = &drained.cqe, .sg_list = &sge, .num_sge = 1 };
	int i;

	KV_CHECK(!ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX |
			       IB_QP_ACCESS_FLAGS));
	for (i = 0; i < 20; i++)
		KV_CHECK(!ib_post_recv(qp, &wr, NULL));
	ib_drain_qp(qp);
	KV_CHECK(atomic_read(&drained.flushed) == 20);
	return 0;
}

static int kv_test_drain(struct kv_pair *pair)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 32, .max_recv_wr = 32, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_cq *cq = ib_alloc_cq(pair->device, NULL, 128, 0, IB_POLL_WORKQUEUE);
	struct ib_qp *qp;
	int ret;

	KV_CHECK(!IS_ERR(cq));
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(pair->pd, &attr);
	ret = PTR_ERR_OR_ZERO(qp);
	if (!ret) {
		ret = kv_drain_qp(pair, qp);
		ib_destroy_qp(qp);
	}
	ib_free_cq(cq);
	return ret;
}

const struct kv_test kv_srq_tests[] = {
	{ "drain", kv_test_drain },
	{ "SRQ goes round", kv_test_srq },
	{ "SRQ limit", kv_test_srq_limit },
	{ "SRQ resized", kv_test_srq_resize },
	{ "SRQ of a QP in error", kv_test_srq_error },
};

const int kv_srq_test_count = ARRAY_SIZE(kv_srq_tests);
