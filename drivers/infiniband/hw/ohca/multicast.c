// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast groups: which queue pairs get a copy of what is sent to a GID. */

#include <rdma/ib_addr.h>

#include "ohca.h"

/* Any context. */
int ohca_check_mcast(struct ib_qp *ibqp, const union ib_gid *gid)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);

	if (!(dev->features & OHCA_FEATURE_MULTICAST)) {
		ibdev_dbg(&dev->ibdev, "multicast not supported\n");
		return -EOPNOTSUPP;
	}
	if (ibqp->qp_type != IB_QPT_UD || !rdma_is_multicast_addr((struct in6_addr *)gid->raw)) {
		ibdev_dbg(&dev->ibdev, "QP %#x of type %d not attached to %pI6\n", ibqp->qp_num,
			  ibqp->qp_type, gid->raw);
		return -EINVAL;
	}
	return 0;
}

int ohca_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	int ret = ohca_check_mcast(ibqp, gid);

	if (ret)
		return ret;
	return ohca_cmd_multicast(to_ohca_dev(ibqp->device), OHCA_CMD_ATTACH_MULTICAST,
				  ibqp->qp_num, gid->raw);
}

int ohca_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct ohca_dev *dev = to_ohca_dev(ibqp->device);
	int ret;

	ret = ohca_cmd_multicast(dev, OHCA_CMD_DETACH_MULTICAST, ibqp->qp_num, gid->raw);
	/* A dead device delivers nothing, and its queue pairs must be destroyable. */
	return ret == -EIO && ohca_failed(dev) ? 0 : ret;
}
