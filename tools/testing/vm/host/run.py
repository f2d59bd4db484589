# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Boot a guest with ohca functions and run a command in it (see tools/testing/vm/run)."""
import argparse
import collections
import glob
import os
import shutil
import signal
import sys
import tempfile
import time

import accelerator
import complaints
import initramfs
import machine
import process
from device import Device
from hook import Hook
from kernel import Kernel
from session import DIED, TIMEOUT, Session

COMPLAINED = 120
CHECKOUT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4))
CACHE = os.environ["OHCA_CACHE"]
BUILD = os.environ.get("OHCA_BUILD", f"{CHECKOUT}/build")

Share = collections.namedtuple("Share", "tag mode path host")
Parts = collections.namedtuple("Parts", "root shares macs sockets module provider environment")
_start = time.monotonic()


def say(text):
    print(f"run: [{time.monotonic() - _start:5.1f} s] {text}", file=sys.stderr, flush=True)


def parse():
    parser = argparse.ArgumentParser(prog="run", usage="tools/testing/vm/run [OPTION]... -- COMMAND [ARG...]")
    add = parser.add_argument
    add("--smp", type=int, default=2, metavar="N", help="processors of the guest (2)")
    add("--mem", default="2G", metavar="SIZE", help="memory of the guest (2G)")
    add("--functions", type=int, default=1, metavar="N", help="ohca functions (1)")
    add("--timeout", type=float, default=600, metavar="SEC", help="end the guest after SEC, exit 124 (600)")
    add("--kernel", metavar="DIR", help="boot this kernel: a build directory, or vmlinuz, release, lib/modules")
    add("--share", action="append", default=[], metavar="DIR", help="mount DIR read-write at the same path")
    add("--iommu", choices=("none", "virtio", "intel"), default="none", help="virtual IOMMU (none)")
    add("--append", default="", metavar="ARGS", help="further arguments for the kernel")
    add("--console", metavar="FILE", help="keep the kernel's console output")
    add("--qemu-arg", action="append", default=[], metavar="ARG", help="further argument for QEMU")
    add("--no-ohca", action="store_true", help="no device, driver and provider (the netdevs are there)")
    add("--no-build", action="store_true", help="take what has been built before")
    add("--ohcad", metavar="FILE", help="another device program")
    add("--ohcad-arg", action="append", default=[], metavar="ARG", help="further argument for ohcad")
    add("--mask", action="append", default=[], metavar="FEATURES",
        help="features that a function lacks, with + between them; repeat for the next function, '' for none")
    add("--ohcad-log", metavar="FILE", help="keep ohcad's log")
    add("--no-driver", action="store_true", help="do not load the driver at boot")
    add("--icount", metavar="SHIFT", help="count instructions, 2^SHIFT ns each: deterministic, one processor")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="set an environment variable")
    add("--hook", metavar="FILE", help="script on the host, see Documentation/testing/vm.rst")
    add("--interactive", action="store_true", help=argparse.SUPPRESS)
    add("command", nargs="*", metavar="COMMAND")
    arguments = sys.argv[1:]
    command = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
    options = parser.parse_args(arguments)
    options.command = options.command + command
    if not options.command and not options.interactive:
        parser.error("no command")
    if not 0 <= options.functions <= machine.FUNCTIONS_MAX:
        parser.error(f"--functions must be 0 to {machine.FUNCTIONS_MAX}")
    if len(options.mask) > options.functions:
        parser.error("--mask for more functions than there are")
    if options.icount is not None:
        options.smp = 1
    return options


def built(pattern, what, needed=True):
    found = sorted(glob.glob(f"{BUILD}/{pattern}", recursive=True))
    if not found:
        if not needed:
            return None
        raise SystemExit(f"run: the build has no {what} ({BUILD}/{pattern})")
    return found[0]


def shares(options):
    # The checkout is read-only unless it is shared: guests run what was built in it.
    wanted = {os.path.realpath(d): "rw" for d in options.share}
    wanted.setdefault(CHECKOUT, "ro")
    if not BUILD.startswith(CHECKOUT + "/"):
        wanted.setdefault(BUILD, "ro")
    if options.kernel:
        wanted.setdefault(os.path.realpath(options.kernel), "ro")
    for path in wanted:
        if not os.path.isdir(path):
            raise SystemExit(f"run: {path} is not a folder")
    # a folder before those inside it
    return [Share(f"share{i}", wanted[p], p, p) for i, p in enumerate(sorted(wanted))]


def environment(options, module):
    result = {"PATH": f"{BUILD}/user/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
              "HOME": "/root", "TERM": os.environ.get("TERM", "dumb") if options.interactive else "dumb",
              "LANG": "C.UTF-8", "OHCA_CHECKOUT": CHECKOUT, "OHCA_BUILD": BUILD}
    if module:
        result["OHCA_MODULE"] = module
    for setting in options.env:
        name, _, value = setting.partition("=")
        result[name] = value
    return result


def guest(options, run_dir):
    kernel = Kernel(options.kernel and os.path.realpath(options.kernel))
    macs = [f"52:54:00:77:00:{i + 1:02x}" for i in range(options.functions)]
    module = provider = None
    sockets = []
    if not options.no_ohca:
        module = built(f"modules/{kernel.release}/**/ohca.ko", f"driver for kernel {kernel.release}",
                       not options.no_driver)
        provider = built("user/**/libohca-rdmav*.so", "provider", not options.no_driver)
        log = os.path.abspath(options.ohcad_log) if options.ohcad_log else f"{run_dir}/ohcad.log"
        device = Device(options.ohcad or built("user/**/ohcad", "ohcad"), macs, run_dir, options.mask, options.ohcad_arg, log)
        sockets = device.sockets
    parts = Parts(Share("root", "ro", "/", os.environ["OHCA_TESTBED"]), shares(options), macs, sockets,
                  None if options.no_driver else module, provider, environment(options, module))
    with open(f"{run_dir}/initrd", "wb") as f:
        f.write(initramfs.base(kernel, CACHE))
        f.write(initramfs.job(options, kernel, parts))
    kvm = accelerator.kvm_works(kernel, CACHE, say)
    say(f"booting Linux {kernel.release} {'with KVM' if kvm and options.icount is None else 'emulated'}, "
        f"{options.smp} processors, {options.mem}, {len(sockets)} ohca functions")
    hook = Hook(options.hook and os.path.abspath(options.hook),
                dict(os.environ, OHCA_RUN_DIR=run_dir, OHCA_BUILD=BUILD,
                     PATH=f"{BUILD}/user/bin:{os.environ['PATH']}"))
    session = Session(run_dir, hook, say)
    with open(f"{run_dir}/qemu.output", "wb") as output:
        status = session.run(machine.command(options, kernel, parts, run_dir, kvm), options.timeout,
                             None if options.interactive else output, options.interactive)
    if not sockets or device.process.poll() is None:
        return status
    say(f"ohcad ended before the guest, with status {device.process.returncode}: {device.output()}")
    return status


def judge(status, options, run_dir):
    """Look at the console: the exit status, and its reason to stderr."""
    try:
        with open(f"{run_dir}/console", "rb") as f:
            console = f.read()
    except OSError:
        console = b""
    if options.console:
        with open(options.console, "wb") as f:
            f.write(console)
    if options.interactive:
        return 0
    found = complaints.find(console)
    if found:
        say("the guest's kernel complained:")
        sys.stderr.write(b"\n".join(found[:20]).decode(errors="replace") + "\n")
    if status == DIED:
        with open(f"{run_dir}/qemu.output", errors="replace") as f:
            say(f"the guest died. {f.read()[-2000:]}")
    if found or status in (DIED, TIMEOUT):
        lines = console.decode(errors="replace").splitlines()[-60:]
        say("the end of its console:")
        sys.stderr.write("".join(f"  | {line}\n" for line in lines))
    return COMPLAINED if found and status == 0 else status


def interrupted(number, _frame):
    raise SystemExit(128 + number)


def make_run_dir():
    # those of runs that were killed themselves
    for stale in glob.glob("/tmp/ohca-run-*"):
        if not os.path.exists(f"/proc/{stale.split('-')[2]}"):
            shutil.rmtree(stale, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"ohca-run-{os.getpid()}-", dir="/tmp")


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    options = parse()
    process.adopt_orphans()
    run_dir = make_run_dir()
    try:
        return judge(guest(options, run_dir), options, run_dir)
    finally:
        process.end_all()
        if os.environ.get("OHCA_KEEP_RUN"):
            kept = run_dir.replace("ohca-run", "ohca-kept")
            os.rename(run_dir, kept)
            say(f"kept {kept}")
        else:
            shutil.rmtree(run_dir, ignore_errors=True)


sys.exit(main())
