// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Guest memory is somebody else's file, which may be truncated under our
// mapping.  Touching such a page raises SIGBUS.  The guard puts an anonymous
// page there, counts the fault, and lets the access go on; who compares the
// counter (DmaSpace::fault_count) sees that it was not the guest's memory.
// A SIGBUS elsewhere is a bug of ours and kills the process as usual.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ohca::run::fault_guard {

// Of the whole process; `counter` lives as long as it.
void install(std::atomic<uint64_t> &counter);

// Mappings whose faults are to be survived. False: too many.
bool add(void *base, size_t size);
void remove(void *base);

} // namespace ohca::run::fault_guard
