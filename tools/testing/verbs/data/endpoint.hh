// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One queue pair of a connected pair: requester of one flow, responder of the other.
#pragma once

#include "connection.hh"
#include "data/completion_queue.hh"
#include "data/plan.hh"

namespace verbs_test {

class Flow;

class Endpoint {
 public:
	Endpoint(const Device &device, ibv_pd *pd, CompletionQueue &send_cq, CompletionQueue &receive_cq, Random &random);
	~Endpoint();
	Endpoint(const Endpoint &) = delete;
	Endpoint &operator=(const Endpoint &) = delete;

	void connect_to(const Endpoint &peer, const ConnectionOptions &options);
	void reset();

	const Device &device() const { return device_; }
	ibv_qp *qp() const { return qp_; }
	// nullptr if this queue pair was created without the ibv_wr_* API
	ibv_qp_ex *extended() const { return extended_; }
	const ibv_qp_cap &capabilities() const { return capabilities_; }
	bool signal_all() const { return signal_all_; }
	CompletionQueue &send_cq() const { return send_cq_; }
	CompletionQueue &receive_cq() const { return receive_cq_; }

	// Set when the flows are made.
	Flow *outgoing = nullptr;
	Flow *incoming = nullptr;

 private:
	void create(ibv_pd *pd, bool with_wr_api, Random &random);

	const Device &device_;
	CompletionQueue &send_cq_;
	CompletionQueue &receive_cq_;
	ibv_qp *qp_ = nullptr;
	ibv_qp_ex *extended_ = nullptr;
	ibv_qp_cap capabilities_{};
	bool signal_all_;
};

}  // namespace verbs_test
