// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What a datagram carries beside its payload: datagram extended transport header
// (IBTA 9.3.2) and the headers below it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rdma/ohca_hw.h>

#include "core/gid.hh"

namespace ohca::core {

struct Datagram {
	uint32_t qkey;
	uint32_t flow_label;      // 20 bits
	Gid sgid;
	Gid dgid;
	Mac source_mac;
	Mac destination_mac;
	uint16_t vlan_id;         // OHCA_VLAN_NONE or 0..4095
	uint16_t source_udp_port; // 0: any
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t service_level;
};

// IBTA 10.2.5: the Q_Key of QP1, whatever is set; privileged, as bit 31 says.
constexpr uint32_t kGsiQkey = 0x80010000;
constexpr uint32_t kQkeyPrivileged = 0x80000000;

// grh.cc
// OHCA_NETWORK_HEADER_*: IPv4 if both ends are.
uint8_t network_header(const Datagram &datagram);
// What the first 40 bytes of the receive buffer get: the IPv6 header, or 20 bytes of 0 and the
// IPv4 header (RoCEv2 annex, A17.4.5.1). `transport_length`: bytes behind the network header.
using Grh = std::array<std::byte, OHCA_GRH_SIZE>;
Grh make_grh(const Datagram &datagram, uint32_t transport_length);
// Bytes of UDP header, BTH, DETH, immediate, padded payload and ICRC (RoCEv2 annex, A17.3).
uint32_t transport_length(uint64_t payload_length, bool has_immediate);

} // namespace ohca::core
