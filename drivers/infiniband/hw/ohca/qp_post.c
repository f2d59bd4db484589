// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Posting work requests to the kernel's queue pairs. */

#include "ohca.h"

/* What the verbs' opcodes are on the send queue and in the completion. */
struct ohca_opcode {
	u8 wqe;			/* 0: not supported */
	u8 wc;
	u64 feature;		/* that it needs */
	u8 services;		/* OHCA_ON_* */
};

/* Which types of queue pair have an operation, besides RC and XRC. */
#define OHCA_ON_UC	0x01
#define OHCA_ON_UD	0x02	/* and GSI */

static const struct ohca_opcode ohca_opcodes[] = {
	[IB_WR_SEND] = { OHCA_WR_SEND, IB_WC_SEND, 0, OHCA_ON_UC | OHCA_ON_UD },
	[IB_WR_SEND_WITH_IMM] = { OHCA_WR_SEND_IMM, IB_WC_SEND, 0, OHCA_ON_UC | OHCA_ON_UD },
	[IB_WR_SEND_WITH_INV] = { OHCA_WR_SEND_INV, IB_WC_SEND, OHCA_FEATURE_SEND_INV },
	[IB_WR_RDMA_WRITE] = { OHCA_WR_WRITE, IB_WC_RDMA_WRITE, 0, OHCA_ON_UC },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { OHCA_WR_WRITE_IMM, IB_WC_RDMA_WRITE, 0, OHCA_ON_UC },
	[IB_WR_RDMA_READ] = { OHCA_WR_READ, IB_WC_RDMA_READ },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { OHCA_WR_CAS, IB_WC_COMP_SWAP, OHCA_FEATURE_ATOMIC },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { OHCA_WR_FADD, IB_WC_FETCH_ADD, OHCA_FEATURE_ATOMIC },
	[IB_WR_RDMA_READ_WITH_INV] = { OHCA_WR_READ_INV, IB_WC_RDMA_READ, OHCA_FEATURE_READ_INV },
	[IB_WR_MASKED_ATOMIC_CMP_AND_SWP] = { OHCA_WR_MASKED_CAS, IB_WC_MASKED_COMP_SWAP,
					      OHCA_FEATURE_MASKED_ATOMIC },
	[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD] = { OHCA_WR_MASKED_FADD, IB_WC_MASKED_FETCH_ADD,
						OHCA_FEATURE_MASKED_ATOMIC },
	[IB_WR_ATOMIC_WRITE] = { OHCA_WR_ATOMIC_WRITE, IB_WC_ATOMIC_WRITE,
				 OHCA_FEATURE_ATOMIC_WRITE },
	[IB_WR_REG_MR] = { OHCA_WR_REG_MR, IB_WC_REG_MR, OHCA_FEATURE_FAST_REG, OHCA_ON_UC },
	[IB_WR_REG_MR_INTEGRITY] = { OHCA_WR_REG_MR_INTEGRITY, IB_WC_REG_MR,
				     OHCA_FEATURE_INTEGRITY, OHCA_ON_UC },
	[IB_WR_LOCAL_INV] = { OHCA_WR_LOCAL_INV, IB_WC_LOCAL_INV, OHCA_FEATURE_FAST_REG,
			      OHCA_ON_UC },
	/* FLUSH: in the kernel nothing says yet where a WR carries its arguments. */
};

#define OHCA_SEND_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)

static u8 ohca_service(enum ib_qp_type type)
{
	if (ohca_is_datagram(type))
		return OHCA_ON_UD;
	return type == IB_QPT_UC ? OHCA_ON_UC : 0;
}

static const struct ohca_opcode *ohca_find_opcode(const struct ohca_qp *qp,
						  enum ib_wr_opcode opcode)
{
	struct ohca_dev *dev = to_ohca_dev(qp->ibqp.device);
	u8 service = ohca_service(qp->ibqp.qp_type);
	const struct ohca_opcode *op;

	if ((u32)opcode >= ARRAY_SIZE(ohca_opcodes))
		return NULL;
	op = &ohca_opcodes[opcode];
	if (!op->wqe || op->feature & ~dev->features || service & ~op->services)
		return NULL;
	return op;
}

static void *ohca_ring_slot(const struct ohca_qp *qp, const struct ohca_ring *ring, u32 index)
{
	return ohca_buffer_at(&qp->buffer, ring->offset +
			      ((size_t)(index & (ring->depth - 1)) << ring->log_stride));
}

static bool ohca_ring_full(const struct ohca_ring *ring, u32 head)
{
	/* Pairs with the release in ohca_cqe_to_wc(): the poller is done with wrs[]. */
	return head - smp_load_acquire(&ring->tail) >= ring->depth;
}

/* Show the poller the work requests up to @head, then the device. */
static void ohca_ring_publish(struct ohca_ring *ring, u32 head, __le32 *producer)
{
	/* The poller finds wrs[] filled in. */
	smp_store_release(&ring->head, head);
	/* The device must find the WQEs once it sees the index. */
	dma_wmb();
	WRITE_ONCE(*producer, cpu_to_le32(head));
}

void ohca_set_sges(struct ohca_sge *out, const struct ib_sge *in, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		out[i].address = cpu_to_le64(in[i].addr);
		out[i].length = cpu_to_le32(in[i].length);
		out[i].lkey = cpu_to_le32(in[i].lkey);
	}
}

static int ohca_set_inline(struct ohca_qp *qp, struct ohca_sq_wqe *wqe, void *to,
			   const struct ib_send_wr *wr)
{
	u32 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > qp->max_inline - length)
			return -EINVAL;
		memcpy(to + length, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		length += wr->sg_list[i].length;
	}
	wqe->flags |= OHCA_WQE_INLINE;
	wqe->inline_length = cpu_to_le32(length);
	return 0;
}

static int ohca_set_atomic(struct ohca_sq_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);
	struct ohca_wqe_atomic *args = (void *)(wqe + 1);

	if (wr->num_sge != 1)
		return -EINVAL;
	wqe->remote_address = cpu_to_le64(atomic->remote_addr);
	wqe->rkey = cpu_to_le32(atomic->rkey);
	if (wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
		args->operand = cpu_to_le64(atomic->swap);
		args->compare = cpu_to_le64(atomic->compare_add);
	} else {
		args->operand = cpu_to_le64(atomic->compare_add);
		args->compare = 0;
	}
	wqe->num_sge = 1;
	ohca_set_sges((void *)(args + 1), wr->sg_list, 1);
	return 0;
}

static int ohca_set_masked_atomic(struct ohca_sq_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);
	struct ohca_wqe_masked_atomic *args = (void *)(wqe + 1);

	if (wr->num_sge != 1)
		return -EINVAL;
	wqe->remote_address = cpu_to_le64(atomic->remote_addr);
	wqe->rkey = cpu_to_le32(atomic->rkey);
	memset(args, 0, sizeof(*args));
	if (wr->opcode == IB_WR_MASKED_ATOMIC_CMP_AND_SWP) {
		args->operand = cpu_to_le64(atomic->swap);
		args->compare = cpu_to_le64(atomic->compare_add);
		args->swap_mask = cpu_to_le64(atomic->swap_mask);
		args->compare_mask = cpu_to_le64(atomic->compare_add_mask);
	} else {
		args->operand = cpu_to_le64(atomic->compare_add);
		args->boundary_mask = cpu_to_le64(atomic->compare_add_mask);
	}
	wqe->num_sge = 1;
	ohca_set_sges((void *)(args + 1), wr->sg_list, 1);
	return 0;
}

/* Address and peer of a datagram; the payload comes after it. */
static int ohca_set_datagram(const struct ohca_qp *qp, struct ohca_wqe_datagram *out,
			     const struct ib_ud_wr *wr)
{
	const struct ohca_ah *ah;
	u32 flow_label;

	if (!wr->ah || wr->remote_qpn & ~OHCA_QPN_MULTICAST)
		return -EINVAL;
	ah = to_ohca_ah(wr->ah);
	*out = ah->datagram;
	out->remote_qpn = cpu_to_le32(wr->remote_qpn);
	out->remote_qkey = cpu_to_le32(wr->remote_qkey);
	flow_label = le32_to_cpu(ah->datagram.flow_label);
	out->source_udp_port = cpu_to_le16(rdma_get_udp_sport(flow_label, qp->qpn,
							      wr->remote_qpn));
	if (qp->ibqp.qp_type != IB_QPT_GSI)
		return 0;
	if (wr->pkey_index >= OHCA_PKEY_COUNT)
		return -EINVAL;
	out->pkey_index = cpu_to_le16(wr->pkey_index);
	return 0;
}

static u8 ohca_wqe_flags(const struct ohca_qp *qp, const struct ib_send_wr *wr)
{
	u8 flags = 0;

	if (qp->signal_all || wr->send_flags & IB_SEND_SIGNALED)
		flags |= OHCA_WQE_SIGNALED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		flags |= OHCA_WQE_SOLICITED;
	if (wr->send_flags & IB_SEND_FENCE)
		flags |= OHCA_WQE_FENCE;
	return flags;
}

static bool ohca_can_inline(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

/* Header fields of the operations whose payload is what the elements name. */
static void ohca_set_transfer(struct ohca_sq_wqe *wqe, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wqe->immediate = wr->ex.imm_data;
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_RDMA_READ_WITH_INV:
		wqe->invalidate_key = cpu_to_le32(wr->ex.invalidate_rkey);
		break;
	default:
		break;
	}
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
	case IB_WR_ATOMIC_WRITE:
		wqe->remote_address = cpu_to_le64(rdma_wr(wr)->remote_addr);
		wqe->rkey = cpu_to_le32(rdma_wr(wr)->rkey);
		break;
	default:
		break;
	}
}

static int ohca_build_send(struct ohca_qp *qp, struct ohca_sq_wqe *wqe,
			   const struct ohca_opcode *op, const struct ib_send_wr *wr)
{
	void *payload = wqe + 1;
	int ret;

	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge || wr->send_flags & ~OHCA_SEND_FLAGS)
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE && !ohca_can_inline(wr->opcode))
		return -EINVAL;

	memset(wqe, 0, sizeof(*wqe));
	wqe->opcode = op->wqe;
	wqe->flags = ohca_wqe_flags(qp, wr);
	switch (wr->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return ohca_set_atomic(wqe, wr);
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return ohca_set_masked_atomic(wqe, wr);
	case IB_WR_REG_MR:
		return ohca_build_reg_mr(to_ohca_dev(qp->ibqp.device), wqe, wr);
	case IB_WR_REG_MR_INTEGRITY:
		return ohca_build_reg_integrity(qp, wqe, wr);
	case IB_WR_LOCAL_INV:
		wqe->invalidate_key = cpu_to_le32(wr->ex.invalidate_rkey);
		return 0;
	default:
		break;
	}
	ohca_set_transfer(wqe, wr);
	if (ohca_is_datagram(qp->ibqp.qp_type)) {
		ret = ohca_set_datagram(qp, payload, ud_wr(wr));
		if (ret)
			return ret;
		payload += sizeof(struct ohca_wqe_datagram);
	}
	if (wr->send_flags & IB_SEND_INLINE)
		return ohca_set_inline(qp, wqe, payload, wr);
	wqe->num_sge = wr->num_sge;
	ohca_set_sges(payload, wr->sg_list, wr->num_sge);
	return 0;
}

static int ohca_post_one_send(struct ohca_qp *qp, u32 head, const struct ib_send_wr *wr)
{
	struct ohca_ring *sq = &qp->sq;
	const struct ohca_opcode *op = ohca_find_opcode(qp, wr->opcode);
	struct ohca_wr *saved;
	int ret;

	if (!op)
		return -EINVAL;
	if (ohca_ring_full(sq, head))
		return -ENOMEM;
	ret = ohca_build_send(qp, ohca_ring_slot(qp, sq, head), op, wr);
	if (ret)
		return ret;
	saved = &sq->wrs[head & (sq->depth - 1)];
	saved->wr_id = wr->wr_id;
	saved->opcode = op->wc;
	return 0;
}

int ohca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);
	struct ohca_qp *qp = to_ohca_qp(ibqp);
	struct ohca_ring *sq = &qp->sq;
	unsigned long flags;
	int ret = 0;
	u32 head;

	spin_lock_irqsave(&sq->lock, flags);
	/* Work for a QP in error is accepted, to be flushed. */
	if (qp->state < IB_QPS_RTS) {
		ret = -EINVAL;
		goto out;
	}
	head = sq->head;
	for (; wr; wr = wr->next, head++) {
		ret = ohca_post_one_send(qp, head, wr);
		if (ret)
			break;
	}
	if (head != sq->head) {
		ohca_ring_publish(sq, head, &qp->record->sq_producer);
		ohca_ring_doorbell(dev, qp->uar_slot);
	}
out:
	spin_unlock_irqrestore(&sq->lock, flags);
	if (ret)
		*bad_wr = wr;
	ohca_flush_if_dead(dev);
	return ret;
}

static int ohca_post_one_recv(struct ohca_qp *qp, u32 head, const struct ib_recv_wr *wr)
{
	struct ohca_ring *rq = &qp->rq;
	struct ohca_rq_wqe *wqe;
	struct ohca_wr *saved;

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (ohca_ring_full(rq, head))
		return -ENOMEM;
	wqe = ohca_ring_slot(qp, rq, head);
	memset(wqe, 0, sizeof(*wqe));
	wqe->num_sge = wr->num_sge;
	wqe->tag = cpu_to_le32(head);
	ohca_set_sges((void *)(wqe + 1), wr->sg_list, wr->num_sge);
	saved = &rq->wrs[head & (rq->depth - 1)];
	saved->wr_id = wr->wr_id;
	saved->opcode = IB_WC_RECV;
	return 0;
}

int ohca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);
	struct ohca_qp *qp = to_ohca_qp(ibqp);
	struct ohca_ring *rq = &qp->rq;
	unsigned long flags;
	int ret = 0;
	u32 head;

	spin_lock_irqsave(&rq->lock, flags);
	/* With an SRQ there is no receive queue. */
	if (qp->state == IB_QPS_RESET || ibqp->srq) {
		ret = -EINVAL;
		goto out;
	}
	head = rq->head;
	for (; wr; wr = wr->next, head++) {
		ret = ohca_post_one_recv(qp, head, wr);
		if (ret)
			break;
	}
	if (head != rq->head) {
		ohca_ring_publish(rq, head, &qp->record->rq_producer);
		/* A QP in error has no traffic that would make the device look. */
		if (qp->state == IB_QPS_ERR)
			ohca_ring_doorbell(dev, qp->uar_slot);
	}
out:
	spin_unlock_irqrestore(&rq->lock, flags);
	if (ret)
		*bad_wr = wr;
	ohca_flush_if_dead(dev);
	return ret;
}
