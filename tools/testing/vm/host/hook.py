# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""--hook: a script on the host that acts while the guest runs."""
import subprocess
import sys
import threading

import process


class Hook:
    """Runs the script once in the background, and again, with arguments, for each request of the guest."""

    def __init__(self, path, environment):
        self._path = path
        self._environment = environment
        self._pending = b""
        if path:
            process.start([path], stdin=subprocess.DEVNULL, stdout=sys.stderr.buffer, env=environment)

    def received(self, data, reply):
        """Take bytes from the request port; call reply(bytes) when the script has ended."""
        self._pending += data
        lines = self._pending.split(b"\n")
        if len(lines) < 2 or not lines[0].isdigit() or len(lines) < int(lines[0]) + 2:
            return
        words = lines[1:int(lines[0]) + 1]
        self._pending = b""
        threading.Thread(target=self._execute, args=(words, reply), daemon=True).start()

    def _execute(self, words, reply):
        if not self._path:
            status, output = 125, b"host-request: the harness was started without --hook\n"
        else:
            try:
                with process.start([self._path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   env=self._environment) as child:
                    output = child.stdout.read()
                status = child.returncode if child.returncode >= 0 else 128 - child.returncode
            except OSError as error:
                status, output = 126, f"host-request: {error}\n".encode()
        reply(b"%d %d\n" % (status, len(output)) + output)
