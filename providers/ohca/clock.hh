// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The device's clock, which CQEs carry, against the clock on the wall.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>
#include <rdma/ohca-abi.h>

namespace ohca {

// Reads both clocks at the same moment.  0 or an errno value.
int read_clocks(ibv_context *context, ohca_query_device_resp &clocks);

// CLOCK_REALTIME, in ns, of a device time.  `clocks` is renewed when it is old: the clock on
// the wall is being set and slewed, so the distance does not stay the same.
std::uint64_t to_real_time(ibv_context *context, ohca_query_device_resp &clocks, std::uint64_t device_ns);

} // namespace ohca
