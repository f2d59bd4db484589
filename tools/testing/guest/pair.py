# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A server and a client of a verbs program in this guest."""
import itertools
import json
import os
import signal
import subprocess
import tempfile
import time

from quick_start import perftest_environment
from report import SLOWNESS, Failure, check, run

_ports = itertools.count(18001)


def next_port():
    return next(_ports)


def listening(port):
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as f:
            for line in f:
                fields = line.split()
                if fields[3] == "0A" and fields[1].endswith(wanted):
                    return True
    return False


def cm_listening(port):
    """rdma_cm listens in ib_core, not in /proc/net."""
    shown = json.loads(run("rdma", "-j", "resource", "show", "cm_id") or "[]")
    return any(entry.get("state") == "LISTEN" and entry.get("src-addr", "").endswith(f":{port}") for entry in shown)


class Program:
    """Its output goes to a file, so that it never waits for a reader."""

    def __init__(self, command, environment=None):
        self.name = " ".join(command)
        self._output = tempfile.TemporaryFile("w+", errors="replace")
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._output,
                                         stderr=subprocess.STDOUT, start_new_session=True, env=environment)
        self.pid = self._process.pid

    def status(self):
        """None: it is running."""
        return self._process.poll()

    def kill(self):
        if self.status() is None:
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self, end):
        """False: it had to be killed at the time `end`."""
        try:
            self._process.wait(max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
            return False
        return True

    def output(self):
        """What it has written so far."""
        return os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0).decode(errors="replace")


class Exchange:
    """A server and, as soon as is_ready(server) is true, its client.

    finish() checks both exit statuses and returns the outputs (server, client).
    """

    def __init__(self, server, client, is_ready, deadline=60.0, environment=None):
        self._seconds = deadline * SLOWNESS
        self._end = time.monotonic() + self._seconds
        self.server = Program(server, environment)
        try:
            self._wait_ready(is_ready)
            self.client = Program(client, environment)
        except Failure:
            self.server.kill()
            raise

    def _wait_ready(self, is_ready):
        while not is_ready(self.server):
            status = self.server.status()
            check(status is None, f"{self.server.output()}\nthe server ended with status {status} before it was ready")
            check(time.monotonic() < self._end,
                  f"{self.server.output()}\nwaited {self._seconds:g} s for {self.server.name} to be ready")
            time.sleep(0.01)

    def finish(self):
        in_time = self.client.wait(self._end)
        if self.client.status() != 0:
            self.server.kill()
        in_time = self.server.wait(self._end) and in_time
        server, client = self.server.output(), self.client.output()
        killed = "" if in_time else f"\n(killed after {self._seconds:g} s)"
        check(self.client.status() == 0 and self.server.status() == 0,
              f"server:\n{server}\nclient:\n{client}{killed}\n{self.client.name}: status of the client "
              f"{self.client.status()}, of the server {self.server.status()}")
        return server, client


class Pair(Exchange):
    """Both ends of a verbs program that takes a port with -p and, at the client, an address."""

    def __init__(self, program, server, client, arguments, address="127.0.0.1", deadline=60.0, prefix=(),
                 new_post_api=False, is_listening=listening):
        port = next_port()
        command = [*prefix, program, "-p", str(port), *arguments]
        super().__init__([*command, *server], [*command, *client, address], lambda _: is_listening(port), deadline,
                         perftest_environment(new_post_api))
