// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Network headers of datagrams, as they would be on a wire.
#include "core/transport/datagram.hh"

#include <cstring>

namespace ohca::core {

namespace {

constexpr uint8_t kProtocolUdp = 17;
constexpr uint32_t kIpv4HeaderSize = 20; // without options (RoCEv2 annex, A17.3.1.2)
constexpr uint8_t kIpv4Offset = OHCA_GRH_SIZE - kIpv4HeaderSize;

void put16(std::byte *to, uint32_t value)
{
	to[0] = static_cast<std::byte>(value >> 8);
	to[1] = static_cast<std::byte>(value);
}

// RFC 1071, over the header with 0 in the place of the checksum.
uint32_t checksum(const std::byte *header)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < kIpv4HeaderSize; i += 2)
		sum += std::to_integer<uint32_t>(header[i]) << 8 | std::to_integer<uint32_t>(header[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

void put_ipv4(std::byte *header, const Datagram &datagram, uint32_t length)
{
	constexpr std::byte kVersionAndWords{0x45};
	constexpr uint32_t kDoNotFragment = 0x4000;

	header[0] = kVersionAndWords;
	header[1] = std::byte{datagram.traffic_class};
	put16(header + 2, kIpv4HeaderSize + length);
	put16(header + 6, kDoNotFragment);
	header[8] = std::byte{datagram.hop_limit};
	header[9] = std::byte{kProtocolUdp};
	std::memcpy(header + 12, datagram.sgid.data() + kIpv4PrefixSize, 4);
	std::memcpy(header + 16, datagram.dgid.data() + kIpv4PrefixSize, 4);
	put16(header + 10, checksum(header));
}

void put_ipv6(std::byte *header, const Datagram &datagram, uint32_t length)
{
	constexpr uint32_t kVersion = 6;

	put16(header, kVersion << 12 | uint32_t{datagram.traffic_class} << 4 | datagram.flow_label >> 16);
	put16(header + 2, datagram.flow_label);
	put16(header + 4, length);
	header[6] = std::byte{kProtocolUdp};
	header[7] = std::byte{datagram.hop_limit};
	std::memcpy(header + 8, datagram.sgid.data(), datagram.sgid.size());
	std::memcpy(header + 24, datagram.dgid.data(), datagram.dgid.size());
}

} // namespace

uint8_t network_header(const Datagram &datagram)
{
	return is_ipv4_mapped(datagram.sgid) && is_ipv4_mapped(datagram.dgid) ? OHCA_NETWORK_HEADER_IPV4
									      : OHCA_NETWORK_HEADER_IPV6;
}

Grh make_grh(const Datagram &datagram, uint32_t length)
{
	Grh grh{};

	if (network_header(datagram) == OHCA_NETWORK_HEADER_IPV4)
		put_ipv4(grh.data() + kIpv4Offset, datagram, length);
	else
		put_ipv6(grh.data(), datagram, length);
	return grh;
}

uint32_t transport_length(uint64_t payload_length, bool has_immediate)
{
	constexpr uint32_t kUdp = 8;
	constexpr uint32_t kBaseHeader = 12;
	constexpr uint32_t kDatagramHeader = 8;
	constexpr uint32_t kImmediate = 4;
	constexpr uint32_t kIcrc = 4;
	const uint32_t padded = (static_cast<uint32_t>(payload_length) + 3) & ~3u;

	return kUdp + kBaseHeader + kDatagramHeader + (has_immediate ? kImmediate : 0) + padded + kIcrc;
}

} // namespace ohca::core
