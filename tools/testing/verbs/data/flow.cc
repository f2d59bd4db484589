// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/flow.hh"

#include "data/post.hh"
#include "failure.hh"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace verbs_test {

namespace {

// Neighbouring bytes looked at on both sides of what an operation wrote.
constexpr std::size_t kGuard = 64;
constexpr std::uint64_t kRoundsBetweenFullChecks = 300;

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	case IBV_WR_FLUSH:
		return IBV_WC_FLUSH;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

void verify_around(const Region &region, const Piece &piece, const char *what)
{
	if (piece.length == 0)
		return;
	const std::size_t begin = piece.offset - std::min(piece.offset, kGuard);
	const std::size_t end = std::min(piece.offset + piece.length + kGuard, region.mapping().length());
	region.verify(begin, end - begin, what);
}

void print(const Operation &operation)
{
	std::fprintf(stderr, "%s, %u bytes, send_flags 0x%x, rkey 0x%x, remote address 0x%" PRIx64 " (offset %zu); elements:",
		     ibv_wr_opcode_str(operation.opcode), operation.length, operation.flags, operation.rkey,
		     operation.remote_address, operation.remote.offset);
	for (unsigned i = 0; i < operation.local.count; i++)
		std::fprintf(stderr, " %u at 0x%" PRIx64, operation.local.sge[i].length, operation.local.sge[i].addr);
	std::fputc('\n', stderr);
}

void verify_piece(const Region &region, const Piece &piece, const Operation &operation, const char *what)
{
	if (region.matches(piece.offset, piece.length))
		return;
	print(operation);
	region.verify(piece.offset, piece.length, what);
}

void verify_pieces(const Region &region, const ScatterList &list, const Operation &operation, const char *what)
{
	for (unsigned i = 0; i < list.count; i++)
		verify_piece(region, list.piece[i], operation, what);
}

template <typename Got, typename Wanted>
void expect(Got got, Wanted wanted, const char *field, const char *queue, std::uint32_t qpn, const Operation &operation)
{
	if (static_cast<std::uint64_t>(got) == static_cast<std::uint64_t>(wanted))
		return;
	fail("%s completion of QP 0x%x, %s, %u bytes, %u elements, send_flags 0x%x: %s is 0x%" PRIx64
	     " instead of 0x%" PRIx64,
	     queue, qpn, ibv_wr_opcode_str(operation.opcode), operation.length, operation.local.count, operation.flags,
	     field, static_cast<std::uint64_t>(got), static_cast<std::uint64_t>(wanted));
}

Limits limits_of(const Endpoint &requester, const Endpoint &responder, unsigned mtu, std::size_t message_max)
{
	const ibv_qp_cap &sender = requester.capabilities();
	const ibv_qp_cap &receiver = responder.capabilities();
	const PairKind &kind = requester.kind();
	Limits limits{};
	limits.kind = kind;
	limits.send_depth = sender.max_send_wr;
	limits.receive_depth = receiver.max_recv_wr;
	limits.send_sge = sender.max_send_sge;
	limits.receive_sge = receiver.max_recv_sge;
	limits.inline_max = sender.max_inline_data;
	limits.mtu = mtu;
	limits.message_max = kind.service == Service::kUd ? mtu : static_cast<std::uint32_t>(message_max);
	limits.send_max = kind.shared_receives ? std::min(SharedReceives::kMessageMax, limits.message_max) : limits.message_max;
	limits.signal_all = requester.signal_all();
	limits.atomics = responder.device().attributes().atomic_cap != IBV_ATOMIC_NONE;
	limits.wr_api = requester.extended() != nullptr;
	limits.placement = requester.device().is_ohca() && responder.device().is_ohca();
	limits.solicit_last = responder.receive_cq().solicited_only();
	return limits;
}

}  // namespace

Flow::Flow(Endpoint &requester, Endpoint &responder, std::unique_ptr<Region> local, std::unique_ptr<Region> remote,
	   unsigned mtu, std::size_t message_max, Coverage &coverage, Random &random)
	: requester_(requester), responder_(responder), local_(std::move(local)), remote_(std::move(remote)),
	  coverage_(coverage), random_(random), limits_(limits_of(requester, responder, mtu, message_max)),
	  planner_(*local_, *remote_, limits_, random)
{
	requester.outgoing = this;
	responder.incoming = this;
	coverage_.announce(limits_);
}

void Flow::set_aids(const Aids &aids)
{
	aids_ = aids;
	planner_.set_aids(aids);
}

void Flow::start_round()
{
	if (random_.chance(2)) {
		local_->reregister(random_);
		remote_->reregister(random_);
	}
	planner_.plan(round_);
	sent_done_ = 0;
	received_done_ = 0;
	rounds_++;
	// The other order makes the responder answer "receiver not ready".  Others may need
	// what is in a shared queue, and have no way to say so.
	const bool can_wait = !limits_.kind.is_unreliable() &&
			      (!limits_.kind.shared_receives || limits_.kind.service == Service::kXrc);
	const bool late_receives = can_wait && random_.chance(2);
	const auto receives = [this] {
		if (responder_.shared_receives() != nullptr)
			responder_.shared_receives()->post(round_.receives.size(), random_);
		else
			post_receives(responder_, round_, random_);
	};
	if (!late_receives)
		receives();
	post_sends(requester_, round_, random_);
	planner_.scramble_inline();
	if (late_receives)
		receives();
}

void Flow::handle_send(const Completion &completion)
{
	auto &operations = round_.operations;
	std::size_t at = sent_done_;
	while (at < operations.size() && !operations[at].completes)
		at++;
	if (at == operations.size())
		fail("send completion of QP 0x%x, wr_id 0x%" PRIx64 ", status %s: none was expected",
		     requester_.qp()->qp_num, completion.wr_id, ibv_wc_status_str(completion.status));
	check_send(completion, operations[at]);
	for (; sent_done_ <= at; sent_done_++)
		handle_done(operations[sent_done_]);
	if (idle())
		finish_round();
}

void Flow::handle_receive(const Completion &completion)
{
	if (received_done_ == round_.receives.size())
		fail("receive completion of QP 0x%x, wr_id 0x%" PRIx64 ", status %s: none was expected",
		     responder_.qp()->qp_num, completion.wr_id, ibv_wc_status_str(completion.status));
	const Receive &receive = round_.receives[received_done_];
	const Operation &operation = round_.operations[receive.operation];
	check_receive(completion, operation);
	if (limits_.kind.shared_receives) {
		accept_shared_message(completion.wr_id, receive, operation);
	} else {
		expect(completion.wr_id, receive.buffer.wr_id, "wr_id", "receive", responder_.receive_qp()->qp_num, operation);
		accept_message(receive, operation);
	}
	if (operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !operation.overwritten)
		verify_piece(*remote_, operation.remote, operation, "target of WRITE_IMM at its receive");
	received_done_++;
	if (idle())
		finish_round();
}

// Into a buffer that was planned for it.
void Flow::accept_message(const Receive &receive, const Operation &operation)
{
	if (!is_send(operation.opcode))
		return;
	const ScatterList &list = receive.buffer.list;
	if (operation.address != nullptr) {
		check_network_header(*remote_, list, operation);
		copy_scattered(kGrhSize, ScatteredCursor(remote_.get(), list, ScatteredCursor::Of::kMemory),
			       ScatteredCursor(remote_.get(), list));
	}
	verify_pieces(*remote_, list, operation, "receive buffer");
}

// Into whatever buffer of a shared queue was next; a queue pair takes them in order.
void Flow::accept_shared_message(std::uint64_t wr_id, const Receive &receive, const Operation &operation)
{
	SharedReceives &receives = *responder_.shared_receives();
	const SharedReceives::Taken taken = receives.take(wr_id);
	if (taken.order < next_shared_)
		fail("QP 0x%x has taken receive %" PRIu64 " of its shared queue after receive %" PRIu64,
		     responder_.receive_qp()->qp_num, taken.order, next_shared_ - 1);
	next_shared_ = taken.order + 1;
	if (is_send(operation.opcode)) {
		if (operation.address != nullptr)
			check_network_header(receives.region(), taken.list, operation);
		receives.place(taken.list, operation.address != nullptr ? kGrhSize : 0,
			       round_.payloads.data() + receive.payload, operation.length);
	}
	verify_pieces(receives.region(), taken.list, operation, "shared receive buffer");
	for (unsigned i = 0; i < taken.list.count; i++)
		verify_around(receives.region(), taken.list.piece[i], "around a shared receive buffer");
}

void Flow::check_network_header(const Region &region, const ScatterList &list, const Operation &operation) const
{
	std::uint8_t header[kGrhSize];
	copy_scattered(kGrhSize, ScatteredCursor(&region, list, ScatteredCursor::Of::kMemory), Cursor(header, kGrhSize));
	const std::string wrong = wrong_in_network_header(header, *operation.address, operation.length,
							  operation.opcode == IBV_WR_SEND_WITH_IMM);
	if (!wrong.empty())
		fail("datagram of %u bytes from QP 0x%x to QP 0x%x: %s", operation.length, requester_.qp()->qp_num,
		     responder_.qp()->qp_num, wrong.c_str());
}

void Flow::check_send(const Completion &completion, const Operation &operation) const
{
	const std::uint32_t qpn = requester_.qp()->qp_num;
	const auto check = [&](auto got, auto wanted, const char *field) {
		expect(got, wanted, field, "send", qpn, operation);
	};
	if (completion.status != IBV_WC_SUCCESS)
		std::fprintf(stderr, "status is '%s', vendor error %u\n", ibv_wc_status_str(completion.status),
			     completion.vendor_error);
	check(completion.status, IBV_WC_SUCCESS, "status");
	check(completion.wr_id, operation.wr_id, "wr_id");
	check(completion.opcode, completion_opcode(operation.opcode), "opcode");
	if (operation.opcode == IBV_WR_RDMA_READ || is_atomic(operation.opcode))
		check(completion.byte_length, operation.length, "byte_len");
}

void Flow::check_receive(const Completion &completion, const Operation &operation) const
{
	const bool write = operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	const bool invalidate = operation.opcode == IBV_WR_SEND_WITH_INV;
	const bool immediate = write || operation.opcode == IBV_WR_SEND_WITH_IMM;
	const bool datagram = operation.address != nullptr;
	const auto check = [&](auto got, auto wanted, const char *field) {
		expect(got, wanted, field, "receive", responder_.receive_qp()->qp_num, operation);
	};
	if (completion.status != IBV_WC_SUCCESS)
		std::fprintf(stderr, "status is '%s', vendor error %u\n", ibv_wc_status_str(completion.status),
			     completion.vendor_error);
	check(completion.status, IBV_WC_SUCCESS, "status");
	check(completion.opcode, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV, "opcode");
	if (completion.byte_length != operation.length && write && !responder_.device().is_ohca())
		return;  // rxe 6.12 counts the bytes put into the receive buffer
	check(completion.byte_length, operation.length + (datagram ? kGrhSize : 0), "byte_len");
	check(completion.flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV | IBV_WC_GRH),
	      (immediate ? unsigned{IBV_WC_WITH_IMM} : 0U) | (invalidate ? unsigned{IBV_WC_WITH_INV} : 0U) |
		      (datagram ? unsigned{IBV_WC_GRH} : 0U),
	      "wc_flags");
	if (immediate)
		check(completion.immediate, operation.immediate, "imm_data");
	if (invalidate)
		check(completion.invalidated_rkey, operation.window_key, "invalidated_rkey");
	if (datagram || responder_.device().is_ohca())
		check(completion.src_qp, requester_.qp()->qp_num, "src_qp");
}

// Its completion, or that of a later operation, is here.
void Flow::handle_done(const Operation &operation)
{
	if (operation.opcode == IBV_WR_BIND_MW)
		aids_.own_window->finish_bind();
	else if (operation.opcode == IBV_WR_LOCAL_INV)
		aids_.own_window->finish_invalidation();
	else if (!limits_.kind.is_unreliable())
		verify_effect(operation);
}

// As soon as an operation is known to be done its data must be there.
void Flow::verify_effect(const Operation &operation) const
{
	switch (operation.opcode) {
	case IBV_WR_RDMA_READ:
		return verify_pieces(*local_, operation.local, operation, "local buffer of READ");
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return verify_pieces(*local_, operation.local, operation, "result of an atomic");
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_ATOMIC_WRITE:
		if (!operation.overwritten)
			verify_piece(*remote_, operation.remote, operation, "target of WRITE");
		return;
	default:
		return;
	}
}

void Flow::finish_round()
{
	planner_.finish();
	for (const Operation &operation : round_.operations) {
		bytes_ += operation.length;
		coverage_.count(limits_.kind, operation.opcode);
		// the round's last message is here, and with it what was sent before
		if (limits_.kind.is_unreliable())
			verify_effect(operation);
		if (operation.opcode == IBV_WR_RDMA_READ || is_atomic(operation.opcode)) {
			for (unsigned i = 0; i < operation.local.count; i++)
				verify_around(*local_, operation.local.piece[i], "around the local buffer, at the end of a round");
		}
		if (!is_send(operation.opcode) && (operation.length < 4096 || operation.overwritten))
			verify_around(*remote_, operation.remote, "around the target, at the end of a round");
	}
	for (const Receive &receive : round_.receives) {
		const ScatterList &list = receive.buffer.list;
		for (unsigned i = 0; i < list.count; i++)
			verify_around(*remote_, list.piece[i], "around the receive buffer, at the end of a round");
	}
	operations_ += round_.operations.size();
	if (rounds_ % kRoundsBetweenFullChecks == 0)
		verify_all();
}

void Flow::verify_all() const
{
	local_->verify_all("the requester's whole region");
	remote_->verify_all("the responder's whole region");
}

void Flow::describe_operation(std::uint64_t wr_id) const
{
	for (const Operation &operation : round_.operations) {
		if (operation.wr_id == wr_id)
			print(operation);
	}
}

void Flow::describe() const
{
	std::fprintf(stderr,
		     "  QP 0x%x (state %d) -> QP 0x%x (state %d): round %" PRIu64
		     ", %zu of %zu operations and %zu of %zu receives done\n",
		     requester_.qp()->qp_num, state_of(requester_.qp()), responder_.qp()->qp_num,
		     state_of(responder_.qp()), rounds_, sent_done_, round_.operations.size(), received_done_,
		     round_.receives.size());
}

}  // namespace verbs_test
