# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The guest's initramfs: a base that is cached, and a small archive for each run appended to it."""
import hashlib
import os
import shlex
import tempfile

from kernel import read_module

GUEST = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "guest")
# what the network and the root need, and what RDMA needs
EARLY = ("virtio_pci", "virtio_iommu", "virtio_net", "virtio_console", "virtio_rng", "9pnet_virtio", "9p", "overlay")
LATE = ("ib_uverbs", "rdma_ucm", "ib_umad")


class Archive:
    """A cpio archive in the "newc" format."""

    def __init__(self):
        self._data = bytearray()
        self._count = 0

    def _entry(self, name, mode, data):
        self._count += 1
        name = os.fsencode(name) + b"\0"
        fields = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        self._data += b"070701" + b"".join(b"%08x" % f for f in fields) + name
        self._data += bytes(-len(self._data) % 4)
        self._data += data
        self._data += bytes(-len(self._data) % 4)

    def folder(self, name):
        self._entry(name, 0o040755, b"")

    def file(self, name, data, mode=0o644):
        self._entry(name, 0o100000 | mode, data if isinstance(data, bytes) else os.fsencode(data))

    def link(self, name, target):
        self._entry(name, 0o120777, os.fsencode(target))

    def finish(self):
        self._entry("TRAILER!!!", 0, b"")
        self._data += bytes(-len(self._data) % 512)
        return bytes(self._data)


def _read(path):
    with open(path, "rb") as f:
        return f.read()


def _base(kernel):
    archive = Archive()
    for name in ("bin", "dev", "proc", "sys", "new", "lower", "rw", "job", "modules"):
        archive.folder(name)
    archive.file("bin/busybox", _read("/usr/bin/busybox"), 0o755)
    archive.link("bin/sh", "busybox")
    archive.file("init", _read(f"{GUEST}/init"), 0o755)
    early = kernel.closure(EARLY)
    late = [p for p in kernel.closure(LATE) if p not in early]
    for stage, paths in (("early", early), ("late", late)):
        names = []
        for path in paths:
            names.append(os.path.basename(path).split(".ko")[0] + ".ko")
            archive.file(f"modules/{names[-1]}", read_module(path))
        archive.file(f"modules/{stage}", "".join(n + "\n" for n in names))
    return archive.finish()


def base(kernel, cache):
    """The cached base archive for this kernel, made if it is not there."""
    key = hashlib.sha256()
    for path in (__file__, f"{GUEST}/init"):
        key.update(_read(path))
    key.update(repr((kernel.release, kernel.modules, os.environ.get("OHCA_TESTBED"))).encode())
    if kernel.modules:
        stat = os.stat(f"{kernel.modules}/modules.dep")
        key.update(repr((stat.st_mtime_ns, stat.st_size)).encode())
    path = f"{cache}/initramfs/{key.hexdigest()[:16]}"
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as f:
            f.write(_base(kernel))
        os.rename(f.name, path)
    return _read(path)


def job(options, kernel, parts):
    """The archive of one run: what to mount, load, set and execute."""
    archive = Archive()
    archive.folder("job")
    archive.file("job/stage2", _read(f"{GUEST}/stage2"))
    archive.file("job/host-request", _read(f"{GUEST}/host-request"), 0o755)
    archive.file("job/shares", "".join(f"{s.tag} {s.mode} {s.path}\n" for s in parts.shares))
    archive.file("job/addresses", "".join(
        f"{mac} 10.77.{i}.1/24\n" for i, mac in enumerate(parts.macs)))
    archive.file("job/functions", f"{options.functions}\n")
    if kernel.foreign and kernel.modules:
        archive.file("job/modules", kernel.modules)
    if parts.module:
        archive.file("job/ohca.ko", _read(parts.module))
    if parts.provider:
        archive.file("job/provider", parts.provider + "\n")
    archive.file("job/environment", "".join(
        f"export {n}={shlex.quote(v)}\n" for n, v in parts.environment.items()))
    if options.interactive:
        archive.file("job/interactive", "")
    else:
        archive.file("job/command", "cd {} 2>/dev/null || cd /\nexec {}\n".format(
            shlex.quote(os.getcwd()), " ".join(map(shlex.quote, options.command))))
    return archive.finish()
