// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: limit and size.
 *
 * The device moves the WQEs that it has not taken to the new ring.  What it has
 * taken completes by its tag, whatever the ring: so a kernel SRQ's table of
 * tags only ever grows.
 */

#include <linux/slab.h>

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

static int ohca_resize_user_srq(struct ohca_dev *dev, struct ohca_srq *srq, u32 max_wr,
				struct ib_udata *udata)
{
	struct ohca_resize_srq_params params = { .srqn = srq->srqn };
	struct ohca_page_memory memory;
	struct ohca_create_srq_req req;
	struct ohca_page_list pages;
	struct ib_umem *umem;
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, &req,
				 offsetof(struct ohca_create_srq_req, reserved_b0), sizeof(req));
	if (ret)
		return ret;
	ret = ohca_srq_check_request(dev, &req, max_wr, srq->log_stride);
	if (ret)
		return ret;
	if (req.log_stride != srq->log_stride) {
		ibdev_dbg(&dev->ibdev, "SRQ %#x: stride 2^%u cannot become 2^%u\n", srq->srqn,
			  srq->log_stride, req.log_stride);
		return -EINVAL;
	}
	umem = ohca_pin_queue(dev, req.buffer_address, req.buffer_length, &memory, &pages);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	params.pages = &pages;
	params.ring_offset = req.ring_offset;
	params.log_depth = req.log_depth;
	ret = ohca_cmd_resize_srq(dev, &params);
	ohca_page_memory_free(dev, &memory);
	/* After either outcome one of the two is not in use. */
	if (!ret) {
		swap(srq->umem, umem);
		srq->log_depth = req.log_depth;
		WRITE_ONCE(srq->depth, 1U << req.log_depth);
	}
	ib_umem_release(umem);
	return ret;
}

/* No posts from here on: the device copies the ring as it is. */
static int ohca_srq_freeze(struct ohca_srq *srq, u32 depth, struct ohca_srq_record *record)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&srq->lock, flags);
	if (srq->outstanding > depth) {
		ret = -EINVAL;
	} else {
		srq->resizing = true;
		record->producer = cpu_to_le32(srq->producer);
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return ret;
}

/* The new ring is in use; @buffer and @wrs become what is to be freed. */
static void ohca_srq_adopt(struct ohca_srq *srq, u8 log_depth, struct ohca_buffer *buffer,
			   struct ohca_srq_wr **wrs)
{
	u32 depth = 1U << log_depth;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	swap(srq->buffer, *buffer);
	srq->record = srq->buffer.cpu;
	srq->log_depth = log_depth;
	WRITE_ONCE(srq->depth, depth);
	if (*wrs) {
		memcpy(*wrs, srq->wrs, srq->tag_count * sizeof(**wrs));
		swap(srq->wrs, *wrs);
		ohca_srq_add_tags(srq, srq->tag_count, depth);
		srq->tag_count = depth;
	}
	srq->resizing = false;
	spin_unlock_irqrestore(&srq->lock, flags);
}

static void ohca_srq_thaw(struct ohca_srq *srq)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	srq->resizing = false;
	spin_unlock_irqrestore(&srq->lock, flags);
}

static int ohca_resize_kernel_srq(struct ohca_dev *dev, struct ohca_srq *srq, u32 max_wr)
{
	u8 log_depth = order_base_2(max_wr);
	struct ohca_resize_srq_params params = {
		.srqn = srq->srqn,
		.ring_offset = ohca_srq_ring_offset(srq),
		.log_depth = log_depth,
	};
	struct ohca_srq_wr *wrs = NULL;
	struct ohca_page_list pages;
	struct ohca_buffer buffer;
	int ret;

	ret = ohca_buffer_alloc(dev, &buffer, ohca_srq_size(srq, log_depth));
	if (ret)
		return ret;
	if (1U << log_depth > srq->tag_count) {
		ret = -ENOMEM;
		wrs = kvcalloc(1U << log_depth, sizeof(*wrs), GFP_KERNEL);
		if (!wrs)
			goto out;
	}
	ohca_buffer_describe(&buffer, &pages);
	params.pages = &pages;
	ret = ohca_srq_freeze(srq, 1U << log_depth, buffer.cpu);
	if (ret)
		goto out;
	ret = ohca_cmd_resize_srq(dev, &params);
	if (ret)
		ohca_srq_thaw(srq);
	else
		ohca_srq_adopt(srq, log_depth, &buffer, &wrs);
out:
	kvfree(wrs);
	ohca_buffer_free(dev, &buffer);
	return ret;
}

static int ohca_resize_srq(struct ohca_dev *dev, struct ohca_srq *srq, struct ib_srq_attr *attr,
			   struct ib_udata *udata)
{
	int ret;

	if (!(dev->features & OHCA_FEATURE_RESIZE)) {
		ibdev_dbg(&dev->ibdev, "resizing not offered by the device\n");
		return -EOPNOTSUPP;
	}
	if (!attr->max_wr || attr->max_wr > 1U << dev->caps.log_max_srq_depth) {
		ibdev_dbg(&dev->ibdev, "SRQ %#x: %u WRs, at most %u\n", srq->srqn, attr->max_wr,
			  1U << dev->caps.log_max_srq_depth);
		return -EINVAL;
	}
	if (srq->user)
		ret = ohca_resize_user_srq(dev, srq, attr->max_wr, udata);
	else
		ret = ohca_resize_kernel_srq(dev, srq, attr->max_wr);
	if (!ret)
		attr->max_wr = srq->depth;
	return ret;
}

int ohca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibsrq->device);
	struct ohca_srq *srq = to_ohca_srq(ibsrq);
	u32 depth;
	int ret = 0;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT)) {
		ibdev_dbg(&dev->ibdev, "SRQ %#x: attributes %#x not supported\n", srq->srqn, mask);
		return -EOPNOTSUPP;
	}
	mutex_lock(&srq->mutex);
	depth = mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->depth;
	if (mask & IB_SRQ_LIMIT && attr->srq_limit > depth) {
		ibdev_dbg(&dev->ibdev, "SRQ %#x: limit %u of %u\n", srq->srqn, attr->srq_limit,
			  depth);
		ret = -EINVAL;
	}
	if (!ret && mask & IB_SRQ_MAX_WR)
		ret = ohca_resize_srq(dev, srq, attr, udata);
	if (!ret && mask & IB_SRQ_LIMIT)
		ret = ohca_cmd_modify_srq(dev, srq->srqn, attr->srq_limit);
	mutex_unlock(&srq->mutex);
	return ret;
}
