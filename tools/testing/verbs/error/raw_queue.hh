// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The smallest possible provider: uverbs commands and rings of our own, so that
// a case can write whatever it likes over what libibverbs would keep in order.
#pragma once

#include "device.hh"
#include "memory.hh"

#include <rdma/ib_user_verbs.h>
#include <rdma/ohca-abi.h>
#include <rdma/ohca_hw_io.h>

#include <string>

namespace verbs_test {

// An opened uverbs file with its UAR page and kick page.
class RawContext {
 public:
	explicit RawContext(const std::string &device_name);
	~RawContext();
	RawContext(const RawContext &) = delete;
	RawContext &operator=(const RawContext &) = delete;

	// A write() command with udata behind it; a response with udata behind it, too. 0 or an errno.
	int execute(std::uint32_t command, void *request, std::size_t request_size, const void *udata,
		    std::size_t udata_size, void *response, std::size_t response_size);

	std::uint32_t allocate_pd();
	// Key of memory that anybody may read and write.
	std::uint32_t register_memory(std::uint32_t pd, void *memory, std::size_t length);

	ohca_uar *uar() const { return uar_; }
	volatile std::uint32_t *kick() const { return kick_; }
	const ohca_alloc_ucontext_resp &limits() const { return limits_; }
	const std::string &device_name() const { return name_; }

 private:
	std::string name_;
	int file_ = -1;
	int events_ = -1;
	ohca_alloc_ucontext_resp limits_{};
	ohca_uar *uar_ = nullptr;
	volatile std::uint32_t *kick_ = nullptr;
};

// 0 or an errno: opens the device and allocates a context with this udata.
int try_raw_context(const std::string &device_name, const void *udata, std::size_t size);

struct RawCq {
	static constexpr unsigned kLogDepth = 8;
	Mapping memory{OHCA_CQ_RING_OFFSET + (sizeof(ohca_cqe) << kLogDepth), PageKind::kSmall};
	std::uint32_t handle = 0;
	std::uint32_t consumer = 0;

	ohca_cq_record *record() const { return reinterpret_cast<ohca_cq_record *>(memory.data()); }
	ohca_cqe *entry(std::uint32_t index) const
	{
		return reinterpret_cast<ohca_cqe *>(memory.data() + OHCA_CQ_RING_OFFSET) + (index & ((1U << kLogDepth) - 1));
	}
	// The next CQE, if there is one.
	bool poll(ohca_cqe &cqe);
};

struct RawQp {
	static constexpr unsigned kLogDepth = 6;
	static constexpr unsigned kLogStride = 7;
	static constexpr std::uint32_t kRingSize = 1U << (kLogDepth + kLogStride);
	static constexpr std::uint32_t kSqOffset = 4096;
	static constexpr std::uint32_t kRqOffset = kSqOffset + kRingSize;
	Mapping memory{kRqOffset + kRingSize, PageKind::kSmall};
	std::uint32_t handle = 0;
	std::uint32_t qpn = 0;
	std::uint32_t slot = 0;

	ohca_qp_record *record() const { return reinterpret_cast<ohca_qp_record *>(memory.data()); }
	std::uint8_t *send_slot(std::uint32_t index) const
	{
		return memory.data() + kSqOffset + ((index & ((1U << kLogDepth) - 1)) << kLogStride);
	}
	std::uint8_t *receive_slot(std::uint32_t index) const
	{
		return memory.data() + kRqOffset + ((index & ((1U << kLogDepth) - 1)) << kLogStride);
	}
};

// What create_cq and create_qp send; a case may change anything before.
ohca_create_cq_req cq_request(const RawCq &cq);
ohca_create_qp_req qp_request(const RawQp &qp);
int try_create_cq(RawContext &context, RawCq &cq, const void *udata, std::size_t size);
int try_create_qp(RawContext &context, RawQp &qp, std::uint32_t pd, const RawCq &cq, const void *udata,
		  std::size_t size);
int destroy_cq(RawContext &context, const RawCq &cq);
int destroy_qp(RawContext &context, const RawQp &qp);

// To RTS, connected to `peer`; `verbs_device` has the address.
void connect_raw(RawContext &context, const RawQp &qp, const Device &verbs_device, std::uint32_t peer);
int modify_raw(RawContext &context, const ib_uverbs_modify_qp &request);
unsigned state_of_raw(RawContext &context, const RawQp &qp);

// The notification protocol of ohca_hw_io.h.
void ring_raw(RawContext &context, const RawQp &qp, std::uint32_t producer);

}  // namespace verbs_test
