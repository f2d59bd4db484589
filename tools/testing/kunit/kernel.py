# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Build User Mode Linux with the driver in it, and boot it.

One build folder in the cache for all checkouts: who builds holds its lock until
the kernel has run.
"""
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time

import source_tree

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.realpath(os.path.join(HERE, "../../.."))
VM = os.path.join(HERE, "../vm")

LOCK_LIMIT = 3600
BUILD_LIMIT = 3000
RUN_LIMIT = 300
OUTPUT_LIMIT = 1 << 26  # characters

# Time stands still while nothing happens, and passes at once while all sleep:
# timeouts of seconds cost nothing, and no busy machine makes one too short.
ARGUMENTS = ("mem=512M", "time-travel=inf-cpu", "con=null", "con0=null,fd:1", "console=tty0", "kasan_multi_shot",
             "kmemleak=on", "kmemleak.verbose=1", "kunit_shutdown=halt")


class Error(Exception):
    pass


def say(text):
    print(f"kunit: {text}", file=sys.stderr, flush=True)


def _output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Builder:
    def __init__(self):
        self.source = _output(f"{VM}/linux-source")
        self.folder = os.path.join(os.path.dirname(self.source), "kunit")
        self.tree = f"{self.folder}/source"
        self.build = f"{self.folder}/build"
        os.makedirs(self.folder, exist_ok=True)

    @contextlib.contextmanager
    def locked(self):
        with open(f"{self.folder}/lock", "w") as lock:
            deadline = time.monotonic() + LOCK_LIMIT
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise Error(f"waited {LOCK_LIMIT} s for {lock.name}") from None
                    time.sleep(1)
            yield self

    @staticmethod
    def _run(limit, command, last_line):
        """(output, whether it ended by itself, status); last_line(line) says that the rest does not matter."""
        process = subprocess.Popen([f"{VM}/enter", "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        timer = threading.Timer(limit, process.kill)
        timer.start()
        lines, size, ended = [], 0, True
        try:
            for line in process.stdout:
                lines.append(line)
                size += len(line)
                if size > OUTPUT_LIMIT or last_line(line):
                    ended = False
                    process.kill()
                    break
        finally:
            process.stdout.close()
            status = process.wait()
            ended = ended and timer.is_alive()
            timer.cancel()
        return "".join(lines), ended, status

    def _begin_anew_if_stale(self):
        """Another kernel or another compiler: nothing of what is there is of use."""
        made_of = f"{self.source}\n{_output(f'{VM}/testbed')}\n"
        stamp = f"{self.folder}/made-of"
        if os.path.exists(stamp):
            with open(stamp) as f:
                if f.read() == made_of:
                    return
        for folder in (self.tree, self.build):
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(self.build)
        with open(stamp, "w") as f:
            f.write(made_of)

    def compile(self, checkout=CHECKOUT):
        """Raises Error with the compiler's words."""
        begin = time.monotonic()
        self._begin_anew_if_stale()
        source_tree.update(self.source, checkout, self.tree)
        if not os.path.exists(f"{self.build}/linux"):
            say("building User Mode Linux (once; about 400 processor seconds)")
        output, ended, status = self._run(BUILD_LIMIT, ("bash", "-eu", f"{HERE}/build", self.tree, self.build),
                                          lambda line: False)
        if not ended or status:
            why = f"status {status}" if ended else f"not over after {BUILD_LIMIT} s"
            raise Error("\n".join([*output.splitlines()[-40:], f"build: {why}"]))
        say(f"built in {time.monotonic() - begin:.0f} s")

    def boot(self, glob="ohca*", last_line=lambda line: False):
        """The log of a kernel that has run the suites that match; if it hangs or babbles, until then."""
        begin = time.monotonic()
        log, ended, _ = self._run(RUN_LIMIT, (f"{self.build}/linux", *ARGUMENTS, f"kunit.filter_glob={glob}"), last_line)
        say(f"{'ran' if ended else 'was ended after it had run'} for {time.monotonic() - begin:.0f} s")
        return log
