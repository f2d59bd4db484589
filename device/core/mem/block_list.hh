// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Lists of blocks of any address and length that work requests bring (struct ohca_block).
#pragma once

#include <cstdint>

#include "core/context.hh"

namespace ohca::core {

class Function;

// Copies `count` blocks from host memory at `list_address` to `to` in context memory, which has the
// room, and lets `range` stand for them, from the first byte to the last. Returns
// OHCA_VENDOR_ERROR_NONE, or what is wrong with them.
uint32_t copy_block_list(Function &function, uint64_t list_address, BlockOffset to, uint32_t count, PageRange &range);

} // namespace ohca::core
