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
	choose_gid();
}

Device::~Device()
{
	ibv_close_device(context_);
}

bool Device::is_ohca() const
{
	return attributes_.vendor_id == 0x1b36 && attributes_.vendor_part_id == 0x0c0a;
}

void Device::choose_gid()
{
	static constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	for (int i = 0; i < port_.gid_tbl_len && i < 256; i++) {
		ibv_gid_entry entry{};
		if (ibv_query_gid_ex(context_, kPort, static_cast<std::uint32_t>(i), &entry, 0) != 0)
			continue;
		const bool over_ipv4 = std::memcmp(entry.gid.raw, kMappedPrefix, sizeof(kMappedPrefix)) == 0;
		gid_ = entry.gid;
		gid_index_ = static_cast<std::uint8_t>(i);
		if (over_ipv4 && entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			return;
	}
	if (gid_.global.interface_id == 0)
		fail("%s has no GID", name_.c_str());
}

}  // namespace verbs_test
