// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection domains. */

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

int ohca_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibpd->device);
	struct ohca_alloc_pd_resp resp = {};
	struct ohca_pd *pd = to_ohca_pd(ibpd);
	int ret;

	ret = ohca_udata_request(ibpd->device, udata, NULL, 0, 0);
	if (ret)
		return ret;
	ret = ohca_cmd_create_pd(dev, &pd->pdn);
	if (ret)
		return ret;
	if (!udata)
		return 0;

	resp.pdn = pd->pdn;
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_PD, pd->pdn);
	return ret;
}

int ohca_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return ohca_cmd_destroy(to_ohca_dev(ibpd->device), OHCA_CMD_DESTROY_PD,
				to_ohca_pd(ibpd)->pdn);
}
