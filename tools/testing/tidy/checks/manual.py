# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tables of Documentation/hw against the contract headers.

Read from the manual:
  a title "``struct NAME`` (N bytes)", then a table with columns Offset, Size and
  Field: size of the structure, offset and size of each field;
  a table with the columns Value and Name where Name is ``OHCA_...``: the constant.
They become static assertions, and a compiler checks them.  The other way round,
each constant and structure field of the headers must be in the manual.
"""
import os
import re
import tempfile

from .tree import run

MANUAL = 'Documentation/hw/'
CONTRACT = 'include/uapi/rdma/'
HEADERS = ('ohca_hw.h', 'ohca_hw_regs.h', 'ohca_hw_io.h', 'ohca_hw_cmd.h')
TITLE = re.compile(r'^``struct (\w+)`` \((\d+) bytes\)$')
BAR = re.compile(r'^=+(  +=+)+$')
NAME = re.compile(r'^``(OHCA_\w+)``$')
NUMBER = re.compile(r'^(0x[0-9a-fA-F]+|\d+)$')


def tables(lines):
    """(line number, header cells, rows of cells, title before) of simple tables."""
    title = None
    at = 0
    while at < len(lines):
        match = TITLE.match(lines[at])
        if match:
            title = (match.group(1), int(match.group(2)))
        if BAR.match(lines[at]):
            columns = [(m.start(), m.end()) for m in re.finditer('=+', lines[at])]
            ends = [k for k in range(at, len(lines)) if BAR.match(lines[k])][:3]
            if len(ends) < 3:
                return

            def cells(line, columns=columns):
                stops = [c[0] for c in columns[1:]] + [None]
                return [line[c[0]:stop].strip() for c, stop in zip(columns, stops)]
            rows = [(k + 1, cells(lines[k])) for k in range(ends[1] + 1, ends[2]) if lines[k].strip()]
            yield at + 1, cells(lines[at + 1]), rows, title
            title = None
            at = ends[2]
        at += 1


def assertions(tree):
    """(place, C condition) for everything the tables state, and the names they state it of."""
    found = []
    names = set()
    for file in tree.under(MANUAL):
        for number, header, rows, title in tables(tree.lines(file)):
            if header[:3] == ['Offset', 'Size', 'Field'] and title:
                structure, size = title
                found.append((f'{file}:{number}', f'sizeof(struct {structure}) == {size}'))
                for line, row in rows:
                    field = f'{structure}.{row[2]}'
                    found.append((f'{file}:{line}', f'offsetof(struct {structure}, {row[2]}) == {row[0]} && '
                                  f'sizeof(((struct {structure} *)0)->{row[2]}) == {row[1]}'))
                    names.add(field)
            elif 'Value' in header and 'Name' in header:
                value, name = header.index('Value'), header.index('Name')
                for line, row in rows:
                    match = NAME.match(row[name])
                    if match and NUMBER.match(row[value]):
                        found.append((f'{file}:{line}', f'{match.group(1)} == {row[value]}'))
                        names.add(match.group(1))
    return found, names


def contract_names(tree):
    """(constants, fields) that the hardware headers define."""
    constants, fields = set(), set()
    for header in HEADERS:
        text = re.sub(r'/\*.*?\*/', '', tree.text(CONTRACT + header), flags=re.DOTALL)
        constants |= set(re.findall(r'^#define\s+(OHCA_\w+)[ \t]+\S', text, re.MULTILINE))
        constants |= set(re.findall(r'^\s+(OHCA_COUNTER_\w+)', text, re.MULTILINE))
        for structure, body in re.findall(r'^struct (\w+) \{(.*?)^\};', text, re.MULTILINE | re.DOTALL):
            for field in re.findall(r'(\w+)(?:\[\w+\])?;', body):
                if not field.startswith('reserved_'):
                    fields.add(f'{structure}.{field}')
    return constants, fields


def check_manual(tree):
    stated, names = assertions(tree)
    if not stated:
        return ['no table found in ' + MANUAL]
    constants, fields = contract_names(tree)
    manual_text = '\n'.join(tree.text(file) for file in tree.under(MANUAL))
    problems = [f'{field} is in no table of {MANUAL}' for field in sorted(fields - names)]
    problems += [f'{name} is not in {MANUAL}' for name in sorted(constants)
                 if not re.search(rf'\b{name}\b', manual_text)]
    with tempfile.NamedTemporaryFile('w', suffix='.c') as source:
        source.write('#include <stddef.h>\n#include <rdma/ohca_hw.h>\n')
        for place, condition in stated:
            source.write(f'_Static_assert({condition}, "{place}: {condition}");\n')
        source.flush()
        status, output = run(['gcc', '-std=c11', '-fsyntax-only', '-fmax-errors=0',
                              '-I' + os.path.join(tree.root, 'include/uapi'), source.name], timeout=60)
    if status:
        wrong = re.findall(r'static assertion failed: "([^"]*)"', output)
        problems += wrong
        for line in output.splitlines():
            if ' error: ' in line and 'static assertion failed' not in line:
                place = stated[int(line.split(':')[1]) - 3][0] if line.startswith(source.name) else ''
                problems.append(f'{place} {line.split(" error: ")[1]}')
    return problems
