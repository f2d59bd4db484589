# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The driver of a function: load, unload, reset, wait until it is usable."""
import ctypes
import os

from report import check, wait_for

_libc = ctypes.CDLL(None, use_errno=True)
_FINIT_MODULE, _DELETE_MODULE = 313, 176


def address(device="ohca0"):
    return os.path.basename(os.path.realpath(f"/sys/class/infiniband/{device}/device"))


def _call(what, number, *arguments):
    check(_libc.syscall(number, *arguments) == 0, f"{what}: {os.strerror(ctypes.get_errno())}")


def load():
    path = os.environ["OHCA_MODULE"]
    module = os.open(path, os.O_RDONLY)
    try:
        _call(f"load {path}", _FINIT_MODULE, module, b"", 0)
    finally:
        os.close(module)


def unload():
    _call("unload ohca", _DELETE_MODULE, b"ohca", os.O_NONBLOCK)
    check(not os.path.exists("/sys/class/infiniband/ohca0"), "ohca0 outlives its driver")


def reset(bdf):
    with open(f"/sys/bus/pci/devices/{bdf}/reset", "w") as f:
        f.write("1")


def port_state(device="ohca0"):
    try:
        with open(f"/sys/class/infiniband/{device}/ports/1/state") as f:
            return f.read().split(":")[1].strip()
    except OSError:
        return None


def _usable(device):
    # the IPv4 GID is the last thing to come
    try:
        with open(f"/sys/class/infiniband/{device}/ports/1/gids/1") as f:
            gid = f.read().strip()
    except OSError:
        return False
    return port_state(device) == "ACTIVE" and not gid.startswith("0000:0000:0000:0000:0000:0000")


def counter(name, device="ohca0"):
    with open(f"/sys/class/infiniband/{device}/ports/1/hw_counters/{name}") as f:
        return int(f.read())


def wait_usable(device="ohca0", deadline=30.0):
    wait_for(f"{device} to be active with its GIDs", lambda: _usable(device), deadline)
