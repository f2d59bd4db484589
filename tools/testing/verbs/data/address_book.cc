// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/address_book.hh"

#include "failure.hh"

#include <cstring>

namespace verbs_test {

namespace {

constexpr unsigned kHandleCount = 6;
constexpr std::uint8_t kProtocolUdp = 17;
constexpr unsigned kIpv4Offset = 20;
constexpr unsigned kIpv4HeaderSize = 20;
// UDP, BTH, DETH, ICRC
constexpr std::uint32_t kEncapsulation = 8 + 12 + 8 + 4;
constexpr std::uint32_t kImmediateSize = 4;

std::uint32_t big_endian_16(const std::uint8_t *bytes)
{
	return std::uint32_t{bytes[0]} << 8 | bytes[1];
}

std::uint32_t ones_complement_sum(const std::uint8_t *header)
{
	std::uint32_t sum = 0;
	for (unsigned i = 0; i < kIpv4HeaderSize; i += 2)
		sum += big_endian_16(header + i);
	return (sum & 0xffff) + (sum >> 16);
}

std::string difference(const char *field, std::uint32_t got, std::uint32_t wanted)
{
	return got == wanted ? "" : std::string(field) + " is " + std::to_string(got) + " instead of " + std::to_string(wanted);
}

std::string first_of(std::initializer_list<std::string> findings)
{
	for (const std::string &finding : findings) {
		if (!finding.empty())
			return finding;
	}
	return "";
}

std::string wrong_in_ipv4(const std::uint8_t *header, const Address &address, std::uint32_t length)
{
	return first_of({
		difference("version and header length", header[0], 0x45),
		difference("type of service", header[1], address.traffic_class),
		difference("total length", big_endian_16(header + 2), kIpv4HeaderSize + length),
		header[8] == 0 ? "time to live is 0" : "",
		difference("protocol", header[9], kProtocolUdp),
		difference("sum over the header", ones_complement_sum(header), 0xffff),
		std::memcmp(header + 12, address.source.raw + 12, 4) == 0 ? "" : "wrong source address",
		std::memcmp(header + 16, address.destination.raw + 12, 4) == 0 ? "" : "wrong destination address",
	});
}

std::string wrong_in_ipv6(const std::uint8_t *header, const Address &address, std::uint32_t length)
{
	const std::uint32_t first_word = big_endian_16(header) << 16 | big_endian_16(header + 2);
	return first_of({
		difference("version", first_word >> 28, 6),
		difference("traffic class", first_word >> 20 & 0xff, address.traffic_class),
		difference("flow label", first_word & 0xfffff, address.flow_label),
		difference("payload length", big_endian_16(header + 4), length),
		difference("next header", header[6], kProtocolUdp),
		header[7] == 0 ? "hop limit is 0" : "",
		std::memcmp(header + 8, address.source.raw, 16) == 0 ? "" : "wrong source address",
		std::memcmp(header + 24, address.destination.raw, 16) == 0 ? "" : "wrong destination address",
	});
}

// The peer's GID of the same IP version.
const Gid &matching(const Device &peer, const Gid &own)
{
	for (const Gid &gid : peer.gids()) {
		if (gid.is_ipv4() == own.is_ipv4())
			return gid;
	}
	fail("%s has no GID of the same IP version as number %u of the other end", peer.name().c_str(), own.index);
}

}  // namespace

AddressBook::AddressBook(ibv_pd *pd, const Device &own, const Device &peer, Random &random)
{
	for (unsigned i = 0; i < kHandleCount; i++) {
		const Gid &source = own.gids()[i % own.gids().size()];
		const Gid &destination = matching(peer, source);
		const auto flow_label = static_cast<std::uint32_t>(random.below(1U << 20));
		ibv_ah_attr attributes{};
		attributes.is_global = 1;
		attributes.port_num = kPort;
		attributes.sl = static_cast<std::uint8_t>(random.below(8));
		attributes.grh.dgid = destination.gid;
		attributes.grh.sgid_index = source.index;
		attributes.grh.hop_limit = random.between<std::uint8_t>(1, 255);
		attributes.grh.traffic_class = random.between<std::uint8_t>(0, 255);
		attributes.grh.flow_label = flow_label;
		addresses_.push_back({must(ibv_create_ah(pd, &attributes), "ibv_create_ah"), source.gid, destination.gid,
				      attributes.grh.traffic_class, flow_label});
	}
}

AddressBook::~AddressBook()
{
	for (const Address &address : addresses_)
		must_succeed(ibv_destroy_ah(address.handle), "ibv_destroy_ah");
}

std::string wrong_in_network_header(const std::uint8_t *header, const Address &address, std::uint32_t payload_length,
				    bool immediate)
{
	const std::uint32_t length = kEncapsulation + (immediate ? kImmediateSize : 0) + ((payload_length + 3) & ~3U);
	return is_ipv4_mapped(address.source) ? wrong_in_ipv4(header + kIpv4Offset, address, length)
					      : wrong_in_ipv6(header, address, length);
}

}  // namespace verbs_test
