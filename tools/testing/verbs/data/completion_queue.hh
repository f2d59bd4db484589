// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A CQ that is read through either of the two APIs, with or without events.
#pragma once

#include "device.hh"

#include <unordered_map>

namespace verbs_test {

class Endpoint;

// What both APIs can tell.
struct Completion {
	std::uint64_t wr_id;
	ibv_wc_status status;
	ibv_wc_opcode opcode;
	std::uint32_t byte_length;
	std::uint32_t immediate;
	std::uint32_t invalidated_rkey;
	std::uint32_t qpn;
	std::uint32_t src_qp;
	std::uint32_t vendor_error;
	unsigned flags;
};

class CompletionQueue {
 public:
	enum class Api {
		kClassic,          // ibv_create_cq, ibv_poll_cq
		kExtended,         // ibv_create_cq_ex, ibv_start_poll
		kExtendedClassic,  // ibv_create_cq_ex, ibv_poll_cq
	};
	static constexpr unsigned kApiCount = 3;

	// channel: nullptr for a CQ that is only polled.
	// single_threaded: promise that no two threads use it at once.
	CompletionQueue(const Device &device, ibv_comp_channel *channel, int depth, Api api, bool single_threaded);
	~CompletionQueue();
	CompletionQueue(const CompletionQueue &) = delete;
	CompletionQueue &operator=(const CompletionQueue &) = delete;

	ibv_cq *cq() const { return cq_; }
	// Up to `max` completions, oldest first.
	int poll(Completion *completions, int max);

	void arm();
	void acknowledge_event();
	bool has_channel() const { return channel_ != nullptr; }
	// Wake on solicited completions only; for CQs of receives whose last one is solicited.
	void set_solicited_only(bool value) { solicited_only_ = value; }
	bool solicited_only() const { return solicited_only_; }

	void attach(std::uint32_t qpn, Endpoint *endpoint) { endpoints_[qpn] = endpoint; }
	Endpoint *endpoint(std::uint32_t qpn) const;
	const Device &device() const { return device_; }

 private:
	void create_extended(int depth, bool single_threaded);
	int poll_extended(Completion *completions, int max);
	int poll_classic(Completion *completions, int max);

	const Device &device_;
	ibv_comp_channel *channel_;
	Api api_;
	ibv_cq *cq_ = nullptr;
	ibv_cq_ex *extended_ = nullptr;
	bool with_timestamp_ = false;
	std::uint64_t last_timestamp_ = 0;
	bool solicited_only_ = false;
	unsigned unacknowledged_ = 0;
	std::unordered_map<std::uint32_t, Endpoint *> endpoints_;
};

}  // namespace verbs_test
