# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Asynchronous operations without end, of which each must have its completion when the device goes."""
import re
import subprocess

import report
from report import check

_DEADLINE_SECONDS = 120


class Storm:
    """async_test --storm: some 100 operations in flight at any time, creations and destructions among them."""

    def __init__(self):
        self._process = subprocess.Popen(["async_test", "--storm"], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = self._process.stdout.readline()
        if line != "storm\n":
            # it has said why, and ended
            check(False, f"the storm does not begin: {line}{self._process.stdout.read()}")

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self._process.kill()
        self._process.wait()

    def kill(self):
        self._process.kill()
        self._process.wait()

    def ends(self):
        """The device has gone: every operation must have had its completion."""
        output, _ = self._process.communicate(timeout=_DEADLINE_SECONDS * report.SLOWNESS)
        check(self._process.returncode == 0, f"{output}\nstatus {self._process.returncode}")
        found = re.search(r"^(\d+) operations, as many completions, (\d+) of them without error$", output, re.MULTILINE)
        check(found and int(found[2]) > 0, f"the storm has not done anything: {output}")
