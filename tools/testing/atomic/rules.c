// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What include/rdma/ohca.h promises about order, references, batches and deadlines. */

#include <linux/delay.h>
#include <linux/slab.h>

#include "atomic.h"

#define AT_OPS	16

struct at_ops {
	struct at_setup setup;
	struct ib_qp *qp;
	struct ib_qp_attr attr;
	struct ohca_op ops[AT_OPS];
	struct ohca_op_batch batch;
	int order[AT_OPS];	/* of the callbacks */
	int batch_callbacks;
	atomic_t ended;
	struct completion over;	/* counts */
};

static void at_ended(struct ohca_op *op)
{
	struct at_ops *ops = op->context;
	int position = atomic_inc_return(&ops->ended) - 1;

	if (position < AT_OPS)
		ops->order[position] = op - ops->ops;
	complete(&ops->over);
}

static int at_wait(struct at_ops *ops, int count)
{
	while (count--)
		AT_CHECK(wait_for_completion_timeout(&ops->over,
						     msecs_to_jiffies(AT_WAIT_MS)));
	return 0;
}

static void at_again(struct at_ops *ops)
{
	int i;

	reinit_completion(&ops->over);
	atomic_set(&ops->ended, 0);
	ops->batch_callbacks = 0;
	for (i = 0; i < AT_OPS; i++)
		ohca_op_init(&ops->ops[i], ops->setup.async, at_ended, ops);
}

static int at_connect_self(struct at_ops *ops)
{
	struct ohca_op *op = &ops->ops[0];
	int ret;

	at_again(ops);
	at_connect_attr(&ops->setup, ops->qp->qp_num, &ops->attr);
	ret = ohca_async_connect_qp(op, ops->qp, &ops->attr, AT_CONNECT_MASK);
	if (!ret)
		ret = at_wait(ops, 1);
	return ret ?: op->result;
}

static int at_modify(struct at_ops *ops, int index, enum ib_qp_state state)
{
	ops->attr.qp_state = state;
	return ohca_async_modify_qp(&ops->ops[index], ops->qp, &ops->attr, IB_QP_STATE);
}

/* Many on one queue pair: each finds what the one before has left. */
static int at_test_order(struct at_ops *ops)
{
	int i, ret = at_connect_self(ops);

	if (ret)
		return ret;
	at_again(ops);
	for (i = 0; i < AT_OPS; i++)
		AT_CHECK(!at_modify(ops, i, i % 2 ? IB_QPS_RTS : IB_QPS_SQD));
	ret = at_wait(ops, AT_OPS);
	for (i = 0; !ret && i < AT_OPS; i++) {
		AT_CHECK(ops->order[i] == i);
		AT_CHECK(!ops->ops[i].result);
	}
	return ret;
}

/* At its turn it is refused: by the start if nothing is before it, else in the callback. */
static int at_test_illegal(struct at_ops *ops)
{
	int refused, count;

	at_again(ops);
	ops->attr.qp_state = IB_QPS_RTR;
	AT_CHECK(ohca_async_modify_qp(&ops->ops[0], ops->qp, &ops->attr, IB_QP_STATE) == -EINVAL);
	AT_CHECK(!at_modify(ops, 1, IB_QPS_ERR));
	/* The device may have been faster: then there is nothing before it any more. */
	refused = at_modify(ops, 2, IB_QPS_SQD);
	AT_CHECK(!refused || refused == -EINVAL);
	AT_CHECK(!at_modify(ops, 3, IB_QPS_RESET));
	count = refused ? 2 : 3;
	AT_CHECK(!at_wait(ops, count));
	AT_CHECK(!ops->ops[1].result && !ops->ops[3].result);
	AT_CHECK(refused || ops->ops[2].result == -EINVAL);
	msleep(20);
	AT_CHECK(atomic_read(&ops->ended) == count);
	return 0;
}

/* The device names the phase, and nothing has changed. */
static int at_test_phase(struct at_ops *ops)
{
	struct ohca_op *op = &ops->ops[0];
	struct ib_qp_init_attr init_attr;

	at_again(ops);
	at_connect_attr(&ops->setup, ops->qp->qp_num, &ops->attr);
	AT_CHECK(!ohca_async_connect_qp(op, ops->qp, &ops->attr, AT_CONNECT_MASK & ~IB_QP_SQ_PSN));
	AT_CHECK(!at_wait(ops, 1));
	AT_CHECK(op->result == -EINVAL);
	AT_CHECK(op->detail >> OHCA_CMD_DETAIL_PHASE_SHIFT == IB_QPS_RTS);
	AT_CHECK((op->detail & OHCA_CMD_DETAIL_MASK) == OHCA_CMD_DETAIL_ATTRIBUTE);
	AT_CHECK(!ib_query_qp(ops->qp, &ops->attr, 0, &init_attr));
	AT_CHECK(ops->attr.qp_state == IB_QPS_RESET);
	return 0;
}

/* An object in flight cannot go away, a pool with members out neither. */
static int at_test_references(struct at_ops *ops)
{
	struct ib_qp_init_attr init_attr = {
		.send_cq = ops->setup.cq,
		.recv_cq = ops->setup.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(ops->setup.pd, &init_attr);
	unsigned long flags;
	int i;

	AT_CHECK(!IS_ERR(qp));
	at_again(ops);
	/* Interrupts off: none of them can end here, and destroying fails before it sleeps. */
	local_irq_save(flags);
	for (i = 0; i < 4; i++)
		if (ohca_async_query_qp(&ops->ops[i], qp, &ops->attr, NULL))
			break;
	local_irq_restore(flags);
	AT_CHECK(i == 4);
	if (atomic_read(&ops->ended) < 4)
		AT_CHECK(ib_destroy_qp(qp) == -EBUSY || atomic_read(&ops->ended) == 4);
	AT_CHECK(!at_wait(ops, 4));
	AT_CHECK(!ib_destroy_qp(qp));
	AT_CHECK(ib_destroy_qp(ops->qp) == -EBUSY);
	AT_CHECK(ohca_pool_destroy(ops->setup.qps) == -EBUSY);
	return 0;
}

static int at_test_empty_pool(struct at_ops *ops)
{
	struct ib_mr *mrs[4];
	int i;

	for (i = 0; i < 4; i++) {
		mrs[i] = ohca_mr_take(ops->setup.mrs);
		AT_CHECK(!IS_ERR(mrs[i]));
	}
	AT_CHECK(PTR_ERR(ohca_mr_take(ops->setup.mrs)) == -EAGAIN);
	at_again(ops);
	for (i = 0; i < 4; i++)
		AT_CHECK(!ohca_mr_give_back(&ops->ops[i], mrs[i]));
	AT_CHECK(!at_wait(ops, 4));
	AT_CHECK(ohca_mr_give_back(&ops->ops[0], mrs[0]) == -EINVAL);
	return 0;
}

static void at_batch_ended(struct ohca_op_batch *batch)
{
	struct at_ops *ops = batch->context;

	ops->batch_callbacks++;
	complete(&ops->over);
}

static int at_fill_batch(struct at_ops *ops, bool callbacks)
{
	int i;

	for (i = 0; i < AT_OPS; i++) {
		ohca_op_init(&ops->ops[i], ops->setup.async, callbacks ? at_ended : NULL, ops);
		ohca_batch_add(&ops->batch, &ops->ops[i]);
		AT_CHECK(!ohca_async_nop(&ops->ops[i]));
	}
	return 0;
}

static int at_test_batch(struct at_ops *ops)
{
	int callbacks;

	for (callbacks = 0; callbacks < 2; callbacks++) {
		at_again(ops);
		ohca_batch_init(&ops->batch, ops->setup.async, at_batch_ended, ops);
		AT_CHECK(ohca_batch_submit(&ops->batch) == -EINVAL);
		AT_CHECK(!at_fill_batch(ops, callbacks));
		msleep(20);
		AT_CHECK(!atomic_read(&ops->ended)); /* not started yet */
		AT_CHECK(!ohca_batch_submit(&ops->batch));
		AT_CHECK(!at_wait(ops, 1 + callbacks * AT_OPS));
		AT_CHECK(ops->batch_callbacks == 1 && !ops->batch.result);
		AT_CHECK(atomic_read(&ops->ended) == callbacks * AT_OPS);
	}
	ohca_batch_init(&ops->batch, ops->setup.async, NULL, NULL);
	AT_CHECK(!at_fill_batch(ops, false));
	AT_CHECK(!ohca_batch_submit(&ops->batch));
	AT_CHECK(!ohca_batch_poll(&ops->batch, AT_POLL_US));
	return 0;
}

/* One of them fails, at its turn: the others do not, and the batch tells. */
static int at_test_batch_failure(struct at_ops *ops)
{
	int ret = at_connect_self(ops);

	if (ret)
		return ret;
	at_again(ops);
	ohca_batch_init(&ops->batch, ops->setup.async, at_batch_ended, ops);
	ohca_batch_add(&ops->batch, &ops->ops[0]);
	ohca_batch_add(&ops->batch, &ops->ops[1]);
	AT_CHECK(!at_modify(ops, 0, IB_QPS_ERR));
	AT_CHECK(!at_modify(ops, 1, IB_QPS_SQD));
	AT_CHECK(!ohca_batch_submit(&ops->batch));
	AT_CHECK(!at_wait(ops, 3));
	AT_CHECK(!ops->ops[0].result && ops->ops[1].result == -EINVAL);
	AT_CHECK(ops->batch.result == -EINVAL && ops->batch_callbacks == 1);
	return 0;
}

/*
 * Polled for no time at all, and given up as soon as the device is slower than
 * that: at its next turn or, where the guest is slow itself, some thousand later.
 */
static int at_test_deadline(struct at_ops *ops)
{
	unsigned long end = jiffies + msecs_to_jiffies(AT_WAIT_MS);
	unsigned long flags;
	int ret = 0;

	at_again(ops);
	while (!ret && time_before(jiffies, end)) {
		ohca_op_init(&ops->ops[0], ops->setup.async, NULL, NULL);
		local_irq_save(flags);
		ret = ohca_async_nop(&ops->ops[0]) ?: ohca_op_poll(&ops->ops[0], 0);
		local_irq_restore(flags);
		cond_resched();
	}
	AT_CHECK(ret == -ETIMEDOUT);
	ohca_op_init(&ops->ops[0], ops->setup.async, NULL, NULL);
	AT_CHECK(!ohca_async_nop(&ops->ops[0]));
	return ohca_op_poll(&ops->ops[0], AT_POLL_US);
}

static const struct {
	const char *name;
	int (*run)(struct at_ops *ops);
} at_tests[] = {
	{ "order of a queue pair's operations", at_test_order },
	{ "illegal transitions, at once and later", at_test_illegal },
	{ "phase of a refused connect", at_test_phase },
	{ "references", at_test_references },
	{ "empty pool", at_test_empty_pool },
	{ "batches", at_test_batch },
	{ "failure in a batch", at_test_batch_failure },
	{ "deadline", at_test_deadline },
};

int at_test_rules(struct ib_device *device)
{
	struct at_ops *ops = kzalloc(sizeof(*ops), GFP_KERNEL);
	int i, ret;

	if (!ops)
		return -ENOMEM;
	init_completion(&ops->over);
	ret = at_report(at_open(&ops->setup, device, 2), "set-up of the rules");
	if (ret) {
		kfree(ops);
		return ret;
	}
	ops->qp = ohca_qp_take(ops->setup.qps, NULL, NULL);
	for (i = 0; !ret && i < ARRAY_SIZE(at_tests); i++)
		ret = at_report(at_tests[i].run(ops), "%s", at_tests[i].name);
	at_again(ops);
	if (!ret)
		ret = ohca_qp_give_back(&ops->ops[0], ops->qp) ?: at_wait(ops, 1);
	/* After a failure operations may still be in flight. */
	if (!ret) {
		at_close(&ops->setup);
		kfree(ops);
	}
	return ret;
}
