/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * ohca hardware interface, umbrella header.
 *
 * This is the contract between the HCA (device/) on one side and the kernel
 * driver (drivers/infiniband/hw/ohca/) and the provider (providers/ohca/) on
 * the other.  There is exactly one copy of it.  Documentation/hw/ is its
 * prose; each statement there has an id (OHCA-...), cited by code and tests.
 *
 * Conventions
 *  - Multi-byte fields are little endian (__le*) unless they are carried
 *    verbatim from the wire (__be32 immediate data).
 *  - Reserved fields are named reserved_<hex bit offset in the structure>,
 *    written as zero by their owner and ignored (memory written by the
 *    device) or refused (memory read by the device) by the other side.
 *  - "index" counts from 0 and runs freely modulo 2^32; "depth" is a power of
 *    two; the slot of an index is index & (depth - 1).
 *  - "host memory" is memory of the host the function is plugged into (of the
 *    guest, for a virtual machine), named by DMA (bus) addresses.
 */
#ifndef OHCA_HW_H
#define OHCA_HW_H

#include <rdma/ohca_hw_regs.h>
#include <rdma/ohca_hw_io.h>
#include <rdma/ohca_hw_cmd.h>

#endif /* OHCA_HW_H */
