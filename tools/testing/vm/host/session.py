# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One run of a guest, from QEMU's start to its end."""
import os
import selectors
import socket
import subprocess
import time

import machine
import process

TIMEOUT, DIED = 124, 125
# from the command's end to QEMU's
_OFF_SECONDS = 20


def _write(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


class Session:
    """Relays the guest's ports until QEMU ends; result() is then the exit status."""

    def __init__(self, run_dir, hook, say):
        self._hook = hook
        self._say = say
        self._status = None
        self._line = b""
        self._selector = selectors.DefaultSelector()
        for port in machine.PORTS:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"{run_dir}/{port}.socket")
            listener.listen(1)
            self._selector.register(listener, selectors.EVENT_READ, (self._accept, port))

    def _accept(self, listener, port):
        connection, _ = listener.accept()
        self._selector.unregister(listener)
        listener.close()
        self._selector.register(connection, selectors.EVENT_READ, (self._receive, port))

    def _receive(self, connection, port):
        try:
            data = connection.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._selector.unregister(connection)
            connection.close()
        elif port == "stdout":
            _write(1, data)
        elif port == "stderr":
            _write(2, data)
        elif port == "request":
            self._hook.received(data, connection.sendall)
        else:
            self._progress(data)

    def _progress(self, data):
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            word, _, value = line.decode().partition(" ")
            if word == "BEGIN":
                self._say(f"the guest is up (its clock: {value} s)")
            elif word == "END":
                self._status = int(value)

    def run(self, arguments, timeout, output=None, interactive=False):
        """Run QEMU (on the terminal when interactive); the exit status of the command, TIMEOUT or DIED."""
        qemu = process.start(arguments, stdout=output, stderr=output,
                             on_terminal=interactive,
                             stdin=None if interactive else subprocess.DEVNULL)
        deadline = time.monotonic() + timeout
        off_deadline = None
        while True:
            for key, _ in self._selector.select(0.2):
                handler, port = key.data
                handler(key.fileobj, port)
            now = time.monotonic()
            if qemu.poll() is not None:
                break
            if self._status is not None:
                off_deadline = off_deadline or now + _OFF_SECONDS
                if now > off_deadline:
                    self._say(f"waited {_OFF_SECONDS} s for the guest to switch off: killed")
                    break
            elif now > deadline:
                self._say(f"timeout after {timeout:g} s")
                return TIMEOUT
        # what QEMU wrote before it ended
        while any(h == self._receive for h, _ in (k.data for k in self._selector.get_map().values())):
            events = self._selector.select(1.0 if qemu.poll() is None else 0.1)
            if not events:
                break
            for key, _ in events:
                handler, port = key.data
                handler(key.fileobj, port)
        return DIED if self._status is None else self._status
