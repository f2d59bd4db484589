// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kernel completion queues: polling, arming, and taking out the completions of
 * a QP that goes away.
 *
 * The device is not trusted: a CQE is copied, and then names a QP that must
 * complete on this CQ and a work request that must be outstanding on it.
 */

#include <linux/if_vlan.h>

#include "ohca.h"

static enum ib_wc_status ohca_wc_status(u8 status)
{
	static const u8 map[OHCA_CQE_STATUS_COUNT] = {
		[OHCA_CQE_STATUS_SUCCESS] = IB_WC_SUCCESS,
		[OHCA_CQE_STATUS_LOCAL_LENGTH] = IB_WC_LOC_LEN_ERR,
		[OHCA_CQE_STATUS_LOCAL_QP_OPERATION] = IB_WC_LOC_QP_OP_ERR,
		[OHCA_CQE_STATUS_LOCAL_PROTECTION] = IB_WC_LOC_PROT_ERR,
		[OHCA_CQE_STATUS_FLUSHED] = IB_WC_WR_FLUSH_ERR,
		[OHCA_CQE_STATUS_MW_BIND] = IB_WC_MW_BIND_ERR,
		[OHCA_CQE_STATUS_BAD_RESPONSE] = IB_WC_BAD_RESP_ERR,
		[OHCA_CQE_STATUS_LOCAL_ACCESS] = IB_WC_LOC_ACCESS_ERR,
		[OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST] = IB_WC_REM_INV_REQ_ERR,
		[OHCA_CQE_STATUS_REMOTE_ACCESS] = IB_WC_REM_ACCESS_ERR,
		[OHCA_CQE_STATUS_REMOTE_OPERATION] = IB_WC_REM_OP_ERR,
		[OHCA_CQE_STATUS_RETRY_EXCEEDED] = IB_WC_RETRY_EXC_ERR,
		[OHCA_CQE_STATUS_RNR_RETRY_EXCEEDED] = IB_WC_RNR_RETRY_EXC_ERR,
		[OHCA_CQE_STATUS_REMOTE_ABORTED] = IB_WC_REM_ABORT_ERR,
		[OHCA_CQE_STATUS_FATAL] = IB_WC_FATAL_ERR,
		[OHCA_CQE_STATUS_GENERAL] = IB_WC_GENERAL_ERR,
	};

	return status < ARRAY_SIZE(map) ? map[status] : IB_WC_GENERAL_ERR;
}

static struct ohca_cqe *ohca_cqe_at(const struct ohca_cq *cq, u32 index)
{
	size_t slot = index & ((1U << cq->log_depth) - 1);

	return ohca_buffer_at(&cq->buffer, OHCA_CQ_RING_OFFSET + slot * sizeof(struct ohca_cqe));
}

static bool ohca_cqe_ready(const struct ohca_cq *cq, u32 index)
{
	u8 phase = !(index >> cq->log_depth & 1);

	return (READ_ONCE(ohca_cqe_at(cq, index)->owner) & OHCA_CQE_PHASE) == phase;
}

/* For a walk over what is waiting to be polled. */
static bool ohca_cqe_written(const struct ohca_cq *cq, u32 index)
{
	if (index - cq->consumer >= 1U << cq->log_depth || !ohca_cqe_ready(cq, index))
		return false;
	/* owner is written last: read nothing of the CQE before it. */
	dma_rmb();
	return true;
}

static struct ohca_qp *ohca_cq_find_qp(struct ohca_cq *cq, u32 qpn)
{
	if (!cq->last_qp || cq->last_qp->qpn != qpn)
		cq->last_qp = xa_load(&cq->qps, qpn);
	return cq->last_qp;
}

/* The work request with this index, or NULL if it is not outstanding. */
static const struct ohca_wr *ohca_ring_find(const struct ohca_ring *ring, u32 index)
{
	/* Pairs with the release in ohca_ring_publish(): wrs[] is filled in. */
	u32 outstanding = smp_load_acquire(&ring->head) - ring->tail;

	if (index - ring->tail >= outstanding)
		return NULL;
	return &ring->wrs[index & (ring->depth - 1)];
}

static void ohca_fill_wc(const struct ohca_cqe *cqe, struct ib_wc *wc)
{
	wc->status = ohca_wc_status(cqe->status);
	wc->vendor_err = le32_to_cpu(cqe->vendor_error);
	wc->byte_len = le32_to_cpu(cqe->byte_length);
	wc->port_num = OHCA_PORT;
}

static void ohca_fill_recv_wc(const struct ohca_cqe *cqe, struct ib_wc *wc)
{
	wc->opcode = cqe->opcode == OHCA_WR_WRITE_IMM ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV;
	wc->src_qp = le32_to_cpu(cqe->src_qp);
	if (cqe->flags & OHCA_CQE_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->immediate;
	} else if (cqe->flags & OHCA_CQE_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = le32_to_cpu(cqe->invalidated_rkey);
	}
}

/* A datagram tells where it came from; what it tells has to make sense. */
static void ohca_fill_datagram_wc(const struct ohca_cqe *cqe, struct ib_wc *wc)
{
	u16 vlan_id = le16_to_cpu(cqe->vlan_id);
	u16 pkey_index = le16_to_cpu(cqe->pkey_index);

	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_SMAC;
	memcpy(wc->smac, cqe->source_mac, sizeof(wc->smac));
	wc->sl = cqe->service_level;
	if (vlan_id < VLAN_N_VID) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = vlan_id;
	}
	if (cqe->network_header == OHCA_NETWORK_HEADER_IPV4 ||
	    cqe->network_header == OHCA_NETWORK_HEADER_IPV6) {
		wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = cqe->network_header == OHCA_NETWORK_HEADER_IPV4 ?
				       RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	}
	if (pkey_index < OHCA_PKEY_COUNT)
		wc->pkey_index = pkey_index;
	/* Users subtract the GRH from the length. */
	if (wc->status == IB_WC_SUCCESS && wc->byte_len < OHCA_GRH_SIZE)
		wc->status = IB_WC_GENERAL_ERR;
}

/* What a completion of a receive tells; @qp is NULL for XRC. */
static void ohca_fill_received(const struct ohca_cqe *cqe, const struct ohca_qp *qp,
			       struct ib_wc *wc)
{
	ohca_fill_recv_wc(cqe, wc);
	if (qp && cqe->flags & OHCA_CQE_WITH_GRH && ohca_is_datagram(qp->ibqp.qp_type))
		ohca_fill_datagram_wc(cqe, wc);
}

/* The SRQ whose tag @cqe carries, or NULL. */
static struct ohca_srq *ohca_cqe_srq(struct ohca_cq *cq, const struct ohca_cqe *cqe,
				     const struct ohca_qp *qp)
{
	u32 srqn = le32_to_cpu(cqe->srqn);
	struct ohca_srq *srq;

	if (!qp)
		return xa_load(&cq->srqs, srqn);
	if (!qp->ibqp.srq || qp->ibqp.recv_cq != &cq->ibcq)
		return NULL;
	srq = to_ohca_srq(qp->ibqp.srq);
	return srq->srqn == srqn ? srq : NULL;
}

/*
 * XRC: who received.  The QP completes on no CQ of its own; the user of the
 * SRQ has to keep it, or do without.
 */
static struct ib_qp *ohca_find_xrc_target(struct ohca_dev *dev, u32 qpn)
{
	struct ohca_qp *qp = ohca_get_qp(dev, qpn);
	struct ib_qp *ibqp = NULL;

	if (!qp)
		return NULL;
	if (qp->ibqp.qp_type == IB_QPT_XRC_TGT)
		ibqp = &qp->ibqp;
	ohca_put_qp(qp);
	return ibqp;
}

static bool ohca_srq_cqe_to_wc(struct ohca_cq *cq, const struct ohca_cqe *cqe, struct ib_wc *wc)
{
	struct ohca_qp *qp = ohca_cq_find_qp(cq, le32_to_cpu(cqe->qpn));
	struct ohca_srq *srq = ohca_cqe_srq(cq, cqe, qp);

	memset(wc, 0, sizeof(*wc));
	if (!srq || !(cqe->flags & OHCA_CQE_RECEIVE) ||
	    !ohca_srq_complete(srq, le32_to_cpu(cqe->wqe_index), &wc->wr_id)) {
		ibdev_warn_ratelimited(cq->ibcq.device,
				       "CQ %#x: completion of SRQ %#x tag %u dropped, nothing outstanding\n",
				       cq->cqn, le32_to_cpu(cqe->srqn),
				       le32_to_cpu(cqe->wqe_index));
		return false;
	}
	wc->qp = qp ? &qp->ibqp : ohca_find_xrc_target(to_ohca_dev(cq->ibcq.device),
						       le32_to_cpu(cqe->qpn));
	ohca_fill_wc(cqe, wc);
	ohca_fill_received(cqe, qp, wc);
	return true;
}

/* @cqe is a copy. False: it names nothing that is outstanding here; dropped. */
static bool ohca_cqe_to_wc(struct ohca_cq *cq, const struct ohca_cqe *cqe, struct ib_wc *wc)
{
	u32 index = le32_to_cpu(cqe->wqe_index);
	bool receive = cqe->flags & OHCA_CQE_RECEIVE;
	u32 qpn = le32_to_cpu(cqe->qpn);
	const struct ohca_wr *wr = NULL;
	struct ohca_ring *ring;
	struct ohca_qp *qp;

	/* Taken out by ohca_cq_clean_qp(). */
	if (!qpn)
		return false;
	if (cqe->flags & OHCA_CQE_FROM_SRQ)
		return ohca_srq_cqe_to_wc(cq, cqe, wc);
	qp = ohca_cq_find_qp(cq, qpn);
	if (qp && (receive ? qp->ibqp.recv_cq : qp->ibqp.send_cq) == &cq->ibcq) {
		ring = receive ? &qp->rq : &qp->sq;
		wr = ohca_ring_find(ring, index);
	}
	if (!wr) {
		ibdev_warn_ratelimited(cq->ibcq.device,
				       "CQ %#x: %s completion of QP %#x index %u dropped, nothing outstanding\n",
				       cq->cqn, receive ? "receive" : "send", qpn, index);
		return false;
	}
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = wr->wr_id;
	wc->opcode = wr->opcode;
	wc->qp = &qp->ibqp;
	ohca_fill_wc(cqe, wc);
	if (receive)
		ohca_fill_received(cqe, qp, wc);
	/* Gives this slot and those before it, and wrs[] with them, back to the poster. */
	smp_store_release(&ring->tail, index + 1);
	return true;
}

static int ohca_poll_hardware(struct ohca_cq *cq, int count, struct ib_wc *wc)
{
	u32 first = cq->consumer;
	struct ohca_cqe cqe;
	int done = 0;

	while (done < count && ohca_cqe_ready(cq, cq->consumer)) {
		/* owner is written last: read nothing of the CQE before it. */
		dma_rmb();
		ohca_copy_entry(&cqe, ohca_cqe_at(cq, cq->consumer), sizeof(cqe));
		cq->consumer++;
		if (ohca_cqe_to_wc(cq, &cqe, wc + done))
			done++;
	}
	if (cq->consumer != first) {
		/* The slots may be overwritten only once they have been read. */
		dma_mb();
		WRITE_ONCE(cq->record->consumer, cpu_to_le32(cq->consumer));
	}
	return done;
}

static int ohca_flush_ring(struct ohca_qp *qp, struct ohca_ring *ring, int count,
			   struct ib_wc *wc)
{
	u32 tail = ring->tail;
	int done = 0;

	/* Pairs with the release in ohca_ring_publish(). */
	while (done < count && tail != smp_load_acquire(&ring->head)) {
		const struct ohca_wr *wr = &ring->wrs[tail & (ring->depth - 1)];

		wc[done++] = (struct ib_wc) {
			.wr_id = wr->wr_id,
			.opcode = wr->opcode,
			.status = IB_WC_WR_FLUSH_ERR,
			.qp = &qp->ibqp,
			.port_num = OHCA_PORT,
		};
		tail++;
	}
	/* Gives the slots, and wrs[] with them, back to the poster. */
	smp_store_release(&ring->tail, tail);
	return done;
}

/* The device will complete nothing any more, but ULPs wait for it: do it here. */
static int ohca_poll_flushed(struct ohca_cq *cq, int count, struct ib_wc *wc)
{
	struct ohca_qp *qp;
	unsigned long qpn;
	int done = 0;

	xa_for_each(&cq->qps, qpn, qp) {
		if (qp->ibqp.send_cq == &cq->ibcq)
			done += ohca_flush_ring(qp, &qp->sq, count - done, wc + done);
		if (qp->ibqp.recv_cq == &cq->ibcq)
			done += ohca_flush_ring(qp, &qp->rq, count - done, wc + done);
	}
	return done;
}

static bool ohca_cq_has_outstanding(struct ohca_cq *cq)
{
	struct ohca_qp *qp;
	unsigned long qpn;

	xa_for_each(&cq->qps, qpn, qp) {
		if (qp->ibqp.send_cq == &cq->ibcq && READ_ONCE(qp->sq.head) != qp->sq.tail)
			return true;
		if (qp->ibqp.recv_cq == &cq->ibcq && READ_ONCE(qp->rq.head) != qp->rq.tail)
			return true;
	}
	return false;
}

/* Whether a failed device's work requests can be completed by software. */
static bool ohca_must_flush(const struct ohca_dev *dev)
{
	/*
	 * Not before the reset: until then completions may still arrive.
	 * Pairs with the release in ohca_quiesce().
	 */
	return smp_load_acquire(&dev->quiesced);
}

int ohca_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc)
{
	struct ohca_dev *dev = to_ohca_dev(ibcq->device);
	struct ohca_cq *cq = to_ohca_cq(ibcq);
	unsigned long flags;
	int done;

	spin_lock_irqsave(&cq->lock, flags);
	done = ohca_poll_hardware(cq, count, wc);
	if (done < count && ohca_must_flush(dev))
		done += ohca_poll_flushed(cq, count - done, wc + done);
	spin_unlock_irqrestore(&cq->lock, flags);
	return done;
}

/* A pending request for any completion is not weakened to one for solicited ones. */
static u32 ohca_arm_type(const struct ohca_cq *cq, enum ib_cq_notify_flags flags)
{
	bool pending = cq->arm_value != le32_to_cpu(READ_ONCE(cq->record->fired));

	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP)
		return OHCA_CQ_ARM_NEXT;
	if (pending && (cq->arm_value & OHCA_CQ_ARM_TYPE_MASK) == OHCA_CQ_ARM_NEXT)
		return OHCA_CQ_ARM_NEXT;
	return OHCA_CQ_ARM_SOLICITED;
}

int ohca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct ohca_dev *dev = to_ohca_dev(ibcq->device);
	struct ohca_cq *cq = to_ohca_cq(ibcq);
	unsigned long irq_flags;
	u32 sequence;
	int ret = 0;
	bool flush;

	spin_lock_irqsave(&cq->lock, irq_flags);
	sequence = (cq->arm_value >> OHCA_CQ_ARM_SEQUENCE_SHIFT) + 1;
	cq->arm_value = ohca_arm_type(cq, flags) | sequence << OHCA_CQ_ARM_SEQUENCE_SHIFT;
	WRITE_ONCE(cq->record->arm, cpu_to_le32(cq->arm_value));
	/* Arm, then look: pairs with the device's fence between CQE and arm. */
	virt_mb();
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		ret = ohca_cqe_ready(cq, cq->consumer);
	flush = ohca_must_flush(dev) && ohca_cq_has_outstanding(cq);
	spin_unlock_irqrestore(&cq->lock, irq_flags);

	/* Nobody fires an armed CQ of a dead device. */
	if (flush)
		ohca_flush_if_dead(dev);
	return ret;
}

/* May sleep. From here on completions of the kernel QP are understood. */
int ohca_cq_attach_qp(struct ohca_cq *cq, struct ohca_qp *qp)
{
	unsigned long flags;
	int ret;

	ret = xa_reserve_irq(&cq->qps, qp->qpn, GFP_KERNEL);
	if (ret)
		return ret;
	spin_lock_irqsave(&cq->lock, flags);
	xa_store(&cq->qps, qp->qpn, qp, GFP_NOWAIT);
	cq->last_qp = NULL;
	spin_unlock_irqrestore(&cq->lock, flags);
	return 0;
}

/* After DESTROY_QP: no more completions come, and after this no poller has the QP. */
void ohca_cq_detach_qp(struct ohca_cq *cq, struct ohca_qp *qp)
{
	unsigned long flags;

	ohca_cq_clean_qp(cq, qp);
	spin_lock_irqsave(&cq->lock, flags);
	xa_erase(&cq->qps, qp->qpn);
	cq->last_qp = NULL;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* May sleep. From here on completions of the kernel XRC SRQ are understood. */
int ohca_cq_attach_srq(struct ohca_cq *cq, struct ohca_srq *srq)
{
	unsigned long flags;
	int ret;

	ret = xa_reserve_irq(&cq->srqs, srq->srqn, GFP_KERNEL);
	if (ret)
		return ret;
	spin_lock_irqsave(&cq->lock, flags);
	xa_store(&cq->srqs, srq->srqn, srq, GFP_NOWAIT);
	spin_unlock_irqrestore(&cq->lock, flags);
	return 0;
}

/* After DESTROY_SRQ: no more completions come, and after this no poller has the SRQ. */
void ohca_cq_detach_srq(struct ohca_cq *cq, struct ohca_srq *srq)
{
	struct ohca_cqe *cqe;
	unsigned long flags;
	u32 index;

	spin_lock_irqsave(&cq->lock, flags);
	for (index = cq->consumer; ohca_cqe_written(cq, index); index++) {
		cqe = ohca_cqe_at(cq, index);
		if (READ_ONCE(cqe->flags) & OHCA_CQE_FROM_SRQ &&
		    le32_to_cpu(READ_ONCE(cqe->srqn)) == srq->srqn)
			cqe->qpn = 0;
	}
	xa_erase(&cq->srqs, srq->srqn);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* A completion that will not be polled gives its tag back all the same. */
static void ohca_cq_drop(struct ohca_cq *cq, struct ohca_cqe *cqe, struct ohca_qp *qp)
{
	struct ohca_srq *srq;
	struct ohca_cqe copy;
	u64 wr_id;

	ohca_copy_entry(&copy, cqe, sizeof(copy));
	cqe->qpn = 0;
	if (!(copy.flags & OHCA_CQE_FROM_SRQ))
		return;
	srq = ohca_cqe_srq(cq, &copy, qp);
	if (srq)
		ohca_srq_complete(srq, le32_to_cpu(copy.wqe_index), &wr_id);
}

/* Take all completions out: nobody will poll them. */
void ohca_cq_discard(struct ohca_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	while (ohca_cqe_written(cq, cq->consumer))
		cq->consumer++;
	/* The slots may be overwritten only once they have been read. */
	dma_mb();
	WRITE_ONCE(cq->record->consumer, cpu_to_le32(cq->consumer));
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Take the completions of a reset or destroyed QP out, lest they are attributed
 * to the next life of it or to the next QP of the same number.  They stay where
 * they are as CQEs of QP 0, which polling skips.
 */
void ohca_cq_clean_qp(struct ohca_cq *cq, struct ohca_qp *qp)
{
	unsigned long flags;
	u32 index;

	spin_lock_irqsave(&cq->lock, flags);
	for (index = cq->consumer; ohca_cqe_written(cq, index); index++) {
		if (le32_to_cpu(READ_ONCE(ohca_cqe_at(cq, index)->qpn)) == qp->qpn)
			ohca_cq_drop(cq, ohca_cqe_at(cq, index), qp);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}
