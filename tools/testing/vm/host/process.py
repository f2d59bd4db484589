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


def start(arguments, on_terminal=False, **keywords):
    """Start a process that is killed when the harness is."""
    def child():
        if not on_terminal:
            os.setpgid(0, 0)    # Ctrl-C is for the harness to handle
        _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    return subprocess.Popen(arguments, preexec_fn=child, **keywords)


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(c) for c in f.read().split()]
    except OSError:
        return []


def _descendants(pid):
    return [d for child in _children(pid) for d in (child, *_descendants(child))]


def end_all(patience=3.0):
    """Ask the children to end (each ends its own), then kill whatever is left."""
    own = os.getpid()
    for number, of, limit in ((signal.SIGTERM, _children, patience), (signal.SIGKILL, _descendants, 5.0)):
        for pid in of(own):
            _kill(pid, number)
        deadline = time.monotonic() + limit
        while _children(own) and time.monotonic() < deadline:
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
