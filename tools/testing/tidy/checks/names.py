# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which files may be in the repository."""
import os
import re

# A name that says nothing of the content collects everything.
FORBIDDEN = re.compile(r'(^|[-_.])(utils?|commons?|helpers?|misc|stuff|main_loop2|new|old|tmp)([-_.]|$)', re.IGNORECASE)
BINARY_SUFFIXES = ('.o', '.a', '.so', '.ko', '.pyc', '.bin', '.img', '.qcow2', '.gz', '.xz', '.zst', '.pdf', '.mod')
SIZE_MAX = 512 * 1024  # bytes
# Include guards of headers that belong to the kernel, rdma-core or libvfio-user.
FOREIGN_GUARD = re.compile(
    r'^#\s*ifndef\s+(_?_?LINUX_\w+_H|_UAPI\w+|INFINIBAND_\w+_H|KERN_ABI_\w+|RDMA_CORE_\w+|IB_USER_\w+|_?RDMA_USER_\w+|'
    r'_?CCAN_\w+|CCAN_\w+|UTIL_\w+_H|LIB_VFIO_USER_H|_?VFIO_H|IB_VERBS_H)\s*$', re.MULTILINE)
FOREIGN_NAMES = {'driver.h', 'verbs.h', 'kern-abi.h', 'cmd_ioctl.h', 'udma_barrier.h', 'ib_user_verbs.h', 'rdma_netlink.h',
                 'vfio-user.h', 'libvfio-user.h'}
FOREIGN_FOLDERS = re.compile(r'(^|/)(include/(linux|asm|infiniband|ccan|util)|ccan)/')
NOTICE = re.compile(r'Copyright.*(Mellanox|Intel|OpenFabrics|Topspin|Cisco|Voltaire|Torvalds|Nvidia|Red Hat|Alibaba|Amazon)',
                    re.IGNORECASE)


def check_names(tree):
    problems = []
    for file in tree.files:
        for part in file.split('/'):
            stem = part.rsplit('.', 1)[0] if '.' in part[1:] else part
            match = FORBIDDEN.search(stem)
            if match:
                problems.append(f'{file}: "{match.group(2)}" says nothing about the content')
    return problems


def check_binaries(tree):
    problems = []
    for file in tree.files:
        size = os.path.getsize(tree.path(file)) if os.path.exists(tree.path(file)) else 0
        if file.endswith(BINARY_SUFFIXES):
            problems.append(f'{file}: looks like build output')
        elif b'\0' in tree.bytes(file) and not file.endswith('.png'):
            problems.append(f'{file}: is not text')
        elif size > SIZE_MAX:
            problems.append(f'{file}: {size} bytes')
    return problems


def check_foreign_headers(tree):
    problems = []
    for file in tree.with_suffix('.h', '.hh', '.hpp', '.c', '.cc'):
        text = tree.text(file)
        guard = FOREIGN_GUARD.search(text)
        if os.path.basename(file) in FOREIGN_NAMES:
            problems.append(f'{file}: has the name of a header of another project')
        elif FOREIGN_FOLDERS.search(file):
            problems.append(f'{file}: is in a folder of another project')
        elif guard:
            problems.append(f'{file}: include guard {guard.group(1)} is of another project')
        elif NOTICE.search(text):
            problems.append(f'{file}: copyright notice of another project')
    return problems
