# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""NVMe over RDMA: a disk of the kernel's as target, and the host's connection to it."""
import glob
import os
import re
import subprocess

from report import run, wait_for, write

_CONFIG = "/sys/kernel/config/nvmet"
_SUBSYSTEM = f"{_CONFIG}/subsystems/ram"
_NAMESPACE = f"{_SUBSYSTEM}/namespaces/1"
_PORT = f"{_CONFIG}/ports/1"
_LINK = f"{_PORT}/subsystems/ram"
_INLINE_BYTES = 16384
_RAM_DISK = "/dev/ram0"
_NULL_DISK = "/dev/nullb0"


def _make_disk(size_kib):
    """The debug kernel has no RAM disk; a null block device with memory is one, but a slower one."""
    if subprocess.run(["modprobe", "brd", "rd_nr=1", f"rd_size={size_kib}"], stdin=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, timeout=30, check=False).returncode != 0:
        run("modprobe", "null_blk", "nr_devices=1", "memory_backed=1", "gb=1")


def prepare(size_kib=65536):
    """What is loaded once: the RAM disk and the modules that the transports come on."""
    if not os.path.isdir("/sys/kernel/config/nvmet"):
        run("modprobe", "nvmet")
    if not os.path.ismount("/sys/kernel/config"):
        run("mount", "-t", "configfs", "none", "/sys/kernel/config")
    _make_disk(size_kib)
    run("modprobe", "nvme-rdma")


# in the place of an address: within the kernel, without a transport
LOOP = "loop"


class Target:
    """A disk, by default that of prepare(), offered at an address, or at LOOP; protected: with its protection information."""

    def __init__(self, address, use_srq="N", disk=None, protected=False):
        self._module = "nvme-loop" if address == LOOP else "nvmet-rdma"
        run("modprobe", self._module, *([] if address == LOOP else [f"use_srq={use_srq}"]))
        for path in (_NAMESPACE, _PORT):
            os.makedirs(path)
        write(f"{_SUBSYSTEM}/attr_allow_any_host", "1")
        if protected:
            write(f"{_SUBSYSTEM}/attr_pi_enable", "1")
            write(f"{_PORT}/param_pi_enable", "1")
        write(f"{_NAMESPACE}/device_path", disk or (_RAM_DISK if os.path.exists(_RAM_DISK) else _NULL_DISK))
        write(f"{_NAMESPACE}/enable", "1")
        write(f"{_PORT}/addr_trtype", "loop" if address == LOOP else "rdma")
        if address != LOOP:
            for name, value in (("addr_adrfam", "ipv4"), ("addr_traddr", address), ("addr_trsvcid", "4420"),
                                ("param_inline_data_size", str(_INLINE_BYTES))):
                write(f"{_PORT}/{name}", value)
        self.show()

    @staticmethod
    def show():
        os.symlink(_SUBSYSTEM, _LINK)

    @staticmethod
    def hide():
        """Hosts lose their connections, and can make no new ones."""
        os.unlink(_LINK)

    def withdraw(self):
        self.hide()
        os.rmdir(_PORT)
        write(f"{_NAMESPACE}/enable", "0")
        os.rmdir(_NAMESPACE)
        os.rmdir(_SUBSYSTEM)
        run("rmmod", self._module)


def _subsystem():
    for path in glob.glob("/sys/class/nvme-subsystem/*/subsysnqn"):
        with open(path) as f:
            if f.read().strip() == "ram":
                return os.path.dirname(path)
    return None


def _find(folder, pattern):
    names = [name for name in os.listdir(folder) if re.fullmatch(pattern, name)] if folder else []
    return names[0] if names else None


def controller():
    """Its folder in sysfs, or None."""
    name = _find(_subsystem(), r"nvme\d+")
    return name and f"/sys/class/nvme/{name}"


def _disk():
    """The subsystem's or, in a kernel without multipath such as the debug kernel, the controller's."""
    return _find(_subsystem(), r"nvme\d+n\d+") or _find(controller(), r"nvme\d+n\d+")


def state():
    folder = controller()
    try:
        with open(f"{folder}/state") as f:
            return f.read().strip()
    except OSError:
        return None


def connect(address, queues=4):
    """The block device. A lost connection is tried again every second."""
    where = ["-t", "loop"] if address == LOOP else ["-t", "rdma", "-a", address, "-s", "4420", "--reconnect-delay=1",
                                                    "--ctrl-loss-tmo=120"]
    run("nvme", "connect", "-n", "ram", "-i", str(queues), *where, deadline=60)

    def appeared():
        name = _disk()
        return name and os.path.exists(f"/dev/{name}") and f"/dev/{name}"

    return wait_for("the block device of the connection", appeared)


def disconnect():
    run("nvme", "disconnect", "-n", "ram", deadline=60)


def reset():
    """The host takes its queues down and connects anew."""
    write(f"{controller()}/reset_controller", "1")
