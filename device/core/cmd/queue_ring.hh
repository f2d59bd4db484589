// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What CREATE_QP, CREATE_SRQ and RESIZE_SRQ ask of a ring of WQEs.
#pragma once

#include <cstdint>

#include "core/cmd/commands.hh"

namespace ohca::core {

struct RingLimits {
	uint8_t log_depth_max;
	uint8_t log_stride_min;
	uint8_t log_stride_max;
};

constexpr RingLimits kSqLimits = {kLogSqDepthMax, 6, 11};
// Header and address must fit.
constexpr RingLimits kDatagramSqLimits = {kLogSqDepthMax, 7, 11};
static_assert(sizeof(struct ohca_sq_wqe) + sizeof(struct ohca_wqe_datagram) <= 1 << kDatagramSqLimits.log_stride_min);
constexpr RingLimits kRqLimits = {kLogRqDepthMax, 5, 10};
constexpr RingLimits kSrqLimits = {kLogSrqDepthMax, kRqLimits.log_stride_min, kRqLimits.log_stride_max};
static_assert(OHCA_SQ_STRIDE_MIN == 1 << kSqLimits.log_stride_min && OHCA_SQ_STRIDE_MAX == 1 << kSqLimits.log_stride_max);
static_assert(OHCA_RQ_STRIDE_MIN == 1 << kRqLimits.log_stride_min && OHCA_RQ_STRIDE_MAX == 1 << kRqLimits.log_stride_max);

// Bytes of the buffer up to the end of the ring; 0 if it is not present.
uint64_t ring_end(const QueueRing &ring);
CommandResult check_ring(const QueueRing &ring, const RingLimits &limits);
// Entries are copied through pointers that assume that none crosses a page.
bool crosses_pages(const PageRange &buffer, const QueueRing &ring);

} // namespace ohca::core
