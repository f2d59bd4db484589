// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: moderation of their events, and another size. */

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

int ohca_modify_cq(struct ib_cq *ibcq, u16 count, u16 period_us)
{
	struct ohca_dev *dev = to_ohca_dev(ibcq->device);

	if (!(dev->features & OHCA_FEATURE_MODERATION)) {
		ibdev_dbg(&dev->ibdev, "moderation not offered by the device\n");
		return -EOPNOTSUPP;
	}
	return ohca_cmd_modify_cq(dev, to_ohca_cq(ibcq)->cqn, count, period_us);
}

static int ohca_check_resize(struct ohca_dev *dev, struct ohca_cq *cq, int cqe,
			     struct ib_udata *udata)
{
	if (!(dev->features & OHCA_FEATURE_RESIZE)) {
		ibdev_dbg(&dev->ibdev, "resizing not offered by the device\n");
		return -EOPNOTSUPP;
	}
	/* Nothing in the kernel resizes its CQs. */
	if (!udata || !cq->umem) {
		ibdev_dbg(&dev->ibdev, "CQ %#x is the kernel's: cannot be resized\n", cq->cqn);
		return -EOPNOTSUPP;
	}
	if (cqe < 1 || cqe > 1 << dev->caps.log_max_cq_depth) {
		ibdev_dbg(&dev->ibdev, "%d CQEs, at most %u\n", cqe,
			  1U << dev->caps.log_max_cq_depth);
		return -EINVAL;
	}
	return 0;
}

/* The application neither polls nor arms meanwhile. */
static int ohca_replace_buffer(struct ohca_dev *dev, struct ohca_cq *cq,
			       const struct ohca_create_cq_req *req)
{
	struct ohca_page_memory memory;
	struct ohca_page_list pages;
	struct ib_umem *umem;
	int ret;

	umem = ohca_pin_queue(dev, req->buffer_address, req->buffer_length, &memory, &pages);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mutex_lock(&cq->mutex);
	ret = ohca_cmd_resize_cq(dev, cq->cqn, &pages, req->log_depth);
	/* After either outcome one of the two is not in use. */
	if (!ret) {
		swap(cq->umem, umem);
		cq->log_depth = req->log_depth;
		cq->ibcq.cqe = 1 << req->log_depth;
	}
	mutex_unlock(&cq->mutex);
	ohca_page_memory_free(dev, &memory);
	ib_umem_release(umem);
	return ret;
}

int ohca_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibcq->device);
	struct ohca_cq *cq = to_ohca_cq(ibcq);
	struct ohca_create_cq_req req;
	int ret;

	ret = ohca_check_resize(dev, cq, cqe, udata);
	if (ret)
		return ret;
	ret = ohca_cq_user_request(dev, udata, cqe, &req);
	if (ret)
		return ret;
	return ohca_replace_buffer(dev, cq, &req);
}
