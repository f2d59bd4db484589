# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Whether the kernel's memory grows with something that is done again and again."""
import glob
import sys

from report import check

_PROGRESS = 20
# Caches fill in the first cycles; after them a cycle may not cost this much.
_WARM_UP_PART = 5
_KIB_PER_CYCLE = 1
# What other parts of the system move to and fro.
_NOISE_KIB = 1024
_AVAILABLE_NOISE_KIB = 64 * 1024


def _use_kib():
    """(slab, vmalloc, per-CPU memory, page tables; what is available, which counts whole pages, too)."""
    with open("/proc/meminfo") as f:
        fields = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return {name: fields[name] for name in ("SUnreclaim", "VmallocUsed", "Percpu", "PageTables")}, fields["MemAvailable"]


def _drop_caches():
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    # Free objects in partly used slabs look like a leak of some KiB per cycle otherwise.
    for name in glob.glob("/sys/kernel/slab/*/shrink"):
        with open(name, "w") as f:
            f.write("1")


class MemoryUse:
    """Looks after the warm-up and at the end."""

    def __init__(self, what, cycles):
        self._what = what
        self._warm_up = max(cycles // _WARM_UP_PART, 1)
        self._done = 0
        self._begin = None

    def cycle_done(self):
        self._done += 1
        if self._done % _PROGRESS == 0:
            print(f"{self._what} {self._done}", file=sys.stderr, flush=True)
        if self._done == self._warm_up:
            _drop_caches()
            self._begin = _use_kib()

    def check_bounded(self):
        _drop_caches()
        (begin, available), (end, available_now) = self._begin, _use_kib()
        cycles = self._done - self._warm_up
        grown = sum(end.values()) - sum(begin.values())
        lost = available - available_now
        print(f"{cycles} times {self._what}: {grown} KiB more kernel memory {begin} -> {end}, "
              f"{lost} KiB less available", file=sys.stderr, flush=True)
        limit = _NOISE_KIB + _KIB_PER_CYCLE * cycles
        check(grown <= limit, f"{cycles} times {self._what}: kernel memory grew by {grown} KiB, more than {limit}")
        # available also counts whole pages; it is a coarse estimate, seen to move by 25 MiB either way
        check(lost <= _AVAILABLE_NOISE_KIB,
              f"{cycles} times {self._what}: {lost} KiB less memory available, more than {_AVAILABLE_NOISE_KIB}")
