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


def find(console):
    """Lines of the console log (bytes) that are complaints."""
    return [line for line in console.splitlines()
            if _PATTERN.search(line) and not _HARMLESS.search(line)]
