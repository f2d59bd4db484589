# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""NFS over RDMA: this guest's server, which exports a tmpfs, and mounts of it."""
import os
import signal
import subprocess
import time

from report import Failure, run, wait_for, write

EXPORT = "/srv/share"
_CONTROL = "/proc/fs/nfsd"
_PORT = 20049
_GRACE_SECONDS = 10  # the kernel takes no less


class Server:
    """NFS version 4 on every address of this guest."""

    def __init__(self, size="192m"):
        run("modprobe", "nfsd")
        run("modprobe", "rpcrdma")
        if not os.path.ismount(_CONTROL):
            run("mount", "-t", "nfsd", "nfsd", _CONTROL)
        os.makedirs(EXPORT, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "share", EXPORT)
        run("exportfs", "-i", "-o", "rw,no_root_squash,insecure,no_subtree_check,fsid=0", f"*:{EXPORT}")
        # answers the kernel's questions about exports; version 3, which needs rpcbind, is off
        self._mountd = subprocess.Popen(["rpc.mountd", "-F", "-N", "3"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        write(f"{_CONTROL}/nfsv4gracetime", str(_GRACE_SECONDS))
        run("rpc.nfsd", "-N", "3", f"--rdma={_PORT}", "4")
        self._end_grace()

    @staticmethod
    def _end_grace():
        """No client is left of an earlier life that could claim what it had."""
        try:
            write(f"{_CONTROL}/v4_end_grace", "Y")
        except Failure:
            # a kernel that does not track clients, as the debug kernel, does not let itself be told
            time.sleep(_GRACE_SECONDS)

    def stop(self):
        run("rpc.nfsd", "0")
        run("exportfs", "-au")
        self._mountd.send_signal(signal.SIGTERM)
        self._mountd.wait(20)
        run("umount", EXPORT)


def mount(address, folder, *options):
    os.makedirs(folder, exist_ok=True)
    run("mount", "-t", "nfs", "-o", ",".join(["vers=4", "proto=rdma", f"port={_PORT}", *options]), f"{address}:/",
        folder, deadline=90)


def unmount(folder):
    # a process that just ended may still hold it
    def gone():
        return subprocess.run(["umount", folder], stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 0

    wait_for(f"{folder} to be unmounted", gone, 60, 0.5)
