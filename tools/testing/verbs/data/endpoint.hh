// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One end of a connected pair: requester of one flow, responder of the other.
// It is one queue pair; with XRC an initiator and a target.
#pragma once

#include "connection.hh"
#include "data/address_book.hh"
#include "data/completion_queue.hh"
#include "data/plan.hh"
#include "data/shared_receives.hh"

#include <memory>

namespace verbs_test {

class Flow;

// What an endpoint is made from; all of it belongs to somebody else.
struct EndpointParts {
	const Device &device;
	ibv_pd *pd;
	ibv_xrcd *xrcd;            // XRC only
	CompletionQueue &send_cq;
	CompletionQueue &receive_cq;
	SharedReceives *receives;  // nullptr: a receive queue of its own
};

class Endpoint {
 public:
	Endpoint(const PairKind &kind, const EndpointParts &parts, bool with_wr_api, Random &random);
	~Endpoint();
	Endpoint(const Endpoint &) = delete;
	Endpoint &operator=(const Endpoint &) = delete;

	void connect_to(const Endpoint &peer, const ConnectionOptions &options, Random &random);
	void reset();

	const PairKind &kind() const { return kind_; }
	const Device &device() const { return parts_.device; }
	// With the send queue, and with the receive queue.
	ibv_qp *qp() const { return qp_; }
	ibv_qp *receive_qp() const { return target_ != nullptr ? target_ : qp_; }
	// nullptr if this queue pair was created without the ibv_wr_* API
	ibv_qp_ex *extended() const { return extended_; }
	const ibv_qp_cap &capabilities() const { return capabilities_; }
	bool signal_all() const { return signal_all_; }
	CompletionQueue &send_cq() const { return parts_.send_cq; }
	CompletionQueue &receive_cq() const { return parts_.receive_cq; }
	SharedReceives *shared_receives() const { return parts_.receives; }
	// Of datagrams to the peer.
	const AddressBook *addresses() const { return addresses_.get(); }
	// Where requests of the peer want to go, in a domain of XRC.
	std::uint32_t remote_srqn() const { return remote_srqn_; }
	std::uint32_t remote_qpn() const { return remote_qpn_; }
	// What the peer accepts; at times to be said by bit 31, which means the sender's own.
	std::uint32_t qkey() const { return qkey_; }

	// Set when the flows are made.
	Flow *outgoing = nullptr;
	Flow *incoming = nullptr;

 private:
	void create(bool with_wr_api, Random &random);
	void create_target();

	const PairKind kind_;
	const EndpointParts parts_;
	ibv_qp *qp_ = nullptr;
	ibv_qp *target_ = nullptr;
	ibv_qp_ex *extended_ = nullptr;
	ibv_qp_cap capabilities_{};
	bool signal_all_;
	std::unique_ptr<AddressBook> addresses_;
	std::uint32_t remote_srqn_ = 0;
	std::uint32_t remote_qpn_ = 0;
	std::uint32_t qkey_ = 0;
};

}  // namespace verbs_test
