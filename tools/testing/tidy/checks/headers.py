# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Headers compile alone."""
import os
import shutil
import tempfile

from . import compile_commands
from .tree import first_error, run, run_each

CONTRACT = 'include/uapi/rdma/'
WARNINGS = ['-Wall', '-Wextra', '-Wconversion', '-Werror']
OUTPUT = 'build/tidy/headers'
SECONDS_PER_HEADER = 120
DIALECTS = (
    ('C11', ['gcc', '-std=c11', '-x', 'c']),
    ('C11, 32 bit', ['gcc', '-std=c11', '-m32', '-isystem', '/usr/include/x86_64-linux-gnu', '-x', 'c']),
    ('C11, clang', ['clang', '-std=c11', '-x', 'c']),
    ('C++20', ['g++', '-std=c++20', '-x', 'c++']),
    ('C++20, clang', ['clang++', '-std=c++20', '-x', 'c++']),
)


def compile_alone(compiler, header, includes):
    """Compiles a file that includes the header twice; the message, or None."""
    with tempfile.NamedTemporaryFile('w', suffix='.inc') as source:
        source.write(f'#include "{header}"\n#include "{header}"\n')
        source.flush()
        status, output = run([*compiler, *WARNINGS, '-fsyntax-only', *includes, source.name], timeout=60)
    return first_error(output) if status else None


def check_contract_headers(tree):
    headers = [f for f in tree.under(CONTRACT) if f.endswith('.h')]
    if not headers:
        return ['no header in ' + CONTRACT]
    includes = ['-I' + tree.path('include/uapi')]

    def check(job):
        header, (dialect, compiler) = job
        message = compile_alone(compiler, tree.path(header), includes)
        return message and f'{header} as {dialect}: {message}'
    return run_each(check, [(header, dialect) for header in headers for dialect in DIALECTS])


def check_cxx_headers(tree):
    units = compile_commands.load(tree)
    if units is None:
        return [f'{compile_commands.DATABASE} is missing: build first']
    headers = [f for f in tree.under('device/', 'providers/', 'tools/') if f.endswith('.hh')]
    folder = tree.path(OUTPUT)
    os.makedirs(folder, exist_ok=True)
    compiler = (['ccache'] if shutil.which('ccache') else []) + ['g++']

    def check(header):
        flags = compile_commands.nearest(units, header)
        standard = [] if any(f.startswith('-std=') for f in flags) else ['-std=c++20']
        # A name of its own that stays: ccache makes the second run short.
        source = os.path.join(folder, header.replace('/', '.') + '.cc')
        write_if_changed(source, f'#include "{tree.path(header)}"\n#include "{tree.path(header)}"\n')
        status, output = run([*compiler, *standard, *WARNINGS, *flags, '-I' + os.path.dirname(tree.path(header)),
                              '-c', source, '-o', source + '.o'], timeout=SECONDS_PER_HEADER)
        return f'{header}: {first_error(output)}' if status else None
    return run_each(check, headers)


def write_if_changed(path, content):
    if os.path.exists(path):
        with open(path, encoding='utf-8') as stream:
            if stream.read() == content:
                return
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(content)
