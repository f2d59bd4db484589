// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* query_device: limits and capabilities, each of which the device has been asked for. */

#include <linux/timekeeping.h>

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

/* Address handles cost the device nothing. */
#define OHCA_AH_MAX	INT_MAX
/* 4.096 us * 2^15 = 134 ms: what a busy host may take until the answer is out. */
#define OHCA_ACK_DELAY	15

static bool ohca_has(const struct ohca_dev *dev, u64 features)
{
	return !(features & ~dev->features);
}

static void ohca_fill_limits(const struct ohca_caps *caps, struct ib_device_attr *attr)
{
	attr->max_mr_size = caps->max_mr_size;
	attr->page_size_cap = caps->page_size_mask;
	attr->max_qp = caps->max_qp;
	attr->max_qp_wr = 1 << min(caps->log_max_sq_depth, caps->log_max_rq_depth);
	attr->max_send_sge = caps->max_send_sge;
	attr->max_recv_sge = caps->max_recv_sge;
	attr->max_sge_rd = caps->max_send_sge;
	attr->max_cq = caps->max_cq;
	attr->max_cqe = 1 << caps->log_max_cq_depth;
	attr->max_mr = caps->max_mkey;
	attr->max_pd = caps->max_pd;
	attr->max_qp_rd_atom = caps->max_read_atomic_responder;
	attr->max_qp_init_rd_atom = caps->max_read_atomic_initiator;
	attr->max_res_rd_atom = min_t(u64, INT_MAX, (u64)caps->max_qp *
				      caps->max_read_atomic_responder);
	attr->max_ah = OHCA_AH_MAX;
	attr->max_pkeys = OHCA_PKEY_COUNT;
	attr->local_ca_ack_delay = OHCA_ACK_DELAY;
	attr->hca_core_clock = caps->core_clock_khz;
	attr->timestamp_mask = U64_MAX;
}

static void ohca_fill_optional_limits(const struct ohca_dev *dev, struct ib_device_attr *attr)
{
	const struct ohca_caps *caps = &dev->caps;

	if (ohca_has(dev, OHCA_FEATURE_SRQ)) {
		attr->max_srq = caps->max_srq;
		attr->max_srq_wr = 1 << caps->log_max_srq_depth;
		attr->max_srq_sge = caps->max_srq_sge;
	}
	if (ohca_has(dev, OHCA_FEATURE_MULTICAST)) {
		attr->max_mcast_grp = caps->max_multicast_groups;
		attr->max_mcast_qp_attach = caps->max_multicast_qps;
		attr->max_total_mcast_qp_attach =
			min_t(u64, INT_MAX, (u64)caps->max_multicast_groups *
			      caps->max_multicast_qps);
	}
	if (ohca_has(dev, OHCA_FEATURE_WINDOW))
		attr->max_mw = caps->max_mkey;
	if (ohca_has(dev, OHCA_FEATURE_FAST_REG))
		attr->max_fast_reg_page_list_len = caps->max_list_entries;
	if (ohca_has(dev, OHCA_FEATURE_INTEGRITY)) {
		/* The blocks of data and protection information are in one list. */
		attr->max_pi_fast_reg_page_list_len = caps->max_list_entries / 2;
		attr->sig_prot_cap = IB_PROT_T10DIF_TYPE_1 | IB_PROT_T10DIF_TYPE_2 |
				     IB_PROT_T10DIF_TYPE_3;
		attr->sig_guard_cap = IB_GUARD_T10DIF_CRC | IB_GUARD_T10DIF_CSUM;
	}
	if (ohca_has(dev, OHCA_FEATURE_MODERATION)) {
		/* Those of struct ohca_cmd_modify_cq_in. */
		attr->cq_caps.max_cq_moderation_count = U16_MAX;
		attr->cq_caps.max_cq_moderation_period = U16_MAX;
	}
	if (ohca_has(dev, OHCA_FEATURE_ATOMIC))
		attr->atomic_cap = IB_ATOMIC_HCA;
	if (ohca_has(dev, OHCA_FEATURE_MASKED_ATOMIC))
		attr->masked_atomic_cap = IB_ATOMIC_HCA;
}

static u64 ohca_device_cap_flags(const struct ohca_dev *dev)
{
	static const struct {
		u64 features;	/* all of which it takes */
		u64 flags;
	} table[] = {
		{ OHCA_FEATURE_RC, IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT |
				   IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN },
		/* Addresses of any other port are refused. */
		{ OHCA_FEATURE_UD, IB_DEVICE_UD_AV_PORT_ENFORCE | IB_DEVICE_BAD_QKEY_CNTR },
		{ OHCA_FEATURE_SRQ | OHCA_FEATURE_RESIZE, IB_DEVICE_SRQ_RESIZE },
		{ OHCA_FEATURE_XRC, IB_DEVICE_XRC },
		{ OHCA_FEATURE_WINDOW, IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B },
		{ OHCA_FEATURE_FAST_REG | OHCA_FEATURE_SEND_INV, IB_DEVICE_MEM_MGT_EXTENSIONS },
		/* No memory that the device reaches is known to survive a power failure. */
		{ OHCA_FEATURE_FLUSH, IB_DEVICE_FLUSH_GLOBAL },
		{ OHCA_FEATURE_ATOMIC_WRITE, IB_DEVICE_ATOMIC_WRITE },
	};
	u64 flags = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (ohca_has(dev, table[i].features))
			flags |= table[i].flags;
	return flags;
}

static u32 ohca_kernel_cap_flags(const struct ohca_dev *dev)
{
	u32 flags = 0;

	if (ohca_has(dev, OHCA_FEATURE_MULTICAST))
		flags |= IBK_BLOCK_MULTICAST_LOOPBACK;
	if (ohca_has(dev, OHCA_FEATURE_FAST_REG | OHCA_FEATURE_SG_GAPS))
		flags |= IBK_SG_GAPS_REG;
	if (ohca_has(dev, OHCA_FEATURE_INTEGRITY))
		flags |= IBK_INTEGRITY_HANDOVER;
	return flags;
}

/* Both clocks at the same moment: the device read its own about half-way. */
static int ohca_respond_clocks(struct ohca_dev *dev, struct ib_udata *udata)
{
	struct ohca_query_device_resp resp = {};
	u64 real, start, clock;
	int ret;

	real = ktime_get_real_ns();
	start = ktime_get_ns();
	ret = ohca_cmd_query_clock(dev, &clock);
	if (ret)
		return ret;
	resp.device_clock_ns = clock;
	resp.real_clock_ns = real + (ktime_get_ns() - start) / 2;
	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
}

int ohca_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata)
{
	struct ohca_dev *dev = to_ohca_dev(ibdev);
	int ret;

	ret = ohca_udata_request(ibdev, udata, NULL, 0, 0);
	if (ret)
		return ret;
	ohca_fill_limits(&dev->caps, attr);
	ohca_fill_optional_limits(dev, attr);
	attr->fw_ver = dev->caps.firmware_version;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = OHCA_PCI_VENDOR_ID;
	attr->vendor_part_id = OHCA_PCI_DEVICE_ID;
	attr->hw_ver = dev->bus.revision;
	attr->device_cap_flags = ohca_device_cap_flags(dev);
	attr->kernel_cap_flags = ohca_kernel_cap_flags(dev);
	return udata && udata->outlen ? ohca_respond_clocks(dev, udata) : 0;
}
