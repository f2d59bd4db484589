# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Results in the form that tools/testing/check counts, and programs with deadlines."""
import os
import subprocess
import sys
import time

# What deadlines are multiplied by: the debug kernel takes several times as long for everything.
SLOWNESS = 5 if os.uname().release.endswith("-ohca-debug") else 1

_failed = 0


def ok(name):
    print(f"ok {name}", flush=True)


def not_ok(name, reason):
    global _failed
    _failed += 1
    reason = str(reason).strip()
    print(f"not ok {name} - {reason.splitlines()[-1] if reason else 'no reason'}", flush=True)
    print(f"{name}: {reason}", file=sys.stderr, flush=True)


def skip(name, reason):
    print(f"skip {name} - {reason}", flush=True)


def finish():
    """Ends the script with the status that says whether anything failed."""
    sys.exit(1 if _failed else 0)


class Failure(Exception):
    """A check that did not hold; its text is the reason."""


def check(condition, reason):
    if not condition:
        raise Failure(reason)


def result(name, function, *arguments, **options):
    """One result: ok unless the function raises."""
    try:
        function(*arguments, **options)
    except Failure as failure:
        not_ok(name, failure)
    except subprocess.SubprocessError as error:
        output = (getattr(error, "output", None) or b"")
        output = output.decode(errors="replace") if isinstance(output, bytes) else output
        not_ok(name, f"{output}\n{error}")
    else:
        ok(name)


def run(*command, deadline=30, status=0, **options):
    """Output (both streams) of a command that has to end in time with this status."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=deadline * SLOWNESS, text=True, errors="replace", **options)
    check(done.returncode == status,
          f"{done.stdout}\n{' '.join(command)}: status {done.returncode} instead of {status}")
    return done.stdout


def wait_for(what, condition, deadline=20.0, interval=0.05):
    """The first true value of condition(); a failure that names what was waited for."""
    deadline *= SLOWNESS
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited {deadline:g} s for {what}")
        time.sleep(interval)


def write(path, text):
    """Sets one of the kernel's files."""
    try:
        with open(path, "w") as f:
            f.write(text)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
