// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a kernel user finds of each feature of an ohca device: with it the operation is
 * accepted and announced, without it refused with -EOPNOTSUPP (a call) or -EINVAL (a work
 * request) and not announced.
 */

#include <linux/slab.h>
#include <linux/string.h>

#include "kverbs.h"

static int kv_feature_call(int ret, bool offered)
{
	KV_CHECK(ret == (offered ? 0 : -EOPNOTSUPP));
	return 0;
}

static int kv_feature_qp(struct kv_pair *pair, enum ib_qp_type type, bool offered)
{
	struct ib_qp_init_attr attr = {
		.send_cq = pair->cq[0],
		.recv_cq = pair->cq[0],
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
	};
	struct ib_qp *qp;

	if (type == IB_QPT_XRC_INI) {
		attr.recv_cq = NULL;
		attr.cap.max_recv_wr = 0;
		attr.cap.max_recv_sge = 0;
	}
	qp = ib_create_qp(pair->pd, &attr);
	if (!IS_ERR(qp))
		ib_destroy_qp(qp);
	return kv_feature_call(PTR_ERR_OR_ZERO(qp), offered);
}

static int kv_feature_uc(struct kv_pair *pair, bool offered)
{
	return kv_feature_qp(pair, IB_QPT_UC, offered);
}

static int kv_feature_ud(struct kv_pair *pair, bool offered)
{
	KV_CHECK(rdma_cap_ib_mad(pair->device, 1) == offered);
	KV_CHECK(rdma_cap_ib_cm(pair->device, 1) == offered);
	return kv_feature_qp(pair, IB_QPT_UD, offered);
}

static int kv_feature_xrc(struct kv_pair *pair, bool offered)
{
	KV_CHECK(!!(pair->device->attrs.device_cap_flags & IB_DEVICE_XRC) == offered);
	return kv_feature_qp(pair, IB_QPT_XRC_INI, offered);
}

static int kv_feature_srq(struct kv_pair *pair, bool offered)
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = 8, .max_sge = 1 }, .srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq = ib_create_srq(pair->pd, &attr);

	KV_CHECK(!!pair->device->attrs.max_srq == offered);
	if (!IS_ERR(srq))
		ib_destroy_srq(srq);
	return kv_feature_call(PTR_ERR_OR_ZERO(srq), offered);
}

static int kv_feature_mr(struct kv_pair *pair, enum ib_mr_type type, bool offered)
{
	struct ib_mr *mr = ib_alloc_mr(pair->pd, type, 16);

	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	return kv_feature_call(PTR_ERR_OR_ZERO(mr), offered);
}

static int kv_feature_fast_reg(struct kv_pair *pair, bool offered)
{
	/* With it comes SEND with invalidate, which may be missing. */
	KV_CHECK(offered ||
		 !(pair->device->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS));
	KV_CHECK(!!pair->device->attrs.max_fast_reg_page_list_len == offered);
	return kv_feature_mr(pair, IB_MR_TYPE_MEM_REG, offered);
}

static int kv_feature_sg_gaps(struct kv_pair *pair, bool offered)
{
	KV_CHECK(!!(pair->device->attrs.kernel_cap_flags & IBK_SG_GAPS_REG) == offered);
	return kv_feature_mr(pair, IB_MR_TYPE_SG_GAPS, offered);
}

static int kv_feature_integrity(struct kv_pair *pair, bool offered)
{
	const struct ib_device_attr *attrs = &pair->device->attrs;
	struct ib_mr *mr = ib_alloc_mr_integrity(pair->pd, 4, 4);

	KV_CHECK(!!(attrs->kernel_cap_flags & IBK_INTEGRITY_HANDOVER) == offered);
	KV_CHECK(!!attrs->sig_prot_cap == offered && !!attrs->sig_guard_cap == offered);
	KV_CHECK(!!attrs->max_pi_fast_reg_page_list_len == offered);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	KV_CHECK(!kv_feature_call(PTR_ERR_OR_ZERO(mr), offered));
	kv_pair_destroy_qps(pair);
	pair->create_flags = IB_QP_CREATE_INTEGRITY_EN;
	/* ib_core asks for the capability by itself. */
	KV_CHECK(!kv_pair_create_qps(pair) == offered);
	return 0;
}

/*
 * Posted on a connected queue pair.  That what is accepted works is for the other tests;
 * here the bytes are valid, and the status of what needs a key to invalidate is not.
 */
static int kv_feature_work(struct kv_pair *pair, struct ib_atomic_wr *atomic,
			   enum ib_wr_opcode opcode, bool offered)
{
	struct ib_sge sge = kv_sge(pair, 0, 64, 8);
	struct ib_rdma_wr rdma = {
		.wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED, .ex.invalidate_rkey = 0x100 },
		.remote_addr = pair->dma[1],
		.rkey = pair->mr->rkey,
	};
	struct ib_send_wr *wr = &rdma.wr;
	struct ib_wc wc;

	if (atomic) {
		atomic->wr = rdma.wr;
		atomic->remote_addr = rdma.remote_addr;
		atomic->rkey = rdma.rkey;
		wr = &atomic->wr;
	}
	KV_CHECK(ib_post_send(pair->qp[0], wr, NULL) == (offered ? 0 : -EINVAL));
	if (offered)
		KV_CHECK(!kv_poll(pair->cq[0], &wc));
	else
		KV_CHECK(!ib_poll_cq(pair->cq[0], 1, &wc));
	return 0;
}

static int kv_feature_atomics(struct kv_pair *pair, enum ib_wr_opcode first,
			      enum ib_wr_opcode second, bool offered)
{
	struct ib_atomic_wr atomic = { .compare_add = 1 };
	int ret;

	ret = kv_feature_work(pair, &atomic, first, offered);
	return ret ?: kv_feature_work(pair, &atomic, second, offered);
}

static int kv_feature_atomic(struct kv_pair *pair, bool offered)
{
	KV_CHECK((pair->device->attrs.atomic_cap != IB_ATOMIC_NONE) == offered);
	return kv_feature_atomics(pair, IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_FETCH_AND_ADD,
				  offered);
}

static int kv_feature_masked_atomic(struct kv_pair *pair, bool offered)
{
	KV_CHECK((pair->device->attrs.masked_atomic_cap != IB_ATOMIC_NONE) == offered);
	return kv_feature_atomics(pair, IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
				  IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, offered);
}

static int kv_feature_atomic_write(struct kv_pair *pair, bool offered)
{
	KV_CHECK(!!(pair->device->attrs.device_cap_flags & IB_DEVICE_ATOMIC_WRITE) == offered);
	return kv_feature_work(pair, NULL, IB_WR_ATOMIC_WRITE, offered);
}

/* These come last: a key that is not there takes the queue pair to error. */
static int kv_feature_read_inv(struct kv_pair *pair, bool offered)
{
	return kv_feature_work(pair, NULL, IB_WR_RDMA_READ_WITH_INV, offered);
}

static int kv_feature_send_inv(struct kv_pair *pair, bool offered)
{
	KV_CHECK(!kv_post_recv(pair, 1, 1, 0, 4096));
	return kv_feature_work(pair, NULL, IB_WR_SEND_WITH_INV, offered);
}

static int kv_feature_moderation(struct kv_pair *pair, bool offered)
{
	KV_CHECK(!!pair->device->attrs.cq_caps.max_cq_moderation_count == offered);
	return kv_feature_call(rdma_set_cq_moderation(pair->cq[0], 1, 0), offered);
}

/* Each on a pair of its own. */
static const struct {
	const char *name;	/* as ohcad --mask-features takes it */
	int (*run)(struct kv_pair *pair, bool offered);
} kv_features[] = {
	{ "uc", kv_feature_uc },
	{ "ud", kv_feature_ud },
	{ "srq", kv_feature_srq },
	{ "xrc", kv_feature_xrc },
	{ "moderation", kv_feature_moderation },
	{ "fast-reg", kv_feature_fast_reg },
	{ "sg-gaps", kv_feature_sg_gaps },
	{ "integrity", kv_feature_integrity },
	{ "atomic", kv_feature_atomic },
	{ "masked-atomic", kv_feature_masked_atomic },
	{ "atomic-write", kv_feature_atomic_write },
	{ "read-inv", kv_feature_read_inv },
	{ "send-inv", kv_feature_send_inv },
};

static bool kv_is_in(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (;;) {
		size_t end = strcspn(list, "+");

		if (end == length && !strncmp(list, name, length))
			return true;
		if (!list[end])
			return false;
		list += end + 1;
	}
}

static int kv_run_feature(struct ib_device *device, int index, bool offered)
{
	struct kv_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL);
	int ret;

	if (!pair)
		return -ENOMEM;
	ret = kv_pair_open(pair, device, IB_QPT_RC);
	if (ret)
		goto out;
	ret = kv_pair_connect(pair);
	if (!ret)
		ret = kv_features[index].run(pair, offered);
	kv_pair_close(pair);
out:
	kfree(pair);
	return ret;
}

/* @missing: names of features with "+" between them.  Returns how many tests failed. */
int kv_run_feature_tests(struct ib_device *device, const char *missing)
{
	int failures = 0;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(kv_features); i++) {
		bool offered = !kv_is_in(missing, kv_features[i].name);

		ret = kv_run_feature(device, i, offered);
		pr_info("kverbs: %s: features of the kernel, %s %s %s: %d\n",
			ret ? "not ok" : "ok", dev_name(&device->dev),
			offered ? "with" : "without", kv_features[i].name, ret);
		failures += !!ret;
	}
	return failures;
}
