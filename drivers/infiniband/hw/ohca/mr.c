// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory regions. */

#include <linux/slab.h>

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

static int ohca_check_access(struct ohca_dev *dev, int access)
{
	int known = IB_ACCESS_OPTIONAL | OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE |
		    OHCA_ACCESS_REMOTE_READ;

	BUILD_BUG_ON(OHCA_ACCESS_LOCAL_WRITE != IB_ACCESS_LOCAL_WRITE);
	BUILD_BUG_ON(OHCA_ACCESS_REMOTE_WRITE != IB_ACCESS_REMOTE_WRITE);
	BUILD_BUG_ON(OHCA_ACCESS_REMOTE_READ != IB_ACCESS_REMOTE_READ);
	BUILD_BUG_ON(OHCA_ACCESS_REMOTE_ATOMIC != IB_ACCESS_REMOTE_ATOMIC);

	if (dev->features & OHCA_FEATURE_ATOMIC)
		known |= OHCA_ACCESS_REMOTE_ATOMIC;
	if (access & ~known) {
		ibdev_dbg(&dev->ibdev, "access flags %#x not supported\n", access & ~known);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* A region registered where another has just been must not get the same key. */
static u8 ohca_next_consumer_key(struct ohca_dev *dev)
{
	return atomic_inc_return(&dev->next_consumer_key);
}

static int ohca_create_mkey(struct ohca_dev *dev, struct ohca_mr *mr,
			    struct ohca_create_mkey_params *params, int access)
{
	u32 key;
	int ret;

	params->access = access & OHCA_ACCESS_ALL;
	params->consumer_key = ohca_next_consumer_key(dev);
	ret = ohca_cmd_create_mkey(dev, params, &key);
	if (ret)
		return ret;
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
	return 0;
}

struct ib_mr *ohca_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct ohca_dev *dev = to_ohca_dev(ibpd->device);
	struct ohca_create_mkey_params params = {
		.pdn = to_ohca_pd(ibpd)->pdn,
		.flags = OHCA_MKEY_LINEAR,
	};
	struct ohca_mr *mr;
	int ret;

	ret = ohca_check_access(dev, access);
	if (ret)
		return ERR_PTR(ret);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = ohca_create_mkey(dev, mr, &params, access);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

static int ohca_create_umem_mkey(struct ohca_dev *dev, struct ohca_mr *mr,
				 struct ohca_create_mkey_params *params, int access)
{
	struct ohca_page_memory memory;
	struct ohca_page_list pages;
	int ret;

	ret = ohca_page_list_from_umem(dev, mr->umem, &memory, &pages);
	if (!ret) {
		params->pages = &pages;
		ret = ohca_create_mkey(dev, mr, params, access);
		mr->ibmr.page_size = 1U << min_t(u8, pages.log_page_size, 31);
	}
	ohca_page_memory_free(dev, &memory);
	return ret;
}

struct ib_mr *ohca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibpd->device);
	struct ohca_create_mkey_params params = {
		.start = iova,
		.length = length,
		.pdn = to_ohca_pd(ibpd)->pdn,
	};
	struct ohca_mr *mr;
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, NULL, 0, 0);
	if (ret)
		return ERR_PTR(ret);
	ret = ohca_check_access(dev, access);
	if (ret)
		return ERR_PTR(ret);
	if (length > dev->caps.max_mr_size || iova + length < iova) {
		ibdev_dbg(&dev->ibdev, "region of %llu bytes at %#llx too long\n", length, iova);
		return ERR_PTR(-EINVAL);
	}
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = ib_umem_get(&dev->ibdev, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		ibdev_dbg(&dev->ibdev, "memory not pinned: %d\n", ret);
		goto err_mr;
	}
	ret = ohca_create_umem_mkey(dev, mr, &params, access);
	if (ret)
		goto err_umem;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	return &mr->ibmr;

err_umem:
	ib_umem_release(mr->umem);
err_mr:
	kfree(mr);
	return ERR_PTR(ret);
}

int ohca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct ohca_mr *mr = to_ohca_mr(ibmr);
	int ret;

	ret = ohca_cmd_destroy(to_ohca_dev(ibmr->device), OHCA_CMD_DESTROY_MKEY, ibmr->lkey);
	if (ret)
		return ret;
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}
