// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* XRC domains. */

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

int ohca_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibxrcd->device);
	struct ohca_xrcd *xrcd = to_ohca_xrcd(ibxrcd);
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, NULL, 0, 0);
	if (ret)
		return ret;
	if (!(dev->features & OHCA_FEATURE_XRC)) {
		ibdev_dbg(&dev->ibdev, "XRC not offered by the device\n");
		return -EOPNOTSUPP;
	}
	ret = ohca_cmd_create_xrcd(dev, &xrcd->xrcdn);
	if (ret)
		return ret;
	/* 0 is how CREATE_SRQ and CREATE_QP say that there is none. */
	if (!xrcd->xrcdn) {
		dev_err_ratelimited(ohca_device(dev), "device created XRC domain 0\n");
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_XRCD, xrcd->xrcdn);
		return -EIO;
	}
	return 0;
}

int ohca_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return ohca_cmd_destroy(to_ohca_dev(ibxrcd->device), OHCA_CMD_DESTROY_XRCD,
				to_ohca_xrcd(ibxrcd)->xrcdn);
}
