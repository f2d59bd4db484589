# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""QEMU's command line for a guest."""
import json

import accelerator

PORTS = ("stdout", "stderr", "status", "request")
_IOMMU = {
    "none": [],
    "virtio": ["-device", "virtio-iommu-pci,addr=1.0"],
    # without caching-mode QEMU aborts as soon as the guest enables it
    "intel": ["-device", "intel-iommu,intremap=off,caching-mode=on"],
}
_KERNEL = ("console=ttyS0 loglevel=5 panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check "
           "nowatchdog audit=0 random.trust_cpu=on net.ifnames=0 rcupdate.rcu_expedited=1")
# Functions have a slot each, in order, so that ohca0 is the first one; NICs share slots.
_FUNCTION_SLOT, FUNCTIONS_MAX = 0x10, 12
_NIC_SLOT = 0xe


def _share(share):
    option = f"local,id={share.tag},path={share.host},security_model=none,multidevs=remap"
    if share.mode == "ro":
        option += ",readonly=on"
    return ["-fsdev", option, "-device", f"virtio-9p-pci,fsdev={share.tag},mount_tag={share.tag}"]


def command(options, kernel, parts, run_dir, kvm):
    arguments = [accelerator.QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                 "-machine", "q35,vmport=off,sata=off,smbus=off,usb=off,memory-backend=ram",
                 *accelerator.arguments(options, kvm),
                 # the device process maps the guest's memory
                 "-object", f"memory-backend-memfd,id=ram,size={options.mem},share=on",
                 "-m", options.mem, "-smp", str(options.smp), "-rtc", "base=utc",
                 "-kernel", kernel.image, "-initrd", f"{run_dir}/initrd",
                 "-append", f"{_KERNEL} {options.append}",
                 *_IOMMU[options.iommu], "-device", "virtio-rng-pci", "-device", "virtio-serial-pci,id=serial"]
    if options.interactive:
        arguments += ["-chardev", f"stdio,id=console,signal=off,logfile={run_dir}/console"]
    else:
        arguments += ["-chardev", f"file,id=console,path={run_dir}/console"]
    arguments += ["-serial", "chardev:console"]
    for port in PORTS:
        arguments += ["-chardev", f"socket,id={port},path={run_dir}/{port}.socket",
                      "-device", f"virtserialport,chardev={port},name={port}"]
    for share in (parts.root, *parts.shares):
        arguments += _share(share)
    # A hub passes nothing on unless some port takes it: without this one a NIC alone would stall.
    arguments += ["-netdev", "user,id=sink,restrict=on,ipv6=off", "-netdev", "hubport,id=port,hubid=0,netdev=sink"]
    for i, mac in enumerate(parts.macs):
        arguments += ["-netdev", f"hubport,id=net{i},hubid=0", "-device",
                      f"virtio-net-pci,netdev=net{i},mac={mac},romfile=,multifunction=on,"
                      f"addr={_NIC_SLOT + i // 8:#x}.{i % 8:x}"]
    for i, path in enumerate(parts.sockets):
        arguments += ["-device", json.dumps({
            "driver": "vfio-user-pci", "addr": f"{_FUNCTION_SLOT + i:#x}",
            "socket": {"type": "unix", "path": path}})]
    return arguments + options.qemu_arg
