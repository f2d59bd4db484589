// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: operations that change and query them.
 *
 * What is given is checked and translated when an operation is started, so the
 * caller's attributes may go.  What depends on the state waits for the
 * operation's turn.  qp->state and what belongs to it is written by the
 * operation that is in progress, of which there is one for each queue pair.
 */

#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "ohca.h"

static struct ohca_qp *ohca_op_qp(const struct ohca_op *op)
{
	return to_ohca_qp(op->qp);
}

static void ohca_op_command(struct ohca_op *op, u16 opcode, const void *in, u32 in_length)
{
	op->cmd.opcode = opcode;
	op->cmd.in = in;
	op->cmd.in_length = in_length;
}

/* The reference that ib_core's modify_qp would keep; it goes by a workqueue. */
static void ohca_replace_sgid(struct ib_qp *ibqp, const struct ib_gid_attr *sgid_attr)
{
	const struct ib_gid_attr *old = xchg(&ibqp->av_sgid_attr, sgid_attr);

	if (old)
		rdma_put_gid_attr(old);
}

static bool ohca_takes_sgid(const struct ohca_op *op)
{
	return op->ending != OHCA_OP_WAITED && op->qp_change.mask & IB_QP_AV;
}

/* Attributes of a transition, or of several; ib_core keeps its own references. */
static int ohca_op_take_attr(struct ohca_op *op, struct ohca_qp *qp,
			     const struct ib_qp_attr *attr, int mask)
{
	struct ohca_dev *dev = op->async->dev;
	int ret = ohca_check_qp_attr(dev, qp, attr, mask);

	if (ret)
		return ret;
	op->qp = &qp->ibqp;
	op->qp_change.mask = mask;
	op->qp_change.next = attr->qp_state;
	op->qp_change.current_state = attr->cur_qp_state;
	op->qp_change.sgid_attr = NULL;
	ohca_fill_modify(qp, attr, mask, &op->in.modify);
	if (ohca_takes_sgid(op) && attr->ah_attr.grh.sgid_attr) {
		op->qp_change.sgid_attr = attr->ah_attr.grh.sgid_attr;
		rdma_hold_gid_attr(op->qp_change.sgid_attr);
	}
	return 0;
}

static void ohca_op_drop_attr(struct ohca_op *op)
{
	if (op->qp_change.sgid_attr)
		rdma_put_gid_attr(op->qp_change.sgid_attr);
	op->qp_change.sgid_attr = NULL;
}

/* The attributes are the queue pair's from now on. */
static void ohca_op_apply_attr(struct ohca_op *op, struct ohca_qp *qp)
{
	if (op->qp_change.mask & IB_QP_DEST_QPN)
		qp->dest_qpn = le32_to_cpu(op->in.modify.attributes.dest_qpn);
	if (op->qp_change.mask & IB_QP_PORT)
		qp->ibqp.port = OHCA_PORT;
	if (ohca_takes_sgid(op))
		ohca_replace_sgid(&qp->ibqp, op->qp_change.sgid_attr);
	op->qp_change.sgid_attr = NULL;
}

/* --- modify_qp ------------------------------------------------------------ */

static int ohca_begin_modify(struct ohca_op *op)
{
	struct ohca_qp *qp = ohca_op_qp(op);
	int mask = op->qp_change.mask;
	enum ib_qp_state cur = mask & IB_QP_CUR_STATE ? op->qp_change.current_state : qp->state;
	enum ib_qp_state next = mask & IB_QP_STATE ? op->qp_change.next : cur;

	if (!ib_modify_qp_is_ok(cur, next, qp->ibqp.qp_type, mask)) {
		ibdev_dbg(qp->ibqp.device,
			  "QP %#x of type %d: state %d to %d with attributes %#x not legal\n",
			  qp->qpn, qp->ibqp.qp_type, cur, next, mask);
		return -EINVAL;
	}
	ohca_choose_udp_port(qp, &op->in.modify);
	ohca_op_command(op, OHCA_CMD_MODIFY_QP, &op->in.modify, sizeof(op->in.modify));
	return 0;
}

static int ohca_end_modify(struct ohca_op *op, int result)
{
	struct ohca_qp *qp = ohca_op_qp(op);

	if (result) {
		ohca_op_drop_attr(op);
		return result;
	}
	ohca_op_apply_attr(op, qp);
	if (!(op->qp_change.mask & IB_QP_STATE))
		return 0;
	ohca_set_qp_state(qp, op->qp_change.next);
	if (op->qp_change.next == IB_QPS_RESET && !qp->user)
		ohca_restart_rings(qp);
	return 0;
}

static const struct ohca_op_type ohca_modify_op = {
	.begin = ohca_begin_modify,
	.end = ohca_end_modify,
};

int ohca_start_modify_qp(struct ohca_op *op, struct ohca_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	int ret = ohca_op_take_attr(op, qp, attr, mask);

	if (ret)
		return ret;
	ret = ohca_op_start(op, &ohca_modify_op, &qp->ops);
	if (ret)
		ohca_op_drop_attr(op);
	return ret;
}

int ohca_async_modify_qp(struct ohca_op *op, struct ib_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	return ohca_start_modify_qp(op, to_ohca_qp(qp->real_qp), attr, mask);
}
EXPORT_SYMBOL_GPL(ohca_async_modify_qp);

/* --- RESET, for pools ------------------------------------------------------ */

/* @type: begins like modify_qp, and calls ohca_end_reset_qp() in the end. */
int ohca_start_reset_qp(struct ohca_op *op, struct ohca_qp *qp,
			const struct ohca_op_type *type)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	op->qp = &qp->ibqp;
	op->qp_change.mask = IB_QP_STATE;
	op->qp_change.next = IB_QPS_RESET;
	ohca_fill_modify(qp, &attr, IB_QP_STATE, &op->in.modify);
	ohca_op_command(op, OHCA_CMD_MODIFY_QP, &op->in.modify, sizeof(op->in.modify));
	return ohca_op_start_last(op, type, &qp->ops);
}

int ohca_end_reset_qp(struct ohca_op *op, int result)
{
	struct ohca_qp *qp = ohca_op_qp(op);

	if (result)
		return result;
	qp->dest_qpn = 0;
	ohca_replace_sgid(&qp->ibqp, NULL);
	ohca_set_qp_state(qp, IB_QPS_RESET);
	ohca_restart_rings(qp);
	return 0;
}

/* --- query_qp -------------------------------------------------------------- */

static int ohca_begin_query(struct ohca_op *op)
{
	op->in.handle = (struct ohca_cmd_handle) {
		.handle = cpu_to_le32(ohca_op_qp(op)->qpn),
	};
	ohca_op_command(op, OHCA_CMD_QUERY_QP, &op->in.handle, sizeof(op->in.handle));
	op->cmd.out = &op->out.query_qp;
	op->cmd.out_length = sizeof(op->out.query_qp);
	return 0;
}

static int ohca_end_query(struct ohca_op *op, int result)
{
	struct ohca_qp *qp = ohca_op_qp(op);
	u8 state = op->out.query_qp.attributes.state;

	if (result)
		return result;
	if (state > OHCA_QP_STATE_ERR) {
		dev_warn_ratelimited(ohca_device(op->async->dev), "QP %#x in unknown state %u\n",
				     qp->qpn, state);
		return -EIO;
	}
	/* The device takes a QP to ERR by itself. */
	ohca_set_qp_state(qp, state);
	ohca_parse_query(qp, &op->out.query_qp, op->qp_change.attr, op->qp_change.init_attr);
	return 0;
}

static const struct ohca_op_type ohca_query_op = {
	.begin = ohca_begin_query,
	.end = ohca_end_query,
};

int ohca_async_query_qp(struct ohca_op *op, struct ib_qp *qp, struct ib_qp_attr *attr,
			struct ib_qp_init_attr *init_attr)
{
	op->qp = qp->real_qp;
	op->qp_change.attr = attr;
	op->qp_change.init_attr = init_attr;
	return ohca_op_start(op, &ohca_query_op, &ohca_op_qp(op)->ops);
}
EXPORT_SYMBOL_GPL(ohca_async_query_qp);

/* --- connect --------------------------------------------------------------- */

/* Which attribute belongs to which transition is the device's to say: it names the refused one. */
static int ohca_begin_connect(struct ohca_op *op)
{
	struct ohca_qp *qp = ohca_op_qp(op);

	if (qp->state >= op->qp_change.next) {
		ibdev_dbg(qp->ibqp.device, "QP %#x: not connected from state %d\n", qp->qpn,
			  qp->state);
		return -EINVAL;
	}
	ohca_choose_udp_port(qp, &op->in.modify);
	ohca_op_command(op, OHCA_CMD_CONNECT_QP, &op->in.modify, sizeof(op->in.modify));
	return 0;
}

static int ohca_end_connect(struct ohca_op *op, int result)
{
	struct ohca_qp *qp = ohca_op_qp(op);

	if (result) {
		ohca_op_drop_attr(op);
		return result;
	}
	ohca_op_apply_attr(op, qp);
	ohca_set_qp_state(qp, op->qp_change.next);
	return 0;
}

static const struct ohca_op_type ohca_connect_op = {
	.begin = ohca_begin_connect,
	.end = ohca_end_connect,
};

static int ohca_check_compound(struct ohca_dev *dev)
{
	if (dev->features & OHCA_FEATURE_COMPOUND)
		return 0;
	ibdev_dbg(&dev->ibdev, "compound commands not supported\n");
	return -EOPNOTSUPP;
}

int ohca_async_connect_qp(struct ohca_op *op, struct ib_qp *ibqp, const struct ib_qp_attr *attr,
			  int mask)
{
	struct ohca_qp *qp = to_ohca_qp(ibqp->real_qp);
	int ret = ohca_check_compound(op->async->dev);

	if (ret)
		return ret;
	if (!(mask & IB_QP_STATE) ||
	    (attr->qp_state != IB_QPS_RTR && attr->qp_state != IB_QPS_RTS)) {
		ibdev_dbg(ibqp->device, "QP %#x: connected to neither RTR nor RTS\n", qp->qpn);
		return -EINVAL;
	}
	ret = ohca_op_take_attr(op, qp, attr, mask);
	if (ret)
		return ret;
	ret = ohca_op_start(op, &ohca_connect_op, &qp->ops);
	if (ret)
		ohca_op_drop_attr(op);
	return ret;
}
EXPORT_SYMBOL_GPL(ohca_async_connect_qp);

/* --- disconnect ------------------------------------------------------------ */

static int ohca_begin_disconnect(struct ohca_op *op)
{
	op->in.handle = (struct ohca_cmd_handle) {
		.handle = cpu_to_le32(ohca_op_qp(op)->qpn),
	};
	ohca_op_command(op, OHCA_CMD_DISCONNECT_QP, &op->in.handle, sizeof(op->in.handle));
	return 0;
}

static int ohca_end_disconnect(struct ohca_op *op, int result)
{
	if (!result)
		ohca_set_qp_state(ohca_op_qp(op), IB_QPS_ERR);
	return result;
}

static const struct ohca_op_type ohca_disconnect_op = {
	.begin = ohca_begin_disconnect,
	.end = ohca_end_disconnect,
};

int ohca_async_disconnect_qp(struct ohca_op *op, struct ib_qp *qp)
{
	int ret = ohca_check_compound(op->async->dev);

	if (ret)
		return ret;
	op->qp = qp->real_qp;
	return ohca_op_start(op, &ohca_disconnect_op, &ohca_op_qp(op)->ops);
}
EXPORT_SYMBOL_GPL(ohca_async_disconnect_qp);

/* --- multicast ------------------------------------------------------------- */

static int ohca_begin_attach(struct ohca_op *op)
{
	ohca_op_command(op, OHCA_CMD_ATTACH_MULTICAST, &op->in.multicast,
			sizeof(op->in.multicast));
	return 0;
}

static int ohca_begin_detach(struct ohca_op *op)
{
	ohca_op_command(op, OHCA_CMD_DETACH_MULTICAST, &op->in.multicast,
			sizeof(op->in.multicast));
	return 0;
}

/* As ib_core counts: a member of a group is not destroyed. */
static int ohca_end_attach(struct ohca_op *op, int result)
{
	if (!result)
		atomic_inc(&op->qp->usecnt);
	return result;
}

static int ohca_end_detach(struct ohca_op *op, int result)
{
	if (!result)
		atomic_dec(&op->qp->usecnt);
	return result;
}

static const struct ohca_op_type ohca_attach_op = {
	.begin = ohca_begin_attach,
	.end = ohca_end_attach,
};

static const struct ohca_op_type ohca_detach_op = {
	.begin = ohca_begin_detach,
	.end = ohca_end_detach,
};

static int ohca_start_mcast(struct ohca_op *op, struct ib_qp *qp, const union ib_gid *gid,
			    const struct ohca_op_type *type)
{
	int ret = ohca_check_mcast(qp, gid);

	if (ret)
		return ret;
	op->qp = qp;
	op->in.multicast = (struct ohca_cmd_multicast_in) {
		.qpn = cpu_to_le32(qp->qp_num),
	};
	memcpy(op->in.multicast.gid, gid->raw, sizeof(op->in.multicast.gid));
	return ohca_op_start(op, type, &ohca_op_qp(op)->ops);
}

int ohca_async_attach_mcast(struct ohca_op *op, struct ib_qp *qp, const union ib_gid *gid)
{
	return ohca_start_mcast(op, qp, gid, &ohca_attach_op);
}
EXPORT_SYMBOL_GPL(ohca_async_attach_mcast);

int ohca_async_detach_mcast(struct ohca_op *op, struct ib_qp *qp, const union ib_gid *gid)
{
	return ohca_start_mcast(op, qp, gid, &ohca_detach_op);
}
EXPORT_SYMBOL_GPL(ohca_async_detach_mcast);
