# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What users of RDMA in the kernel get: NVMe and NFS on ohca and on rxe, and fast registration."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import fio
import nfs_share
import nvme_fabric
from report import check, run

# rxe has a netdev of its own, so that the address decides which device is used.
_ADDRESSES = {"ohca0": "10.77.0.1", "rxe1": "10.78.0.1"}
_FOLDER = "/mnt/share"
_SECONDS = 3
_PAIRS = {"kernel": 200000, "user": 2000}


def _prepare_rxe():
    run("rdma", "link", "del", "rxe0")
    run("ip", "link", "add", "dummy0", "type", "dummy")
    run("ip", "address", "add", f"{_ADDRESSES['rxe1']}/24", "dev", "dummy0")
    run("ip", "link", "set", "dummy0", "up")
    run("rdma", "link", "add", "rxe1", "type", "rxe", "netdev", "dummy0")


def _note(results, figure, device, value):
    row = results.setdefault(figure, {})
    name = "rxe0" if device == "rxe1" else device
    row[name] = max(row.get(name, 0), value)


def _measure_nvme(results, device, address):
    target = nvme_fabric.Target(address)
    disk = nvme_fabric.connect(address, queues=2)
    _note(results, "nvme_read_iops_4k", device, fio.measure(disk, "randread", "4k", 128, _SECONDS)[0] / 1000)
    _note(results, "nvme_write_bandwidth_1m", device, fio.measure(disk, "write", "1m", 8, _SECONDS)[1] / (1 << 20))
    nvme_fabric.disconnect()
    target.withdraw()


def _measure_nfs(results, device, address):
    nfs_share.mount(address, _FOLDER)
    for direction in ("write", "read"):
        bandwidth = fio.measure(f"{_FOLDER}/data", direction, "1m", 8, _SECONDS)[1]
        _note(results, f"nfs_{direction}_bandwidth_1m", device, bandwidth / (1 << 20))
    nfs_share.unmount(_FOLDER)


def _kernel_registrations(module):
    """Pairs of REG_MR and LOCAL_INV a second."""
    run("insmod", module, "device=ohca0", f"registrations={_PAIRS['kernel']}", deadline=120)
    run("rmmod", "kverbs")
    found = re.findall(r"kverbs: (\d+) registrations of 16 pages in (\d+) ns", run("dmesg"))
    check(found, "kverbs has reported nothing")
    count, nanoseconds = map(int, found[-1])
    return count * 1e9 / nanoseconds


def _measure_registrations(results, module, rounds):
    run("modprobe", "rdma_cm")	# which insmod does not load
    row = results["registrations"] = {"kernel": 0, "user": 0}
    for _ in range(rounds):
        row["kernel"] = max(row["kernel"], _kernel_registrations(module))
        row["user"] = max(row["user"], float(run("register_rate", "ohca0", str(_PAIRS["user"]), deadline=120)))


def measure_ulps(results, rounds, module, say):
    """Adds to the results; module: the path of kverbs.ko. rxe0 is not there any more afterwards."""
    _measure_registrations(results, module, rounds)
    say(f"registrations: {results['registrations']}")
    _prepare_rxe()
    nvme_fabric.prepare()
    server = nfs_share.Server()
    for _ in range(rounds):
        # what host and target cost whatever is between them
        _measure_nvme(results, "loop", nvme_fabric.LOOP)
        for device, address in _ADDRESSES.items():
            _measure_nvme(results, device, address)
            _measure_nfs(results, device, address)
            say(f"{device}: {({name: row for name, row in results.items() if name.startswith(('nvme', 'nfs'))})}")
    server.stop()
