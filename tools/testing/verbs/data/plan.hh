// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Inventing the work of one round of a flow, and what must come of it.
//
// A round is a batch of operations of one queue pair.  While it is planned the
// models of the two regions are taken to the state after the round: operations
// of a queue pair take effect in order, and ranges that one operation writes
// are touched again only where the verbs define the result (a later WRITE to
// the same place, a READ of what was written before, a fenced use of what a
// READ or an atomic brought).
#pragma once

#include "data/region.hh"

#include <vector>

namespace verbs_test {

inline constexpr unsigned kSgeMax = 16;

struct ScatterList {
	unsigned count = 0;
	ibv_sge sge[kSgeMax];
	Piece piece[kSgeMax];  // where the elements are in the region; unused for inline data
};

struct Operation {
	ibv_wr_opcode opcode;
	unsigned flags;            // IBV_SEND_*
	std::uint32_t length;
	std::uint64_t wr_id;
	ScatterList local;
	Piece remote;              // not for SEND
	std::uint64_t remote_address;
	std::uint32_t rkey;
	std::uint32_t immediate;   // as in ibv_wc: network byte order
	std::uint64_t compare_add;
	std::uint64_t swap;
	bool completes;            // a completion is expected
	bool overwritten;          // a later operation of the round writes its target, too
};

struct Receive {
	std::uint64_t wr_id;
	ScatterList local;
	std::size_t operation;     // index in the round of the message that will use it
};

struct Round {
	std::vector<Operation> operations;
	std::vector<Receive> receives;
};

// What the queue pairs of a flow can do.
struct Limits {
	unsigned send_depth;
	unsigned receive_depth;
	unsigned send_sge;
	unsigned receive_sge;
	unsigned inline_max;
	unsigned mtu;
	std::uint32_t message_max;
	bool signal_all;
	bool atomics;
	bool solicit_last;  // the receiver waits for solicited events only
};

bool uses_receive(ibv_wr_opcode opcode);
bool is_atomic(ibv_wr_opcode opcode);

class Planner {
 public:
	// local: the requester's region; remote: the responder's.
	Planner(Region &local, Region &remote, Random &random) : local_(local), remote_(remote), random_(random) {}

	void plan(const Limits &limits, Round &round);
	// Call when the round is posted: inline data must have been taken by then.
	void scramble_inline();

 private:
	bool add(Round &round);
	bool add_atomic(Round &round, Operation &operation);
	bool add_read(Round &round, Operation &operation);
	bool add_write(Round &round, Operation &operation);
	bool add_receive(Round &round, Operation &operation);
	bool source(Round &round, Operation &operation, bool may_grow);
	bool inline_source(Operation &operation);
	bool scatter(Region &region, std::size_t &cursor, std::uint32_t length, unsigned sge_max, ScatterList &list);
	bool take(Region &region, std::size_t &cursor, std::uint32_t length, Piece &piece);
	Operation *earlier(Round &round, bool (*wanted)(const Operation &));
	std::uint32_t random_length();
	ibv_wr_opcode random_opcode();

	Region &local_;
	Region &remote_;
	Random &random_;
	Limits limits_{};
	std::size_t local_cursor_ = 0;
	std::size_t remote_cursor_ = 0;
	std::vector<std::uint8_t> inline_data_;
	std::size_t inline_used_ = 0;
	std::uint64_t serial_ = 0;
};

}  // namespace verbs_test
