// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Address handles of one queue pair for another one, each a little different,
// and the network headers that datagrams sent through them must arrive with.
#pragma once

#include "data/service.hh"
#include "device.hh"
#include "random.hh"

#include <vector>

namespace verbs_test {

struct Address {
	ibv_ah *handle;
	ibv_gid source;
	ibv_gid destination;
	std::uint8_t traffic_class;
	std::uint32_t flow_label;
};

class AddressBook {
 public:
	AddressBook(ibv_pd *pd, const Device &own, const Device &peer, Random &random);
	~AddressBook();
	AddressBook(const AddressBook &) = delete;
	AddressBook &operator=(const AddressBook &) = delete;

	const Address &any(Random &random) const { return addresses_[random.below(addresses_.size())]; }

 private:
	std::vector<Address> addresses_;
};

// Empty, or what is wrong with the kGrhSize bytes in front of a datagram
// (RoCEv2 annex, A17.4.5.1): an IPv6 header, or 20 undefined bytes and an IPv4 one.
std::string wrong_in_network_header(const std::uint8_t *header, const Address &address, std::uint32_t payload_length,
				    bool immediate);

}  // namespace verbs_test
