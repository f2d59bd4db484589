// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Packet sequence numbers: 24 bits, cyclic (IBTA 9.7.1).
//
// Everything is said with the distance from one PSN forward to another, so that
// no comparison has a sign: a window is [from, from + count), and a PSN is in
// it if its distance from `from` is below count.
#pragma once

#include <cstdint>

namespace ohca::core {

constexpr uint32_t kPsnMask = 0xffffff;
// Packets that may be outstanding, and the size of the region of duplicates
// behind the expected PSN: half the numbers (IBTA 9.7.1).
constexpr uint32_t kPsnWindow = 1u << 23;

constexpr uint32_t psn_add(uint32_t psn, uint32_t count)
{
	return (psn + count) & kPsnMask;
}

// Packets from `from` forward to `to`: 0 .. 2^24 - 1.
constexpr uint32_t psn_distance(uint32_t to, uint32_t from)
{
	return (to - from) & kPsnMask;
}

// Packets that `length` bytes need; an empty message is one packet.
constexpr uint32_t packet_count(uint64_t length, uint32_t log_mtu)
{
	return length == 0 ? 1 : static_cast<uint32_t>(((length - 1) >> log_mtu) + 1);
}

} // namespace ohca::core
