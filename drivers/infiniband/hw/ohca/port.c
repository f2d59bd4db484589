// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The port: its attributes, its GID table, and telling device and users of its state. */

#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "ohca.h"

/* What a netdev without a usable MTU, or none, leaves of the path MTU. */
#define OHCA_MTU_DEFAULT	IB_MTU_1024

u32 ohca_gid_count(struct ohca_dev *dev)
{
	return min_t(u32, dev->caps.max_gid, OHCA_GID_COUNT_MAX);
}

enum ib_mtu ohca_port_mtu(struct ohca_dev *dev)
{
	return READ_ONCE(dev->port.mtu);
}

static bool ohca_port_active(struct ohca_dev *dev)
{
	return READ_ONCE(dev->port.active) && !ohca_failed(dev);
}

/* Bring device, users and GID table up to date with what the notifier saw. */
static void ohca_port_work(struct work_struct *work)
{
	struct ohca_dev *dev = container_of(work, struct ohca_dev, port.work);
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(dev->netdev.mtu)) ?: OHCA_MTU_DEFAULT;
	bool active = READ_ONCE(dev->netdev.up) && !ohca_failed(dev);
	struct ohca_port *port = &dev->port;
	bool was_active;

	mutex_lock(&port->lock);
	was_active = port->active;
	if (active != was_active || mtu != port->mtu) {
		WRITE_ONCE(port->mtu, mtu);
		WRITE_ONCE(port->active, active);
		if (was_active && !active)
			WRITE_ONCE(port->down_count, port->down_count + 1);
		/* Of a failed device the users are told all the same. */
		if (!ohca_failed(dev) &&
		    ohca_cmd_set_port(dev, active, ib_mtu_enum_to_int(mtu)))
			dev_warn_ratelimited(ohca_device(dev), "device did not take the port %s\n",
					     active ? "up" : "down");
	}
	mutex_unlock(&port->lock);

	if (active != was_active)
		ohca_dispatch_event(dev, active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
	/* ib_core saw the netdev before it was ours. */
	if (xchg(&dev->netdev.rescan_gids, false)) {
		mutex_lock(&dev->event_lock);
		if (dev->ib_registered)
			rdma_roce_rescan_port(&dev->ibdev, OHCA_PORT);
		else
			WRITE_ONCE(dev->netdev.rescan_gids, true);
		mutex_unlock(&dev->event_lock);
	}
}

void ohca_port_init(struct ohca_dev *dev)
{
	mutex_init(&dev->port.lock);
	dev->port.mtu = OHCA_MTU_DEFAULT;
	INIT_WORK(&dev->port.work, ohca_port_work);
}

void ohca_port_update(struct ohca_dev *dev)
{
	schedule_work(&dev->port.work);
}

int ohca_query_port(struct ib_device *ibdev, u32 port_num, struct ib_port_attr *attr)
{
	struct ohca_dev *dev = to_ohca_dev(ibdev);
	bool active = ohca_port_active(dev);
	u64 counters[OHCA_COUNTER_COUNT];

	ohca_counters_read(dev, counters);
	attr->qkey_viol_cntr = min_t(u64, counters[OHCA_COUNTER_QKEY_VIOLATIONS], U16_MAX);
	attr->state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = active ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ohca_port_mtu(dev);
	attr->gid_tbl_len = ohca_gid_count(dev);
	attr->ip_gids = true;
	attr->max_msg_sz = dev->caps.max_message_size;
	attr->pkey_tbl_len = OHCA_PKEY_COUNT;
	attr->max_vl_num = 1;
	/* There is no line whose rate could be told: 100 Gb/s is what memory does. */
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

int ohca_get_port_immutable(struct ib_device *ibdev, u32 port_num,
			    struct ib_port_immutable *immutable)
{
	struct ohca_dev *dev = to_ohca_dev(ibdev);

	immutable->pkey_tbl_len = OHCA_PKEY_COUNT;
	immutable->gid_tbl_len = ohca_gid_count(dev);
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	/* These need a GSI QP; without one ib_mad would only complain. */
	if (dev->features & OHCA_FEATURE_UD)
		immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	else
		immutable->core_cap_flags &= ~(RDMA_CORE_CAP_IB_MAD | RDMA_CORE_CAP_IB_CM);
	return 0;
}

enum rdma_link_layer ohca_get_link_layer(struct ib_device *ibdev, u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

int ohca_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey)
{
	if (index >= OHCA_PKEY_COUNT)
		return -EINVAL;
	*pkey = OHCA_PKEY_DEFAULT;
	return 0;
}

int ohca_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct ohca_dev *dev = to_ohca_dev(attr->device);
	struct ohca_set_gid_params params = {
		.gid = attr->gid.raw,
		.index = attr->index,
	};
	int ret;

	ret = rdma_read_gid_l2_fields(attr, &params.vlan_id, params.mac);
	if (ret)
		return ret;
	return ohca_cmd_set_gid(dev, &params);
}

int ohca_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct ohca_set_gid_params params = {
		.index = attr->index,
		.vlan_id = OHCA_VLAN_NONE,
	};

	return ohca_cmd_set_gid(to_ohca_dev(attr->device), &params);
}
