// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What must be true. One oracle watches one direction of a connection: requests
// of `from`, carried out at `to`.
//
//  - A reliable connection carries requests out in order and exactly once, so
//    the peer's memory after all of them, the data of each READ, the result of each
//    atomic and the content of each receive are known when a request is posted.
//  - Send completions come in order; each signaled request has exactly one,
//    an unsignaled one none unless it fails. After the first error everything
//    posted is flushed, in order.
//  - Receives are used in the order they were posted.
//  - A key that is registered, or a window that is bound, is valid for what is posted behind
//    it and until it is invalidated, whatever is lost or repeated: registrations and
//    invalidations happen once. A request with another key fails, and no other does.
// OHCA-RC-D1 OHCA-RC-D8 OHCA-RC-D15 OHCA-SQ-D1 OHCA-SQ-D6 OHCA-SQ-D7 OHCA-RQ-D1 OHCA-RQ-D3 OHCA-ERR-D2
// OHCA-MEM-D16 OHCA-MEM-D21 OHCA-MEM-D23 OHCA-RC-D18 OHCA-RC-D19
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "host_model.hh"
#include "options.hh"

namespace ohca::sim {

// The first thing that was wrong.
class Verdict {
public:
	void fail(const std::string &why)
	{
		if (why_.empty())
			why_ = why;
	}
	bool failed() const { return !why_.empty(); }
	const std::string &why() const { return why_; }

private:
	std::string why_;
};

struct Piece {
	uint64_t offset;
	uint32_t length;
};

struct PostedSend {
	uint32_t index = 0;
	uint8_t opcode = 0;
	bool signaled = false;
	bool refused = false;            // its key must not work
	uint64_t length = 0;
	uint64_t slot_offset = 0;        // in the staging region
	std::vector<std::byte> image;    // of the slot once completed; empty: not looked at
};

struct ExpectedMessage {
	uint8_t opcode = 0;
	bool solicited = false;
	uint32_t immediate_be = 0;       // SEND_INV: the key
	std::vector<std::byte> data;     // SEND*
	uint64_t length = 0;
};

struct PostedReceive {
	uint32_t tag = 0;
	uint64_t slot_offset = 0;        // in the inbox
	std::vector<std::byte> before;   // content of the slot when posted
	std::vector<Piece> pieces;       // in the slot
};

class Oracle {
public:
	Oracle(Verdict &verdict, std::string name, Region &staging, Region &inbox)
		: verdict_(verdict), name_(std::move(name)), staging_(staging), inbox_(inbox) {}

	void note_send(PostedSend send) { sends_.push_back(std::move(send)); }
	void note_message(ExpectedMessage message) { messages_.push_back(std::move(message)); }
	void note_receive(PostedReceive receive) { receives_.push_back(std::move(receive)); }

	void send_completed(const ohca_cqe &cqe);
	void receive_completed(const ohca_cqe &cqe);

	size_t sends_outstanding() const { return sends_.size(); }
	// Request `index` is over; it has been posted.
	bool send_over(uint32_t index) const
	{
		return sends_.empty() || sends_.front().index - index - 1 < 0x80000000;
	}
	size_t receives_outstanding() const { return receives_.size(); }
	size_t messages_expected() const { return messages_.size(); }
	// Status of the first failed request, SUCCESS if none has.
	uint8_t send_error() const { return send_error_; }
	uint32_t send_error_index() const { return send_error_index_; }
	uint8_t receive_error() const { return receive_error_; }
	uint32_t messages_sent_ok() const { return messages_sent_ok_; }
	uint32_t messages_received() const { return messages_received_; }

	void fail(const std::string &why) { verdict_.fail(name_ + ": " + why); }

private:
	void retire(const PostedSend &send);

	Verdict &verdict_;
	std::string name_;
	Region &staging_;
	Region &inbox_;
	std::deque<PostedSend> sends_;
	std::deque<ExpectedMessage> messages_;
	std::deque<PostedReceive> receives_;
	uint8_t send_error_ = OHCA_CQE_STATUS_SUCCESS;
	uint32_t send_error_index_ = 0;
	uint8_t receive_error_ = OHCA_CQE_STATUS_SUCCESS;
	uint32_t messages_sent_ok_ = 0;
	uint32_t messages_received_ = 0;
};

} // namespace ohca::sim
