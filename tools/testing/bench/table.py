# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The rows of the comparison: what was measured, the yardstick, the ratio and the target."""
from collections import namedtuple
from statistics import mean

# ratio: how many times better ohca0 is (0.6: reaches 60 % of the yardstick)
Row = namedtuple("Row", "name unit ohca yardstick yardstick_name ratio target")

# figure, title, unit, target of the ratio to rxe (None: no target)
_AGAINST_RXE = (
    ("write_rate_8", "WRITE rate, 8 B", "Mmsg/s", 20),
    ("read_rate_8", "READ rate, 8 B", "Mmsg/s", None),
    ("send_rate_8", "SEND rate, 8 B", "Mmsg/s", None),
    ("atomic_rate", "fetch-and-add rate", "Mmsg/s", None),
    ("write_bandwidth_64k", "WRITE bandwidth, 64 KiB", "MiB/s", 20),
    ("read_bandwidth_64k", "READ bandwidth, 64 KiB", "MiB/s", None),
    ("send_bandwidth_64k", "SEND bandwidth, 64 KiB", "MiB/s", None),
    ("write_bandwidth_1m", "WRITE bandwidth, 1 MiB", "MiB/s", None),
    ("write_latency_2", "WRITE latency, 2 B, typical", "us", 5),
    ("send_latency_2", "SEND latency, 2 B, typical", "us", 5),
    ("read_latency_2", "READ latency, 2 B, typical", "us", None),
    ("uc_write_rate_8", "UC WRITE rate, 8 B", "Mmsg/s", 20),
    ("uc_write_bandwidth_64k", "UC WRITE bandwidth, 64 KiB", "MiB/s", 20),
    ("uc_send_latency_2", "UC SEND latency, 2 B, typical", "us", 5),
    ("ud_send_rate_8", "UD SEND rate, 8 B", "Mmsg/s", 20),
    ("ud_send_bandwidth_1k", "UD SEND bandwidth, 1 KiB", "MiB/s", 20),
    ("ud_send_latency_2", "UD SEND latency, 2 B, typical", "us", 5),
    ("srq_send_rate_8", "SEND rate, 8 B, into an SRQ", "Mmsg/s", 20),
    ("srq_send_bandwidth_64k", "SEND bandwidth, 64 KiB, into an SRQ", "MiB/s", 20),
    ("srq_send_latency_2", "SEND latency, 2 B, typical, into an SRQ", "us", 5),
)
# figure, title, unit, figure of RC: rxe has no XRC
_XRC = (
    ("xrc_write_rate_8", "XRC WRITE rate, 8 B", "Mmsg/s", "write_rate_8"),
    ("xrc_send_bandwidth_64k", "XRC SEND bandwidth, 64 KiB", "MiB/s", "send_bandwidth_64k"),
    ("xrc_send_latency_2", "XRC SEND latency, 2 B, typical", "us", "send_latency_2"),
)
_ULPS_AGAINST_RXE = (
    ("nvme_read_iops_4k", "NVMe random reads, 4 KiB", "1000/s", 5),
    ("nvme_write_bandwidth_1m", "NVMe writes, 1 MiB", "MiB/s", 5),
    ("nfs_write_bandwidth_1m", "NFS writes, 1 MiB", "MiB/s", 3),
    ("nfs_read_bandwidth_1m", "NFS reads, 1 MiB", "MiB/s", 3),
)
# Measured once (facts.md of the project): kernel instructions cannot be counted by callgrind.
_RXE_INSTRUCTIONS = 15000
# of whoever starts an operation where nothing may sleep
_SUBMISSION_LIMIT = 2000
# What a real-time task may wait for its processor while callbacks run; an idle guest's timers are as late at times.
_LATENCY_LIMIT_US = 500


def _compared(title, unit, ours, yardstick, yardstick_name, target):
    ratio = yardstick / ours if unit == "us" else ours / yardstick
    return Row(title, unit, ours, yardstick, yardstick_name, ratio, target)


def rows(results):
    table = [_compared(title, unit, results[figure]["ohca0"], results[figure]["rxe0"], "rxe", target)
             for figure, title, unit, target in _AGAINST_RXE + _ULPS_AGAINST_RXE]
    table += [_compared(title, unit, results[figure]["ohca0"], results[rc]["ohca0"], "RC on ohca0 (rxe has no XRC)", None)
              for figure, title, unit, rc in _XRC]
    nvme = results["nvme_read_iops_4k"]
    table.append(_compared("NVMe random reads, 4 KiB, against no transport", "1000/s", nvme["ohca0"], nvme["loop"],
                           "nvme-loop", None))
    bandwidth = results["write_bandwidth_1m"]
    table.append(Row("WRITE bandwidth, 1 MiB, against memcpy", "MiB/s", bandwidth["ohca0"], bandwidth["memcpy"],
                     "memcpy on the device's side", bandwidth["ohca0"] / bandwidth["memcpy"], 0.6))
    many = results["many_qps"]
    table.append(Row(f"WRITE rate among {many['pairs']} connected QPs", "Mmsg/s", many["among"] / 1e6,
                     many["alone"] / 1e6, "the same QP alone", many["among"] / many["alone"], 0.9))
    table += _idle(results["idle_qps"])
    pairs = results["registrations"]
    table.append(Row("fast registrations, 64 KiB", "1/s", pairs["kernel"], pairs["user"], "ibv_reg_mr, ibv_dereg_mr",
                     pairs["kernel"] / pairs["user"], 20))
    table += _connections(results["connections"], "a kernel user", (10, 5))
    table += _connections(results["application_connections"], "an application", (None, None))
    table += _cost(results["cost"])
    table += _timer_latency(results["timer_latency"])
    cost = results["instructions_per_write"]["ohca0"]
    table.append(Row("guest instructions per 8 B WRITE", "", cost, _RXE_INSTRUCTIONS, "rxe (measured before)",
                     _RXE_INSTRUCTIONS / cost, _RXE_INSTRUCTIONS / 600))
    return table


def _connections(rates, whose, targets):
    """A queue pair created, brought to RTS and destroyed, by one thread; kernel users take theirs from a pool."""
    ours = rates["ohca0 asynchronous"]
    yardsticks = (("ohca0 synchronous", "synchronous verbs"), ("rxe0 synchronous", "rxe"))
    for (yardstick, name), target in zip(yardsticks, targets):
        yield Row(f"connections set up by {whose}, asynchronous", "1/s", ours, rates[yardstick], name,
                  ours / rates[yardstick], target)


def _cost(cost):
    """In a guest that counts instructions: what those pay who start an operation in an interrupt, a connection in all, and others."""
    for verb, title in (("modify_qp", "modify_qp"), ("take_connected", "create and connect")):
        submission = cost["operations"][verb]["submission"]
        yield Row(f"guest instructions to start a {title} in an interrupt", "", submission, _SUBMISSION_LIMIT, "allowed",
                  _SUBMISSION_LIMIT / submission, 1)
    ours = cost["connections"]["ohca0 asynchronous"]
    for yardstick, name in (("ohca0 synchronous", "synchronous verbs"), ("rxe0 synchronous", "rxe")):
        other = cost["connections"][yardstick]
        yield Row("guest instructions per connection, asynchronous", "", ours, other, name, other / ours, None)
    late = cost["timer_latency"]["p99"]
    yield Row("timer latency during asynchronous connections, 99th percentile, counting instructions", "us", late,
              _LATENCY_LIMIT_US, "allowed", _LATENCY_LIMIT_US / late, 1)


def _timer_latency(latency):
    """Of a task that has nothing to do with it."""
    for percentile, title in (("median", "median"), ("p99", "99th percentile"), ("max", "maximum")):
        for yardstick in ("idle", "synchronous"):
            yield _compared(f"timer latency during asynchronous connections, {title}", "us",
                            latency["asynchronous"][percentile], latency[yardstick][percentile],
                            "nothing going on" if yardstick == "idle" else "synchronous connections", None)


def _idle(idle):
    """Memory of an idle queue pair beyond its queues, and whether the last ones cost what the first ones did."""
    for side, limit in (("device", 2048), ("kernel", 4096)):
        yield Row(f"{side} memory per idle QP, {idle['count']} of them", "B", idle[side], limit, "allowed",
                  limit / idle[side], 1)
    for what in ("created", "destroyed"):
        # three of the ten parts: one lasts half a second, in which other programs may be what is measured
        first, last = mean(idle[what][:3]), mean(idle[what][-3:])
        yield Row(f"QPs {what}, last three tenths", "1/s", last, first, "first three tenths", last / first, 0.8)


def reached(row):
    return row.target is None or row.ratio >= row.target


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def verdict(row):
    if row.target is None:
        return "-"
    return f">= {number(row.target)}: {'reached' if reached(row) else 'MISSED'}"


METHOD = (
    "One guest, one run; ohca0 and rxe0 take turns and each figure is the best of the rounds. perftest, both ends in the "
    "guest. QEMU's processor has no pclmulqdq, with which rxe is slower in wall clock. Instructions: valgrind's callgrind "
    "on post_poll_cost in the guest, one ibv_post_send() and one ibv_poll_cq() call per operation, difference of two run "
    "lengths; the target of a WRITE executes nothing, and there is no kernel code on the path. "
    "NVMe, NFS: fio with direct I/O, both ends in the guest, RAM disk and tmpfs. Fast registrations: REG_MR and LOCAL_INV, "
    "16 of each a doorbell. Kernel instructions: a guest of QEMU's -icount, whose clock counts them. Timer latency: "
    "a timer each millisecond on each processor, at real-time priority, as cyclictest. "
    "ratio: how many times better ohca0 is."
)
HEADER = ("", "unit", "ohca0", "yardstick", "", "ratio", "target")


def cells(row):
    return (row.name, row.unit, number(row.ohca), number(row.yardstick), row.yardstick_name, number(row.ratio),
            verdict(row))


def markdown(table):
    lines = ["# ohca beside rxe", "", METHOD, "", "| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in table]
    return "\n".join(lines) + "\n"


def csv(table):
    lines = ["name,unit,ohca0,yardstick,yardstick_name,ratio,target"]
    lines += [f'"{row.name}",{row.unit},{row.ohca:.6g},{row.yardstick:.6g},{row.yardstick_name},{row.ratio:.6g},'
              f'{"" if row.target is None else row.target}' for row in table]
    return "\n".join(lines) + "\n"


def text(table):
    widths = [max(len(line[i]) for line in (HEADER, *map(cells, table))) for i in range(len(HEADER))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
                     for line in (HEADER, *map(cells, table))) + "\n"
