// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles.  They are the driver's own affair (a datagram WQE carries
 * the whole address), so that none of this needs the device or can sleep.
 */

#include <rdma/ib_cache.h>
#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

static int ohca_check_ah(struct ib_device *ibdev, const struct rdma_ah_attr *attr)
{
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(attr->ah_flags & IB_AH_GRH) ||
	    attr->port_num != OHCA_PORT ||
	    attr->grh.sgid_index >= ohca_gid_count(to_ohca_dev(ibdev))) {
		ibdev_dbg(ibdev, "address without GRH, or of another port\n");
		return -EINVAL;
	}
	return 0;
}

/* The source GID's reference is kept by ib_core, in ib_ah.sgid_attr. */
static void ohca_set_ah(struct ohca_ah *ah, const struct rdma_ah_attr *attr)
{
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;
}

int ohca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init_attr,
		   struct ib_udata *udata)
{
	int ret;

	ret = ohca_udata_request(ibah->device, udata, NULL, 0, 0);
	if (ret)
		return ret;
	ret = ohca_check_ah(ibah->device, init_attr->ah_attr);
	if (ret)
		return ret;
	ohca_set_ah(to_ohca_ah(ibah), init_attr->ah_attr);
	return 0;
}

int ohca_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	int ret;

	ret = ohca_check_ah(ibah->device, attr);
	if (ret)
		return ret;
	ohca_set_ah(to_ohca_ah(ibah), attr);
	return 0;
}

int ohca_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_ohca_ah(ibah)->attr;
	return 0;
}

int ohca_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
