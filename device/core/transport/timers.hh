// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Encodings of times in queue pair attributes.
#pragma once

#include <array>
#include <cstdint>

namespace ohca::core {

// Local ACK timeout: 4.096 us * 2^n; 0 stands for no timeout (IBTA 9.7.6.1.3). A requester may
// wait up to four times as long; this one waits exactly once.
constexpr uint64_t ack_timeout_ns(uint8_t encoded)
{
	return encoded == 0 ? 0 : uint64_t{4096} << (encoded & 0x1f);
}

// RNR NAK timer field (IBTA table "Encoding for RNR NAK Timer Field", 9.7.5.2.8), in 10 us.
constexpr std::array<uint32_t, 32> kRnrTimer10us = {
	65536, 1,   2,   3,   4,   6,    8,    12,   16,   24,   32,    48,    64,    96,    128,   192,
	256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

constexpr uint64_t rnr_timer_ns(uint8_t encoded)
{
	return uint64_t{kRnrTimer10us[encoded & 0x1f]} * 10'000;
}

} // namespace ohca::core
