// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Fast registration (IBTA 10.6.4.4): a key gets its page list by a work request.
//
// The room for the list is reserved when the key is created, so that nothing is
// allocated when the list comes. A list of neighbours becomes one contiguous range.
#pragma once

#include <cstdint>

#include <rdma/ohca_hw.h>

#include "core/context.hh"

namespace ohca::core {

class Function;

// Longest list of a key, entries. Reading one takes some 100 us, its room 1 MiB.
constexpr uint32_t kListEntriesMax = 65536;

// Longest range of a key that a work request makes valid, bytes; as of a region (QUERY_DEVICE).
constexpr uint64_t kRegisteredLengthMax = uint64_t{1} << 63;

// Room for `entry_max` entries, and what else a key of that type needs. False: out of context memory.
bool reserve_list(Function &function, MkeyContext &mkey, uint32_t entry_max);
void free_list(Function &function, MkeyContext &mkey);

// The key of that type which a work request of a queue pair in `pd` may make valid.
// OHCA_VENDOR_ERROR_NONE, or why there is none.
uint32_t find_free_key(Function &function, uint32_t pd, uint32_t key, uint8_t type, MkeyContext *&mkey);

// REG_MR: the free key whose index is that of `key` becomes valid, as `key`. Returns
// OHCA_VENDOR_ERROR_NONE, or why nothing has happened.
uint32_t register_list(Function &function, uint32_t pd, uint32_t key, const struct ohca_wqe_register &request);

} // namespace ohca::core
