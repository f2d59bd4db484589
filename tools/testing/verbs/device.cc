// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "device.hh"

#include "failure.hh"

#include <cstring>

namespace verbs_test {

Device::Device(const std::string &name) : name_(name)
{
	int count = 0;
	ibv_device **list = must(ibv_get_device_list(&count), "ibv_get_device_list");
	for (int i = 0; i < count; i++) {
		if (name == ibv_get_device_name(list[i]))
			context_ = must(ibv_open_device(list[i]), "ibv_open_device");
	}
	ibv_free_device_list(list);
	if (context_ == nullptr)
		fail("there is no RDMA device %s (among %d)", name.c_str(), count);
	must_succeed(ibv_query_device(context_, &attributes_), "ibv_query_device");
	must_succeed(ibv_query_port(context_, kPort, &port_), "ibv_query_port");
	read_gids();
}

Device::~Device()
{
	ibv_close_device(context_);
}

bool Device::is_ohca() const
{
	return attributes_.vendor_id == 0x1b36 && attributes_.vendor_part_id == 0x0c0a;
}

void Device::read_gids()
{
	for (int i = 0; i < port_.gid_tbl_len && i < 256; i++) {
		ibv_gid_entry entry{};
		if (ibv_query_gid_ex(context_, kPort, static_cast<std::uint32_t>(i), &entry, 0) != 0)
			continue;
		const Gid gid = {entry.gid, static_cast<std::uint8_t>(i)};
		const bool is_first = preferred_.gid.global.interface_id == 0;
		if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) {
			if (is_first)
				preferred_ = gid;
			continue;
		}
		if (is_first || (gid.is_ipv4() && !preferred_.is_ipv4()))
			preferred_ = gid;
		gids_.push_back(gid);
	}
	if (preferred_.gid.global.interface_id == 0)
		fail("%s has no GID", name_.c_str());
}

bool is_ipv4_mapped(const ibv_gid &gid)
{
	static constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	return std::memcmp(gid.raw, kMappedPrefix, sizeof(kMappedPrefix)) == 0;
}

}  // namespace verbs_test
