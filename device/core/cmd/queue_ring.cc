// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/cmd/queue_ring.hh"

namespace ohca::core {

uint64_t ring_end(const QueueRing &ring)
{
	return ring.present ? ring.offset + (uint64_t{1} << (ring.log_depth + ring.log_stride)) : 0;
}

CommandResult check_ring(const QueueRing &ring, const RingLimits &limits)
{
	if (!ring.present) {
		// All fields are 0, so that a newer meaning can be told from this one.
		return ring.offset || ring.log_depth || ring.log_stride ? bad_parameter(OHCA_CMD_DETAIL_DEPTH) : kAccepted;
	}
	if (ring.log_depth > limits.log_depth_max)
		return bad_parameter(OHCA_CMD_DETAIL_DEPTH);
	if (ring.log_stride < limits.log_stride_min || ring.log_stride > limits.log_stride_max)
		return bad_parameter(OHCA_CMD_DETAIL_STRIDE);
	if (ring.offset < OHCA_RECORD_SIZE || (ring.offset & ((uint32_t{1} << ring.log_stride) - 1)))
		return bad_parameter(OHCA_CMD_DETAIL_OFFSET);
	return kAccepted;
}

bool crosses_pages(const PageRange &buffer, const QueueRing &ring)
{
	return ring.present && (buffer.first_page_offset + ring.offset) % (uint64_t{1} << ring.log_stride) != 0;
}

} // namespace ohca::core
