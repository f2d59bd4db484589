#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""measure_cost.py MODULE OUTPUT: instructions of the kernel, in a guest that counts them (run --icount 0), as JSON.

A nanosecond of such a guest is an instruction, so figures do not depend on the machine.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
from report import Failure, check, run

from timer_latency import timer_latency_during

CONNECTIONS = 1000


def _log_of(name, *arguments):
    """What the module has to say, run in this way."""
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write(f"begin of {name}\n")
    run("insmod", *arguments, deadline=600)
    run("rmmod", "atomic")
    return run("dmesg").rsplit(f"begin of {name}", 1)[1]


def operations(module):
    """Each verb from a timer interrupt: its submission, and what the end of the operation takes."""
    log = _log_of("operations", module, "cost=1")
    instructions, ticks = map(int, re.search(r"cost: (\d+) instructions are (\d+) ticks", log).groups())
    check(abs(ticks - instructions) < instructions / 50,
          f"{instructions} instructions took {ticks} ticks: this guest does not count instructions")
    return {name: {"submission": int(submission), "completion": int(completion)} for name, submission, completion
            in re.findall(r"cost: (\w+): submission (\d+) ticks, completion (\d+) ticks", log)}


def connections(module, device):
    """A queue pair created, brought to RTS and destroyed, interrupts and all: how -> instructions."""
    log = _log_of(f"connections of {device}", module, f"device={device}", f"bench={CONNECTIONS}")
    return {f"{device} {how}": int(ns) for how, ns in re.findall(r"bench: (\w+): .*, (\d+) ns of processors each", log)}


def main():
    module, output = sys.argv[1:]
    run("modprobe", "rdma_rxe")
    run("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")
    results = {"operations": operations(module), "connections": {}}
    for device in ("ohca0", "rxe0"):
        results["connections"].update(connections(module, device))
    results["timer_latency"] = timer_latency_during(module, "asynchronous", 2000)
    print(results, file=sys.stderr)
    with open(output, "w", encoding="ascii") as f:
        json.dump(results, f, indent=1)


try:
    main()
except Failure as failure:
    sys.exit(f"bench: {failure}")
