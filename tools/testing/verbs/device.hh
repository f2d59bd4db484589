// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// An opened RDMA device with what every test wants to know about it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

namespace verbs_test {

bool is_ipv4_mapped(const ibv_gid &gid);

struct Gid {
	ibv_gid gid;
	std::uint8_t index;

	bool is_ipv4() const { return is_ipv4_mapped(gid); }
};

class Device {
 public:
	explicit Device(const std::string &name);
	~Device();
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	ibv_context *context() const { return context_; }
	const std::string &name() const { return name_; }
	const ibv_device_attr &attributes() const { return attributes_; }
	const ibv_port_attr &port() const { return port_; }
	// The GID to address this port by: RoCE v2 over IPv4 where there is one.
	const ibv_gid &gid() const { return preferred_.gid; }
	std::uint8_t gid_index() const { return preferred_.index; }
	// All of RoCE v2.
	const std::vector<Gid> &gids() const { return gids_; }
	// Completion fields beyond what the verbs promise are checked on ohca only.
	bool is_ohca() const;

 private:
	void read_gids();

	std::string name_;
	ibv_context *context_ = nullptr;
	ibv_device_attr attributes_{};
	ibv_port_attr port_{};
	std::vector<Gid> gids_;
	Gid preferred_{};
};

inline constexpr std::uint8_t kPort = 1;

}  // namespace verbs_test
