# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What can be said of a file without knowing its language."""
LINES_MAX = 1000  # a file has fewer
LICENCES = {'GPL-2.0 OR Linux-OpenIB', '((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB)'}
CONTRACT_LICENCE = '((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB)'
# Formats without comments, and texts that are the licence.
WITHOUT_LICENCE = ('.json', '.csv', '.svg', '.md', 'COPYING', '.gitignore', '.gitattributes', '.driver')
WITHOUT_LICENCE_FOLDERS = ('LICENSES/',)
LICENCE_TAG = 'SPDX-License-Identifier:'


def is_text(tree, file):
    return b'\0' not in tree.bytes(file)


def text_files(tree):
    return [f for f in tree.files if is_text(tree, f)]


def check_file_length(tree):
    problems = []
    for file in text_files(tree):
        count = len(tree.lines(file))
        if count >= LINES_MAX:
            problems.append(f'{file}: {count} lines, must be less than {LINES_MAX}')
    return problems


def check_whitespace(tree):
    problems = []
    for file in text_files(tree):
        text = tree.text(file)
        if not text or file.endswith('.patch'):
            continue
        for number, line in enumerate(text.split('\n'), 1):
            if line != line.rstrip():
                problems.append(f'{file}:{number}: white space at the end of the line')
            elif ' \t' in line[:len(line) - len(line.lstrip())]:
                problems.append(f'{file}:{number}: space before tab in the indentation')
        if not text.endswith('\n'):
            problems.append(f'{file}: no newline at the end')
        elif text.endswith('\n\n'):
            problems.append(f'{file}: empty line at the end')
    return problems


def licence_of(lines):
    for line in lines[:3]:
        if LICENCE_TAG in line:
            return line.split(LICENCE_TAG, 1)[1].replace('*/', '').replace('-->', '').strip()
    return None


def check_licence(tree):
    problems = []
    for file in text_files(tree):
        if file.endswith(WITHOUT_LICENCE) or file.startswith(WITHOUT_LICENCE_FOLDERS) or not tree.text(file):
            continue
        licence = licence_of(tree.lines(file))
        expected = {CONTRACT_LICENCE} if file.startswith('include/uapi/') else LICENCES
        if licence is None:
            problems.append(f'{file}: no {LICENCE_TAG} in the first three lines')
        elif licence not in expected:
            problems.append(f'{file}: licence is "{licence}"')
    return problems
