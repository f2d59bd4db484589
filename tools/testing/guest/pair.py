# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A server and a client of a verbs program in this guest."""
import itertools
import json
import os
import signal
import subprocess
import time

from quick_start import perftest_environment
from report import Failure, check, run

_next_port = itertools.count(18001)


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


class Pair:
    """Starts both; finish() checks both exit statuses and returns the outputs (server, client)."""

    def __init__(self, program, server, client, arguments, address="127.0.0.1", deadline=60.0, prefix=(),
                 new_post_api=False, is_listening=listening):
        port = next(_next_port)
        self._deadline = time.monotonic() + deadline
        self._seconds = deadline
        self._environment = perftest_environment(new_post_api)
        self.name = " ".join([program, *arguments])
        command = [*prefix, program, "-p", str(port), *arguments]
        self.server = self._start([*command, *server])
        try:
            self._wait_listening(is_listening, port)
            self.client = self._start([*command, *client, address])
        except Failure:
            self._kill(self.server)
            raise

    def _start(self, command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", start_new_session=True, env=self._environment)

    @staticmethod
    def _kill(process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    def _wait_listening(self, is_listening, port):
        while not is_listening(port):
            check(self.server.poll() is None,
                  f"{self.server.stdout.read()}\nthe server ended with status {self.server.returncode} before it listened"
                  if self.server.poll() is not None else "")
            check(time.monotonic() < self._deadline, f"waited {self._seconds:g} s for the server to listen")
            time.sleep(0.01)

    def _output(self, process):
        try:
            return process.communicate(timeout=max(self._deadline - time.monotonic(), 0.1))[0]
        except subprocess.TimeoutExpired:
            self._kill(process)
            return process.communicate()[0] + f"\n(killed after {self._seconds:g} s)"

    def finish(self):
        client = self._output(self.client)
        if self.client.returncode != 0:
            self._kill(self.server)
        server = self._output(self.server)
        outputs = f"server:\n{server}\nclient:\n{client}\n"
        check(self.client.returncode == 0 and self.server.returncode == 0,
              f"{outputs}{self.name}: status of the client {self.client.returncode}, of the server {self.server.returncode}")
        return server, client
