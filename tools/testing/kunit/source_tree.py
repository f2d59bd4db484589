# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The kernel's source with the driver in it, without a copy of the former.

A folder of links to the shared source, with folders of its own on the way to
what differs.  The driver and the contract are copies that are only written when
they differ, so that make sees what has changed and nothing else, whichever
checkout they come from.
"""
import os
import shutil

INFINIBAND = "drivers/infiniband"
DRIVER = f"{INFINIBAND}/hw/ohca"
CONTRACT = ("include/uapi/rdma", "include/rdma")
# Folders that are not links.
_OWN = ("", "drivers", INFINIBAND, f"{INFINIBAND}/hw", DRIVER, "include", "include/uapi", *CONTRACT)


def _write(path, content):
    try:
        with open(path, "rb") as f:
            if not os.path.islink(path) and f.read() == content:
                return
        os.unlink(path)
    except FileNotFoundError:
        pass
    with open(path, "wb") as f:
        f.write(content)


def _read(path):
    with open(path, "rb") as f:
        return f.read()


def _link_folder(kernel, tree, folder):
    os.makedirs(os.path.join(tree, folder), exist_ok=True)
    origin = os.path.join(kernel, folder)
    for name in os.listdir(origin) if os.path.isdir(origin) else ():
        link = os.path.join(tree, folder, name)
        if os.path.join(folder, name) not in _OWN and not os.path.lexists(link):
            os.symlink(os.path.join(origin, name), link)


def _graft(kernel, tree):
    """The lines that a patch to the kernel would add; and no warning in the driver."""
    kconfig = _read(f"{kernel}/{INFINIBAND}/Kconfig")
    end = kconfig.rindex(b"endif # INFINIBAND")
    _write(f"{tree}/{INFINIBAND}/Kconfig",
           kconfig[:end] + f'source "{DRIVER}/Kconfig"\n\n'.encode() + kconfig[end:])
    _write(f"{tree}/{INFINIBAND}/hw/Makefile",
           _read(f"{kernel}/{INFINIBAND}/hw/Makefile") +
           b"obj-$(CONFIG_INFINIBAND_OHCA)\t+= ohca/\nsubdir-ccflags-y\t+= -Werror\n")


def _is_source(name):
    return name.endswith((".c", ".h")) or name in ("Kconfig", "Makefile", ".kunitconfig")


def _copy_driver(checkout, tree):
    origin, copy = f"{checkout}/{DRIVER}", f"{tree}/{DRIVER}"
    names = [name for name in os.listdir(origin) if _is_source(name) and not name.endswith(".mod.c")]
    for name in set(os.listdir(copy)) - set(names):
        os.unlink(f"{copy}/{name}")
    for name in names:
        _write(f"{copy}/{name}", _read(f"{origin}/{name}"))


def _copy_contract(kernel, checkout, tree, folder):
    """Headers of ours beside those of the kernel."""
    origin, copy = f"{checkout}/{folder}", f"{tree}/{folder}"
    names = [name for name in os.listdir(origin) if name.endswith(".h")] if os.path.isdir(origin) else []
    for name in os.listdir(copy):
        if name not in names and not os.path.lexists(f"{kernel}/{folder}/{name}"):
            os.unlink(f"{copy}/{name}")
    for name in names:
        _write(f"{copy}/{name}", _read(f"{origin}/{name}"))


def update(kernel, checkout, tree):
    """Make tree the source of kernel with the driver of checkout in it."""
    for folder in _OWN:
        _link_folder(kernel, tree, folder)
    _graft(kernel, tree)
    _copy_driver(checkout, tree)
    for folder in CONTRACT:
        _copy_contract(kernel, checkout, tree, folder)


def copy_checkout(checkout, to):
    """What update() needs of a checkout, to be changed."""
    for folder in (DRIVER, *CONTRACT):
        if os.path.isdir(f"{checkout}/{folder}"):
            shutil.copytree(f"{checkout}/{folder}", f"{to}/{folder}",
                            ignore=lambda _, names: [name for name in names if not _is_source(name)])
