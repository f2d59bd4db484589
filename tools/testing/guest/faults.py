# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Faults that the driver injects into itself, on a kernel with fault injection: Documentation/testing/kunit.rst."""
import os

from report import check

ROOT = "/sys/kernel/debug/ohca"
TIMEOUT_MS = "/sys/module/ohca/parameters/command_timeout_ms"
# as often as they come, and counted: the kernel counts down
UNCOUNTED, MANY = -1, 1000000000


def write(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def read(path):
    with open(path) as f:
        return f.read().strip()


def check_present(bdf):
    check(os.path.isdir(f"{ROOT}/{bdf}"), f"no {ROOT}/{bdf}: not a kernel with fault injection")


class Fault:
    """One of the function's faults, on while in the block."""

    def __init__(self, bdf, name, percent, times):
        self.name = name
        self._folder = f"{ROOT}/{bdf}/{name}"
        self._percent, self._times = percent, times

    def __enter__(self):
        write(f"{self._folder}/verbose", 0)
        write(f"{self._folder}/times", self._times)
        write(f"{self._folder}/probability", self._percent)
        return self

    def __exit__(self, *_):
        # a reset in the meantime has made new ones, which are off
        write(f"{self._folder}/probability", 0)

    def injected(self):
        """How often it has come; of one with times MANY, and before the next reset."""
        return self._times - int(read(f"{self._folder}/times"))


def slots(bdf):
    """(free, unanswered): where the driver's command slots are."""
    return tuple(int(read(f"{ROOT}/{bdf}/command_slots_{which}")) for which in ("free", "unanswered"))


def kernel_leaks(words):
    """Objects that nobody refers to any more and whose backtrace has one of the words, as kmemleak tells of them."""
    leaks = "/sys/kernel/debug/kmemleak"
    with open(leaks) as f:
        found = f.read().split("unreferenced object ")[1:]
    return [each for each in found if any(word in each for word in words)]
