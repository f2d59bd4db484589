// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Addresses of ports.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ohca::core {

using Gid = std::array<uint8_t, 16>;
using Mac = std::array<uint8_t, 6>;

constexpr size_t kIpv4PrefixSize = 12;

// ::ffff:a.b.c.d (RoCEv2 annex, A17.4.5.2).
inline bool is_ipv4_mapped(const Gid &gid)
{
	constexpr std::array<uint8_t, kIpv4PrefixSize> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return std::equal(kPrefix.begin(), kPrefix.end(), gid.begin());
}

// ff00::/8, and the IPv4 addresses 224.0.0.0/4.
inline bool is_multicast(const Gid &gid)
{
	return gid[0] == 0xff || (is_ipv4_mapped(gid) && gid[kIpv4PrefixSize] >> 4 == 0xe);
}

struct GidHash {
	size_t operator()(const Gid &gid) const
	{
		uint64_t words[2];
		std::memcpy(words, gid.data(), sizeof(words));
		return static_cast<size_t>((words[0] * 31 + words[1]) * 0x9e3779b97f4a7c15);
	}
};

} // namespace ohca::core
