# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What driver and device hold for applications, and that all of it comes back."""
import json

from report import Failure, check, run, wait_for

# a request to a busy host that runs other guests, too
_HOST_SECONDS = 120
KINDS = ("pd", "cq", "qp", "mr", "ctx")
# ib_mad's agent on every port: the GSI queue pair, its CQ and PD
MANAGEMENT = {"pd": 1, "cq": 1, "qp": 1, "mr": 0, "ctx": 0}


def rdma(*arguments):
    return json.loads(run("rdma", "-j", *arguments) or "[]")


def counts(device="ohca0"):
    """Objects of each kind, as the kernel counts them."""
    for entry in rdma("resource", "show"):
        if entry["ifname"] == device:
            return {kind: entry[kind] for kind in KINDS}
    raise Failure(f"rdma resource show: no {device}")


def ohcactl(*commands):
    """The answers of ohcactl on the host for the first function; needs ohca-hook."""
    text = run("host-request", "ohcactl", *commands, deadline=_HOST_SECONDS)
    answers = []
    while text:
        answer, end = json.JSONDecoder().raw_decode(text)
        answers.append(answer[0])
        text = text[end:].lstrip()
    return answers


def device_counts():
    queues, keys, function = ohcactl("queues", "keys", "functions")
    return {"device qps": len(queues["queues"]["qps"]), "device cqs": len(queues["queues"]["cqs"]),
            "device keys": len(keys["keys"]), "device dma ranges": function["dma_ranges"]}


def pinned_pages():
    """Pages that drivers have pinned and not released."""
    # Each processor counts for itself at first: have it added up.
    with open("/proc/sys/vm/stat_refresh") as f:
        f.read()
    with open("/proc/vmstat") as f:
        numbers = dict(line.split() for line in f)
    return int(numbers["nr_foll_pin_acquired"]) - int(numbers["nr_foll_pin_released"])


def _look():
    return {**counts(), **device_counts(), "pinned pages": pinned_pages()}


def snapshot(deadline=30.0):
    """What is held, once two looks agree: a page may be pinned for a moment by anybody."""
    looks = [_look()]

    def settled():
        looks.append(_look())
        return looks[-1] == looks[-2]

    wait_for("the resources in use to stop changing", settled, deadline, 0.1)
    return looks[-1]


def wait_base(base, deadline=30.0):
    """Whoever was killed or lost its device leaves nothing behind."""
    last = {}

    def back():
        last.clear()
        last.update(_look())
        return last == base

    try:
        wait_for("all resources to come back", back, deadline, 0.3)
    except Failure as failure:
        left = ", ".join(f"{name} {last[name]} instead of {base[name]}" for name in base if last[name] != base[name])
        check(False, f"{failure}: {left}")
