// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The applications at both ends of one direction of UC or UD, and what must be true: a message
// arrives complete, unchanged and at most once, or not at all; each is told apart by a number
// from which all its bytes follow. Sends complete in order, with success.
// OHCA-UC-D1 OHCA-UC-D2 OHCA-UC-D3 OHCA-UD-D1 OHCA-UD-D4 OHCA-UD-D6
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host_model.hh"
#include "options.hh"
#include "oracle.hh"

namespace ohca::sim {

class UnreliableFlow {
public:
	// One end. Both ends' queue pairs are of the same type.
	struct End {
		RcHost *host = nullptr;
		core::QpContext *qp = nullptr;
		uint32_t pd = 0;
		uint32_t send_cq = 0;
		uint32_t recv_cq = 0;
	};

	UnreliableFlow(const Options &options, Prng &prng, Verdict &verdict, std::string name, End from, End to);

	// False: the send queue is full, or `limit` messages are posted.
	bool post_send(uint32_t limit);
	void post_receives(uint32_t count_max);
	void poll();

	const End &from() const { return from_; }
	const End &to() const { return to_; }
	uint32_t posted() const { return posted_; }
	uint32_t completed() const { return completed_; }
	uint32_t received() const { return received_; }
	uint32_t receives_outstanding() const { return receives_posted_ - received_; }
	void fail(const std::string &why) { verdict_.fail(name_ + ": " + why); }

private:
	struct Message {
		uint64_t length = 0;
		uint8_t opcode = 0;
		bool arrived = false;
	};

	bool is_datagram() const { return core::is_datagram(*from_.qp); }
	uint64_t length_max() const;
	static std::vector<std::byte> content(uint32_t number, uint64_t length);
	void write_wqe(uint32_t number, const Message &message);
	void put_address(std::byte *at);
	void on_send(const ohca_cqe &cqe);
	void on_receive(const ohca_cqe &cqe);
	void check_content(uint32_t number, const std::byte *found);

	const Options &options_;
	Prng &prng_;
	Verdict &verdict_;
	std::string name_;
	End from_;
	End to_;
	uint64_t slot_size_;
	uint64_t staging_;       // at `from`, a slot per send WQE
	uint64_t target_;        // at `to`, likewise: written by WRITE_IMM
	uint64_t inbox_;         // at `to`, a slot per receive WQE
	uint32_t staging_key_;
	uint32_t target_key_;
	uint32_t inbox_key_;
	std::vector<Message> messages_; // by number
	uint32_t posted_ = 0;
	uint32_t completed_ = 0;
	uint32_t received_ = 0;
	uint32_t receives_posted_ = 0;
	uint32_t last_arrived_ = 0; // number + 1
};

} // namespace ohca::sim
