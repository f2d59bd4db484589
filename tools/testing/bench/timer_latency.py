# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How late the timers of a task are that has nothing to do with RDMA, in microseconds (timer_latency.cc)."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
from report import check, run


def timer_latency(milliseconds):
    count, median, p99, most = map(int, run("timer_latency", str(milliseconds), deadline=120).split())
    return {"count": count, "median": median / 1000, "p99": p99 / 1000, "max": most / 1000}


def timer_latency_during(module, form, milliseconds):
    """While connections come and go on ohca0, for longer than it takes to measure."""
    with subprocess.Popen(["insmod", module, "bench=2000000000", f"limit_ms={2 * milliseconds}", f"form={form}"]) as storm:
        time.sleep(0.5)
        row = timer_latency(milliseconds)
        check(storm.poll() is None, f"the {form} connections were over before the latency was measured")
    check(storm.returncode == 0, f"insmod: status {storm.returncode}")
    run("rmmod", "atomic")
    return row
