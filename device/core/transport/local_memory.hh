// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Scatter/gather lists of work requests, turned into checked ranges.
#pragma once

#include <cstdint>
#include <span>

#include "core/function.hh"
#include "core/queue/queues.hh"

namespace ohca::core {

// Room for the ranges of one list. Not initialized: that would cost more than most messages.
union RangeBuffer {
	RangeBuffer() {} // NOLINT: elements come to life in check_sges()
	SgRange ranges[kSendSgeMax];
};
static_assert(kSendSgeMax >= kReceiveSgeMax);

// Checks the first `needed` bytes of the list with `access` (0: read); what is behind them is
// not looked at, as on an HCA that translates when it places data: perftest posts receives
// that reach beyond their region, and only the message counts. Empty
// elements need no key (IBTA 10.6.3). `count` gets the number of ranges;
// `ranges` may be null.
// Returns OHCA_VENDOR_ERROR_NONE or why an element was refused.
uint32_t check_sges(Function &function, uint32_t pd, std::span<const ohca_sge> sges, uint64_t needed,
		    uint32_t access, SgRange *ranges, uint32_t &count);

} // namespace ohca::core
