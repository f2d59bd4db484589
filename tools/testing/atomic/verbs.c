// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every operation, from every context, with a callback and polled: the life of
 * two queue pairs and what belongs to them, one step after the other.
 */

#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "atomic.h"

#define AT_RECEIVES	10

struct at_life {
	struct at_setup setup;
	struct ib_qp *qp[2];
	struct ib_qp *ud;
	struct ib_cq *cq;
	struct ib_srq *srq;
	struct ib_mr *mr;
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init_attr;
	union ib_gid group;

	/* The step in progress. */
	struct ohca_op op;
	int (*start)(struct at_life *life);
	struct completion over;
	int callbacks;
	bool in_interrupt;
};

/* --- steps: in any context ------------------------------------------------ */

static int at_nop(struct at_life *life)
{
	return ohca_async_nop(&life->op);
}

/* The first of the pair waits in RESET until it knows the other's number. */
static int at_take_connected(struct at_life *life)
{
	struct at_setup *setup = &life->setup;

	life->qp[0] = ohca_qp_take(setup->qps, NULL, NULL);
	if (IS_ERR(life->qp[0]))
		return PTR_ERR(life->qp[0]);
	at_connect_attr(setup, life->qp[0]->qp_num, &life->attr);
	life->qp[1] = ohca_qp_take_connected(&life->op, setup->qps, NULL, NULL, &life->attr,
					     AT_CONNECT_MASK);
	return PTR_ERR_OR_ZERO(life->qp[1]);
}

static int at_connect(struct at_life *life)
{
	at_connect_attr(&life->setup, life->qp[1]->qp_num, &life->attr);
	return ohca_async_connect_qp(&life->op, life->qp[0], &life->attr, AT_CONNECT_MASK);
}

static int at_query(struct at_life *life)
{
	memset(&life->attr, 0xff, sizeof(life->attr));
	return ohca_async_query_qp(&life->op, life->qp[0], &life->attr, &life->init_attr);
}

static int at_to(struct at_life *life, enum ib_qp_state state, int mask)
{
	at_connect_attr(&life->setup, life->qp[1]->qp_num, &life->attr);
	life->attr.qp_state = state;
	return ohca_async_modify_qp(&life->op, life->qp[0], &life->attr, mask);
}

static int at_to_init(struct at_life *life)
{
	return at_to(life, IB_QPS_INIT, AT_INIT_MASK);
}

static int at_to_rtr(struct at_life *life)
{
	return at_to(life, IB_QPS_RTR, AT_RTR_MASK);
}

static int at_to_rts(struct at_life *life)
{
	return at_to(life, IB_QPS_RTS, AT_RTS_MASK);
}

static int at_to_sqd(struct at_life *life)
{
	return at_to(life, IB_QPS_SQD, IB_QP_STATE);
}

static int at_from_sqd(struct at_life *life)
{
	return at_to(life, IB_QPS_RTS, IB_QP_STATE);
}

static int at_to_error(struct at_life *life)
{
	return at_to(life, IB_QPS_ERR, IB_QP_STATE);
}

static int at_to_reset(struct at_life *life)
{
	return at_to(life, IB_QPS_RESET, IB_QP_STATE);
}

static int at_disconnect(struct at_life *life)
{
	struct ib_recv_wr wr = {};
	int i, ret = 0;

	for (i = 0; !ret && i < AT_RECEIVES; i++)
		ret = ib_post_recv(life->qp[0], &wr, NULL);
	return ret ?: ohca_async_disconnect_qp(&life->op, life->qp[0]);
}

static int at_register(struct at_life *life)
{
	struct scatterlist sg;
	struct ib_reg_wr reg = { .wr.opcode = IB_WR_REG_MR };
	int ret;

	life->mr = ohca_mr_take(life->setup.mrs);
	if (IS_ERR(life->mr))
		return PTR_ERR(life->mr);
	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = life->setup.dma;
	sg_dma_len(&sg) = AT_BUFFER_SIZE;
	ret = ib_map_mr_sg(life->mr, &sg, 1, NULL, SZ_4K);
	if (ret != 1)
		return ret < 0 ? ret : -EIO;
	reg.mr = life->mr;
	reg.key = life->mr->rkey;
	reg.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	ret = ib_post_send(life->qp[1], &reg.wr, NULL);
	/* The query comes after the registration has been posted, and counts as the step. */
	return ret ?: at_query(life);
}

static int at_invalidate(struct at_life *life)
{
	return ohca_async_invalidate_mr(&life->op, life->mr);
}

static int at_give_back_mr(struct at_life *life)
{
	return ohca_mr_give_back(&life->op, life->mr);
}

static int at_give_back_cq(struct at_life *life)
{
	life->cq = ohca_cq_take(life->setup.cqs, NULL, NULL, NULL);
	return IS_ERR(life->cq) ? PTR_ERR(life->cq) : ohca_cq_give_back(&life->op, life->cq);
}

static int at_give_back_srq(struct at_life *life)
{
	struct ib_recv_wr wr = {};
	int i, ret = 0;

	life->srq = ohca_srq_take(life->setup.srqs, NULL, NULL);
	if (IS_ERR(life->srq))
		return PTR_ERR(life->srq);
	/* As many as it holds, so that what is not forgotten would be missed next time. */
	for (i = 0; !ret && i < AT_DEPTH; i++)
		ret = ib_post_srq_recv(life->srq, &wr, NULL);
	return ret ?: ohca_srq_give_back(&life->op, life->srq);
}

static int at_attach(struct at_life *life)
{
	life->ud = ohca_qp_take(life->setup.ud_qps, NULL, NULL);
	if (IS_ERR(life->ud))
		return PTR_ERR(life->ud);
	return ohca_async_attach_mcast(&life->op, life->ud, &life->group);
}

static int at_detach(struct at_life *life)
{
	return ohca_async_detach_mcast(&life->op, life->ud, &life->group);
}

static int at_give_back_ud(struct at_life *life)
{
	return ohca_qp_give_back(&life->op, life->ud);
}

static int at_give_back_first(struct at_life *life)
{
	return ohca_qp_give_back(&life->op, life->qp[0]);
}

static int at_give_back_second(struct at_life *life)
{
	return ohca_qp_give_back(&life->op, life->qp[1]);
}

/* --- what must be true after a step: process context ---------------------- */

static int at_poll(struct at_life *life, enum ib_wc_status status)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(AT_WAIT_MS);
	struct ib_wc wc;

	while (ib_poll_cq(life->setup.cq, 1, &wc) != 1) {
		AT_CHECK(time_before(jiffies, deadline));
		cond_resched();
	}
	AT_CHECK(wc.status == status);
	return 0;
}

static int at_check_state(struct at_life *life, int side, enum ib_qp_state state)
{
	int ret = ib_query_qp(life->qp[side], &life->attr, 0, &life->init_attr);

	if (ret)
		return ret;
	AT_CHECK(life->attr.qp_state == state);
	return 0;
}

static int at_check_rts(struct at_life *life)
{
	return at_check_state(life, 0, IB_QPS_RTS);
}

static int at_check_second_rts(struct at_life *life)
{
	return at_check_state(life, 1, IB_QPS_RTS);
}

static int at_check_query(struct at_life *life)
{
	AT_CHECK(life->attr.qp_state == IB_QPS_RTS);
	AT_CHECK(life->attr.dest_qp_num == life->qp[1]->qp_num);
	AT_CHECK(life->attr.cap.max_send_wr == AT_DEPTH);
	AT_CHECK(life->init_attr.qp_type == IB_QPT_RC);
	return 0;
}

/* They can talk: what the operations say is true. */
static int at_check_write(struct at_life *life)
{
	struct ib_sge sge = {
		.addr = life->setup.dma,
		.length = 64,
		.lkey = life->setup.pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = life->setup.dma + 1024,
		.rkey = life->setup.memory->rkey,
	};
	u8 *bytes = life->setup.buffer;
	int ret = at_check_rts(life);

	if (ret)
		return ret;
	memset(bytes, 0x5a, 64);
	memset(bytes + 1024, 0, 64);
	ret = ib_post_send(life->qp[0], &wr.wr, NULL);
	if (!ret)
		ret = at_poll(life, IB_WC_SUCCESS);
	if (ret)
		return ret;
	AT_CHECK(!memcmp(bytes, bytes + 1024, 64));
	return 0;
}

static int at_check_registered(struct at_life *life)
{
	return at_poll(life, IB_WC_SUCCESS);
}

/* All of it is there when the operation has ended. */
static int at_check_flushed(struct at_life *life)
{
	struct ib_wc wc;
	int i;

	for (i = 0; i < AT_RECEIVES; i++) {
		AT_CHECK(ib_poll_cq(life->setup.cq, 1, &wc) == 1);
		AT_CHECK(wc.status == IB_WC_WR_FLUSH_ERR && wc.qp == life->qp[0]);
	}
	return at_check_state(life, 0, IB_QPS_ERR);
}

static int at_check_reset(struct at_life *life)
{
	return at_check_state(life, 0, IB_QPS_RESET);
}

static int at_check_attached(struct at_life *life)
{
	AT_CHECK(atomic_read(&life->ud->usecnt) == 1);
	AT_CHECK(ohca_qp_give_back(&life->op, life->ud) == -EBUSY);
	return 0;
}

static const struct at_step {
	const char *name;
	int (*start)(struct at_life *life);
	int (*check)(struct at_life *life);
} at_steps[] = {
	{ "nop", at_nop },
	{ "take and connect", at_take_connected, at_check_second_rts },
	{ "connect", at_connect, at_check_write },
	{ "query", at_query, at_check_query },
	{ "RTS to SQD", at_to_sqd },
	{ "SQD to RTS", at_from_sqd, at_check_write },
	{ "register MR", at_register, at_check_registered },
	{ "invalidate MR", at_invalidate },
	{ "give back MR", at_give_back_mr },
	{ "disconnect", at_disconnect, at_check_flushed },
	{ "ERR to RESET", at_to_reset, at_check_reset },
	{ "RESET to INIT", at_to_init },
	{ "INIT to RTR", at_to_rtr },
	{ "RTR to RTS", at_to_rts, at_check_rts },
	{ "RTS to ERR", at_to_error },
	{ "give back CQ", at_give_back_cq },
	{ "give back SRQ", at_give_back_srq },
	{ "attach multicast", at_attach, at_check_attached },
	{ "detach multicast", at_detach },
	{ "give back UD QP", at_give_back_ud },
	{ "give back QP", at_give_back_first },
	{ "give back peer", at_give_back_second },
};

static void at_done(struct ohca_op *op)
{
	struct at_life *life = op->context;

	life->callbacks++;
	life->in_interrupt = irqs_disabled();
	complete(&life->over);
}

static int at_start(void *argument)
{
	struct at_life *life = argument;

	ohca_op_init(&life->op, life->setup.async, at_done, life);
	return life->start(life);
}

static int at_start_and_poll(void *argument)
{
	struct at_life *life = argument;
	int ret;

	ohca_op_init(&life->op, life->setup.async, NULL, NULL);
	ret = life->start(life);
	return ret ?: ohca_op_poll(&life->op, AT_POLL_US);
}

static int at_step_with_callback(struct at_life *life, enum at_context context)
{
	int ret;

	reinit_completion(&life->over);
	life->callbacks = 0;
	ret = at_run(context, at_start, life);
	if (ret)
		return ret;
	AT_CHECK(wait_for_completion_timeout(&life->over, msecs_to_jiffies(AT_WAIT_MS)));
	AT_CHECK(life->in_interrupt);
	AT_CHECK(life->callbacks == 1);
	return life->op.result;
}

static int at_live(struct at_life *life, enum at_context context, bool polled)
{
	const char *form = polled ? "polled" : "callback";
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(at_steps); i++) {
		const struct at_step *step = &at_steps[i];

		life->start = step->start;
		ret = polled ? at_run(context, at_start_and_poll, life) :
			       at_step_with_callback(life, context);
		if (!ret && step->check)
			ret = step->check(life);
		/* Later steps need the earlier ones. */
		if (ret)
			return at_report(ret, "%s, %s: %s", at_context_names[context], form,
					 step->name);
	}
	return at_report(0, "%s, %s: %zu verbs", at_context_names[context], form,
			 ARRAY_SIZE(at_steps));
}

int at_test_verbs(struct ib_device *device)
{
	struct at_life *life = kzalloc(sizeof(*life), GFP_KERNEL);
	enum at_context context;
	int ret;

	if (!life)
		return -ENOMEM;
	ret = at_open(&life->setup, device, 4);
	if (ret) {
		kfree(life);
		return at_report(ret, "set-up");
	}
	init_completion(&life->over);
	life->group.raw[0] = 0xff;
	life->group.raw[1] = 0x0e;
	life->group.raw[15] = 0x42;
	for (context = 0; !ret && context < AT_CONTEXT_COUNT; context++)
		ret = at_live(life, context, false) || at_live(life, context, true);
	/* After a failure members may be out, and nothing of the rest can be relied on. */
	if (!ret)
		at_close(&life->setup);
	if (!ret)
		kfree(life);
	return ret;
}
