# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The kernel that a guest boots: image, release, and modules for the initramfs."""
import lzma
import os
import subprocess


class Kernel:
    """The testbed's own kernel, or that of --kernel DIR.

    DIR is a kernel build directory, or any folder with vmlinuz, bzImage or
    vmlinux, a file "release", and perhaps lib/modules/RELEASE.
    """

    def __init__(self, directory=None):
        if directory is None:
            with open("/etc/testbed-kernel") as f:
                self.release = f.read().strip()
            self.image = f"/boot/vmlinuz-{self.release}"
            self.modules = f"/lib/modules/{self.release}"
            self.foreign = False
            return
        self.foreign = True
        images = ("vmlinuz", "bzImage", "arch/x86/boot/bzImage", "vmlinux")
        self.image = next((p for i in images if os.path.exists(p := f"{directory}/{i}")), None)
        releases = ("release", "include/config/kernel.release")
        release = next((p for r in releases if os.path.exists(p := f"{directory}/{r}")), None)
        if not self.image or not release:
            raise SystemExit(f"run: {directory} has no kernel image or no kernel release")
        with open(release) as f:
            self.release = f.read().strip()
        self.modules = f"{directory}/lib/modules/{self.release}"
        if not os.path.isdir(self.modules):
            self.modules = None

    def closure(self, wanted):
        """Paths of the wanted modules and what they depend on, in load order; built-in ones left out."""
        if self.modules is None:
            return []
        depends, paths = {}, {}
        with open(f"{self.modules}/modules.dep") as f:
            for line in f:
                path, _, rest = line.partition(":")
                paths[_name(path)] = path
                depends[_name(path)] = [_name(p) for p in rest.split()]
        order = []

        def visit(name):
            if name in order or name not in paths:
                return
            for needed in depends[name]:
                visit(needed)
            order.append(name)
        for name in wanted:
            visit(name)
        return [f"{self.modules}/{paths[name]}" for name in order]


def _name(path):
    return os.path.basename(path).split(".ko")[0].replace("-", "_")


def read_module(path):
    """The module's bytes, uncompressed (the guest's first insmod has no decompressor)."""
    if path.endswith(".xz"):
        with lzma.open(path) as f:
            return f.read()
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    with open(path, "rb") as f:
        return f.read()
