# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fio on a file or block device: data with checksums, load in the background, throughput."""
import json
import os
import signal
import subprocess
import tempfile

from report import SLOWNESS, check, run

_DIRECT = ("--direct=1", "--fallocate=none")
_ASYNCHRONOUS = ("--ioengine=libaio", *_DIRECT)
_FOR_EVER = 3600  # seconds
_CHECKSUM = ("--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0")


def verify(path, block, size, deadline=120):
    """Everything is written, in random order, and then read; each block carries its checksum."""
    run("fio", "--name=verify", f"--filename={path}", "--rw=randwrite", f"--bs={block}", f"--size={size}",
        "--iodepth=16", "--do_verify=1", *_ASYNCHRONOUS, *_CHECKSUM, deadline=deadline)


class Load:
    """Blocks written, read and compared until succeed() ends it, whatever happens to the path meanwhile."""

    def __init__(self, path, block="4k", size="8m"):
        self._output = tempfile.TemporaryFile("w+", errors="replace")
        self._process = subprocess.Popen(
            ["fio", "--name=load", f"--filename={path}", "--rw=randwrite", f"--bs={block}", f"--size={size}",
             "--iodepth=16", "--verify_backlog=128", "--time_based", f"--runtime={_FOR_EVER}", *_ASYNCHRONOUS, *_CHECKSUM],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True)

    def check_running(self):
        check(self._process.poll() is None, f"{self._text()}\nthe load ended before it was disturbed")

    def _text(self):
        self._output.seek(0)
        return self._output.read()

    def _wait(self, deadline):
        try:
            self._process.wait(deadline * SLOWNESS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(deadline)
            return False
        return True

    def succeed(self, deadline=60):
        self.check_running()
        self._process.send_signal(signal.SIGINT)
        check(self._wait(deadline), f"{self._text()}\nthe load did not end within {deadline} s")
        text = self._text()
        # fio's status is 128 then, whatever came before; the line of the job has the error
        check(self._process.returncode in (0, 128) and "err= 0:" in text,
              f"{text}\nfio: status {self._process.returncode}")

    def end_without_bad_data(self, deadline=60):
        """Goes on until told to end, or has had an I/O error; a block with other content is neither."""
        if self._process.poll() is None:
            self.succeed(deadline)
        else:
            check("verify:" not in self._text(), f"{self._text()}\nfio: bad data")

    def fail(self, deadline=60):
        """An I/O error is what it was to get, and not a block with other content."""
        check(self._wait(deadline), f"{self._text()}\nthe load did not notice within {deadline} s")
        text = self._text()
        check(self._process.returncode != 0, f"{text}\nfio: no error")
        check("verify:" not in text, f"{text}\nfio: bad data")


def measure(path, rw, block, depth, seconds, size="64m"):
    """Operations and bytes per second, with as little of fio's own work in each operation as possible."""
    batch = max(depth // 4, 1)
    output = run("fio", "--name=measure", f"--filename={path}", f"--rw={rw}", f"--bs={block}", f"--size={size}",
                 *_DIRECT, "--ioengine=io_uring", "--fixedbufs", "--registerfiles",
                 f"--iodepth={depth}", f"--iodepth_batch_submit={batch}", f"--iodepth_batch_complete_max={depth // 2}",
                 "--gtod_reduce=1", "--time_based", f"--runtime={seconds}", "--ramp_time=1", "--norandommap",
                 "--output-format=json", deadline=60 + seconds)
    result = json.loads(output[output.index("{"):])["jobs"][0]["write" if "write" in rw else "read"]
    return result["iops"], result["bw_bytes"]
