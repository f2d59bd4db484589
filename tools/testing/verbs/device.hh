// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// An opened RDMA device with what every test wants to know about it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace verbs_test {

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
	const ibv_gid &gid() const { return gid_; }
	std::uint8_t gid_index() const { return gid_index_; }
	// Completion fields beyond what the verbs promise are checked on ohca only.
	bool is_ohca() const;

 private:
	void choose_gid();

	std::string name_;
	ibv_context *context_ = nullptr;
	ibv_device_attr attributes_{};
	ibv_port_attr port_{};
	ibv_gid gid_{};
	std::uint8_t gid_index_ = 0;
};

inline constexpr std::uint8_t kPort = 1;

}  // namespace verbs_test
