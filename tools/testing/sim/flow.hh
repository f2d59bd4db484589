// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The applications at both ends of one direction of a connection: post random
// requests, keep receives posted, and tell the oracle what must come of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host_model.hh"
#include "lease.hh"
#include "oracle.hh"

namespace ohca::sim {

struct Endpoint {
	RcHost *host = nullptr;
	core::QpContext *qp = nullptr;
	uint32_t pd = 0;
};

class Flow {
public:
	Flow(const Options &options, Prng &prng, Verdict &verdict, const std::string &name, Endpoint from,
	     Endpoint to);
	// The other direction, whose application grants what this one asks for.
	void set_back(Flow &back) { back_ = &back; }

	// Posts at most one request. False: queue full or nothing left.
	bool post_request();
	// Posts receives that are due. Returns whether any was.
	bool post_receives(core::TimeNs now);
	core::TimeNs next_receive_time() const;

	void on_send(const ohca_cqe &cqe);
	void on_receive(const ohca_cqe &cqe, core::TimeNs now);

	// After both ends are quiet. exact: nothing has failed, so all memory is known.
	void finish(bool exact);

	bool all_posted() const { return posted_ >= options_.operations; }
	uint32_t posted() const { return posted_; }
	bool idle() const { return oracle_.sends_outstanding() == 0 && (all_posted() || stopped_); }
	// No further requests, but a few late ones that have to be flushed.
	void stop() { stopped_ = true; }
	void stop_receives() { receives_stopped_ = true; }
	// The next request that can fail that way does.
	void break_remote_key() { break_remote_key_ = true; }
	void break_local_key() { break_local_key_ = true; }
	void shorten_receive() { shorten_receive_ = true; }
	void post_late();
	Oracle &oracle() { return oracle_; }
	const Endpoint &from() const { return from_; }
	const Endpoint &to() const { return to_; }

private:
	struct Message;

	std::vector<Piece> cut(uint64_t length, uint32_t count_max, uint64_t room);
	std::vector<std::byte> take_payload(uint64_t slot, const std::vector<Piece> &pieces);
	uint8_t draw_opcode();
	uint64_t draw_length();
	void draw_local(core::test::SendRequest &request, PostedSend &send, uint64_t length);
	void plan_send(core::test::SendRequest &request, PostedSend &send);
	void plan_write(core::test::SendRequest &request, PostedSend &send);
	void plan_read(core::test::SendRequest &request, PostedSend &send);
	uint64_t &draw_word(core::test::SendRequest &request, PostedSend &send);
	void plan_atomic(core::test::SendRequest &request, PostedSend &send);
	void plan_masked_atomic(core::test::SendRequest &request, PostedSend &send);
	void plan_atomic_write(core::test::SendRequest &request, PostedSend &send);
	void plan_flush(core::test::SendRequest &request, PostedSend &send);
	void plan(core::test::SendRequest &request, PostedSend &send);
	// A window of type 2B over `region`, bound by the peer to one of its queue pairs.
	uint32_t bind_window(core::QpContext &qp, const Region &region, uint32_t access);
	void aim(core::test::SendRequest &request, uint32_t index, uint64_t offset);
	void invalidate_at_peer(core::test::SendRequest &request, uint32_t index);
	void care_for_lease();
	bool post_grant();
	void misaim(core::test::SendRequest &request, PostedSend &send);
	uint32_t foreign_window();
	void post_local(core::test::SendRequest request, uint8_t flags);
	void register_staging();
	void invalidate_staging();
	void draw_flags(core::test::SendRequest &request);
	bool post_one_receive();

	const Options &options_;
	Prng &prng_;
	Endpoint from_;
	Endpoint to_;
	uint64_t slot_size_;
	Region staging_;  // at `from`: a slot per send WQE
	Region target_;   // at `to`: written by WRITE
	Region constant_; // at `to`: only read
	Region words_;    // at `to`: atomics
	Region inbox_;    // at `to`: a slot per receive WQE
	std::vector<std::byte> target_shadow_;
	std::vector<std::byte> constant_shadow_;
	std::vector<uint64_t> words_shadow_;
	uint32_t target_key_ = 0;
	uint32_t constant_key_ = 0;
	uint32_t fast_key_ = 0; // at `from`: of the staging region, when it is valid
	Lease lease_;           // of the target region
	std::optional<uint32_t> withdrawal_; // SEND_INV of the lease
	Flow *back_ = nullptr;
	std::optional<uint32_t> grant_;      // request for the lease of the other direction
	Oracle oracle_;

	uint32_t posted_ = 0;
	uint32_t since_signaled_ = 0;
	uint32_t receives_posted_ = 0;
	std::vector<core::TimeNs> receive_times_; // when used receives are posted again
	std::vector<std::byte> payload_;          // of the request being drawn
	std::vector<Piece> pieces_;
	bool fence_next_ = false;
	bool stopped_ = false;
	bool receives_stopped_ = false;
	bool break_remote_key_ = false;
	bool break_local_key_ = false;
	bool shorten_receive_ = false;
	uint32_t late_ = 0;
};

} // namespace ohca::sim
