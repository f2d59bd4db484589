// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The layout of the contract, as the provider's compiler sees it.
#include <cstddef>

#include <rdma/ohca_hw_layout.h>

// Values that code here builds on.
static_assert(OHCA_UAR_SLOT_COUNT == 64 * OHCA_UAR_NOTIFY_WORDS);
static_assert(OHCA_KICK_PAGE_OFF % 4096 == 0);
static_assert(OHCA_WQE_INLINE == 0x08 && OHCA_WR_FADD == 8);
