// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests: a queue pair with all it needs, made through ib_core on a fake device. */

#include "fake_verbs.h"

static void ohca_test_verbs_completion(struct ib_cq *ibcq, void *context)
{
	struct ohca_test_verbs *verbs = context;

	verbs->completions++;
}

static int ohca_test_verbs_build_cq(struct ohca_test_verbs *verbs)
{
	struct ib_cq_init_attr attr = {
		.cqe = 64,
	};
	struct ib_cq *cq;

	cq = ib_create_cq(&verbs->fake->dev->ibdev, ohca_test_verbs_completion, NULL, verbs, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	verbs->cq = cq;
	return 0;
}

static int ohca_test_verbs_build_qp(struct ohca_test_verbs *verbs)
{
	struct ib_qp_init_attr attr = {
		.send_cq = verbs->cq,
		.recv_cq = verbs->cq,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 2,
			.max_recv_sge = 2,
		},
	};
	struct ib_qp *qp;

	qp = ib_create_qp(verbs->pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	verbs->qp = qp;
	return 0;
}

int ohca_test_verbs_build(struct ohca_test_verbs *verbs)
{
	struct ib_pd *pd = ib_alloc_pd(&verbs->fake->dev->ibdev, 0);
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	verbs->pd = pd;
	ret = ohca_test_verbs_build_cq(verbs);
	if (!ret)
		ret = ohca_test_verbs_build_qp(verbs);
	return ret;
}

void ohca_test_verbs_destroy(struct ohca_test_verbs *verbs)
{
	if (verbs->qp)
		ib_destroy_qp(verbs->qp);
	if (verbs->cq)
		ib_destroy_cq(verbs->cq);
	if (verbs->pd)
		ib_dealloc_pd(verbs->pd);
	verbs->qp = NULL;
	verbs->cq = NULL;
	verbs->pd = NULL;
}

static void ohca_test_verbs_release(void *data)
{
	ohca_test_verbs_destroy(data);
}

struct ohca_test_verbs *ohca_test_verbs_create(struct kunit *test)
{
	struct ohca_test_verbs *verbs = kunit_kzalloc(test, sizeof(*verbs), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, verbs);
	verbs->fake = ohca_fake_device_start(test);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_verbs_release, verbs), 0);
	KUNIT_ASSERT_EQ(test, ohca_test_verbs_build(verbs), 0);
	return verbs;
}
