// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory regions: DMA memory for the kernel, applications' memory. */

#include <linux/slab.h>

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

/*
 * -EOPNOTSUPP if the device does not know one of the rights.  Hints, such as
 * that memory is in huge pages or that order does not matter, change nothing.
 */
int ohca_check_access(struct ohca_dev *dev, int access)
{
	int known = IB_ACCESS_OPTIONAL | IB_ACCESS_HUGETLB | OHCA_ACCESS_LOCAL_WRITE |
		    OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ;

	BUILD_BUG_ON(OHCA_ACCESS_LOCAL_WRITE != IB_ACCESS_LOCAL_WRITE);
	BUILD_BUG_ON(OHCA_ACCESS_REMOTE_WRITE != IB_ACCESS_REMOTE_WRITE);
	BUILD_BUG_ON(OHCA_ACCESS_REMOTE_READ != IB_ACCESS_REMOTE_READ);
	BUILD_BUG_ON(OHCA_ACCESS_REMOTE_ATOMIC != IB_ACCESS_REMOTE_ATOMIC);
	BUILD_BUG_ON(OHCA_ACCESS_WINDOW_BIND != IB_ACCESS_MW_BIND);
	BUILD_BUG_ON(OHCA_ACCESS_ZERO_BASED != IB_ZERO_BASED);
	BUILD_BUG_ON(OHCA_ACCESS_FLUSH_GLOBAL != IB_ACCESS_FLUSH_GLOBAL);
	BUILD_BUG_ON(OHCA_ACCESS_FLUSH_PERSISTENT != IB_ACCESS_FLUSH_PERSISTENT);

	if (dev->features & OHCA_FEATURE_ATOMIC)
		known |= OHCA_ACCESS_REMOTE_ATOMIC;
	if (dev->features & OHCA_FEATURE_WINDOW)
		known |= OHCA_ACCESS_WINDOW_BIND;
	if (dev->features & OHCA_FEATURE_ZERO_BASED)
		known |= OHCA_ACCESS_ZERO_BASED;
	if (dev->features & OHCA_FEATURE_FLUSH)
		known |= OHCA_ACCESS_FLUSH_GLOBAL;
	return access & ~known ? -EOPNOTSUPP : 0;
}

static int ohca_check_region_access(struct ohca_dev *dev, int access)
{
	int ret = ohca_check_access(dev, access);

	if (ret)
		ibdev_dbg(&dev->ibdev, "access flags %#x not supported\n", access);
	return ret;
}

/* Where the key's address space begins; a zero-based one has its own numbers. */
static u64 ohca_key_start(u64 iova, int access)
{
	return access & IB_ZERO_BASED ? 0 : iova;
}

/* A region registered where another has just been must not get the same key. */
u8 ohca_next_consumer_key(struct ohca_dev *dev)
{
	return atomic_inc_return(&dev->next_consumer_key);
}

static int ohca_create_mkey(struct ohca_dev *dev, struct ohca_mr *mr,
			    struct ohca_create_mkey_params *params, int access)
{
	u32 key;
	int ret;

	params->access = access & OHCA_REGION_ACCESS_ALL;
	params->consumer_key = ohca_next_consumer_key(dev);
	ret = ohca_cmd_create_mkey(dev, params, &key);
	if (ret)
		return ret;
	mr->access = access;
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
	return 0;
}

struct ib_mr *ohca_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct ohca_dev *dev = to_ohca_dev(ibpd->device);
	struct ohca_create_mkey_params params = {
		.pdn = to_ohca_pd(ibpd)->pdn,
		.type = OHCA_MKEY_TYPE_REGION,
		.flags = OHCA_MKEY_LINEAR,
	};
	struct ohca_mr *mr;
	int ret;

	ret = ohca_check_region_access(dev, access);
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

static int ohca_check_range(struct ohca_dev *dev, u64 length, u64 iova)
{
	if (length > dev->caps.max_mr_size || iova + length < iova) {
		ibdev_dbg(&dev->ibdev, "region of %llu bytes at %#llx too long\n", length, iova);
		return -EINVAL;
	}
	return 0;
}

static struct ib_umem *ohca_pin_region(struct ohca_dev *dev, u64 start, u64 length, int access)
{
	struct ib_umem *umem = ib_umem_get(&dev->ibdev, start, length, access);

	if (IS_ERR(umem))
		ibdev_dbg(&dev->ibdev, "memory not pinned: %ld\n", PTR_ERR(umem));
	return umem;
}

static void ohca_set_page_size(struct ohca_mr *mr, const struct ohca_page_list *pages)
{
	mr->ibmr.page_size = 1U << min_t(u8, pages->log_page_size, 31);
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
		ohca_set_page_size(mr, &pages);
	}
	ohca_page_memory_free(dev, &memory);
	return ret;
}

struct ib_mr *ohca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibpd->device);
	struct ohca_create_mkey_params params = {
		.start = ohca_key_start(iova, access),
		.length = length,
		.pdn = to_ohca_pd(ibpd)->pdn,
		.type = OHCA_MKEY_TYPE_REGION,
	};
	struct ohca_mr *mr;
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, NULL, 0, 0);
	if (ret)
		return ERR_PTR(ret);
	ret = ohca_check_region_access(dev, access);
	if (ret)
		return ERR_PTR(ret);
	ret = ohca_check_range(dev, length, params.start);
	if (ret)
		return ERR_PTR(ret);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = ohca_pin_region(dev, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
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

/* What a region is to become; umem is NULL if its pages stay as they are. */
struct ohca_rereg {
	struct ohca_create_mkey_params params;
	struct ib_umem *umem;
	u32 mask;		/* OHCA_MKEY_MODIFY_* */
	int access;
};

/*
 * Pages that were pinned to be read only cannot become writable: they may be
 * shared, and have to be pinned anew.
 */
static bool ohca_must_pin(const struct ohca_mr *mr, int flags, int access)
{
	return flags & IB_MR_REREG_TRANS ||
	       (ib_access_writable(access) && !mr->umem->writable);
}

static int ohca_issue_rereg(struct ohca_dev *dev, struct ohca_mr *mr, struct ohca_rereg *rereg)
{
	struct ohca_page_memory memory = {};
	struct ohca_page_list pages;
	u32 key = mr->ibmr.lkey;
	int ret = 0;

	if (rereg->umem) {
		ret = ohca_page_list_from_umem(dev, rereg->umem, &memory, &pages);
		rereg->params.pages = &pages;
	}
	if (!ret)
		ret = ohca_cmd_modify_mkey(dev, &rereg->params, rereg->mask, &key);
	if (!ret) {
		mr->ibmr.lkey = key;
		mr->ibmr.rkey = key;
		if (rereg->umem)
			ohca_set_page_size(mr, &pages);
	}
	ohca_page_memory_free(dev, &memory);
	return ret;
}

/* NULL: the same region, changed. */
struct ib_mr *ohca_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibmr->device);
	struct ohca_mr *mr = to_ohca_mr(ibmr);
	struct ohca_rereg rereg = {};
	int ret;

	BUILD_BUG_ON(OHCA_MKEY_MODIFY_TRANSLATION != IB_MR_REREG_TRANS);
	BUILD_BUG_ON(OHCA_MKEY_MODIFY_PD != IB_MR_REREG_PD);
	BUILD_BUG_ON(OHCA_MKEY_MODIFY_ACCESS != IB_MR_REREG_ACCESS);

	ret = ohca_udata_request(&dev->ibdev, udata, NULL, 0, 0);
	if (ret)
		return ERR_PTR(ret);
	if (flags & ~OHCA_MKEY_MODIFY_ALL || !mr->umem)
		return ERR_PTR(-EOPNOTSUPP);
	rereg.access = flags & IB_MR_REREG_ACCESS ? access : mr->access;
	ret = ohca_check_region_access(dev, rereg.access);
	if (ret)
		return ERR_PTR(ret);
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->umem->address;
		length = mr->umem->length;
		iova = ibmr->iova;
	}
	rereg.params = (struct ohca_create_mkey_params) {
		.start = ohca_key_start(iova, rereg.access),
		.length = length,
		.type = OHCA_MKEY_TYPE_REGION,
		/* The key stays: peers have it, and applications do not tell them again. */
		.consumer_key = (u8)ibmr->rkey,
	};
	ret = ohca_check_range(dev, length, rereg.params.start);
	if (ret)
		return ERR_PTR(ret);
	rereg.mask = flags;
	if (flags & IB_MR_REREG_PD)
		rereg.params.pdn = to_ohca_pd(ibpd)->pdn;
	if (flags & IB_MR_REREG_ACCESS)
		rereg.params.access = access & OHCA_REGION_ACCESS_ALL;
	/* Whether addresses count from 0 is part of the translation. */
	if (ohca_must_pin(mr, flags, rereg.access) || (rereg.access ^ mr->access) & IB_ZERO_BASED) {
		rereg.umem = ohca_pin_region(dev, start, length, rereg.access);
		if (IS_ERR(rereg.umem))
			return ERR_CAST(rereg.umem);
		rereg.mask |= OHCA_MKEY_MODIFY_TRANSLATION;
	}
	ret = ohca_issue_rereg(dev, mr, &rereg);
	/* After either outcome one of the two is not in use. */
	if (!ret) {
		mr->access = rereg.access;
		if (rereg.umem)
			swap(mr->umem, rereg.umem);
	}
	ib_umem_release(rereg.umem);
	return ERR_PTR(ret);
}

/* -EBUSY while memory windows are bound to the region. */
int ohca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibmr->device);
	struct ohca_mr *mr = to_ohca_mr(ibmr);
	int ret;

	ret = ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_MKEY, ibmr->lkey);
	if (ret)
		return ret;
	ib_umem_release(mr->umem);
	ohca_mr_free_list(dev, mr);
	kfree(mr);
	return 0;
}
