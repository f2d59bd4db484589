// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "clock.hh"

#include <cerrno>

#include "shim.h"

namespace ohca {
namespace {

constexpr std::int64_t kMaxAge = 1'000'000'000; // ns

} // namespace

int read_clocks(ibv_context *context, ohca_query_device_resp &clocks)
{
	ohca_query_device_resp now{};
	ibv_device_attr_ex attr;
	std::uint64_t version;
	if (int error = ohca_shim_query_device(context, nullptr, &attr, sizeof(attr), &version, &now))
		return error;
	// A kernel that does not tell.
	if (!now.real_clock_ns)
		return EOPNOTSUPP;
	clocks = now;
	return 0;
}

std::uint64_t to_real_time(ibv_context *context, ohca_query_device_resp &clocks, std::uint64_t device_ns)
{
	// Should that fail, the old pair is the best there is.
	if (static_cast<std::int64_t>(device_ns - clocks.device_clock_ns) > kMaxAge)
		read_clocks(context, clocks);
	return clocks.real_clock_ns + (device_ns - clocks.device_clock_ns);
}

} // namespace ohca

int ohca_query_rt_values(ibv_context *context, ibv_values_ex *values)
{
	if (values->comp_mask & ~static_cast<std::uint32_t>(IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	const bool is_wanted = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;
	values->comp_mask = 0;
	if (!is_wanted)
		return 0;
	ohca_query_device_resp clocks;
	if (int error = ohca::read_clocks(context, clocks))
		return error;
	// All of it in tv_nsec, as other providers do: cycles of hca_core_clock, like the
	// timestamps of completions.
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = static_cast<long>(clocks.device_clock_ns);
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}
