# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Asynchronous operations without end, of which each must have its completion when the device goes."""
import os
import re
import subprocess
import tempfile

import report
from report import check, wait_for

_DEADLINE_SECONDS = 120


class Storm:
    """async_test --storm: some 100 operations in flight at any time, creations and destructions among them."""

    def __init__(self):
        self._output = tempfile.TemporaryFile()
        self._process = subprocess.Popen(["async_test", "--storm"], stdin=subprocess.DEVNULL,
                                         stdout=self._output, stderr=subprocess.STDOUT)
        self._wait_says("storm")

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.kill()
        self._output.close()

    def _said(self):
        # the position of the file is where the process writes
        return os.pread(self._output.fileno(), 1 << 20, 0).decode(errors="replace")

    def _wait_says(self, word):
        wait_for(f"the storm to say {word}", lambda: self._process.poll() is not None or word in self._said().split(),
                 _DEADLINE_SECONDS)
        check(word in self._said().split(), f"the storm has ended before it said {word}: {self._said()}")

    def blows(self):
        """Wait for the first operation that succeeds."""
        self._wait_says("blows")

    def kill(self):
        self._process.kill()
        self._process.wait()

    def ends(self):
        """The device has gone: every operation must have had its completion."""
        self._process.wait(timeout=_DEADLINE_SECONDS * report.SLOWNESS)
        output = self._said()
        check(self._process.returncode == 0, f"{output}\nstatus {self._process.returncode}")
        found = re.search(r"^(\d+) operations, as many completions, (\d+) of them without error$", output, re.MULTILINE)
        check(found and int(found[2]) > 0, f"the storm has not done anything: {output}")
