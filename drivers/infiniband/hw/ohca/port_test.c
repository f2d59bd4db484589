// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* KUnit tests of the GID table and of the port that follows its netdev. */

#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>

#include <rdma/ib_cache.h>

#include "fake_device.h"

struct ohca_test_port {
	struct ohca_fake_device *fake;
	struct net_device *ndev;
};

static netdev_tx_t ohca_test_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops ohca_test_netdev_ops = {
	.ndo_start_xmit = ohca_test_xmit,
	.ndo_set_mac_address = eth_mac_addr,
};

static void ohca_test_netdev_remove(void *data)
{
	struct ohca_test_port *port = data;

	if (!port->ndev)
		return;
	unregister_netdev(port->ndev);
	free_netdev(port->ndev);
	port->ndev = NULL;
}

static struct ohca_test_port *ohca_test_port_create(struct kunit *test, bool same_mac)
{
	struct ohca_test_port *port = kunit_kzalloc(test, sizeof(*port), GFP_KERNEL);
	struct net_device *ndev;
	u8 mac[ETH_ALEN];

	KUNIT_ASSERT_NOT_NULL(test, port);
	port->fake = ohca_fake_device_start(test);
	ndev = alloc_etherdev(0);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	ndev->netdev_ops = &ohca_test_netdev_ops;
	ether_addr_copy(mac, port->fake->dev->mac);
	mac[0] ^= same_mac ? 0 : 8;
	eth_hw_addr_set(ndev, mac);
	if (register_netdev(ndev)) {
		free_netdev(ndev);
		KUNIT_FAIL_AND_ABORT(test, "netdev not registered");
	}
	port->ndev = ndev;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ohca_test_netdev_remove, port), 0);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_open(ndev, NULL), 0);
	rtnl_unlock();
	msleep(5000);
	return port;
}

static u32 ohca_test_gid_count(struct ohca_fake_device *fake)
{
	u32 i, count = 0;

	for (i = 0; i < OHCA_FAKE_GIDS; i++)
		count += !!memchr_inv(fake->gids[i].gid, 0, sizeof(fake->gids[i].gid));
	return count;
}

/* The device's table is that of ib_core. */
static void ohca_expect_same_gids(struct kunit *test, struct ohca_test_port *port)
{
	struct ib_device *ibdev = &port->fake->dev->ibdev;
	union ib_gid gid;
	u32 i;

	for (i = 0; i < OHCA_FAKE_GIDS; i++) {
		const struct ohca_cmd_set_gid_in *entry = &port->fake->gids[i];

		memset(&gid, 0, sizeof(gid));
		rdma_query_gid(ibdev, OHCA_PORT, i, &gid);
		KUNIT_EXPECT_MEMEQ_MSG(test, entry->gid, gid.raw, sizeof(gid.raw), "index %u", i);
		if (!memchr_inv(gid.raw, 0, sizeof(gid.raw)))
			continue;
		KUNIT_EXPECT_MEMEQ(test, entry->mac, port->ndev->dev_addr, ETH_ALEN);
		KUNIT_EXPECT_EQ(test, le16_to_cpu(entry->vlan_id), OHCA_VLAN_NONE);
	}
}

static void ohca_test_gid_table(struct kunit *test)
{
	struct ohca_test_port *port = ohca_test_port_create(test, true);
	struct ohca_fake_device *fake = port->fake;

	KUNIT_EXPECT_GE(test, ohca_test_gid_count(fake), 1);
	ohca_expect_same_gids(test, port);
	KUNIT_EXPECT_EQ(test, fake->gids[0].gid[0], 0xfe);
	KUNIT_EXPECT_EQ(test, fake->gids[0].gid[1], 0x80);
	ohca_test_netdev_remove(port);
	msleep(5000);
	KUNIT_EXPECT_EQ(test, ohca_test_gid_count(fake), 0);
}

static void ohca_test_other_netdev(struct kunit *test)
{
	struct ohca_test_port *port = ohca_test_port_create(test, false);
	struct ib_port_attr attr = {};

	KUNIT_EXPECT_EQ(test, ohca_test_gid_count(port->fake), 0);
	KUNIT_EXPECT_NULL(test, port->fake->dev->netdev.ndev);
	KUNIT_EXPECT_EQ(test, ohca_query_port(&port->fake->dev->ibdev, OHCA_PORT, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.state, IB_PORT_DOWN);
}

static void ohca_test_port_state(struct kunit *test)
{
	struct ohca_test_port *port = ohca_test_port_create(test, true);
	struct ib_device *ibdev = &port->fake->dev->ibdev;
	struct ib_port_attr attr = {};

	KUNIT_EXPECT_EQ(test, ohca_query_port(ibdev, OHCA_PORT, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, attr.active_mtu, IB_MTU_1024);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_set_mtu(port->ndev, 700), 0);
	rtnl_unlock();
	msleep(1000);
	KUNIT_EXPECT_EQ(test, ohca_query_port(ibdev, OHCA_PORT, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.active_mtu, IB_MTU_512);
	rtnl_lock();
	dev_close(port->ndev);
	rtnl_unlock();
	msleep(1000);
	KUNIT_EXPECT_EQ(test, ohca_query_port(ibdev, OHCA_PORT, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.state, IB_PORT_DOWN);
}

/* What the device refuses, ib_core does not have in its table. */
static void ohca_test_gid_refused(struct kunit *test)
{
	struct ohca_test_port *port = ohca_test_port_create(test, true);
	struct ib_gid_attr attr = {
		.device = &port->fake->dev->ibdev,
		.ndev = RCU_INITIALIZER(port->ndev),
		.gid.raw = { 0x20, 1, [15] = 7 },
		.gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP,
		.index = OHCA_FAKE_GIDS,
		.port_num = OHCA_PORT,
	};
	void *context = NULL;

	KUNIT_EXPECT_EQ(test, ohca_add_gid(&attr, &context), -EINVAL);
	attr.index = OHCA_FAKE_GIDS - 1;
	KUNIT_EXPECT_EQ(test, ohca_add_gid(&attr, &context), 0);
	KUNIT_EXPECT_EQ(test, port->fake->gids[attr.index].gid[15], 7);
	KUNIT_EXPECT_EQ(test, ohca_del_gid(&attr, &context), 0);
	KUNIT_EXPECT_EQ(test, port->fake->gids[attr.index].gid[15], 0);
}

static struct kunit_case ohca_port_cases[] = {
	KUNIT_CASE(ohca_test_gid_table),
	KUNIT_CASE(ohca_test_other_netdev),
	KUNIT_CASE(ohca_test_port_state),
	KUNIT_CASE(ohca_test_gid_refused),
	{}
};

static struct kunit_suite ohca_port_suite = {
	.name = "ohca_port",
	.test_cases = ohca_port_cases,
};

kunit_test_suite(ohca_port_suite);
