# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""All C++ compiles with clang and more warnings than the build asks of gcc."""
import os

from . import compile_commands
from .tree import first_error, run, run_each

WARNINGS = ['-Wall', '-Wextra', '-Wconversion', '-Werror']
SECONDS_PER_FILE = 120
OUTPUT = 'build/tidy/clang'


def precompile(sets_of_flags, folder):
    """Flags with a header of the build's own precompiled for clang: those of unit tests, of which it is most."""
    os.makedirs(folder, exist_ok=True)
    replaced = {}
    for number, flags in enumerate(sorted(sets_of_flags)):
        header, others = compile_commands.split_include(flags)
        if header is None:
            continue
        target = os.path.join(folder, f'{number}.pch')
        status, _ = run(['clang++', *others, '-x', 'c++-header', header, '-o', target], timeout=SECONDS_PER_FILE)
        if status == 0:  # or each file will have the same error
            replaced[flags] = [*others, '-include-pch', target]
    return replaced


def check_clang(tree):
    units = compile_commands.load(tree)
    if units is None:
        return [f'{compile_commands.DATABASE} is missing: build first']
    sources = [f for f in units if f.endswith('.cc') and os.path.exists(tree.path(f))]
    precompiled = precompile({tuple(units[file].flags) for file in sources}, tree.path(OUTPUT))

    def check(file):
        flags = precompiled.get(tuple(units[file].flags), units[file].flags)
        status, output = run(['clang++', *WARNINGS, *flags, '-fsyntax-only', tree.path(file)],
                             timeout=SECONDS_PER_FILE, cwd=units[file].folder)
        return f'{file}: {first_error(output)}' if status else None
    tree.note(f'{len(sources)} files')
    return run_each(check, sources)
