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

#include "data/address_book.hh"
#include "data/scatter.hh"
#include "data/window.hh"

#include <vector>

namespace verbs_test {

struct Operation {
	ibv_wr_opcode opcode;
	unsigned flags;            // IBV_SEND_*
	std::uint32_t length;
	std::uint64_t wr_id;
	ScatterList local;
	Piece remote;              // not for SEND; what a FLUSH flushes
	std::uint64_t remote_address;
	std::uint32_t rkey;
	std::uint32_t immediate;   // as in ibv_wc: network byte order
	std::uint64_t compare_add;
	std::uint64_t swap;        // ATOMIC_WRITE: the value
	const Window *window;      // to be bound
	std::uint32_t window_key;  // bound or invalidated
	const Address *address;    // of a datagram
	bool completes;            // a completion is expected
	bool overwritten;          // a later operation of the round writes its target, too
};

struct ReceiveBuffer {
	std::uint64_t wr_id;
	ScatterList list;
};

// What a message that uses a receive must bring.
struct Receive {
	ReceiveBuffer buffer;      // unless receives are shared
	std::size_t operation;     // index in the round of the message that will use it
	std::size_t payload;       // where it begins in the round's payloads, if receives are shared
};

struct Round {
	std::vector<Operation> operations;
	std::vector<Receive> receives;
	std::vector<std::uint8_t> payloads;
};

// What the queue pairs of a flow can do.
struct Limits {
	PairKind kind;
	unsigned send_depth;
	unsigned receive_depth;
	unsigned send_sge;
	unsigned receive_sge;
	unsigned inline_max;
	unsigned mtu;
	std::uint32_t message_max;  // READ, WRITE
	std::uint32_t send_max;     // SEND
	bool signal_all;
	bool atomics;
	bool wr_api;
	bool placement;             // ATOMIC_WRITE, FLUSH
	bool solicit_last;          // the receiver waits for solicited events only
};

// Beside the regions; nullptr for none.
struct Aids {
	const AddressBook *addresses = nullptr;
	Window *own_window = nullptr;   // the requester's, which the flow back uses
	Window *peer_window = nullptr;  // over the remote region
};

// Whether rounds of such a flow are going to have the opcode.
bool is_planned(ibv_wr_opcode opcode, const Limits &limits);

class Planner {
 public:
	// local: the requester's region; remote: the responder's.
	Planner(Region &local, Region &remote, const Limits &limits, Random &random);

	void set_aids(const Aids &aids) { aids_ = aids; }
	void plan(Round &round);
	// Call when the round is posted: inline data must have been taken by then.
	void scramble_inline();
	// The round is done.
	void finish();

 private:
	bool add(Round &round);
	bool add_of_opcode(Round &round, Operation &operation);
	bool add_atomic(Round &round, Operation &operation);
	bool add_atomic_write(Round &round, Operation &operation);
	bool add_flush(Round &round, Operation &operation);
	bool add_read(Round &round, Operation &operation);
	bool add_write(Round &round, Operation &operation);
	bool add_receive(Round &round, Operation &operation);
	bool add_window_change(Operation &operation);
	void add_closing(Round &round);
	bool atomic_target(Round &round, Operation &operation);
	void mark_overwritten(Round &round, const Operation &operation);
	void name_target(Operation &operation);
	void deliver(Round &round, const Operation &operation, const Region *from);
	bool source(Round &round, Operation &operation, bool may_grow);
	bool inline_source(Operation &operation);
	bool scatter(Region &region, std::size_t &cursor, std::uint32_t length, unsigned sge_max, ScatterList &list);
	bool take(Region &region, std::size_t &cursor, std::uint32_t length, Piece &piece);
	Operation *earlier(Round &round, bool (*wanted)(const Operation &));
	std::uint32_t length_max(ibv_wr_opcode opcode) const;
	std::uint32_t random_length();
	std::uint64_t next_wr_id() { return ++serial_ << 8 | random_.below(256); }

	Region &local_;
	Region &remote_;
	Random &random_;
	const Limits limits_;
	Aids aids_;
	std::vector<ibv_wr_opcode> opcodes_;  // each as often as its weight
	bool window_in_use_ = false;          // the peer's, by this round
	bool window_invalidated_ = false;
	std::size_t local_cursor_ = 0;
	std::size_t remote_cursor_ = 0;
	std::vector<std::uint8_t> inline_data_;
	std::size_t inline_used_ = 0;
	std::uint64_t serial_ = 0;
};

}  // namespace verbs_test
