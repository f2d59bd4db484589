# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Traffic between functions of this guest, whose addresses are all local."""
from report import run

ADDRESSES = ("10.77.0.1", "10.77.1.1")


def part_functions():
    """Each netdev's address is reached through the other; returns both."""
    for own, netdev, other in ((ADDRESSES[0], "eth0", "eth1"), (ADDRESSES[1], "eth1", "eth0")):
        with open(f"/sys/class/net/{netdev}/address") as f:
            mac = f.read().strip()
        run("ip", "route", "del", "local", own, "dev", netdev, "table", "local")
        run("ip", "route", "add", own, "dev", other)
        run("ip", "neigh", "replace", own, "lladdr", mac, "dev", other)
    return ADDRESSES
