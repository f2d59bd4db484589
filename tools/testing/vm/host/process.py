# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Processes of a run: none may outlive it, whatever ends it."""
import ctypes
import os
import signal
import subprocess
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None)


def adopt_orphans():
    """Grandchildren whose parent ended become ours, so that end_all() finds them."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start(arguments, death_signal=signal.SIGKILL, **keywords):
    """Start a process that gets death_signal when the harness itself is killed."""
    def child():
        os.setpgid(0, 0)    # Ctrl-C is for the harness to handle
        _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    return subprocess.Popen(arguments, preexec_fn=child, **keywords)


def _descendants(pid):
    result = []
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            children = [int(c) for c in f.read().split()]
    except OSError:
        return result
    for child in children:
        result += [child, *_descendants(child)]
    return result


def end_all(patience=3.0):
    """End every descendant: ask first, then kill."""
    for number, limit in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        deadline = time.monotonic() + limit
        for pid in _descendants(os.getpid()):
            _kill(pid, number)
        while _descendants(os.getpid()) and time.monotonic() < deadline:
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            time.sleep(0.01)


def _kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
