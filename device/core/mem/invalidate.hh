// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Invalidation of keys by work requests and by peers (IBTA 10.6.5): fast
// registrations, INTEGRITY keys and windows of type 2B become free. Regions that a command has
// registered and windows of type 1 stay what they are.
#pragma once

#include <cstdint>

#include "core/context.hh"

namespace ohca::core {

class Function;

// LOCAL_INV and READ_INV of this queue pair, or SEND_INV that has come to it. Returns
// OHCA_VENDOR_ERROR_NONE, or why nothing has changed.
uint32_t invalidate_key(Function &function, QpContext &qp, uint32_t key);

// A FAST_REGION without windows, or an INTEGRITY key, becomes free.
void free_region(MkeyContext &mkey);

} // namespace ohca::core
