# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How CMake compiles the user-space part: build/user/compile_commands.json."""
import json
import os
import shlex

DATABASE = 'build/user/compile_commands.json'
PROJECT_FOLDERS = ('device/', 'providers/', 'tools/')


class Unit:
    """A translation unit: its source, and the flags that decide what it means."""

    def __init__(self, source, folder, flags):
        self.source = source
        self.folder = folder
        self.flags = flags


def keep_flags(arguments, folder):
    """-I, -isystem, -D, -U, -std, -f[no-]exceptions and -f[no-]rtti, with absolute paths."""
    kept = []
    words = iter(arguments)
    for word in words:
        if word in ('-I', '-isystem', '-include', '-iquote'):
            kept += [word, os.path.join(folder, next(words))]
        elif word.startswith('-I'):
            kept.append('-I' + os.path.join(folder, word[2:]))
        elif word.startswith(('-D', '-U', '-std=', '-fno-exceptions', '-fno-rtti', '-m', '-pthread')):
            kept.append(word)
    return kept


def split_include(flags):
    """(header, the other flags): what a unit is given besides what it includes; None if nothing."""
    if '-include' not in flags:
        return None, list(flags)
    at = flags.index('-include')
    return flags[at + 1], [*flags[:at], *flags[at + 2:]]


def load(tree):
    """Units by source path relative to the root, or None if nothing has been built."""
    path = tree.path(DATABASE)
    if not os.path.exists(path):
        return None
    with open(path, encoding='utf-8') as stream:
        entries = json.load(stream)
    units = {}
    for entry in entries:
        file = os.path.relpath(os.path.join(entry['directory'], entry['file']), tree.root)
        if file.startswith(PROJECT_FOLDERS):
            arguments = entry.get('arguments') or shlex.split(entry['command'])
            units[file] = Unit(file, entry['directory'], keep_flags(arguments[1:], entry['directory']))
    return units


def nearest(units, header):
    """Flags of a unit in the header's folder, or in the nearest folder above or beside."""
    def distance(source):
        common = os.path.commonpath([os.path.dirname(source) or '.', os.path.dirname(header) or '.']) \
            if source.split('/')[0] == header.split('/')[0] else ''
        return (-len(common.split('/')) if common else 0, source.count('/'), source)
    candidates = sorted((u for u in units if u.endswith('.cc')), key=distance)
    # What a unit is given besides what it includes must not help the header.
    return split_include(units[candidates[0]].flags)[1] if candidates else []
