// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: state transitions and attributes. */

#include "ohca.h"

#define OHCA_TIMER_MAX		31	/* 5-bit IBTA encodings */
#define OHCA_RETRY_MAX		7
#define OHCA_PSN_MASK		0xffffff
#define OHCA_MTU_LOG_MIN	8

/* The contract's states are numbered as the verbs'. */
static void ohca_check_state_values(void)
{
	BUILD_BUG_ON(OHCA_QP_STATE_RESET != IB_QPS_RESET);
	BUILD_BUG_ON(OHCA_QP_STATE_INIT != IB_QPS_INIT);
	BUILD_BUG_ON(OHCA_QP_STATE_RTR != IB_QPS_RTR);
	BUILD_BUG_ON(OHCA_QP_STATE_RTS != IB_QPS_RTS);
	BUILD_BUG_ON(OHCA_QP_STATE_SQD != IB_QPS_SQD);
	BUILD_BUG_ON(OHCA_QP_STATE_SQE != IB_QPS_SQE);
	BUILD_BUG_ON(OHCA_QP_STATE_ERR != IB_QPS_ERR);
}

/*
 * What modify_qp takes: rights of the peer, of which the device is told, and
 * what says nothing about the peer.
 */
static u32 ohca_qp_access_flags(struct ohca_dev *dev)
{
	u32 flags = IB_ACCESS_OPTIONAL | IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
		    IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;

	BUILD_BUG_ON(OHCA_ACCESS_FLUSH_GLOBAL != IB_ACCESS_FLUSH_GLOBAL);
	BUILD_BUG_ON(OHCA_ACCESS_FLUSH_PERSISTENT != IB_ACCESS_FLUSH_PERSISTENT);

	if (dev->features & OHCA_FEATURE_FLUSH)
		flags |= IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT;
	return flags;
}

/* NULL, or the name of the first attribute that is out of range. */
static const char *ohca_check_attr(struct ohca_dev *dev, const struct ib_qp_attr *attr, int mask)
{
	const struct ohca_caps *caps = &dev->caps;

	if (mask & IB_QP_PORT && attr->port_num != OHCA_PORT)
		return "port_num";
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index >= OHCA_PKEY_COUNT)
		return "pkey_index";
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > ohca_port_mtu(dev)))
		return "path_mtu";
	if (mask & IB_QP_MAX_QP_RD_ATOMIC &&
	    attr->max_rd_atomic > caps->max_read_atomic_initiator)
		return "max_rd_atomic";
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	    attr->max_dest_rd_atomic > caps->max_read_atomic_responder)
		return "max_dest_rd_atomic";
	if (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > OHCA_TIMER_MAX)
		return "min_rnr_timer";
	if (mask & IB_QP_TIMEOUT && attr->timeout > OHCA_TIMER_MAX)
		return "timeout";
	if (mask & IB_QP_RETRY_CNT && attr->retry_cnt > OHCA_RETRY_MAX)
		return "retry_cnt";
	if (mask & IB_QP_RNR_RETRY && attr->rnr_retry > OHCA_RETRY_MAX)
		return "rnr_retry";
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num > OHCA_PSN_MASK)
		return "dest_qp_num";
	if (mask & IB_QP_PATH_MIG_STATE && attr->path_mig_state != IB_MIG_MIGRATED)
		return "path_mig_state";
	if (mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~ohca_qp_access_flags(dev))
		return "qp_access_flags";
	if (mask & IB_QP_AV)
		return ohca_check_path(dev, &attr->ah_attr);
	return NULL;
}

/* What does not depend on the queue pair's state.  Any context. */
int ohca_check_qp_attr(struct ohca_dev *dev, struct ohca_qp *qp, const struct ib_qp_attr *attr,
		       int mask)
{
	const char *problem;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS || mask & (IB_QP_ALT_PATH | IB_QP_CAP)) {
		ibdev_dbg(&dev->ibdev, "QP %#x: attributes %#x not supported\n", qp->qpn, mask);
		return -EOPNOTSUPP;
	}
	problem = ohca_check_attr(dev, attr, mask);
	if (problem) {
		ibdev_dbg(&dev->ibdev, "QP %#x: %s not possible\n", qp->qpn, problem);
		return -EINVAL;
	}
	return 0;
}

static void ohca_fill_path(const struct rdma_ah_attr *ah, struct ohca_qp_attributes *out)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);
	u32 flow_label = grh->flow_label & IB_GRH_FLOWLABEL_MASK;

	memcpy(out->dgid, grh->dgid.raw, sizeof(out->dgid));
	memcpy(out->dmac, ah->roce.dmac, sizeof(out->dmac));
	out->sgid_index = grh->sgid_index;
	out->hop_limit = grh->hop_limit;
	out->traffic_class = grh->traffic_class;
	out->flow_label = cpu_to_le32(flow_label);
	out->service_level = rdma_ah_get_sl(ah);
}

/* The attributes whose value is just copied. */
static u32 ohca_fill_scalars(const struct ib_qp_attr *attr, int mask,
			     struct ohca_qp_attributes *out)
{
	u32 given = 0;

#define OHCA_COPY(ib_bit, bit, field, value)				\
	do {								\
		if (mask & (ib_bit)) {					\
			out->field = value;				\
			given |= (bit);					\
		}							\
	} while (0)

	OHCA_COPY(IB_QP_STATE, OHCA_QP_ATTR_STATE, state, attr->qp_state);
	OHCA_COPY(IB_QP_PATH_MTU, OHCA_QP_ATTR_PATH_MTU, path_mtu,
		  attr->path_mtu - IB_MTU_256 + OHCA_MTU_LOG_MIN);
	OHCA_COPY(IB_QP_ACCESS_FLAGS, OHCA_QP_ATTR_ACCESS, access,
		  cpu_to_le32(attr->qp_access_flags & OHCA_QP_ACCESS_ALL));
	OHCA_COPY(IB_QP_MAX_QP_RD_ATOMIC, OHCA_QP_ATTR_MAX_READ_ATOMIC, max_read_atomic,
		  attr->max_rd_atomic);
	OHCA_COPY(IB_QP_MAX_DEST_RD_ATOMIC, OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC,
		  max_dest_read_atomic, attr->max_dest_rd_atomic);
	OHCA_COPY(IB_QP_MIN_RNR_TIMER, OHCA_QP_ATTR_MIN_RNR_TIMER, min_rnr_timer,
		  attr->min_rnr_timer);
	OHCA_COPY(IB_QP_TIMEOUT, OHCA_QP_ATTR_ACK_TIMEOUT, ack_timeout, attr->timeout);
	OHCA_COPY(IB_QP_RETRY_CNT, OHCA_QP_ATTR_RETRY_COUNT, retry_count, attr->retry_cnt);
	OHCA_COPY(IB_QP_RNR_RETRY, OHCA_QP_ATTR_RNR_RETRY, rnr_retry, attr->rnr_retry);
	OHCA_COPY(IB_QP_EN_SQD_ASYNC_NOTIFY, OHCA_QP_ATTR_SQ_DRAINED_EVENT, sq_drained_event,
		  !!attr->en_sqd_async_notify);
	OHCA_COPY(IB_QP_PKEY_INDEX, OHCA_QP_ATTR_PKEY_INDEX, pkey_index,
		  cpu_to_le16(attr->pkey_index));
	OHCA_COPY(IB_QP_QKEY, OHCA_QP_ATTR_QKEY, qkey, cpu_to_le32(attr->qkey));
	OHCA_COPY(IB_QP_DEST_QPN, OHCA_QP_ATTR_DEST_QPN, dest_qpn,
		  cpu_to_le32(attr->dest_qp_num));
	OHCA_COPY(IB_QP_SQ_PSN, OHCA_QP_ATTR_SQ_PSN, sq_psn,
		  cpu_to_le32(attr->sq_psn & OHCA_PSN_MASK));
	OHCA_COPY(IB_QP_RQ_PSN, OHCA_QP_ATTR_RQ_PSN, rq_psn,
		  cpu_to_le32(attr->rq_psn & OHCA_PSN_MASK));
#undef OHCA_COPY
	return given;
}

/* The attributes as the device takes them.  Any context. */
void ohca_fill_modify(struct ohca_qp *qp, const struct ib_qp_attr *attr, int mask,
		      struct ohca_cmd_modify_qp_in *in)
{
	u32 given;

	ohca_check_state_values();
	memset(in, 0, sizeof(*in));
	in->qpn = cpu_to_le32(qp->qpn);
	given = ohca_fill_scalars(attr, mask, &in->attributes);
	if (mask & IB_QP_AV) {
		ohca_fill_path(&attr->ah_attr, &in->attributes);
		given |= OHCA_QP_ATTR_PATH;
	}
	in->mask = cpu_to_le32(given);
	if (mask & IB_QP_CUR_STATE) {
		in->current_state = attr->cur_qp_state;
		in->check_current_state = 1;
	}
}

/* The path's source port follows from both ends' numbers, of which the peer's may be older. */
void ohca_choose_udp_port(const struct ohca_qp *qp, struct ohca_cmd_modify_qp_in *in)
{
	u32 mask = le32_to_cpu(in->mask);
	u32 dest_qpn = qp->dest_qpn;

	if (!(mask & OHCA_QP_ATTR_PATH))
		return;
	if (mask & OHCA_QP_ATTR_DEST_QPN)
		dest_qpn = le32_to_cpu(in->attributes.dest_qpn);
	in->attributes.source_udp_port =
		cpu_to_le16(rdma_get_udp_sport(le32_to_cpu(in->attributes.flow_label), qp->qpn,
					       dest_qpn));
}

static void ohca_clear_ring(struct ohca_cq *cq, struct ohca_ring *ring, __le32 *producer)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	spin_lock(&ring->lock);
	ring->head = 0;
	ring->tail = 0;
	WRITE_ONCE(*producer, 0);
	spin_unlock(&ring->lock);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* A QP that has gone to RESET starts over with empty rings. */
void ohca_restart_rings(struct ohca_qp *qp)
{
	struct ohca_cq *send_cq = to_ohca_cq(qp->ibqp.send_cq);
	/* An XRC initiator receives nothing. */
	struct ohca_cq *recv_cq = qp->ibqp.recv_cq ? to_ohca_cq(qp->ibqp.recv_cq) : send_cq;

	ohca_cq_clean_qp(send_cq, qp);
	if (recv_cq != send_cq)
		ohca_cq_clean_qp(recv_cq, qp);
	ohca_clear_ring(send_cq, &qp->sq, &qp->record->sq_producer);
	ohca_clear_ring(recv_cq, &qp->rq, &qp->record->rq_producer);
}

void ohca_set_qp_state(struct ohca_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	/* The posters look at it under their lock. */
	spin_lock_irqsave(&qp->sq.lock, flags);
	spin_lock(&qp->rq.lock);
	qp->state = state;
	spin_unlock(&qp->rq.lock);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
}

static bool ohca_leaves_service(int mask, const struct ib_qp_attr *attr)
{
	return mask & IB_QP_STATE &&
	       (attr->qp_state == IB_QPS_ERR || attr->qp_state == IB_QPS_RESET);
}

/*
 * A failed device does not tell that it takes no further WQE from an SRQ, which
 * kernel users that drain a QP wait for.
 */
void ohca_qp_tell_last_wqe(struct ohca_qp *qp)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.event = IB_EVENT_QP_LAST_WQE_REACHED,
		.element.qp = &qp->ibqp,
	};

	if (!qp->user && qp->ibqp.srq && READ_ONCE(qp->state) == IB_QPS_ERR &&
	    qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

int ohca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);
	struct ohca_qp *qp = to_ohca_qp(ibqp);
	DECLARE_COMPLETION_ONSTACK(over);
	struct ohca_op op;
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, NULL, 0, 0);
	if (ret)
		return ret;
	ohca_op_init_waited(&op, &dev->async, &over);
	ret = ohca_start_modify_qp(&op, qp, attr, mask);
	if (!ret)
		ret = ohca_op_wait(&op);
	if (ret == -ETIMEDOUT)
		ret = -EIO;
	/* ULPs that drain a QP of a dead device rely on this. */
	if (ret == -EIO && !qp->user && ohca_failed(dev) && ohca_leaves_service(mask, attr)) {
		ohca_wait_quiesced(dev);
		ohca_set_qp_state(qp, attr->qp_state);
		if (attr->qp_state == IB_QPS_RESET)
			ohca_restart_rings(qp);
		ret = 0;
	}
	if (!ret && ohca_failed(dev))
		ohca_qp_tell_last_wqe(qp);
	return ret;
}

static void ohca_query_path(const struct ohca_qp_attributes *in, struct rdma_ah_attr *ah)
{
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(ah, (union ib_gid *)in->dgid, le32_to_cpu(in->flow_label),
			in->sgid_index, in->hop_limit, in->traffic_class);
	rdma_ah_set_port_num(ah, OHCA_PORT);
	rdma_ah_set_sl(ah, in->service_level);
	memcpy(ah->roce.dmac, in->dmac, sizeof(in->dmac));
}

static void ohca_query_attributes(enum ib_qp_type type, const struct ohca_qp_attributes *in,
				  struct ib_qp_attr *attr)
{
	attr->qp_state = in->state;
	attr->cur_qp_state = in->state;
	attr->path_mtu = clamp_t(int, in->path_mtu - OHCA_MTU_LOG_MIN + IB_MTU_256, IB_MTU_256,
				 IB_MTU_4096);
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->qkey = le32_to_cpu(in->qkey);
	attr->rq_psn = le32_to_cpu(in->rq_psn);
	attr->sq_psn = le32_to_cpu(in->sq_psn);
	attr->dest_qp_num = le32_to_cpu(in->dest_qpn);
	attr->qp_access_flags = le32_to_cpu(in->access) & OHCA_QP_ACCESS_ALL;
	attr->pkey_index = le16_to_cpu(in->pkey_index);
	attr->sq_draining = in->state == OHCA_QP_STATE_SQD && in->sq_drained_event;
	attr->max_rd_atomic = in->max_read_atomic;
	attr->max_dest_rd_atomic = in->max_dest_read_atomic;
	attr->min_rnr_timer = in->min_rnr_timer;
	attr->port_num = OHCA_PORT;
	attr->timeout = in->ack_timeout;
	attr->retry_cnt = in->retry_count;
	attr->rnr_retry = in->rnr_retry;
	if (!ohca_is_datagram(type))
		ohca_query_path(in, &attr->ah_attr);
}

/* The device's answer as the verbs have it.  Any context. */
void ohca_parse_query(struct ohca_qp *qp, const struct ohca_cmd_query_qp_out *out,
		      struct ib_qp_attr *attr, struct ib_qp_init_attr *init_attr)
{
	struct ib_qp *ibqp = &qp->ibqp;

	memset(attr, 0, sizeof(*attr));
	ohca_query_attributes(ibqp->qp_type, &out->attributes, attr);
	attr->cap.max_send_wr = qp->sq.depth;
	attr->cap.max_recv_wr = qp->rq.depth;
	attr->cap.max_send_sge = qp->sq.max_sge;
	attr->cap.max_recv_sge = qp->rq.max_sge;
	attr->cap.max_inline_data = qp->max_inline;
	if (!init_attr)
		return;
	memset(init_attr, 0, sizeof(*init_attr));
	init_attr->event_handler = ibqp->event_handler;
	init_attr->qp_context = ibqp->qp_context;
	init_attr->send_cq = ibqp->send_cq;
	init_attr->recv_cq = ibqp->recv_cq;
	init_attr->srq = ibqp->srq;
	init_attr->cap = attr->cap;
	init_attr->sq_sig_type = qp->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init_attr->qp_type = ibqp->qp_type;
	init_attr->create_flags = qp->create_flags;
	init_attr->port_num = OHCA_PORT;
}

int ohca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init_attr)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);
	DECLARE_COMPLETION_ONSTACK(over);
	struct ohca_op op;
	int ret;

	ohca_op_init_waited(&op, &dev->async, &over);
	ret = ohca_async_query_qp(&op, ibqp, attr, init_attr);
	if (!ret)
		ret = ohca_op_wait(&op);
	/* Being destroyed: ib_core leaves it out when it lists queue pairs. */
	if (ret == -ENODEV)
		return -EAGAIN;
	return ret == -ETIMEDOUT ? -EIO : ret;
}
