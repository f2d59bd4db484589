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


# Memory of different mappings that shares a cache line, where these are its owner's and no driver can help it:
# applications may register the same memory twice, which ib_umem maps twice, and nvme_rdma's completions are
# smaller than a line. The report goes on to the line that says where the first mapping was made.
_OVERLAP = re.compile(rb"DMA-API: [^\n]*cacheline tracking EEXIST.*?DMA-API: Mapped at:", re.DOTALL)
_MAPPERS = (b"ib_umem_get", b"nvme_rdma_alloc_qe")


def _without_overlaps(console):
    return _OVERLAP.sub(lambda report: b"" if any(name in report.group() for name in _MAPPERS) else report.group(),
                        console)


def find(console):
    """Lines of the console log (bytes) that are complaints."""
    return [line for line in _without_overlaps(console).splitlines()
            if _PATTERN.search(line) and not _HARMLESS.search(line)]
