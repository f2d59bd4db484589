# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""All C++ compiles with clang and more warnings than the build asks of gcc."""
import os
import shutil

from . import compile_commands
from .tree import first_error, run, run_each

WARNINGS = ['-Wall', '-Wextra', '-Wconversion', '-Werror']
SECONDS_PER_FILE = 120
OUTPUT = 'build/tidy/clang'


def check_clang(tree):
    units = compile_commands.load(tree)
    if units is None:
        return [f'{compile_commands.DATABASE} is missing: build first']
    sources = [f for f in units if f.endswith('.cc') and os.path.exists(tree.path(f))]
    # ccache makes the second run short.
    compiler = (['ccache'] if shutil.which('ccache') else []) + ['clang++']

    def check(file):
        target = os.path.join(tree.path(OUTPUT), file.replace('/', '.') + '.o')
        command = [*compiler, *WARNINGS, *units[file].flags, '-O1', '-c', tree.path(file), '-o', target]
        status, output = run(command, timeout=SECONDS_PER_FILE, cwd=units[file].folder)
        return f'{file}: {first_error(output)}' if status else None
    os.makedirs(tree.path(OUTPUT), exist_ok=True)
    tree.note(f'{len(sources)} files')
    return run_each(check, sources)
