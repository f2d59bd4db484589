# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Requirement ids of the hardware manual: defined once, cited only if defined."""
import os
import re

DEFINITION = re.compile(r'^:(OHCA-[A-Z]+-[DH]\d+):\s+(\S.*(?:\n    .*)*)', re.MULTILINE)
CITATION = re.compile(r'\bOHCA-[A-Z]+-[DH]\d+\b')
MANUAL = 'Documentation/hw/'
CODE = ('.c', '.h', '.cc', '.hh', '.py')
CODE_FOLDERS = ('drivers/', 'providers/', 'device/', 'include/', 'tools/')
SELF = 'tools/testing/tidy/'
THRESHOLD = 'tools/testing/tidy/requirements-tested'


def definitions(tree):
    """{id: [(file, statement)]}"""
    found = {}
    for file in tree.under(MANUAL):
        for match in DEFINITION.finditer(tree.text(file)):
            found.setdefault(match.group(1), []).append((file, ' '.join(match.group(2).split())))
    return found


def is_test(file):
    # in order: unit tests of the device and the provider, of the driver (KUnit), what runs in guests
    return '/tests/' in file or file.endswith('_test.c') or (file.startswith('tools/testing/') and not file.startswith(SELF))


def is_code(tree, file):
    if not file.startswith(CODE_FOLDERS) or file.startswith(SELF):
        return False
    return file.endswith(CODE) or tree.bytes(file)[:2] == b'#!'


def citations(tree):
    """(file, line number, id) wherever an id stands outside its definition."""
    for file in tree.files:
        if is_code(tree, file) or (file.endswith('.rst') and file.startswith('Documentation/')):
            for number, line in enumerate(tree.lines(file), 1):
                text = re.sub(r'^:OHCA-[A-Z]+-[DH]\d+:', '', line)
                for match in CITATION.finditer(text):
                    yield file, number, match.group(0)


def check_requirements(tree):
    defined = definitions(tree)
    problems = [] if defined else [f'no requirement found in {MANUAL}']
    for name, places in sorted(defined.items()):
        if len(places) > 1:
            problems.append(f'{name} is defined {len(places)} times: ' + ', '.join(file for file, _ in places))
        for file, statement in places:
            if not re.search(r'\bMUST\b', statement):
                problems.append(f'{file}: {name} has no MUST')
            if len(re.findall(r'\.(?= [A-Z])', statement)) > 0:
                problems.append(f'{file}: {name} is more than one sentence')
    for file, number, name in citations(tree):
        if name not in defined:
            problems.append(f'{file}:{number}: {name} is not in the manual')
    return problems


def check_requirements_tested(tree):
    """The number of ids cited by tests may not fall below what is on record."""
    defined = definitions(tree)
    tested = {name for file, _, name in citations(tree) if is_test(file)} & set(defined)
    tree.note(f'{len(tested)} of {len(defined)} requirements are cited by a test')
    groups = {}
    for name in sorted(set(defined) - tested, key=lambda name: (len(name), name)):
        groups.setdefault(name.rsplit('-', 1)[0], []).append(name.rsplit('-', 1)[1])
    for group, numbers in sorted(groups.items()):
        tree.note(f'not cited: {group}-' + ' '.join(sorted(numbers, key=lambda n: (n[0], int(n[1:])))))
    if not os.path.exists(tree.path(THRESHOLD)):
        return [f'{THRESHOLD} is missing']
    threshold = int(tree.text(THRESHOLD).split('\n')[-2])
    if len(tested) < threshold:
        return [f'only {len(tested)} requirements are cited by a test, {threshold} were before ({THRESHOLD})']
    if len(tested) > threshold:
        tree.note(f'{THRESHOLD} can be raised from {threshold} to {len(tested)}')
    return []
