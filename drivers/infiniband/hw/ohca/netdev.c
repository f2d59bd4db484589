// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pairing with the netdev that has the port's MAC address.
 *
 * It may come and go at any time.  All of this runs under RTNL, in the
 * notifier, and only takes notes; what may take long is done by the port work.
 * Registering the notifier replays the netdevs that are there already, and
 * unregistering it replays their departure.
 */

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <linux/sysfs.h>

#include "ohca.h"

/*
 * Where rdma_cm's users look for the netdev of an ib_device: in the "net"
 * folder of its parent.
 */
#define OHCA_NET_FOLDER	"net"

static struct attribute *ohca_no_attrs[] = { NULL };

static const struct attribute_group ohca_net_group = {
	.name = OHCA_NET_FOLDER,
	.attrs = ohca_no_attrs,
};

static void ohca_netdev_unlink(struct ohca_dev *dev)
{
	struct ohca_netdev *net = &dev->netdev;

	if (net->link_name[0])
		sysfs_remove_link_from_group(&ohca_device(dev)->kobj, OHCA_NET_FOLDER,
					     net->link_name);
	net->link_name[0] = '\0';
}

static void ohca_netdev_link(struct ohca_dev *dev)
{
	struct ohca_netdev *net = &dev->netdev;
	int ret;

	ret = sysfs_add_link_to_group(&ohca_device(dev)->kobj, OHCA_NET_FOLDER,
				      &net->ndev->dev.kobj, net->ndev->name);
	if (ret)
		dev_warn(ohca_device(dev), "no link to %s: %d\n", net->ndev->name, ret);
	else
		strscpy(net->link_name, net->ndev->name);
}

/* Take down what the port work needs to know, and start it. */
static void ohca_netdev_note(struct ohca_dev *dev)
{
	struct ohca_netdev *net = &dev->netdev;
	struct net_device *ndev = net->ndev;

	WRITE_ONCE(net->up, ndev && netif_running(ndev) && netif_carrier_ok(ndev));
	WRITE_ONCE(net->mtu, ndev ? READ_ONCE(ndev->mtu) : 0);
	ohca_port_update(dev);
}

/* VLANs, macvlans, bridges and the like borrow the address of what is below. */
static bool ohca_netdev_matches(struct ohca_dev *dev, struct net_device *ndev)
{
	return ndev->type == ARPHRD_ETHER && ether_addr_equal(ndev->dev_addr, dev->mac) &&
	       dev_get_iflink(ndev) == ndev->ifindex && !is_vlan_dev(ndev) &&
	       !netif_is_bridge_master(ndev) && !netif_is_bond_master(ndev) &&
	       !netif_is_team_master(ndev);
}

static void ohca_netdev_pair(struct ohca_dev *dev, struct net_device *ndev)
{
	if (ib_device_set_netdev(&dev->ibdev, ndev, OHCA_PORT)) {
		dev_warn(ohca_device(dev), "not paired with %s\n", netdev_name(ndev));
		return;
	}
	dev->netdev.ndev = ndev;
	dev_info(ohca_device(dev), "port paired with %s\n", netdev_name(ndev));
	ohca_netdev_link(dev);
	WRITE_ONCE(dev->netdev.rescan_gids, true);
	ohca_netdev_note(dev);
}

static void ohca_netdev_unpair(struct ohca_dev *dev)
{
	dev_info(ohca_device(dev), "port no longer paired with %s\n",
		 netdev_name(dev->netdev.ndev));
	ohca_netdev_unlink(dev);
	ib_device_set_netdev(&dev->ibdev, NULL, OHCA_PORT);
	dev->netdev.ndev = NULL;
	ohca_netdev_note(dev);
}

static int ohca_netdev_event(struct notifier_block *notifier, unsigned long event, void *info)
{
	struct ohca_dev *dev = container_of(notifier, struct ohca_dev, netdev.notifier);
	struct net_device *ndev = netdev_notifier_info_to_dev(info);

	if (!dev->netdev.ndev) {
		if ((event == NETDEV_REGISTER || event == NETDEV_UP ||
		     event == NETDEV_CHANGEADDR) && ohca_netdev_matches(dev, ndev))
			ohca_netdev_pair(dev, ndev);
		return NOTIFY_DONE;
	}
	if (dev->netdev.ndev != ndev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		ohca_netdev_note(dev);
		break;
	case NETDEV_CHANGENAME:
		ohca_netdev_unlink(dev);
		ohca_netdev_link(dev);
		break;
	case NETDEV_UNREGISTER:
		ohca_netdev_unpair(dev);
		break;
	}
	return NOTIFY_DONE;
}

int ohca_netdev_register(struct ohca_dev *dev)
{
	int ret;

	ret = sysfs_create_group(&ohca_device(dev)->kobj, &ohca_net_group);
	if (ret)
		return ret;
	dev->netdev.notifier.notifier_call = ohca_netdev_event;
	ret = register_netdevice_notifier_net(&init_net, &dev->netdev.notifier);
	if (ret)
		sysfs_remove_group(&ohca_device(dev)->kobj, &ohca_net_group);
	return ret;
}

void ohca_netdev_unregister(struct ohca_dev *dev)
{
	unregister_netdevice_notifier_net(&init_net, &dev->netdev.notifier);
	sysfs_remove_group(&ohca_device(dev)->kobj, &ohca_net_group);
}
