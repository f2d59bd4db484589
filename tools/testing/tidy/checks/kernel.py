# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The driver in the eyes of the kernel's own tools."""
import glob
import os
import re
import shutil

from .tree import Skip, run

DRIVER = 'drivers/infiniband/hw/ohca/'
CHECKPATCH = ('/opt/linux/scripts/checkpatch.pl', '/opt/*/scripts/checkpatch.pl', '/opt/*/*/scripts/checkpatch.pl',
              '/usr/src/linux-source-*/scripts/checkpatch.pl', '/usr/src/*/scripts/checkpatch.pl')
# What is not wanted, and why.
IGNORED = ','.join((
    'FILE_PATH_CHANGES', 'SPDX_LICENSE_TAG', 'LINUX_VERSION_CODE',  # of patches to the kernel tree
    'MINMAX',                   # min_t() is what newer kernels advise against
    'VOLATILE',                 # a structure in device memory is copied once
    'MACRO_ARG_PRECEDENCE',     # of arguments that are type names
    'MACRO_ARG_REUSE',          # of arguments that are field names
    'CAMELCASE',                # _Static_assert of C11; names are seen by reviewers
))
COLUMNS = {'drivers/': 100, 'include/rdma/': 100, 'include/uapi/': 120}
SPARSE_OUTPUT = 'build/tidy/sparse'


def find_checkpatch():
    for pattern in (os.environ.get('OHCA_CHECKPATCH', ''), *CHECKPATCH):
        for path in sorted(glob.glob(pattern)):
            return path
    return None


def run_checkpatch(checkpatch, root, files, columns=100):
    command = ['perl', checkpatch, '--no-tree', '--strict', '--terse', '--no-summary', '--file',
               f'--max-line-length={columns}', '--ignore', IGNORED, *files]
    _, output = run(command, timeout=120, cwd=root)
    found = [line for line in output.splitlines() if re.match(r'^\S+:\d+: (ERROR|WARNING|CHECK):', line)]
    if not found and 'checkpatch.pl:' in output:
        found.append(output.strip().splitlines()[0])
    return found


def check_checkpatch(tree):
    checkpatch = find_checkpatch()
    if checkpatch is None:
        raise Skip('checkpatch.pl is not in the testbed; OHCA_CHECKPATCH=FILE names one')
    problems = []
    for folder, columns in COLUMNS.items():
        files = [f for f in tree.under(folder) if f.endswith(('.c', '.h'))]
        problems += run_checkpatch(checkpatch, tree.root, files, columns) if files else [f'nothing in {folder}']
    return problems


def kernel_build_folder():
    folders = sorted(glob.glob('/lib/modules/*/build'))
    return folders[-1] if folders else None


def run_sparse(build, folder, include, timeout=400):
    """Builds the module in folder with sparse; what it says."""
    command = ['make', '-C', build, f'M={folder}', f'-j{os.cpu_count() or 1}', 'C=2', 'CONFIG_INFINIBAND_OHCA=m',
               'CF=-D__CHECK_ENDIAN__ -Wsparse-error', f'KCFLAGS=-I{include}', 'modules']
    status, output = run(command, timeout=timeout)
    found = [line for line in output.splitlines() if re.search(r': (warning|error):', line)]
    if status and not found:
        found = [line for line in output.splitlines() if re.search(r'\*\*\*|[Ee]rror', line)][:1] or ['make failed']
    return found


def check_sparse(tree):
    build = kernel_build_folder()
    if build is None:
        return ['no kernel headers in the testbed']
    files = [f for f in tree.under(DRIVER) if not f.endswith(('.o', '.ko'))]
    if not files:
        return ['no driver']
    # An M= build writes into the source: work on a copy.
    copy = tree.path(SPARSE_OUTPUT)
    shutil.rmtree(copy, ignore_errors=True)
    for file in [*files, *tree.under('include/')]:
        target = os.path.join(copy, file)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(tree.path(file), target)
    found = run_sparse(build, os.path.join(copy, DRIVER), os.path.join(copy, 'include/uapi'))
    return [line.replace(copy + '/', '') for line in found]
