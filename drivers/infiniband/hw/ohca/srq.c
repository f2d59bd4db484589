// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared receive queues: creation, destruction, and finding them by number. */

#include <linux/slab.h>

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

/* Hard interrupts look SRQs up; destroy waits until the last has let go. */
struct ohca_srq *ohca_get_srq(struct ohca_dev *dev, u32 srqn)
{
	struct ohca_srq *srq;
	unsigned long flags;

	xa_lock_irqsave(&dev->srqs, flags);
	srq = xa_load(&dev->srqs, srqn);
	/* 0: it is on its way back to its pool. */
	if (srq && !refcount_inc_not_zero(&srq->refs))
		srq = NULL;
	xa_unlock_irqrestore(&dev->srqs, flags);
	return srq;
}

void ohca_put_srq(struct ohca_srq *srq)
{
	if (!refcount_dec_and_test(&srq->refs))
		return;
	if (srq->pool.returning)
		ohca_srq_settle(srq);
	else
		complete(&srq->unused);
}

/* From here on events find the SRQ. */
static int ohca_srq_publish(struct ohca_dev *dev, struct ohca_srq *srq)
{
	int ret;

	refcount_set(&srq->refs, 1);
	init_completion(&srq->unused);
	ret = xa_insert_irq(&dev->srqs, srq->srqn, srq, GFP_KERNEL);
	if (ret != -EBUSY)
		return ret;
	dev_err_ratelimited(ohca_device(dev), "device handed out SRQ %#x twice\n", srq->srqn);
	return -EIO;
}

static void ohca_srq_unpublish(struct ohca_dev *dev, struct ohca_srq *srq)
{
	xa_erase_irq(&dev->srqs, srq->srqn);
	ohca_put_srq(srq);
	wait_for_completion(&srq->unused);
}

static int ohca_srq_check_attr(struct ohca_dev *dev, const struct ib_srq_init_attr *init)
{
	const struct ib_srq_attr *attr = &init->attr;
	u64 feature = init->srq_type == IB_SRQT_XRC ? OHCA_FEATURE_SRQ | OHCA_FEATURE_XRC :
						      OHCA_FEATURE_SRQ;

	if ((init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC) ||
	    feature & ~dev->features) {
		ibdev_dbg(&dev->ibdev, "SRQ type %d not supported\n", init->srq_type);
		return -EOPNOTSUPP;
	}
	if (!attr->max_wr || attr->max_wr > 1U << dev->caps.log_max_srq_depth ||
	    attr->max_sge > dev->caps.max_srq_sge || attr->srq_limit > attr->max_wr) {
		ibdev_dbg(&dev->ibdev, "SRQ of %u WRs, %u SGEs, limit %u; at most %u, %u\n",
			  attr->max_wr, attr->max_sge, attr->srq_limit,
			  1U << dev->caps.log_max_srq_depth, dev->caps.max_srq_sge);
		return -EINVAL;
	}
	return 0;
}

static u8 ohca_srq_log_stride(u32 max_sge)
{
	u32 size = sizeof(struct ohca_rq_wqe) + max_sge * sizeof(struct ohca_sge);

	return order_base_2(max_t(u32, size, OHCA_RQ_STRIDE_MIN));
}

/* Geometry of a kernel SRQ: record, ring. */
u32 ohca_srq_ring_offset(const struct ohca_srq *srq)
{
	return ALIGN(OHCA_RECORD_SIZE, 1U << srq->log_stride);
}

size_t ohca_srq_size(const struct ohca_srq *srq, u8 log_depth)
{
	return ohca_srq_ring_offset(srq) + ((size_t)1 << (log_depth + srq->log_stride));
}

static int ohca_srq_issue_create(struct ohca_dev *dev, struct ohca_srq *srq,
				 const struct ib_srq_init_attr *attr, u32 ring_offset,
				 const struct ohca_page_list *pages)
{
	struct ohca_create_srq_params params = {
		.pages = pages,
		.pdn = to_ohca_pd(srq->ibsrq.pd)->pdn,
		.ring_offset = ring_offset,
		.limit = attr->attr.srq_limit,
		.log_depth = srq->log_depth,
		.log_stride = srq->log_stride,
	};
	int ret;

	if (attr->srq_type == IB_SRQT_XRC) {
		params.xrcdn = to_ohca_xrcd(attr->ext.xrc.xrcd)->xrcdn;
		params.cqn = to_ohca_cq(attr->ext.cq)->cqn;
	}
	ret = ohca_cmd_create_srq(dev, &params, &srq->srqn);
	if (ret)
		return ret;
	/* 0 is how CREATE_QP says that there is none. */
	if (!srq->srqn) {
		dev_err_ratelimited(ohca_device(dev), "device created SRQ 0\n");
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_SRQ, srq->srqn);
		return -EIO;
	}
	return 0;
}

/* The ring as the application describes it; the device checks it once more. */
int ohca_srq_check_request(struct ohca_dev *dev, const struct ohca_create_srq_req *req,
			   u32 max_wr, u8 log_stride_min)
{
	if (req->comp_mask || req->reserved_e0 ||
	    memchr_inv(req->reserved_b0, 0, sizeof(req->reserved_b0))) {
		ibdev_dbg(&dev->ibdev, "comp_mask or reserved field set\n");
		return -EINVAL;
	}
	if (req->log_depth > dev->caps.log_max_srq_depth || 1U << req->log_depth < max_wr) {
		ibdev_dbg(&dev->ibdev, "2^%u WQEs for %u, at most 2^%u\n", req->log_depth, max_wr,
			  dev->caps.log_max_srq_depth);
		return -EINVAL;
	}
	if (req->log_stride < log_stride_min ||
	    req->log_stride > ilog2(OHCA_RQ_STRIDE_MAX) ||
	    req->ring_offset < OHCA_RECORD_SIZE ||
	    !IS_ALIGNED(req->ring_offset, 1U << req->log_stride) ||
	    req->ring_offset + (1ULL << (req->log_depth + req->log_stride)) >
	    req->buffer_length) {
		ibdev_dbg(&dev->ibdev, "ring does not fit its work requests or the buffer\n");
		return -EINVAL;
	}
	return 0;
}

static int ohca_srq_pin_user(struct ohca_dev *dev, struct ohca_srq *srq,
			     const struct ib_srq_init_attr *attr,
			     const struct ohca_create_srq_req *req)
{
	struct ohca_page_memory memory;
	struct ohca_page_list pages;
	int ret;

	srq->umem = ohca_pin_queue(dev, req->buffer_address, req->buffer_length, &memory, &pages);
	if (IS_ERR(srq->umem))
		return PTR_ERR(srq->umem);
	ret = ohca_srq_issue_create(dev, srq, attr, req->ring_offset, &pages);
	ohca_page_memory_free(dev, &memory);
	if (ret)
		ib_umem_release(srq->umem);
	return ret;
}

static int ohca_create_user_srq(struct ohca_dev *dev, struct ohca_srq *srq,
				const struct ib_srq_init_attr *attr, struct ib_udata *udata)
{
	struct ohca_create_srq_resp resp = {};
	struct ohca_create_srq_req req;
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, &req,
				 offsetof(struct ohca_create_srq_req, reserved_b0), sizeof(req));
	if (ret)
		return ret;
	ret = ohca_srq_check_request(dev, &req, attr->attr.max_wr,
				     ohca_srq_log_stride(attr->attr.max_sge));
	if (ret)
		return ret;
	srq->user = true;
	srq->log_depth = req.log_depth;
	srq->log_stride = req.log_stride;
	ret = ohca_srq_pin_user(dev, srq, attr, &req);
	if (ret)
		return ret;
	ret = ohca_srq_publish(dev, srq);
	if (ret)
		goto err_destroy;

	resp.srqn = srq->srqn;
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		goto err_unpublish;
	return 0;

err_unpublish:
	ohca_srq_unpublish(dev, srq);
err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_SRQ, srq->srqn);
	ib_umem_release(srq->umem);
	return ret;
}

static int ohca_srq_alloc_ring(struct ohca_dev *dev, struct ohca_srq *srq)
{
	u32 depth = 1U << srq->log_depth;
	int ret;

	ret = ohca_buffer_alloc(dev, &srq->buffer, ohca_srq_size(srq, srq->log_depth));
	if (ret)
		return ret;
	srq->wrs = kvcalloc(depth, sizeof(*srq->wrs), GFP_KERNEL);
	if (!srq->wrs) {
		ohca_buffer_free(dev, &srq->buffer);
		return -ENOMEM;
	}
	srq->record = srq->buffer.cpu;
	srq->tag_count = depth;
	ohca_srq_add_tags(srq, 0, depth);
	return 0;
}

static void ohca_srq_free_ring(struct ohca_dev *dev, struct ohca_srq *srq)
{
	kvfree(srq->wrs);
	ohca_buffer_free(dev, &srq->buffer);
}

static int ohca_create_kernel_srq(struct ohca_dev *dev, struct ohca_srq *srq,
				  const struct ib_srq_init_attr *attr)
{
	struct ohca_page_list pages;
	int ret;

	srq->log_depth = order_base_2(attr->attr.max_wr);
	srq->log_stride = ohca_srq_log_stride(attr->attr.max_sge);
	ret = ohca_srq_alloc_ring(dev, srq);
	if (ret)
		return ret;
	ohca_buffer_describe(&srq->buffer, &pages);
	ret = ohca_srq_issue_create(dev, srq, attr, ohca_srq_ring_offset(srq), &pages);
	if (ret)
		goto err_ring;
	ret = ohca_srq_publish(dev, srq);
	if (ret)
		goto err_destroy;
	if (attr->srq_type == IB_SRQT_XRC) {
		ret = ohca_cq_attach_srq(to_ohca_cq(attr->ext.cq), srq);
		if (ret)
			goto err_unpublish;
	}
	return 0;

err_unpublish:
	ohca_srq_unpublish(dev, srq);
err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_SRQ, srq->srqn);
err_ring:
	ohca_srq_free_ring(dev, srq);
	return ret;
}

int ohca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibsrq->device);
	struct ohca_srq *srq = to_ohca_srq(ibsrq);
	int ret;

	ret = ohca_srq_check_attr(dev, attr);
	if (ret)
		return ret;
	mutex_init(&srq->mutex);
	spin_lock_init(&srq->lock);
	srq->max_sge = attr->attr.max_sge;
	if (udata)
		ret = ohca_create_user_srq(dev, srq, attr, udata);
	else
		ret = ohca_create_kernel_srq(dev, srq, attr);
	if (ret)
		return ret;
	srq->depth = 1U << srq->log_depth;
	attr->attr.max_wr = srq->depth;
	if (attr->srq_type == IB_SRQT_XRC)
		ibsrq->ext.xrc.srq_num = srq->srqn;
	return 0;
}

int ohca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct ohca_srq *srq = to_ohca_srq(ibsrq);

	attr->max_wr = READ_ONCE(srq->depth);
	attr->max_sge = srq->max_sge;
	return ohca_cmd_query_srq(to_ohca_dev(ibsrq->device), srq->srqn, &attr->srq_limit);
}

int ohca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibsrq->device);
	struct ohca_srq *srq = to_ohca_srq(ibsrq);
	int ret;

	if (ohca_in_pool(&srq->pool))
		return -EBUSY;
	ret = ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_SRQ, srq->srqn);
	if (ret)
		return ret;
	ohca_srq_unpublish(dev, srq);
	if (srq->user) {
		ib_umem_release(srq->umem);
		return 0;
	}
	if (ibsrq->srq_type == IB_SRQT_XRC)
		ohca_cq_detach_srq(to_ohca_cq(ibsrq->ext.cq), srq);
	ohca_srq_free_ring(dev, srq);
	return 0;
}
