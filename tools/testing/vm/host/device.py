# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The device process of a run."""
import itertools
import os
import subprocess
import time

import process

_START_SECONDS = 30


class Device:
    """A running ohcad with one socket for each function."""

    def __init__(self, program, macs, run_dir, masks, extra, log):
        self.sockets = [f"{run_dir}/ohca{i}.socket" for i in range(len(macs))]
        self._output = f"{run_dir}/ohcad.output"
        arguments = [program, "--run-dir", run_dir, "--log", log]
        for path, mac, mask in itertools.zip_longest(self.sockets, macs, masks):
            arguments += ["--function", f"socket={path},mac={mac}" + (f",mask={mask}" if mask else "")]
        with open(self._output, "wb") as output:
            self.process = process.start(arguments + extra, stdin=subprocess.DEVNULL,
                                         stdout=output, stderr=output)
        # the broker may write it, too; both say the same
        with open(f"{run_dir}/ohcad.pid", "w") as f:
            f.write(f"{self.process.pid}\n")
        self._wait()

    def _wait(self):
        deadline = time.monotonic() + _START_SECONDS
        while not all(os.path.exists(path) for path in self.sockets):
            if self.process.poll() is not None:
                raise SystemExit(f"run: ohcad ended with status {self.process.returncode} at its start:\n{self.output()}")
            if time.monotonic() > deadline:
                raise SystemExit(f"run: waited {_START_SECONDS} s for ohcad to create its sockets:\n{self.output()}")
            time.sleep(0.01)

    def output(self):
        with open(self._output, errors="replace") as f:
            return f.read()[-4000:]
