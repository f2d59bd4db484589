// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Life cycle of a device, and what happens when it dies.
 *
 * Death is noticed by the health work, by an interrupt on vector 0 or by a
 * command that is not answered, in any context: ohca_fail() only changes the
 * state, from which moment on commands are refused.  The fatal work does the
 * rest: it stops the device's DMA, so that the memory of its queues and
 * regions can be given back, and tells everybody who may be waiting.
 */

#include "ohca.h"

#define OHCA_HEALTH_INTERVAL	HZ

bool ohca_change_state(struct ohca_dev *dev, enum ohca_state state)
{
	enum ohca_state old;
	unsigned long flags;
	bool ok = false;

	spin_lock_irqsave(&dev->state_lock, flags);
	old = dev->state;
	switch (state) {
	case OHCA_STATE_NEW:
		break;
	case OHCA_STATE_LIVE:
		ok = old == OHCA_STATE_NEW;
		break;
	case OHCA_STATE_REMOVING:
		ok = old == OHCA_STATE_LIVE;
		break;
	case OHCA_STATE_FAILED:
		ok = old != OHCA_STATE_FAILED;
		break;
	}
	if (ok)
		WRITE_ONCE(dev->state, state);
	spin_unlock_irqrestore(&dev->state_lock, flags);
	return ok;
}

/* Any context. @reason is a literal. */
void ohca_fail(struct ohca_dev *dev, const char *reason)
{
	if (!ohca_change_state(dev, OHCA_STATE_FAILED))
		return;
	dev->fail_reason = reason;
	queue_work(dev->wq, &dev->fatal_work);
}

void ohca_check_health(struct ohca_dev *dev)
{
	const char *problem = ohca_hw_check(dev);

	if (problem)
		ohca_fail(dev, problem);
}

/* Destroyers of a failed device's objects wait here until no DMA can come. */
void ohca_wait_quiesced(struct ohca_dev *dev)
{
	/* Pairs with the release in ohca_quiesce(). */
	wait_event(dev->quiesce_wait, smp_load_acquire(&dev->quiesced));
}

static void ohca_quiesce(struct ohca_dev *dev)
{
	int ret = ohca_hw_reset(dev);

	/* A function that is gone does no DMA; one that does not reset might. */
	if (ret && ret != -ENODEV)
		dev->bus.stop_dma(dev);
	/* Whoever sees it sees the function quiet. */
	smp_store_release(&dev->quiesced, true);
	wake_up_all(&dev->quiesce_wait);
}

/* Of the device or its port. Sleeps. Not before registration and not during removal. */
void ohca_dispatch_event(struct ohca_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = type,
		.element.port_num = OHCA_PORT,
	};

	mutex_lock(&dev->event_lock);
	if (dev->ib_registered)
		ib_dispatch_event(&event);
	mutex_unlock(&dev->event_lock);
}

static void ohca_fatal_work(struct work_struct *work)
{
	struct ohca_dev *dev = container_of(work, struct ohca_dev, fatal_work);

	dev_err(ohca_device(dev), "device failed: %s\n", dev->fail_reason);
	ohca_mark_uars_failed(dev);
	ohca_cmdq_stop(dev);
	ohca_quiesce(dev);
	queue_work(dev->wq, &dev->flush_work);
	ohca_dispatch_event(dev, IB_EVENT_DEVICE_FATAL);
	ohca_port_update(dev);
}

/*
 * Nobody else will tell the users of CQs that their work requests are not
 * going to complete: kernel ones find flushed completions in their next poll,
 * applications see device_state in their UAR page.
 */
static void ohca_flush_work(struct work_struct *work)
{
	struct ohca_dev *dev = container_of(work, struct ohca_dev, flush_work);
	unsigned long cqn, qpn;
	struct ohca_cq *cq;
	struct ohca_qp *qp;

	xa_for_each(&dev->cqs, cqn, cq) {
		cq = ohca_get_cq(dev, cqn);
		if (!cq)
			continue;
		if (cq->ibcq.comp_handler)
			cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		ohca_put_cq(cq);
	}
	xa_for_each(&dev->qps, qpn, qp) {
		qp = ohca_get_qp(dev, qpn);
		if (!qp)
			continue;
		ohca_qp_tell_last_wqe(qp);
		ohca_put_qp(qp);
	}
}

/*
 * For those who have just posted or armed something on a device that may be
 * dead: nobody else is going to tell the CQ's user.  Not before the reset; the
 * fatal work flushes then.
 */
void ohca_flush_if_dead(struct ohca_dev *dev)
{
	/* What was posted before what is looked at; pairs with queue_work() there. */
	smp_mb();
	if (READ_ONCE(dev->quiesced))
		queue_work(dev->wq, &dev->flush_work);
}

static void ohca_health_work(struct work_struct *work)
{
	struct ohca_dev *dev = container_of(to_delayed_work(work), struct ohca_dev, health_work);
	const char *fault;

	if (ohca_failed(dev))
		return;
	fault = ohca_fault_health(dev);
	if (fault)
		ohca_fail(dev, fault);
	ohca_check_health(dev);
	ohca_cmdq_expire(dev);
	ohca_eqs_check(dev);
	queue_delayed_work(dev->wq, &dev->health_work, OHCA_HEALTH_INTERVAL);
}

void ohca_health_init(struct ohca_dev *dev)
{
	spin_lock_init(&dev->state_lock);
	mutex_init(&dev->event_lock);
	init_waitqueue_head(&dev->quiesce_wait);
	INIT_DELAYED_WORK(&dev->health_work, ohca_health_work);
	INIT_WORK(&dev->fatal_work, ohca_fatal_work);
	INIT_WORK(&dev->flush_work, ohca_flush_work);
}

void ohca_health_start(struct ohca_dev *dev)
{
	queue_delayed_work(dev->wq, &dev->health_work, OHCA_HEALTH_INTERVAL);
}

/* The caller has made sure that no interrupt can report a failure any more. */
void ohca_health_stop(struct ohca_dev *dev)
{
	cancel_delayed_work_sync(&dev->health_work);
	flush_work(&dev->fatal_work);
	cancel_work_sync(&dev->flush_work);
}
