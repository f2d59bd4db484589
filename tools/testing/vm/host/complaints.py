# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a kernel prints when something is wrong with it."""
import re

_PATTERN = re.compile(
    rb"BUG:|WARNING:|Oops:|\bKASAN:|\bUBSAN:|\bKCSAN:|kmemleak: \d+ new|general protection fault"
    rb"|Kernel panic|Internal error|blocked for more than|rcu.*(?:self-)?detected stalls?|soft lockup|hard LOCKUP"
    rb"|possible (?:recursive|circular) locking|inconsistent lock state|suspicious RCU usage|bad unlock balance"
    rb"|held lock freed|sleeping function called|scheduling while atomic|DMA-API:.*(?:error|exceeded|overlapping|leak|"
    rb"device driver)|refcount_t:|list_(?:add|del) corruption|ODEBUG:|Call Trace:|unreferenced object")
# The kernel announces options of its own with some of these words.
_HARMLESS = re.compile(rb"DMA-API: (?:preallocated|debugging enabled)|Command line:")


# The checker of DMA mappings counts up to 7 mappings of a cache line, and says once that there are more. Memory that
# an application registers as often is no mistake of the driver's.
_COUNTED = (re.compile(rb"DMA-API: exceeded \d+ overlapping mappings"), re.compile(rb"WARNING: .*add_dma_entry"),
            re.compile(rb"Call Trace:"))
_END_OF_REPORT = b"---[ end trace"
_MAPPER = b"ib_umem_get"


def _without_counted_mappings(lines):
    """No more than one line of each kind is left out, so that what another processor says in between is seen."""
    begin = next((i for i, line in enumerate(lines) if _COUNTED[0].search(line)), None)
    if begin is None:
        return lines
    end = next((i for i in range(begin, len(lines)) if _END_OF_REPORT in lines[i]), len(lines))
    report = lines[begin:end]
    if not any(_MAPPER in line for line in report):
        return lines
    for kind in _COUNTED:
        found = next((line for line in report if kind.search(line)), None)
        if found is not None:
            report.remove(found)
    return lines[:begin] + report + lines[end:]


def find(console):
    """Lines of the console log (bytes) that are complaints."""
    return [line for line in _without_counted_mappings(console.splitlines())
            if _PATTERN.search(line) and not _HARMLESS.search(line)]
