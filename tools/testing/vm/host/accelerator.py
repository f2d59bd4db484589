# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""KVM if it has proved to work on this machine since its last boot, emulation otherwise."""
import os
import subprocess

QEMU = "/opt/qemu/qemu-system-x86_64"
# Under emulation "rep movs" runs a byte at a time when it is announced as fast, and
# carry-less multiplication is slow (rxe's ICRC uses it).
TCG_CPU = "max,-erms,-fsrm,-pclmulqdq"
_PROBE_SECONDS = 12


def _probe(kernel):
    # Without a root the kernel panics at the end of its boot: that far is far enough.
    try:
        result = subprocess.run(
            [QEMU, "-nodefaults", "-no-user-config", "-machine", "q35", "-accel", "kvm", "-cpu", "host",
             "-smp", "2", "-m", "512", "-display", "none", "-no-reboot", "-serial", "stdio",
             "-kernel", kernel.image, "-append", "console=ttyS0 panic=-1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS)
        return b"Unable to mount root fs" in result.stdout
    except subprocess.TimeoutExpired:
        return False


def kvm_works(kernel, cache, say):
    """Whether a guest boots with KVM; the answer is kept until this machine boots again."""
    if not os.path.exists("/dev/kvm") or os.environ.get("OHCA_KVM") == "0":
        return False
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot = f.read().strip()
    path = f"{cache}/kvm-probe"
    try:
        with open(path) as f:
            known, answer = f.read().split()
        if known == boot:
            return answer == "yes"
    except (OSError, ValueError):
        pass
    say("probing whether KVM works (once per boot of this machine)")
    answer = _probe(kernel)
    say(f"KVM {'works' if answer else 'does not work: emulating'}")
    with open(f"{path}.{os.getpid()}", "w") as f:
        f.write(f"{boot} {'yes' if answer else 'no'}\n")
    os.rename(f.name, path)
    return answer


def arguments(options, kvm):
    """QEMU's arguments for the processor."""
    if options.icount is not None:
        return ["-accel", "tcg,thread=single", "-icount", f"shift={options.icount},sleep=on", "-cpu", TCG_CPU]
    if kvm:
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", TCG_CPU]
