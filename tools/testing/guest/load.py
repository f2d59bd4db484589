# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A data_test that works until something happens to it."""
import itertools
import os
import signal
import struct
import subprocess

from report import Failure, check, run, wait_for

# The clock of a guest that booted on a saturated host may run several times too fast.
_PATIENCE = 240.0
_numbers = itertools.count(1)


def short_data_test(operations=1000, deadline=_PATIENCE):
    run("data_test", "--operations", str(operations), "--qps", "4", "--threads", "1", "--message-max", "65536",
        "--quiet", deadline=deadline)


class Load:
    """Operations of every kind, without end."""

    def __init__(self, qps=4, threads=1):
        number = next(_numbers)
        self._progress = f"/tmp/load-{os.getpid()}-{number}"
        self.process = subprocess.Popen(
            ["data_test", "--operations", "0", "--qps", str(qps), "--threads", str(threads), "--message-max", "65536",
             "--seed", str(number), "--quiet", "--progress", self._progress],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")

    def operations(self):
        try:
            with open(self._progress, "rb") as f:
                return struct.unpack("<Q", f.read(8).ljust(8, b"\0"))[0]
        except FileNotFoundError:
            return 0

    def _advanced(self, count):
        if self.process.poll() is not None:
            raise Failure(f"{self.process.stdout.read()}\nthe load ended with status {self.process.returncode}")
        return self.operations() >= count

    def wait_busy(self, more=20, deadline=_PATIENCE):
        wait_for("the load to get on", lambda target=self.operations() + more: self._advanced(target), deadline)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """If it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._collect(_PATIENCE)

    def fails(self, deadline=_PATIENCE):
        """The load ends by itself, with an error that it can name; returns its output."""
        output = self._collect(deadline)
        check(self.process.returncode == 1,
              f"{output}\nthe load ended with status {self.process.returncode} after it lost the device")
        return output

    def _collect(self, deadline):
        try:
            output = self.process.communicate(timeout=deadline)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            output = self.process.communicate()[0]
            raise Failure(f"{output}\nwaited {deadline:g} s for the load to end") from None
        if os.path.exists(self._progress):
            os.unlink(self._progress)
        return output
