// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Performance management datagrams, as `perfquery` sends them and as ib_core
 * makes them up for the "counters" folder in sysfs.
 *
 * What is told are the device's counters less what they were when they were
 * last set.  The two attributes are counters of their own: setting one leaves
 * the other as it is.
 */

#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "ohca.h"

/* IBTA counts data in units of four octets. */
#define OHCA_PMA_DATA_SHIFT	2
/* 4.096 us * 2^8 = 1 ms: the answer does not wait for the device. */
#define OHCA_PMA_RESPONSE_TIME	8
#define OHCA_PMA_ALL_PORTS	0xff

static void ohca_pma_read(struct ohca_dev *dev, u64 *out)
{
	u64 values[OHCA_COUNTER_COUNT];

	ohca_counters_read(dev, values);
	out[OHCA_PMA_XMIT_DATA] = values[OHCA_COUNTER_TX_BYTES] >> OHCA_PMA_DATA_SHIFT;
	out[OHCA_PMA_RCV_DATA] = values[OHCA_COUNTER_RX_BYTES] >> OHCA_PMA_DATA_SHIFT;
	out[OHCA_PMA_XMIT_PACKETS] = values[OHCA_COUNTER_TX_SEGMENTS];
	out[OHCA_PMA_RCV_PACKETS] = values[OHCA_COUNTER_RX_SEGMENTS];
	out[OHCA_PMA_RCV_ERRORS] = values[OHCA_COUNTER_PACKETS_DROPPED];
	out[OHCA_PMA_LINK_DOWNED] = READ_ONCE(dev->port.down_count);
}

/* Since they were last set. */
static void ohca_pma_get(struct ohca_dev *dev, enum ohca_pma_set set, u64 *out)
{
	struct ohca_pma *pma = &dev->pma;
	unsigned long flags;
	int i;

	ohca_pma_read(dev, out);
	spin_lock_irqsave(&pma->lock, flags);
	for (i = 0; i < OHCA_PMA_COUNT; i++)
		out[i] -= pma->base[set][i];
	spin_unlock_irqrestore(&pma->lock, flags);
}

/* From now on the counters of @mask count on from @values. */
static void ohca_pma_put(struct ohca_dev *dev, enum ohca_pma_set set, u32 mask,
			 const u64 *values)
{
	struct ohca_pma *pma = &dev->pma;
	u64 now[OHCA_PMA_COUNT];
	unsigned long flags;
	int i;

	ohca_pma_read(dev, now);
	spin_lock_irqsave(&pma->lock, flags);
	for (i = 0; i < OHCA_PMA_COUNT; i++)
		if (mask & BIT(i))
			pma->base[set][i] = now[i] - values[i];
	spin_unlock_irqrestore(&pma->lock, flags);
}

static void ohca_pma_class_port_info(struct ib_class_port_info *info)
{
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	/* Which packets were sent to a multicast group the device does not count. */
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF;
	ib_set_cpi_resp_time(info, OHCA_PMA_RESPONSE_TIME);
}

static void ohca_pma_set_counters(struct ohca_dev *dev, const struct ib_pma_portcounters *in)
{
	const u64 values[OHCA_PMA_COUNT] = {
		[OHCA_PMA_XMIT_DATA] = be32_to_cpu(in->port_xmit_data),
		[OHCA_PMA_RCV_DATA] = be32_to_cpu(in->port_rcv_data),
		[OHCA_PMA_XMIT_PACKETS] = be32_to_cpu(in->port_xmit_packets),
		[OHCA_PMA_RCV_PACKETS] = be32_to_cpu(in->port_rcv_packets),
		[OHCA_PMA_RCV_ERRORS] = be16_to_cpu(in->port_rcv_errors),
		[OHCA_PMA_LINK_DOWNED] = in->link_downed_counter,
	};
	static const __be16 selects[OHCA_PMA_COUNT] = {
		[OHCA_PMA_XMIT_DATA] = IB_PMA_SEL_PORT_XMIT_DATA,
		[OHCA_PMA_RCV_DATA] = IB_PMA_SEL_PORT_RCV_DATA,
		[OHCA_PMA_XMIT_PACKETS] = IB_PMA_SEL_PORT_XMIT_PACKETS,
		[OHCA_PMA_RCV_PACKETS] = IB_PMA_SEL_PORT_RCV_PACKETS,
		[OHCA_PMA_RCV_ERRORS] = IB_PMA_SEL_PORT_RCV_ERRORS,
		[OHCA_PMA_LINK_DOWNED] = IB_PMA_SEL_LINK_DOWNED,
	};
	u32 mask = 0;
	int i;

	for (i = 0; i < OHCA_PMA_COUNT; i++)
		if (in->counter_select & selects[i])
			mask |= BIT(i);
	ohca_pma_put(dev, OHCA_PMA_COUNTERS, mask, values);
}

/* These are narrow, and stay at their maximum. */
static void ohca_pma_get_counters(struct ohca_dev *dev, struct ib_pma_portcounters *out)
{
	u64 values[OHCA_PMA_COUNT];

	ohca_pma_get(dev, OHCA_PMA_COUNTERS, values);
	out->port_select = OHCA_PORT;
	out->link_downed_counter = min_t(u64, values[OHCA_PMA_LINK_DOWNED], U8_MAX);
	out->port_rcv_errors = cpu_to_be16(min_t(u64, values[OHCA_PMA_RCV_ERRORS], U16_MAX));
	out->port_xmit_data = cpu_to_be32(min_t(u64, values[OHCA_PMA_XMIT_DATA], U32_MAX));
	out->port_rcv_data = cpu_to_be32(min_t(u64, values[OHCA_PMA_RCV_DATA], U32_MAX));
	out->port_xmit_packets = cpu_to_be32(min_t(u64, values[OHCA_PMA_XMIT_PACKETS], U32_MAX));
	out->port_rcv_packets = cpu_to_be32(min_t(u64, values[OHCA_PMA_RCV_PACKETS], U32_MAX));
}

static void ohca_pma_set_extended(struct ohca_dev *dev, const struct ib_pma_portcounters_ext *in)
{
	const u64 values[OHCA_PMA_COUNT] = {
		[OHCA_PMA_XMIT_DATA] = be64_to_cpu(in->port_xmit_data),
		[OHCA_PMA_RCV_DATA] = be64_to_cpu(in->port_rcv_data),
		[OHCA_PMA_XMIT_PACKETS] = be64_to_cpu(in->port_xmit_packets),
		[OHCA_PMA_RCV_PACKETS] = be64_to_cpu(in->port_rcv_packets),
	};
	u32 mask = 0;

	if (in->counter_select & IB_PMA_SELX_PORT_XMIT_DATA)
		mask |= BIT(OHCA_PMA_XMIT_DATA);
	if (in->counter_select & IB_PMA_SELX_PORT_RCV_DATA)
		mask |= BIT(OHCA_PMA_RCV_DATA);
	if (in->counter_select & IB_PMA_SELX_PORT_XMIT_PACKETS)
		mask |= BIT(OHCA_PMA_XMIT_PACKETS);
	if (in->counter_select & IB_PMA_SELX_PORT_RCV_PACKETS)
		mask |= BIT(OHCA_PMA_RCV_PACKETS);
	ohca_pma_put(dev, OHCA_PMA_EXTENDED, mask, values);
}

static void ohca_pma_get_extended(struct ohca_dev *dev, struct ib_pma_portcounters_ext *out)
{
	u64 values[OHCA_PMA_COUNT];

	ohca_pma_get(dev, OHCA_PMA_EXTENDED, values);
	out->port_select = OHCA_PORT;
	out->port_xmit_data = cpu_to_be64(values[OHCA_PMA_XMIT_DATA]);
	out->port_rcv_data = cpu_to_be64(values[OHCA_PMA_RCV_DATA]);
	out->port_xmit_packets = cpu_to_be64(values[OHCA_PMA_XMIT_PACKETS]);
	out->port_rcv_packets = cpu_to_be64(values[OHCA_PMA_RCV_PACKETS]);
}

/* Both attributes with counters name the port in the same place. */
static bool ohca_pma_port_ok(const struct ib_pma_mad *in)
{
	const struct ib_pma_portcounters *counters = (const void *)in->data;

	return counters->port_select == OHCA_PORT || counters->port_select == OHCA_PMA_ALL_PORTS;
}

/* The status of the answer. */
static u16 ohca_pma_answer(struct ohca_dev *dev, const struct ib_pma_mad *in,
			   struct ib_pma_mad *out)
{
	bool set = in->mad_hdr.method == IB_MGMT_METHOD_SET;

	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		if (set)
			return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
		ohca_pma_class_port_info((void *)out->data);
		return IB_MGMT_MAD_STATUS_SUCCESS;
	case IB_PMA_PORT_COUNTERS:
		if (!ohca_pma_port_ok(in))
			return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
		if (set)
			ohca_pma_set_counters(dev, (const void *)in->data);
		ohca_pma_get_counters(dev, (void *)out->data);
		return IB_MGMT_MAD_STATUS_SUCCESS;
	case IB_PMA_PORT_COUNTERS_EXT:
		if (!ohca_pma_port_ok(in))
			return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
		if (set)
			ohca_pma_set_extended(dev, (const void *)in->data);
		ohca_pma_get_extended(dev, (void *)out->data);
		return IB_MGMT_MAD_STATUS_SUCCESS;
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
}

/* What is not performance management is for the agents that have registered for it. */
int ohca_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey_index)
{
	struct ib_mad_hdr *hdr = &out->mad_hdr;
	u16 status;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (in->mad_hdr.method & IB_MGMT_METHOD_RESP))
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	*hdr = in->mad_hdr;
	hdr->method = IB_MGMT_METHOD_GET_RESP;
	if (in->mad_hdr.class_version != 1)
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	else if (in->mad_hdr.method != IB_MGMT_METHOD_GET &&
		 in->mad_hdr.method != IB_MGMT_METHOD_SET)
		status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD;
	else
		status = ohca_pma_answer(to_ohca_dev(ibdev), (const void *)in, (void *)out);
	hdr->status = cpu_to_be16(status);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
