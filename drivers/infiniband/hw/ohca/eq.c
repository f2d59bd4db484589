// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event queues and interrupts.
 *
 * Vector 0: command completions, async events, death of the device.
 * Vectors 1..N: one completion EQ each.
 *
 * Handlers run in hard interrupt; everything they call (comp_handler, event
 * handlers, command callbacks) may be called there.
 */

#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/slab.h>

#include "ohca.h"

#define OHCA_ASYNC_EQ_LOG_DEPTH	8
/* A CQ has one event outstanding per arm: enough for this many CQs and some. */
#define OHCA_COMP_EQ_LOG_DEPTH	12

/* As for commands: how often an honest device may refill the ring meanwhile. */
#define OHCA_EQ_DRAIN_ROUNDS	4

static void ohca_cq_event(struct ohca_dev *dev, u32 cqn, enum ib_event_type type)
{
	struct ohca_cq *cq = ohca_get_cq(dev, cqn);
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = type,
	};

	if (!cq) {
		dev_dbg(ohca_device(dev), "event for unknown CQ %#x dropped\n", cqn);
		return;
	}
	WRITE_ONCE(cq->overrun, true);
	event.element.cq = &cq->ibcq;
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	ohca_put_cq(cq);
}

static void ohca_qp_event(struct ohca_dev *dev, u32 qpn, enum ib_event_type type)
{
	struct ohca_qp *qp = ohca_get_qp(dev, qpn);
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = type,
	};

	if (!qp) {
		dev_dbg(ohca_device(dev), "event for unknown QP %#x dropped\n", qpn);
		return;
	}
	event.element.qp = &qp->ibqp;
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	ohca_put_qp(qp);
}

static void ohca_srq_event(struct ohca_dev *dev, u32 srqn, enum ib_event_type type)
{
	struct ohca_srq *srq = ohca_get_srq(dev, srqn);
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = type,
	};

	if (!srq) {
		dev_dbg(ohca_device(dev), "event for unknown SRQ %#x dropped\n", srqn);
		return;
	}
	event.element.srq = &srq->ibsrq;
	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
	ohca_put_srq(srq);
}

static void ohca_completion_event(struct ohca_dev *dev, u32 cqn)
{
	struct ohca_cq *cq = ohca_get_cq(dev, cqn);
	ib_comp_handler handler;

	if (!cq) {
		/* Being destroyed, or never existed. */
		dev_dbg(ohca_device(dev), "completion event for unknown CQ %#x dropped\n", cqn);
		return;
	}
	/* Pairs with the release in ohca_cq_take(). */
	handler = smp_load_acquire(&cq->ibcq.comp_handler);
	if (handler)
		handler(&cq->ibcq, cq->ibcq.cq_context);
	ohca_put_cq(cq);
}

static void ohca_async_event(struct ohca_dev *dev, const struct ohca_eqe *eqe)
{
	u32 number = le32_to_cpu(eqe->number);

	switch (eqe->type) {
	case OHCA_EVENT_CQ_ERROR:
		ohca_cq_event(dev, number, IB_EVENT_CQ_ERR);
		break;
	case OHCA_EVENT_QP_FATAL:
		ohca_qp_event(dev, number, IB_EVENT_QP_FATAL);
		break;
	case OHCA_EVENT_QP_REQUEST_ERROR:
		ohca_qp_event(dev, number, IB_EVENT_QP_REQ_ERR);
		break;
	case OHCA_EVENT_QP_ACCESS_ERROR:
		ohca_qp_event(dev, number, IB_EVENT_QP_ACCESS_ERR);
		break;
	case OHCA_EVENT_COMM_ESTABLISHED:
		ohca_qp_event(dev, number, IB_EVENT_COMM_EST);
		break;
	case OHCA_EVENT_SQ_DRAINED:
		ohca_qp_event(dev, number, IB_EVENT_SQ_DRAINED);
		break;
	case OHCA_EVENT_QP_LAST_WQE:
		ohca_qp_event(dev, number, IB_EVENT_QP_LAST_WQE_REACHED);
		break;
	case OHCA_EVENT_SRQ_LIMIT:
		ohca_srq_event(dev, number, IB_EVENT_SRQ_LIMIT_REACHED);
		break;
	case OHCA_EVENT_SRQ_ERROR:
		ohca_srq_event(dev, number, IB_EVENT_SRQ_ERR);
		break;
	case OHCA_EVENT_EQ_OVERRUN:
		dev_warn_ratelimited(ohca_device(dev), "async events were lost\n");
		break;
	default:
		dev_warn_ratelimited(ohca_device(dev), "async event of unknown type %u dropped\n",
				     eqe->type);
	}
}

static void ohca_eq_handle(struct ohca_eq *eq, const struct ohca_eqe *eqe)
{
	if (eq->type == OHCA_EQ_ASYNC)
		ohca_async_event(eq->dev, eqe);
	else if (eqe->type == OHCA_EVENT_COMPLETION)
		ohca_completion_event(eq->dev, le32_to_cpu(eqe->number));
	else
		dev_warn_ratelimited(ohca_device(eq->dev),
				     "event of type %u in a completion EQ dropped\n", eqe->type);
}

static struct ohca_eqe *ohca_eq_next(const struct ohca_eq *eq)
{
	u32 consumer = READ_ONCE(eq->consumer);
	struct ohca_eqe *eqe = &eq->ring[consumer & ((1 << eq->log_depth) - 1)];
	u8 phase = !(consumer >> eq->log_depth & 1);

	return (READ_ONCE(eqe->owner) & OHCA_EQE_PHASE) == phase ? eqe : NULL;
}

/* At most once around the ring, so that no device can keep us here. */
static void ohca_eq_reap(struct ohca_eq *eq)
{
	u32 budget = 1 << eq->log_depth;
	struct ohca_eqe *next, eqe;

	while (budget-- && (next = ohca_eq_next(eq))) {
		/* owner is written last: read nothing of the entry before it. */
		dma_rmb();
		ohca_copy_entry(&eqe, next, sizeof(eqe));
		WRITE_ONCE(eq->consumer, eq->consumer + 1);
		ohca_eq_handle(eq, &eqe);
	}
	WRITE_ONCE(eq->record->consumer, cpu_to_le32(eq->consumer));
}

/* By the one interrupt handler of the EQ's vector, or while it is kept from running. */
static void ohca_eq_drain(struct ohca_eq *eq)
{
	int round;

	for (round = 0; round < OHCA_EQ_DRAIN_ROUNDS; round++) {
		ohca_eq_reap(eq);
		/* The device finds the ring emptied once it finds it armed. */
		dma_wmb();
		WRITE_ONCE(eq->record->interrupt_arm, cpu_to_le32(1));
		/*
		 * Arm, then look once more: pairs with the device's fence
		 * between writing an entry and reading interrupt_arm.
		 */
		virt_mb();
		if (!ohca_eq_next(eq))
			break;
	}
}

static irqreturn_t ohca_command_interrupt(int irq, void *data)
{
	struct ohca_dev *dev = data;
	bool any;

	if (ohca_fault(dev, OHCA_FAULT_INTERRUPT_LOST))
		return IRQ_HANDLED;
	any = ohca_cmdq_reap(dev);
	ohca_op_ends_deliver(dev);
	if (ohca_eq_next(dev->async_eq))
		any = true;
	/*
	 * Also if there is nothing: the interrupt may have been for an entry that
	 * the last one has handled, and then the EQ is not armed any more.
	 */
	ohca_eq_drain(dev->async_eq);
	/*
	 * Nothing to do: the device may be telling of its end.  Reading a
	 * register is slow, so only then.
	 */
	if (!any && !ohca_failed(dev))
		ohca_check_health(dev);
	return IRQ_HANDLED;
}

static irqreturn_t ohca_completion_interrupt(int irq, void *data)
{
	struct ohca_eq *eq = data;

	if (!ohca_fault(eq->dev, OHCA_FAULT_COMPLETION_INTERRUPT_LOST))
		ohca_eq_drain(eq);
	return IRQ_HANDLED;
}

/*
 * The device disarms an EQ before it raises the vector.  If that interrupt is
 * lost there will not be another one, whatever is written after it.
 */
static void ohca_eq_rescue(struct ohca_eq *eq)
{
	struct ohca_dev *dev = eq->dev;
	int irq = dev->bus.irq(dev, eq->vector);
	unsigned long flags;
	bool lost;

	disable_irq(irq);
	lost = ohca_eq_next(eq);
	if (lost) {
		/* As handlers of events expect it. */
		local_irq_save(flags);
		ohca_eq_drain(eq);
		local_irq_restore(flags);
	}
	enable_irq(irq);
	if (!lost)
		return;
	atomic64_inc(&dev->lost_interrupts);
	dev_warn_ratelimited(ohca_device(dev), "events, but no interrupt of vector %u\n",
			     eq->vector);
}

/* An entry that was there the last time already, and still nobody has come for it. */
static void ohca_eq_check(struct ohca_eq *eq)
{
	u32 consumer = READ_ONCE(eq->consumer);
	bool unread = ohca_eq_next(eq);

	if (unread && eq->unread && consumer == eq->checked_consumer) {
		ohca_eq_rescue(eq);
		unread = false;
	}
	eq->unread = unread;
	eq->checked_consumer = consumer;
}

void ohca_eqs_check(struct ohca_dev *dev)
{
	u32 i;

	mutex_lock(&dev->eqs_lock);
	if (dev->eqs_checked) {
		ohca_eq_check(dev->async_eq);
		for (i = 0; i < dev->comp_eq_count; i++)
			ohca_eq_check(&dev->comp_eqs[i]);
	}
	mutex_unlock(&dev->eqs_lock);
}

static void ohca_eqs_set_checked(struct ohca_dev *dev, bool checked)
{
	mutex_lock(&dev->eqs_lock);
	dev->eqs_checked = checked;
	mutex_unlock(&dev->eqs_lock);
}

static int ohca_eq_request_irq(struct ohca_eq *eq)
{
	struct ohca_dev *dev = eq->dev;
	bool async = eq->type == OHCA_EQ_ASYNC;
	int irq = dev->bus.irq(dev, eq->vector);
	int ret;

	if (irq < 0)
		return irq;
	snprintf(eq->irq_name, sizeof(eq->irq_name), "ohca-%s@%s-%u", async ? "cmd" : "comp",
		 dev_name(ohca_device(dev)), eq->vector);
	ret = request_irq(irq, async ? ohca_command_interrupt : ohca_completion_interrupt, 0,
			  eq->irq_name, async ? (void *)dev : eq);
	if (ret) {
		dev_err(ohca_device(dev), "interrupt of vector %u: %d\n", eq->vector, ret);
		return ret;
	}
	eq->irq_requested = true;
	if (!async)
		irq_set_affinity_and_hint(irq, cpumask_of(eq->cpu));
	return 0;
}

static void ohca_eq_free_irq(struct ohca_eq *eq)
{
	struct ohca_dev *dev = eq->dev;
	int irq;

	if (!eq->irq_requested)
		return;
	irq = dev->bus.irq(dev, eq->vector);
	irq_update_affinity_hint(irq, NULL);
	free_irq(irq, eq->type == OHCA_EQ_ASYNC ? (void *)dev : eq);
	eq->irq_requested = false;
}

static int ohca_eq_create(struct ohca_dev *dev, struct ohca_eq *eq, u8 type, u8 log_depth,
			  unsigned int vector)
{
	struct ohca_page_list pages;
	struct ohca_create_eq_params params = {
		.pages = &pages,
		.log_depth = log_depth,
		.type = type,
		.vector = vector,
	};
	int ret;

	eq->dev = dev;
	eq->vector = vector;
	eq->type = type;
	eq->log_depth = log_depth;
	eq->buffer_size = OHCA_EQ_RING_OFFSET + (sizeof(struct ohca_eqe) << log_depth);
	eq->buffer = dma_alloc_coherent(ohca_device(dev), eq->buffer_size, &eq->buffer_dma,
					GFP_KERNEL);
	if (!eq->buffer)
		return -ENOMEM;
	eq->record = eq->buffer;
	eq->ring = eq->buffer + OHCA_EQ_RING_OFFSET;
	eq->record->interrupt_arm = cpu_to_le32(1);
	ohca_page_list_from_dma(eq->buffer_dma, eq->buffer_size, &pages);
	ret = ohca_cmd_create_eq(dev, &params, &eq->handle);
	if (ret) {
		dev_err(ohca_device(dev), "EQ for vector %u not created: %d\n", vector, ret);
		goto err_buffer;
	}
	ret = ohca_eq_request_irq(eq);
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_EQ, eq->handle);
err_buffer:
	dma_free_coherent(ohca_device(dev), eq->buffer_size, eq->buffer, eq->buffer_dma);
	eq->buffer = NULL;
	return ret;
}

static void ohca_eq_destroy(struct ohca_eq *eq)
{
	struct ohca_dev *dev = eq->dev;

	if (!eq->buffer)
		return;
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_EQ, eq->handle);
	dma_free_coherent(ohca_device(dev), eq->buffer_size, eq->buffer, eq->buffer_dma);
	eq->buffer = NULL;
}

static int ohca_async_eq_create(struct ohca_dev *dev)
{
	struct ohca_eq *eq = kzalloc(sizeof(*eq), GFP_KERNEL);
	int ret;

	if (!eq)
		return -ENOMEM;
	dev->async_eq = eq;
	ret = ohca_eq_create(dev, eq, OHCA_EQ_ASYNC,
			     min_t(u8, OHCA_ASYNC_EQ_LOG_DEPTH, dev->caps.log_max_eq_depth),
			     OHCA_CMD_VECTOR);
	if (ret) {
		dev->async_eq = NULL;
		kfree(eq);
		return ret;
	}
	/* Completions so far were polled; arm the interrupt for those to come. */
	ohca_cmdq_drain(dev);
	dev->cmd_irq_ready = true;
	return 0;
}

static int ohca_comp_eqs_create(struct ohca_dev *dev)
{
	int node = dev_to_node(ohca_device(dev));
	u32 count = min3(dev->bus.vector_count - 1, num_online_cpus(),
			 dev->caps.max_eq ? dev->caps.max_eq - 1 : 0);
	int ret;
	u32 i;

	if (!count)
		return -ENODEV;
	dev->comp_eqs = kcalloc(count, sizeof(*dev->comp_eqs), GFP_KERNEL);
	if (!dev->comp_eqs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		dev->comp_eqs[i].cpu = cpumask_local_spread(i, node);
		ret = ohca_eq_create(dev, &dev->comp_eqs[i], OHCA_EQ_COMPLETION,
				     min_t(u8, OHCA_COMP_EQ_LOG_DEPTH,
					   dev->caps.log_max_eq_depth), i + 1);
		if (ret)
			return ret;
		dev->comp_eq_count = i + 1;
	}
	return 0;
}

int ohca_eqs_create(struct ohca_dev *dev)
{
	int ret;

	ret = ohca_async_eq_create(dev);
	if (ret)
		return ret;
	ret = ohca_comp_eqs_create(dev);
	if (ret)
		ohca_eqs_destroy(dev);
	else
		ohca_eqs_set_checked(dev, true);
	return ret;
}

/* After this no interrupt comes, and commands are polled again. */
void ohca_eqs_destroy(struct ohca_dev *dev)
{
	u32 i;

	ohca_eqs_set_checked(dev, false);
	for (i = 0; i < dev->comp_eq_count; i++) {
		ohca_eq_free_irq(&dev->comp_eqs[i]);
		ohca_eq_destroy(&dev->comp_eqs[i]);
	}
	dev->comp_eq_count = 0;
	kfree(dev->comp_eqs);
	dev->comp_eqs = NULL;

	dev->cmd_irq_ready = false;
	ohca_eq_free_irq(dev->async_eq);
	ohca_eq_destroy(dev->async_eq);
	kfree(dev->async_eq);
	dev->async_eq = NULL;
}

const struct cpumask *ohca_get_vector_affinity(struct ib_device *ibdev, int vector)
{
	struct ohca_dev *dev = to_ohca_dev(ibdev);

	if (vector < 0 || vector >= dev->comp_eq_count)
		return NULL;
	return cpumask_of(dev->comp_eqs[vector].cpu);
}
