// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles.  They are the driver's own affair (a datagram WQE carries
 * the whole address), so that none of this needs the device or can sleep.
 */

#include <rdma/ib_cache.h>
#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

#define OHCA_SERVICE_LEVEL_MAX	15

/* NULL, or what is wrong with the address of a path or address handle. */
const char *ohca_check_path(struct ohca_dev *dev, const struct rdma_ah_attr *ah)
{
	if (ah->type != RDMA_AH_ATTR_TYPE_ROCE || !(ah->ah_flags & IB_AH_GRH))
		return "address without GRH";
	if (rdma_ah_get_port_num(ah) != OHCA_PORT)
		return "port of the address";
	if (ah->grh.sgid_index >= ohca_gid_count(dev))
		return "source GID index";
	if (ah->grh.sgid_attr && ah->grh.sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return "type of the source GID";
	if (rdma_ah_get_sl(ah) > OHCA_SERVICE_LEVEL_MAX)
		return "service level";
	return NULL;
}

static int ohca_check_ah(struct ib_device *ibdev, const struct rdma_ah_attr *attr)
{
	const char *problem = ohca_check_path(to_ohca_dev(ibdev), attr);

	if (!problem)
		return 0;
	ibdev_dbg(ibdev, "address handle: %s not possible\n", problem);
	return -EINVAL;
}

/*
 * The source GID's reference is kept by ib_core, in ib_ah.sgid_attr.  Its VLAN
 * and MAC are in the device's GID table, under the same index.
 */
static void ohca_set_ah(struct ohca_ah *ah, const struct rdma_ah_attr *attr)
{
	struct ohca_wqe_datagram *datagram = &ah->datagram;

	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;

	memset(datagram, 0, sizeof(*datagram));
	datagram->pd = cpu_to_le32(to_ohca_pd(ah->ibah.pd)->pdn);
	/* UCX gives all ones; the field of the header has 20 bits. */
	datagram->flow_label = cpu_to_le32(attr->grh.flow_label & IB_GRH_FLOWLABEL_MASK);
	memcpy(datagram->dgid, attr->grh.dgid.raw, sizeof(datagram->dgid));
	memcpy(datagram->dmac, attr->roce.dmac, sizeof(datagram->dmac));
	datagram->sgid_index = attr->grh.sgid_index;
	datagram->hop_limit = attr->grh.hop_limit;
	datagram->traffic_class = attr->grh.traffic_class;
	datagram->service_level = rdma_ah_get_sl(attr);
}

/* An application builds its WQEs itself, from what the kernel has resolved. */
static int ohca_respond_ah(const struct rdma_ah_attr *attr, struct ib_udata *udata)
{
	struct ohca_create_ah_resp resp = {
		.sgid_index = attr->grh.sgid_index,
		.hop_limit = attr->grh.hop_limit,
	};

	memcpy(resp.dmac, attr->roce.dmac, sizeof(resp.dmac));
	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
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
	return udata ? ohca_respond_ah(init_attr->ah_attr, udata) : 0;
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
