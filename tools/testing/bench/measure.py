#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""measure.py OUTPUT [--quick]: everything that is measured in the guest, as JSON.

ohca0 and rxe0 take turns in each round and each figure is the best of the rounds: what other
programs on the machine cost then hits both alike, or neither.
"""
import json
import os
import re
import subprocess
import sys
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
from pair import Pair
from quick_start import keep_two_providers
from report import Failure, check, run

from measure_ulps import measure_ulps
from timer_latency import timer_latency, timer_latency_during

# program; message size in bytes; column of the result; whether more is better; iterations on ohca0
# and on rxe0 (chosen so that a run takes about a second on either; 0: rxe has nothing like it);
# what kind of queue pair, for perftest
Figure = namedtuple("Figure", "program size column more iterations arguments", defaults=((),))
UC, UD, XRC, SRQ = ("-c", "UC"), ("-c", "UD"), ("-c", "XRC"), ("--use-srq",)
PERFTEST = {
    "write_rate_8": Figure("ib_write_bw", 8, 4, True, (400000, 20000)),
    "read_rate_8": Figure("ib_read_bw", 8, 4, True, (100000, 20000)),
    "send_rate_8": Figure("ib_send_bw", 8, 4, True, (100000, 10000)),
    "atomic_rate": Figure("ib_atomic_bw", 8, 4, True, (100000, 20000)),
    "write_bandwidth_64k": Figure("ib_write_bw", 65536, 3, True, (50000, 1000)),
    "read_bandwidth_64k": Figure("ib_read_bw", 65536, 3, True, (50000, 1000)),
    "send_bandwidth_64k": Figure("ib_send_bw", 65536, 3, True, (20000, 1000)),
    "write_bandwidth_1m": Figure("ib_write_bw", 1 << 20, 3, True, (5000, 100)),
    "write_latency_2": Figure("ib_write_lat", 2, 4, False, (10000, 5000)),
    "send_latency_2": Figure("ib_send_lat", 2, 4, False, (10000, 5000)),
    "read_latency_2": Figure("ib_read_lat", 2, 4, False, (10000, 5000)),
    "uc_write_rate_8": Figure("ib_write_bw", 8, 4, True, (400000, 20000), UC),
    "uc_write_bandwidth_64k": Figure("ib_write_bw", 65536, 3, True, (50000, 1000), UC),
    "uc_send_latency_2": Figure("ib_send_lat", 2, 4, False, (10000, 5000), UC),
    "ud_send_rate_8": Figure("ib_send_bw", 8, 4, True, (400000, 10000), UD),
    "ud_send_bandwidth_1k": Figure("ib_send_bw", 1024, 3, True, (400000, 10000), UD),
    "ud_send_latency_2": Figure("ib_send_lat", 2, 4, False, (10000, 5000), UD),
    "srq_send_rate_8": Figure("ib_send_bw", 8, 4, True, (100000, 10000), SRQ),
    "srq_send_bandwidth_64k": Figure("ib_send_bw", 65536, 3, True, (20000, 1000), SRQ),
    "srq_send_latency_2": Figure("ib_send_lat", 2, 4, False, (10000, 5000), SRQ),
    "xrc_write_rate_8": Figure("ib_write_bw", 8, 4, True, (400000, 0), XRC),
    "xrc_send_bandwidth_64k": Figure("ib_send_bw", 65536, 3, True, (20000, 0), XRC),
    "xrc_send_latency_2": Figure("ib_send_lat", 2, 4, False, (10000, 0), XRC),
}
DEVICES = ("ohca0", "rxe0")
ADDRESS = "10.77.0.1"


def say(text):
    print(text, file=sys.stderr, flush=True)


def perftest(device, figure):
    arguments = ["-d", device, "-F", "-n", str(figure.iterations[DEVICES.index(device)]), *figure.arguments]
    if figure.program != "ib_atomic_bw":
        arguments += ["-s", str(figure.size)]
    _, client = Pair(figure.program, [], [], arguments, ADDRESS, deadline=120).finish()
    for line in client.splitlines():
        fields = line.split()
        if fields and fields[0] == str(figure.size) and len(fields) > figure.column:
            return float(fields[figure.column])
    raise Failure(f"{client}\n{' '.join([figure.program, *arguments])}: no line of {figure.size} bytes in its output")


def better(a, b, more):
    return b if a is None else (max if more else min)(a, b)


def measure_perftest(results, rounds):
    for name, figure in PERFTEST.items():
        row = results.setdefault(name, {})
        for _ in range(rounds):
            for device, iterations in zip(DEVICES, figure.iterations):
                if iterations:
                    row[device] = better(row.get(device), perftest(device, figure), figure.more)
            if name == "write_bandwidth_1m":
                answer = json.loads(run("host-request", "memcpy", str(figure.size)))
                row["memcpy"] = better(row.get("memcpy"), answer["bytes_per_second"] / (1 << 20), True)
        say(f"{name}: {row}")


def measure_many_qps(results, pairs, rounds):
    words = run("many_qps", "ohca0", str(pairs), str(rounds), deadline=300).split()
    results["many_qps"] = {"pairs": pairs, "alone": float(words[1]), "among": float(words[3])}
    say(f"many_qps: {results['many_qps']}")


def instructions(operations):
    """User instructions of a whole run of post_poll_cost; the data path has no others."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           "post_poll_cost", "ohca0", str(operations)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    found = re.search(r"Collected : (\d+)", done.stdout)
    check(done.returncode == 0 and found, f"{done.stdout}\ncallgrind: status {done.returncode}")
    return int(found.group(1))


def measure_instructions(results):
    few, many = 64, 1024
    cost = (instructions(many) - instructions(few)) / (many - few)
    results["instructions_per_write"] = {"ohca0": cost}
    say(f"instructions per 8-byte write, post and poll: {cost:.1f}")


def kernel_bytes():
    with open("/proc/meminfo") as f:
        fields = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return 1024 * sum(fields[name] for name in ("SUnreclaim", "VmallocUsed", "Percpu"))


def device_bytes():
    return json.loads(run("host-request", "functions"))[0]["context_bytes"]


def measure_idle_qps(results, count):
    """Queue pairs nobody uses; the pages of their queues are the application's and not counted."""
    kernel, device = kernel_bytes(), device_bytes()
    with subprocess.Popen(["idle_qps", "ohca0", str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        created = program.stdout.readline().split()[1:]
        row = {"count": count, "kernel": (kernel_bytes() - kernel) / count, "device": (device_bytes() - device) / count}
        destroyed = program.communicate("\n")[0].split()[1:]
    check(program.returncode == 0 and len(created) == len(destroyed) == 10, f"idle_qps: status {program.returncode}")
    row["created"], row["destroyed"] = list(map(float, created)), list(map(float, destroyed))
    results["idle_qps"] = row
    say(f"idle_qps: {row}")


def connection_rates(device, module, connections):
    """Queue pairs created, brought to RTS and destroyed per second, by a kernel user: how -> rate."""
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write(f"connection set-up of {device}\n")
    run("insmod", module, f"device={device}", f"bench={connections}", deadline=120)
    run("rmmod", "atomic")
    last = run("dmesg").rsplit("connection set-up", 1)[1]
    return {how: float(rate) for how, rate in re.findall(r"bench: (\w+): \d+ connections, (\d+) per second", last)}


# Some tenths of a second where it is fastest, or it is what warming up takes that is measured.
_CONNECTIONS = 15000


def measure_connections(results, module, rounds):
    row = {}
    for _ in range(rounds):
        for device in DEVICES:
            for how, rate in connection_rates(device, module, _CONNECTIONS).items():
                name = f"{device} {how}"
                row[name] = better(row.get(name), rate, True)
    results["connections"] = row
    say(f"connections: {row}")


def measure_timer_latency(results, module, rounds):
    """Of a task that has nothing to do with it, in us; the best of the rounds."""
    milliseconds = 3000
    row = results.setdefault("timer_latency", {})
    for _ in range(rounds):
        found = {"idle": timer_latency(milliseconds)}
        for form in ("asynchronous", "synchronous"):
            found[form] = timer_latency_during(module, form, milliseconds)
        say(f"timer latency: {found}")
        for name, values in found.items():
            row[name] = {key: better(row.get(name, {}).get(key), value, False) for key, value in values.items()}


# of an application: arguments of connect_rate; they take about a second each
APPLICATION_CONNECTIONS = {
    "ohca0 synchronous": ("ohca0", "500"),
    "rxe0 synchronous": ("rxe0", "1000"),
    "ohca0 asynchronous": ("ohca0", "4000", "--async"),
}


def measure_application_connections(results, rounds):
    row = {}
    for _ in range(rounds):
        for name, arguments in APPLICATION_CONNECTIONS.items():
            row[name] = better(row.get(name), float(run("connect_rate", *arguments, deadline=120)), True)
    results["application_connections"] = row
    say(f"application_connections: {row}")


def main():
    output, quick = sys.argv[1], "--quick" in sys.argv[2:]
    keep_two_providers()
    run("modprobe", "rdma_rxe")
    run("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")
    results = {}
    measure_perftest(results, 1 if quick else 3)
    measure_many_qps(results, 1000, 2 if quick else 8)
    measure_idle_qps(results, 10000 if quick else 100000)
    measure_instructions(results)
    run("modprobe", "rdma_cm")
    module = os.path.join(os.path.dirname(output), "atomic.ko")
    measure_connections(results, module, 1 if quick else 3)
    measure_timer_latency(results, module, 1 if quick else 3)
    measure_application_connections(results, 1 if quick else 3)
    # the last one: it takes rxe0 away
    measure_ulps(results, 1 if quick else 2, os.path.join(os.path.dirname(output), "kverbs", "kverbs.ko"), say)
    with open(output, "w", encoding="ascii") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"bench: {failure}")
