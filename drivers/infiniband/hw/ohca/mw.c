// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory windows. Applications bind them by work requests; here they are only made. */

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

int ohca_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibmw->device);
	struct ohca_create_mkey_params params = {
		.pdn = to_ohca_pd(ibmw->pd)->pdn,
		.type = ibmw->type == IB_MW_TYPE_1 ? OHCA_MKEY_TYPE_WINDOW_1 :
						     OHCA_MKEY_TYPE_WINDOW_2B,
		.consumer_key = ohca_next_consumer_key(dev),
	};
	int ret;

	ret = ohca_udata_request(&dev->ibdev, udata, NULL, 0, 0);
	if (ret)
		return ret;
	if (!(dev->features & OHCA_FEATURE_WINDOW) ||
	    (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)) {
		ibdev_dbg(&dev->ibdev, "memory window type %d not supported\n", ibmw->type);
		return -EOPNOTSUPP;
	}
	return ohca_cmd_create_mkey(dev, &params, &ibmw->rkey);
}

int ohca_dealloc_mw(struct ib_mw *ibmw)
{
	return ohca_cmd_destroy(to_ohca_dev(ibmw->device), OHCA_CMD_DESTROY_MKEY, ibmw->rkey);
}
