# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The files of the repository, and running programs on them."""
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

SKIPPED_FOLDERS = {'.git', 'build', '__pycache__', '.cache', '.issues'}
JOBS = os.cpu_count() or 1


class Tree:
    """Files under root by their relative paths, without build output."""

    def __init__(self, root):
        self.root = root
        self.files = sorted(self._walk())
        self.notes = []  # what a check has to say although nothing is wrong

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS]
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.islink(path) and not name.endswith('.swp'):
                    yield os.path.relpath(path, self.root)

    def under(self, *prefixes):
        return [f for f in self.files if f.startswith(prefixes)]

    def with_suffix(self, *suffixes):
        return [f for f in self.files if f.endswith(suffixes)]

    def path(self, file):
        return os.path.join(self.root, file)

    def bytes(self, file):
        try:
            with open(self.path(file), 'rb') as stream:
                return stream.read()
        except FileNotFoundError:  # somebody is at work in the same tree
            return b''

    def text(self, file):
        return self.bytes(file).decode('utf-8', 'replace')

    def lines(self, file):
        return self.text(file).splitlines()

    def note(self, line):
        self.notes.append(line)


class Skip(Exception):
    """The check cannot be made here; the text says why."""


def run_check(check, tree):
    """(problems, notes) of one check; taking too long is a problem."""
    tree.notes = []
    try:
        problems = check(tree)
    except subprocess.TimeoutExpired as error:
        problems = [f'{error.cmd[0]} took more than {error.timeout:.0f} s']
    return problems, tree.notes


def run(command, timeout, cwd=None, env=None):
    """(exit status, output of both streams); never raises for a failing program."""
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             timeout=timeout, cwd=cwd, env=env, errors='replace', text=True, check=False)
    return process.returncode, process.stdout


def first_error(output):
    """The line of a compiler's output that says what is wrong."""
    lines = [line for line in output.splitlines() if line.strip()]
    for line in lines:
        if 'error' in line:
            return line
    return lines[0] if lines else 'no message'


def run_each(function, items):
    """function of each item, in parallel; its non-empty results in order."""
    with ThreadPoolExecutor(JOBS) as pool:
        return [result for result in pool.map(function, items) if result]
