// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: creation, destruction, and finding them by number. */

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

/* Hard interrupts look CQs up; destroy waits until the last has let go. */
struct ohca_cq *ohca_get_cq(struct ohca_dev *dev, u32 cqn)
{
	struct ohca_cq *cq;
	unsigned long flags;

	xa_lock_irqsave(&dev->cqs, flags);
	cq = xa_load(&dev->cqs, cqn);
	/* 0: it is on its way back to its pool. */
	if (cq && !refcount_inc_not_zero(&cq->refs))
		cq = NULL;
	xa_unlock_irqrestore(&dev->cqs, flags);
	return cq;
}

void ohca_put_cq(struct ohca_cq *cq)
{
	if (!refcount_dec_and_test(&cq->refs))
		return;
	if (cq->pool.returning)
		ohca_cq_settle(cq);
	else
		complete(&cq->unused);
}

/* From here on events find the CQ. */
static int ohca_cq_publish(struct ohca_dev *dev, struct ohca_cq *cq)
{
	int ret;

	refcount_set(&cq->refs, 1);
	init_completion(&cq->unused);
	ret = xa_insert_irq(&dev->cqs, cq->cqn, cq, GFP_KERNEL);
	if (ret != -EBUSY)
		return ret;
	dev_err_ratelimited(ohca_device(dev), "device handed out CQ %#x twice\n", cq->cqn);
	return -EIO;
}

static void ohca_cq_unpublish(struct ohca_dev *dev, struct ohca_cq *cq)
{
	xa_erase_irq(&dev->cqs, cq->cqn);
	ohca_put_cq(cq);
	wait_for_completion(&cq->unused);
}

static size_t ohca_cq_size(u8 log_depth)
{
	return OHCA_CQ_RING_OFFSET + (sizeof(struct ohca_cqe) << log_depth);
}

static int ohca_cq_issue_create(struct ohca_dev *dev, struct ohca_cq *cq,
				const struct ohca_page_list *pages)
{
	struct ohca_create_cq_params params = {
		.pages = pages,
		.eq = dev->comp_eqs[cq->eq_index].handle,
		.log_depth = cq->log_depth,
		.flags = cq->flags,
	};

	return ohca_cmd_create_cq(dev, &params, &cq->cqn);
}

static int ohca_cq_pin_user(struct ohca_dev *dev, struct ohca_cq *cq,
			    const struct ohca_create_cq_req *req)
{
	struct ohca_page_memory memory;
	struct ohca_page_list pages;
	int ret;

	cq->umem = ohca_pin_queue(dev, req->buffer_address, req->buffer_length, &memory, &pages);
	if (IS_ERR(cq->umem))
		return PTR_ERR(cq->umem);
	ret = ohca_cq_issue_create(dev, cq, &pages);
	ohca_page_memory_free(dev, &memory);
	if (ret)
		ib_umem_release(cq->umem);
	return ret;
}

/* A buffer for @cqe entries as the application describes it, read and checked. */
int ohca_cq_user_request(struct ohca_dev *dev, struct ib_udata *udata, u32 cqe,
			 struct ohca_create_cq_req *req)
{
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, req,
				 offsetof(struct ohca_create_cq_req, reserved_a8), sizeof(*req));
	if (ret)
		return ret;
	if (req->comp_mask || memchr_inv(req->reserved_a8, 0, sizeof(req->reserved_a8))) {
		ibdev_dbg(&dev->ibdev, "comp_mask or reserved field set\n");
		return -EINVAL;
	}
	if (req->log_depth > dev->caps.log_max_cq_depth || 1U << req->log_depth < cqe) {
		ibdev_dbg(&dev->ibdev, "2^%u CQEs for %u, at most 2^%u\n", req->log_depth, cqe,
			  dev->caps.log_max_cq_depth);
		return -EINVAL;
	}
	if (!PAGE_ALIGNED(req->buffer_address) ||
	    req->buffer_length < ohca_cq_size(req->log_depth)) {
		ibdev_dbg(&dev->ibdev, "buffer not page aligned or too short\n");
		return -EINVAL;
	}
	return 0;
}

static int ohca_create_user_cq(struct ohca_dev *dev, struct ohca_cq *cq, u32 cqe,
			       struct ib_udata *udata)
{
	struct ohca_create_cq_resp resp = {};
	struct ohca_create_cq_req req;
	int ret;

	ret = ohca_cq_user_request(dev, udata, cqe, &req);
	if (ret)
		return ret;
	cq->log_depth = req.log_depth;
	ret = ohca_cq_pin_user(dev, cq, &req);
	if (ret)
		return ret;
	ret = ohca_cq_publish(dev, cq);
	if (ret)
		goto err_destroy;

	resp.cqn = cq->cqn;
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		goto err_unpublish;
	return 0;

err_unpublish:
	ohca_cq_unpublish(dev, cq);
err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_CQ, cq->cqn);
	ib_umem_release(cq->umem);
	return ret;
}

static int ohca_create_kernel_cq(struct ohca_dev *dev, struct ohca_cq *cq, u32 cqe)
{
	struct ohca_page_list pages;
	int ret;

	cq->log_depth = order_base_2(cqe);
	ret = ohca_buffer_alloc(dev, &cq->buffer, ohca_cq_size(cq->log_depth));
	if (ret)
		return ret;
	cq->record = cq->buffer.cpu;
	spin_lock_init(&cq->lock);
	xa_init_flags(&cq->qps, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&cq->srqs, XA_FLAGS_LOCK_IRQ);
	ohca_buffer_describe(&cq->buffer, &pages);
	ret = ohca_cq_issue_create(dev, cq, &pages);
	if (ret)
		goto err_buffer;
	ret = ohca_cq_publish(dev, cq);
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_CQ, cq->cqn);
err_buffer:
	ohca_buffer_free(dev, &cq->buffer);
	return ret;
}

int ohca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct ohca_dev *dev = to_ohca_dev(ibcq->device);
	struct ohca_cq *cq = to_ohca_cq(ibcq);
	int ret;

	/* Every CQE has a time stamp anyway. */
	if (attr->flags & ~(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
			    IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)) {
		ibdev_dbg(&dev->ibdev, "CQ flags %#x not supported\n", attr->flags);
		return -EOPNOTSUPP;
	}
	if (!attr->cqe || attr->cqe > 1U << dev->caps.log_max_cq_depth) {
		ibdev_dbg(&dev->ibdev, "%u CQEs, at most %u\n", attr->cqe,
			  1U << dev->caps.log_max_cq_depth);
		return -EINVAL;
	}
	if (attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
		cq->flags |= OHCA_CQ_IGNORE_OVERRUN;
	mutex_init(&cq->mutex);
	cq->eq_index = attr->comp_vector % dev->comp_eq_count;
	if (attrs)
		ret = ohca_create_user_cq(dev, cq, attr->cqe, &attrs->driver_udata);
	else
		ret = ohca_create_kernel_cq(dev, cq, attr->cqe);
	if (ret)
		return ret;
	ibcq->cqe = 1 << cq->log_depth;
	return 0;
}

int ohca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibcq->device);
	struct ohca_cq *cq = to_ohca_cq(ibcq);
	int ret;

	if (ohca_in_pool(&cq->pool))
		return -EBUSY;
	ret = ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_CQ, cq->cqn);
	if (ret)
		return ret;
	ohca_cq_unpublish(dev, cq);
	ib_umem_release(cq->umem);
	ohca_buffer_free(dev, &cq->buffer);
	return 0;
}
