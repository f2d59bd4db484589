# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""reStructuredText: titles, tables, links, and the files that the text names."""
import os
import re

ADORNMENT = re.compile(r'^([=\-~^"])\1{2,}$')
TABLE = re.compile(r'^=+( +=+)+$')
LINK = re.compile(r'`[^`<]*<([^`<>#]+)[^`<>]*>`_')
TARGET = re.compile(r'^\.\. _[^:]+: (\S+)$', re.MULTILINE)
# ``device/core/engine.hh``: a path from the top of the repository.
PATH = re.compile(r'``((?:Documentation|LICENSES|device|drivers|include|providers|tools)/[\w./-]+)``')


def check_titles(file, lines):
    for number, line in enumerate(lines[1:], 2):
        title = lines[number - 2]
        if ADORNMENT.match(line) and title.strip() and not ADORNMENT.match(title) and not TABLE.match(title):
            if len(line) < len(title.rstrip()):
                yield f'{file}:{number}: underline shorter than its title'


def check_tables(file, lines):
    """Simple tables: text stays in its column.  A bar before an empty line ends the table."""
    columns = None
    for number, line in enumerate(lines, 1):
        if TABLE.match(line):
            starts = [m.start() for m in re.finditer('=+', line)]
            if columns and starts != columns:
                yield f'{file}:{number}: the lines of the table have different columns'
            ends = columns and (number == len(lines) or not lines[number].strip())
            columns = None if ends else starts
        elif columns:
            for start in columns[1:]:
                if line[start - 1:start].strip():
                    yield f'{file}:{number}: text between the columns of the table'
    if columns:
        yield f'{file}: a table does not end'


def check_links(tree, file, text):
    folder = os.path.dirname(file)
    for link in LINK.findall(text) + TARGET.findall(text):
        if '://' not in link and not os.path.exists(tree.path(os.path.join(folder, link))):
            yield f'{file}: link to {link}, which does not exist'
    for path in PATH.findall(text):
        if not os.path.exists(tree.path(path)):
            yield f'{file}: names {path}, which does not exist'


def check_documents(tree):
    problems = []
    for file in tree.with_suffix('.rst'):
        lines = tree.lines(file)
        problems += check_titles(file, lines)
        problems += check_tables(file, lines)
        problems += check_links(tree, file, tree.text(file))
    for file in tree.under('Documentation/'):
        if file.endswith('.rst') and file != 'Documentation/index.rst' and not is_linked(tree, file):
            problems.append(f'{file}: no other document links to it')
    return problems


def is_linked(tree, file):
    name = os.path.basename(file)
    return any(name in tree.text(other) for other in tree.with_suffix('.rst') if other != file)
