// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs: creation, destruction, and finding them by number.  qp_deferred.c has more. */

#include <linux/slab.h>

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

#define OHCA_QPN_MIN	2
/* The last is that of multicast. */
#define OHCA_QPN_MAX	(OHCA_QPN_MULTICAST - 1)

/* Hard interrupts look QPs up; destroy waits until the last has let go. */
struct ohca_qp *ohca_get_qp(struct ohca_dev *dev, u32 qpn)
{
	struct ohca_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	/* 0: it is on its way back to its pool. */
	if (qp && !refcount_inc_not_zero(&qp->refs))
		qp = NULL;
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

void ohca_put_qp(struct ohca_qp *qp)
{
	if (!refcount_dec_and_test(&qp->refs))
		return;
	if (qp->pool.returning)
		ohca_qp_settle(qp);
	else
		complete(&qp->unused);
}

/* From here on events find the QP. */
int ohca_qp_publish(struct ohca_dev *dev, struct ohca_qp *qp)
{
	int ret;

	refcount_set(&qp->refs, 1);
	init_completion(&qp->unused);
	ret = xa_insert_irq(&dev->qps, qp->qpn, qp, GFP_KERNEL);
	if (ret != -EBUSY)
		return ret;
	dev_err_ratelimited(ohca_device(dev), "device handed out QP %#x twice\n", qp->qpn);
	return -EIO;
}

void ohca_qp_unpublish(struct ohca_dev *dev, struct ohca_qp *qp)
{
	xa_erase_irq(&dev->qps, qp->qpn);
	ohca_put_qp(qp);
	wait_for_completion(&qp->unused);
}

/* The device's name for a type of queue pair, or 0 if it does not have it. */
static u8 ohca_qp_type(struct ohca_dev *dev, enum ib_qp_type type, bool user)
{
	static const struct {
		u64 feature;
		u8 type;
		bool kernel_only;
	} types[] = {
		[IB_QPT_GSI] = { OHCA_FEATURE_UD, OHCA_QP_TYPE_GSI, true },
		[IB_QPT_RC] = { OHCA_FEATURE_RC, OHCA_QP_TYPE_RC },
		[IB_QPT_UC] = { OHCA_FEATURE_UC, OHCA_QP_TYPE_UC },
		[IB_QPT_UD] = { OHCA_FEATURE_UD, OHCA_QP_TYPE_UD },
		[IB_QPT_XRC_INI] = { OHCA_FEATURE_XRC, OHCA_QP_TYPE_XRC_INI },
		[IB_QPT_XRC_TGT] = { OHCA_FEATURE_XRC, OHCA_QP_TYPE_XRC_TGT },
	};

	if ((u32)type >= ARRAY_SIZE(types) || types[type].feature & ~dev->features ||
	    (user && types[type].kernel_only))
		return 0;
	return types[type].type;
}

static u32 ohca_qp_create_flags(struct ohca_dev *dev, enum ib_qp_type type)
{
	if (type == IB_QPT_UD && dev->features & OHCA_FEATURE_MULTICAST)
		return IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	if ((type == IB_QPT_RC || type == IB_QPT_UC) && dev->features & OHCA_FEATURE_INTEGRITY)
		return IB_QP_CREATE_INTEGRITY_EN;
	return 0;
}

static bool ohca_is_xrc(enum ib_qp_type type)
{
	return type == IB_QPT_XRC_INI || type == IB_QPT_XRC_TGT;
}

/* What a QP of the type must belong to. */
static int ohca_qp_check_objects(struct ohca_dev *dev, const struct ib_qp_init_attr *attr)
{
	bool ok = attr->send_cq && attr->recv_cq;

	if (attr->qp_type == IB_QPT_XRC_INI)
		ok = attr->send_cq;
	else if (attr->qp_type == IB_QPT_XRC_TGT)
		ok = attr->xrcd;
	if (ok)
		return 0;
	ibdev_dbg(&dev->ibdev, "QP of type %d without CQs or XRC domain\n", attr->qp_type);
	return -EINVAL;
}

static int ohca_qp_check_type(struct ohca_dev *dev, const struct ib_qp_init_attr *attr, bool user)
{
	u32 unknown = attr->create_flags & ~ohca_qp_create_flags(dev, attr->qp_type);

	if (!ohca_qp_type(dev, attr->qp_type, user)) {
		ibdev_dbg(&dev->ibdev, "QP type %d not supported\n", attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (unknown || attr->rwq_ind_tbl) {
		ibdev_dbg(&dev->ibdev, "create flags %#x or indirection table not supported\n",
			  unknown);
		return -EOPNOTSUPP;
	}
	/* Of the SRQ of an XRC QP only its peer knows. */
	if (attr->srq && (attr->srq->srq_type != IB_SRQT_BASIC || ohca_is_xrc(attr->qp_type))) {
		ibdev_dbg(&dev->ibdev, "SRQ of type %d cannot belong to a QP of type %d\n",
			  attr->srq->srq_type, attr->qp_type);
		return -EINVAL;
	}
	return ohca_qp_check_objects(dev, attr);
}

/* Who receives elsewhere, or not at all, has no receive queue whatever is asked for. */
static void ohca_qp_adjust_caps(struct ib_qp_init_attr *attr)
{
	struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type == IB_QPT_XRC_TGT)
		memset(cap, 0, sizeof(*cap));
	if (attr->srq || attr->qp_type == IB_QPT_XRC_INI) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
}

/* What a send WQE of these capabilities takes. */
static u32 ohca_send_size(enum ib_qp_type type, const struct ib_qp_cap *cap)
{
	u32 payload = max_t(u32, cap->max_send_sge * sizeof(struct ohca_sge),
			    cap->max_inline_data);

	if (ohca_is_datagram(type))
		return sizeof(struct ohca_sq_wqe) + sizeof(struct ohca_wqe_datagram) + payload;
	return sizeof(struct ohca_sq_wqe) +
	       max_t(u32, payload, sizeof(struct ohca_wqe_atomic) + sizeof(struct ohca_sge));
}

/* The kernel may post any operation, whatever it asked for. */
#define OHCA_KERNEL_WQE_SIZE	(sizeof(struct ohca_sq_wqe) + \
				 max(sizeof(struct ohca_wqe_register_integrity), \
				     sizeof(struct ohca_wqe_masked_atomic) + \
				     sizeof(struct ohca_sge)))

static int ohca_qp_check_caps(struct ohca_dev *dev, enum ib_qp_type type,
			      const struct ib_qp_cap *cap)
{
	const struct ohca_caps *caps = &dev->caps;

	if (cap->max_send_wr > 1U << caps->log_max_sq_depth ||
	    cap->max_recv_wr > 1U << caps->log_max_rq_depth ||
	    cap->max_send_sge > caps->max_send_sge || cap->max_recv_sge > caps->max_recv_sge ||
	    cap->max_inline_data > caps->max_inline ||
	    ohca_send_size(type, cap) > OHCA_SQ_STRIDE_MAX) {
		ibdev_dbg(&dev->ibdev,
			  "QP too large: %u+%u WRs, %u+%u SGEs, %u bytes inline\n",
			  cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
			  cap->max_recv_sge, cap->max_inline_data);
		return -EINVAL;
	}
	return 0;
}

static void ohca_ring_init(struct ohca_ring *ring, u32 wrs, u8 max_sge, u8 log_stride)
{
	ring->max_sge = max_sge;
	if (!wrs)
		return;
	ring->log_depth = order_base_2(wrs);
	ring->depth = 1U << ring->log_depth;
	ring->log_stride = log_stride;
}

/* Geometry of a kernel QP: record, send ring, receive ring. Returns its size. */
static size_t ohca_qp_lay_out(struct ohca_qp *qp, struct ib_qp_cap *cap)
{
	u32 send = max_t(u32, ohca_send_size(qp->ibqp.qp_type, cap), OHCA_KERNEL_WQE_SIZE);
	u32 recv = sizeof(struct ohca_rq_wqe) + cap->max_recv_sge * sizeof(struct ohca_sge);
	struct ohca_ring *sq = &qp->sq;
	struct ohca_ring *rq = &qp->rq;
	size_t size = OHCA_RECORD_SIZE;

	ohca_ring_init(sq, cap->max_send_wr, cap->max_send_sge,
		       order_base_2(max_t(u32, send, OHCA_SQ_STRIDE_MIN)));
	ohca_ring_init(rq, cap->max_recv_wr, cap->max_recv_sge,
		       order_base_2(max_t(u32, recv, OHCA_RQ_STRIDE_MIN)));
	if (sq->depth) {
		sq->offset = ALIGN(size, 1U << sq->log_stride);
		size = sq->offset + ((size_t)sq->depth << sq->log_stride);
	}
	if (rq->depth) {
		rq->offset = ALIGN(size, 1U << rq->log_stride);
		size = rq->offset + ((size_t)rq->depth << rq->log_stride);
	}
	cap->max_send_wr = sq->depth;
	cap->max_recv_wr = rq->depth;
	return size;
}

/* Applications and peers know these numbers. */
static bool ohca_qpn_ok(enum ib_qp_type type, u32 qpn)
{
	if (type == IB_QPT_GSI)
		return qpn == OHCA_QPN_GSI;
	return qpn >= OHCA_QPN_MIN && qpn <= OHCA_QPN_MAX;
}

static void ohca_qp_name_objects(const struct ohca_qp *qp, const struct ib_qp_init_attr *attr,
				 struct ohca_create_qp_params *params)
{
	if (attr->qp_type == IB_QPT_XRC_TGT) {
		params->xrcdn = to_ohca_xrcd(attr->xrcd)->xrcdn;
		return;
	}
	params->pdn = to_ohca_pd(qp->ibqp.pd)->pdn;
	params->send_cqn = to_ohca_cq(attr->send_cq)->cqn;
	if (attr->qp_type != IB_QPT_XRC_INI)
		params->recv_cqn = to_ohca_cq(attr->recv_cq)->cqn;
	if (attr->srq)
		params->srqn = to_ohca_srq(attr->srq)->srqn;
}

/* For the device, save the pages. */
static void ohca_qp_describe(struct ohca_dev *dev, struct ohca_qp *qp,
			     const struct ib_qp_init_attr *attr,
			     struct ohca_create_qp_params *params)
{
	*params = (struct ohca_create_qp_params) {
		.uar = qp->uar_index,
		.sq_offset = qp->sq.offset,
		.rq_offset = qp->rq.offset,
		.type = ohca_qp_type(dev, attr->qp_type, qp->user),
		.log_sq_depth = qp->sq.log_depth,
		.log_rq_depth = qp->rq.log_depth,
		.log_sq_stride = qp->sq.log_stride,
		.log_rq_stride = qp->rq.log_stride,
	};

	ohca_qp_name_objects(qp, attr, params);
	if (attr->sq_sig_type == IB_SIGNAL_ALL_WR && attr->qp_type != IB_QPT_XRC_TGT)
		params->flags |= OHCA_QP_SIGNAL_ALL;
	if (!qp->sq.depth)
		params->flags |= OHCA_QP_NO_SQ;
	if (!qp->rq.depth)
		params->flags |= OHCA_QP_NO_RQ;
	if (attr->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
		params->flags |= OHCA_QP_BLOCK_MULTICAST_LOOPBACK;
}

/* The device has created it.  On failure it does not exist there any more.  Sleeps. */
int ohca_qp_accept(struct ohca_dev *dev, struct ohca_qp *qp,
		   const struct ohca_cmd_create_qp_out *out)
{
	qp->qpn = le32_to_cpu(out->qpn);
	qp->uar_slot = le32_to_cpu(out->uar_slot);
	qp->ibqp.qp_num = qp->qpn;
	if (!ohca_qpn_ok(qp->ibqp.qp_type, qp->qpn) || qp->uar_slot >= OHCA_UAR_SLOT_COUNT) {
		dev_err_ratelimited(ohca_device(dev), "device created QP %#x in UAR slot %u\n",
				    qp->qpn, qp->uar_slot);
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_QP, qp->qpn);
		return -EIO;
	}
	return 0;
}

static int ohca_qp_issue_create(struct ohca_dev *dev, struct ohca_qp *qp,
				const struct ohca_create_qp_params *params)
{
	struct ohca_cmd_create_qp_out out;
	struct ohca_cmd_create_qp_in in;
	int ret;

	ohca_fill_create_qp(params, &in);
	ret = ohca_cmd_create_qp(dev, &in, &out);
	return ret ?: ohca_qp_accept(dev, qp, &out);
}

static int ohca_qp_alloc_rings(struct ohca_dev *dev, struct ohca_qp *qp, struct ib_qp_cap *cap)
{
	int ret;

	ret = ohca_buffer_alloc(dev, &qp->buffer, ohca_qp_lay_out(qp, cap));
	if (ret)
		return ret;
	qp->record = qp->buffer.cpu;
	qp->sq.wrs = kvcalloc(qp->sq.depth, sizeof(*qp->sq.wrs), GFP_KERNEL);
	qp->rq.wrs = kvcalloc(qp->rq.depth, sizeof(*qp->rq.wrs), GFP_KERNEL);
	if ((qp->sq.depth && !qp->sq.wrs) || (qp->rq.depth && !qp->rq.wrs))
		return -ENOMEM;
	return 0;
}

static void ohca_qp_free_rings(struct ohca_dev *dev, struct ohca_qp *qp)
{
	kvfree(qp->rq.wrs);
	kvfree(qp->sq.wrs);
	ohca_buffer_free(dev, &qp->buffer);
}

/* XRC initiators have no CQ for receives. */
static bool ohca_has_recv_cq(const struct ohca_qp *qp)
{
	return qp->ibqp.recv_cq && qp->ibqp.recv_cq != qp->ibqp.send_cq;
}

static int ohca_qp_attach(struct ohca_qp *qp)
{
	int ret;

	ret = ohca_cq_attach_qp(to_ohca_cq(qp->ibqp.send_cq), qp);
	if (ret || !ohca_has_recv_cq(qp))
		return ret;
	ret = ohca_cq_attach_qp(to_ohca_cq(qp->ibqp.recv_cq), qp);
	if (ret)
		ohca_cq_detach_qp(to_ohca_cq(qp->ibqp.send_cq), qp);
	return ret;
}

static void ohca_qp_detach(struct ohca_qp *qp)
{
	ohca_cq_detach_qp(to_ohca_cq(qp->ibqp.send_cq), qp);
	if (ohca_has_recv_cq(qp))
		ohca_cq_detach_qp(to_ohca_cq(qp->ibqp.recv_cq), qp);
}

static int ohca_create_kernel_qp(struct ohca_dev *dev, struct ohca_qp *qp,
				 struct ib_qp_init_attr *attr)
{
	struct ohca_create_qp_params params;
	struct ohca_page_list pages;
	int ret;

	/* As ib_create_qp() will do on success; polling may start before. */
	qp->ibqp.send_cq = attr->send_cq;
	qp->ibqp.recv_cq = attr->recv_cq;
	ret = ohca_qp_alloc_rings(dev, qp, &attr->cap);
	if (ret)
		goto err_rings;
	ohca_buffer_describe(&qp->buffer, &pages);
	ohca_qp_describe(dev, qp, attr, &params);
	params.pages = &pages;
	ret = ohca_qp_issue_create(dev, qp, &params);
	if (ret)
		goto err_rings;
	ret = ohca_qp_publish(dev, qp);
	if (ret)
		goto err_destroy;
	ret = ohca_qp_attach(qp);
	if (ret)
		goto err_unpublish;
	return 0;

err_unpublish:
	ohca_qp_unpublish(dev, qp);
err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_QP, qp->qpn);
err_rings:
	ohca_qp_free_rings(dev, qp);
	return ret;
}

/* A ring as the application describes it; the device checks it once more. */
static bool ohca_user_ring_ok(const struct ohca_ring *ring, u32 wrs, u64 buffer_length,
			      u32 entry_size, u32 stride_max)
{
	if (!wrs)
		return !ring->offset && !ring->log_depth && !ring->log_stride;
	return ring->log_depth < 31 && wrs <= 1U << ring->log_depth &&
	       ring->log_stride < 31 && entry_size <= 1U << ring->log_stride &&
	       1U << ring->log_stride <= stride_max &&
	       ring->offset >= OHCA_RECORD_SIZE &&
	       IS_ALIGNED(ring->offset, 1U << ring->log_stride) &&
	       ring->offset + (1ULL << (ring->log_depth + ring->log_stride)) <= buffer_length;
}

static int ohca_qp_check_request(struct ohca_dev *dev, struct ohca_qp *qp,
				 const struct ib_qp_cap *cap,
				 const struct ohca_create_qp_req *req)
{
	u32 send = ohca_send_size(qp->ibqp.qp_type, cap);
	u32 recv = sizeof(struct ohca_rq_wqe) + cap->max_recv_sge * sizeof(struct ohca_sge);

	if (req->comp_mask & ~(OHCA_CREATE_QP_UAR | OHCA_CREATE_QP_CLAIM) ||
	    (!(req->comp_mask & OHCA_CREATE_QP_CLAIM) && req->qpn)) {
		ibdev_dbg(&dev->ibdev, "comp_mask %#x, or number set\n", req->comp_mask);
		return -EINVAL;
	}
	if (!PAGE_ALIGNED(req->buffer_address) || req->buffer_length < OHCA_RECORD_SIZE) {
		ibdev_dbg(&dev->ibdev, "buffer not page aligned or too short\n");
		return -EINVAL;
	}
	qp->sq.offset = req->sq_offset;
	qp->sq.log_depth = req->log_sq_depth;
	qp->sq.log_stride = req->log_sq_stride;
	qp->sq.max_sge = cap->max_send_sge;
	qp->rq.offset = req->rq_offset;
	qp->rq.log_depth = req->log_rq_depth;
	qp->rq.log_stride = req->log_rq_stride;
	qp->rq.max_sge = cap->max_recv_sge;
	if (!ohca_user_ring_ok(&qp->sq, cap->max_send_wr, req->buffer_length,
			       max_t(u32, send, OHCA_SQ_STRIDE_MIN), OHCA_SQ_STRIDE_MAX) ||
	    qp->sq.log_depth > dev->caps.log_max_sq_depth) {
		ibdev_dbg(&dev->ibdev, "send ring does not fit its work requests or the buffer\n");
		return -EINVAL;
	}
	if (!ohca_user_ring_ok(&qp->rq, cap->max_recv_wr, req->buffer_length,
			       max_t(u32, recv, OHCA_RQ_STRIDE_MIN), OHCA_RQ_STRIDE_MAX) ||
	    qp->rq.log_depth > dev->caps.log_max_rq_depth) {
		ibdev_dbg(&dev->ibdev,
			  "receive ring does not fit its work requests or the buffer\n");
		return -EINVAL;
	}
	qp->sq.depth = cap->max_send_wr ? 1U << qp->sq.log_depth : 0;
	qp->rq.depth = cap->max_recv_wr ? 1U << qp->rq.log_depth : 0;
	return 0;
}

/*
 * Also on failure @memory is to be freed, and ohca_qp_free_user() to follow.
 */
int ohca_qp_pin(struct ohca_dev *dev, struct ohca_qp *qp, const struct ohca_create_qp_req *req,
		struct ohca_page_memory *memory, struct ohca_page_list *pages)
{
	int ret;

	memset(memory, 0, sizeof(*memory));
	qp->umem = ib_umem_get(&dev->ibdev, req->buffer_address, req->buffer_length,
			       IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(qp->umem)) {
		ret = PTR_ERR(qp->umem);
		qp->umem = NULL;
		ibdev_dbg(&dev->ibdev, "QP buffer not pinned: %d\n", ret);
		return ret;
	}
	return ohca_page_list_from_umem(dev, qp->umem, memory, pages);
}

static int ohca_qp_create_pinned(struct ohca_dev *dev, struct ohca_qp *qp,
				 struct ohca_create_qp_params *params,
				 const struct ohca_create_qp_req *req)
{
	struct ohca_page_memory memory;
	struct ohca_page_list pages;
	int ret;

	ret = ohca_qp_pin(dev, qp, req, &memory, &pages);
	params->pages = &pages;
	if (!ret)
		ret = ohca_qp_issue_create(dev, qp, params);
	ohca_page_memory_free(dev, &memory);
	return ret;
}

/* The context's own page, or the one of the request. */
static int ohca_qp_choose_uar(struct ohca_dev *dev, struct ohca_ucontext *ucontext,
			      struct ohca_qp *qp, const struct ohca_create_qp_req *req)
{
	int ret;

	qp->uar_index = ucontext->uar_index;
	if (!(req->comp_mask & OHCA_CREATE_QP_UAR))
		return 0;
	ret = ohca_use_uar(ucontext, req->uar_index, &qp->uar);
	if (ret)
		ibdev_dbg(&dev->ibdev, "UAR %u is not one of this context\n", req->uar_index);
	else
		qp->uar_index = req->uar_index;
	return ret;
}

/*
 * Check what an application asks for, and describe it.  Whatever is returned,
 * ohca_qp_free_user() is to follow.
 */
int ohca_qp_plan(struct ohca_dev *dev, struct ohca_ucontext *ucontext, struct ohca_qp *qp,
		 const struct ib_qp_init_attr *attr, const struct ohca_create_qp_req *req,
		 struct ohca_create_qp_params *params)
{
	int ret;

	ret = ohca_qp_check_request(dev, qp, &attr->cap, req);
	if (ret)
		return ret;
	qp->user = true;
	ret = ohca_qp_choose_uar(dev, ucontext, qp, req);
	if (ret)
		return ret;
	ohca_qp_describe(dev, qp, attr, params);
	return 0;
}

/* The device does not know it, or not any more. */
void ohca_qp_free_user(struct ohca_qp *qp)
{
	ib_umem_release(qp->umem);
	qp->umem = NULL;
	ohca_unuse_uar(qp->uar);
	qp->uar = NULL;
}

static int ohca_create_user_qp(struct ohca_dev *dev, struct ohca_qp *qp,
			       struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct ohca_ucontext *ucontext =
		rdma_udata_to_drv_context(udata, struct ohca_ucontext, ibucontext);
	struct ohca_create_qp_resp resp = {};
	struct ohca_create_qp_params params;
	struct ohca_create_qp_req req;
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, &req,
				 offsetof(struct ohca_create_qp_req, comp_mask), sizeof(req));
	if (ret)
		return ret;
	ret = ohca_qp_plan(dev, ucontext, qp, attr, &req, &params);
	if (ret)
		goto err_free;
	if (req.comp_mask & OHCA_CREATE_QP_CLAIM)
		ret = ohca_qp_claim(dev, ucontext, qp, &params, &req);
	else
		ret = ohca_qp_create_pinned(dev, qp, &params, &req);
	if (ret)
		goto err_free;
	ret = ohca_qp_publish(dev, qp);
	if (ret)
		goto err_destroy;

	resp.qpn = qp->qpn;
	resp.uar_slot = qp->uar_slot;
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		goto err_unpublish;
	return 0;

err_unpublish:
	ohca_qp_unpublish(dev, qp);
err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_QP, qp->qpn);
err_free:
	ohca_qp_free_user(qp);
	return ret;
}

/* XRC targets have no queues: work is posted to SRQs, and completes where these say. */
static int ohca_create_target_qp(struct ohca_dev *dev, struct ohca_qp *qp,
				 struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct ohca_create_qp_resp resp = {};
	struct ohca_create_qp_req req = {};
	struct ohca_create_qp_params params;
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, &req, 0, sizeof(req));
	if (ret)
		return ret;
	if (memchr_inv(&req, 0, sizeof(req))) {
		ibdev_dbg(&dev->ibdev, "XRC target with queues\n");
		return -EINVAL;
	}
	/* There are no rings that the kernel would have to look after. */
	qp->user = true;
	ohca_qp_describe(dev, qp, attr, &params);
	ret = ohca_qp_issue_create(dev, qp, &params);
	if (ret)
		return ret;
	ret = ohca_qp_publish(dev, qp);
	if (ret)
		goto err_destroy;
	resp.qpn = qp->qpn;
	if (udata)
		ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		goto err_unpublish;
	return 0;

err_unpublish:
	ohca_qp_unpublish(dev, qp);
err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_QP, qp->qpn);
	return ret;
}

/* Check what all have; @attr becomes what will be there. */
int ohca_qp_init(struct ohca_dev *dev, struct ohca_qp *qp, struct ib_qp_init_attr *attr,
		 bool user)
{
	int ret;

	ret = ohca_qp_check_type(dev, attr, user);
	if (ret)
		return ret;
	ohca_qp_adjust_caps(attr);
	ret = ohca_qp_check_caps(dev, attr->qp_type, &attr->cap);
	if (ret)
		return ret;
	qp->state = IB_QPS_RESET;
	qp->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->max_inline = attr->cap.max_inline_data;
	qp->create_flags = attr->create_flags;
	ohca_op_queue_init(&qp->ops);
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	return 0;
}

int ohca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);
	struct ohca_qp *qp = to_ohca_qp(ibqp);
	int ret;

	ret = ohca_qp_init(dev, qp, attr, udata);
	if (ret)
		return ret;
	if (attr->qp_type == IB_QPT_XRC_TGT)
		return ohca_create_target_qp(dev, qp, attr, udata);
	return udata ? ohca_create_user_qp(dev, qp, attr, udata) :
		       ohca_create_kernel_qp(dev, qp, attr);
}

int ohca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);
	struct ohca_qp *qp = to_ohca_qp(ibqp);
	int ret = 0;

	if (ohca_in_pool(&qp->pool))
		return -EBUSY;
	/* An application's objects go with it, whatever it has started. */
	if (qp->user) {
		ohca_qp_wait_settled(qp);
		if (qp->life == OHCA_QP_GONE)
			return 0;
		ohca_op_queue_wait_idle(dev, &qp->ops);
	} else {
		ret = ohca_op_queue_close(&qp->ops);
	}
	if (ret)
		return ret;
	ret = ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_QP, qp->qpn);
	if (ret) {
		ohca_op_queue_reopen(&qp->ops);
		return ret;
	}
	ohca_qp_unpublish(dev, qp);
	if (qp->user) {
		ohca_qp_free_user(qp);
	} else {
		ohca_qp_detach(qp);
		ohca_qp_free_rings(dev, qp);
	}
	return 0;
}
