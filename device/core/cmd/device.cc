// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Commands about the function as a whole.
#include <algorithm>

#include "core/cmd/commands.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/mem/fast_registration.hh"
#include "core/queue/queues.hh"

namespace ohca::core {

namespace {

constexpr uint64_t kFirmwareVersion = uint64_t{1} << 16; // 0.1.0

} // namespace

CommandResult nop(Function &, const NoData &, NoData &)
{
	return kAccepted;
}

CommandResult query_device(Function &function, const NoData &, struct ohca_cmd_query_device_out &out)
{
	out.features = to_le(function.state().features);
	out.max_mr_size = to_le(kMrSizeMax);
	out.page_size_mask = to_le(kPageSizeMask);
	out.device_clock_ns = to_le(function.now());
	// Index 0 is never given out (queue pairs: nor is 1), save UAR 0, which exists always.
	out.max_qp = to_le(kQpCountMax - 2);
	out.max_cq = to_le(kCqCountMax - 1);
	out.max_mkey = to_le(kMkeyCountMax - 1);
	out.max_pd = to_le(kPdCountMax - 1);
	out.max_eq = to_le(kEqCountMax - 1);
	out.max_uar = to_le(std::min(function.uar_count(), kUarCountMax));
	out.max_gid = to_le(kGidCountMax);
	out.max_message_size = to_le(kMessageSizeMax);
	out.log_max_sq_depth = kLogSqDepthMax;
	out.log_max_rq_depth = kLogRqDepthMax;
	out.log_max_cq_depth = kLogCqDepthMax;
	out.log_max_eq_depth = kLogEqDepthMax;
	out.max_send_sge = kSendSgeMax;
	out.max_recv_sge = kReceiveSgeMax;
	out.max_read_atomic_initiator = kReadAtomicMax;
	out.max_read_atomic_responder = kReadAtomicMax;
	out.max_inline = to_le(kInlineMax);
	out.core_clock_khz = to_le<uint32_t>(1'000'000); // timestamps are nanoseconds
	out.firmware_version = to_le(kFirmwareVersion);
	out.max_srq = to_le(kSrqCountMax - 1);
	out.max_xrcd = to_le(kXrcdCountMax - 1);
	out.max_multicast_groups = to_le(kMulticastGroupCountMax - 1);
	out.max_multicast_qps = to_le(kMulticastQpsMax);
	out.log_max_srq_depth = kLogSrqDepthMax;
	out.max_srq_sge = kReceiveSgeMax;
	out.max_list_entries = to_le(kListEntriesMax);
	out.counter_count = to_le<uint32_t>(OHCA_COUNTER_COUNT);
	return kAccepted;
}

CommandResult set_port(Function &function, const struct ohca_cmd_set_port_in &in, NoData &)
{
	if (in.reserved_8[0] || in.reserved_8[1] || in.reserved_8[2])
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	uint32_t mtu = from_le(in.max_mtu);
	if (in.active > 1 || mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)))
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	function.state().port_active = in.active;
	function.state().port_max_mtu = mtu;
	if (function.owner())
		function.owner()->routes_changed();
	return kAccepted;
}

CommandResult query_counters(Function &function, const NoData &, CountersOut &out)
{
	for (uint32_t i = 0; i < OHCA_COUNTER_COUNT; i++)
		out.counters[i] = to_le(function.context().counters()[i]);
	return kAccepted;
}

} // namespace ohca::core
