// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One direction of a connected pair: rounds of operations, their completions
// and their effects checked against the plan.
#pragma once

#include "data/coverage.hh"
#include "data/endpoint.hh"

#include <memory>

namespace verbs_test {

class Flow {
 public:
	Flow(Endpoint &requester, Endpoint &responder, std::unique_ptr<Region> local, std::unique_ptr<Region> remote,
	     unsigned mtu, std::size_t message_max, Coverage &coverage, Random &random);
	// Once the endpoints are connected.
	void set_aids(const Aids &aids);

	bool idle() const { return sent_done_ == round_.operations.size() && received_done_ == round_.receives.size(); }
	void start_round();
	// Completions of the requester's send queue and of the responder's receive queue.
	void handle_send(const Completion &completion);
	void handle_receive(const Completion &completion);

	// All operations so far, whose effects have been checked.
	std::uint64_t operations() const { return operations_; }
	std::uint64_t bytes() const { return bytes_; }
	void verify_all() const;
	// For the report of a stall.
	void describe() const;
	void describe_operation(std::uint64_t wr_id) const;

 private:
	void check_send(const Completion &completion, const Operation &operation) const;
	void check_receive(const Completion &completion, const Operation &operation) const;
	void accept_message(const Receive &receive, const Operation &operation);
	void accept_shared_message(std::uint64_t wr_id, const Receive &receive, const Operation &operation);
	void check_network_header(const Region &region, const ScatterList &list, const Operation &operation) const;
	void handle_done(const Operation &operation);
	void verify_effect(const Operation &operation) const;
	void finish_round();

	Endpoint &requester_;
	Endpoint &responder_;
	std::unique_ptr<Region> local_;
	std::unique_ptr<Region> remote_;
	Coverage &coverage_;
	Random &random_;
	Limits limits_;
	Planner planner_;
	Aids aids_;
	Round round_;
	std::size_t sent_done_ = 0;      // operations known to be done
	std::size_t received_done_ = 0;  // receives with a completion
	std::uint64_t next_shared_ = 0;  // a shared buffer's place in the order of posting, at least
	std::uint64_t rounds_ = 0;
	std::uint64_t operations_ = 0;
	std::uint64_t bytes_ = 0;
};

}  // namespace verbs_test
