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

}  // namespace

Flow::Flow(Endpoint &requester, Endpoint &responder, std::unique_ptr<Region> local, std::unique_ptr<Region> remote,
	   unsigned mtu, std::size_t message_max, Random &random)
	: requester_(requester), responder_(responder), local_(std::move(local)), remote_(std::move(remote)),
	  random_(random), planner_(*local_, *remote_, random)
{
	requester.outgoing = this;
	responder.incoming = this;
	const ibv_qp_cap &sender = requester.capabilities();
	const ibv_qp_cap &receiver = responder.capabilities();
	limits_ = {sender.max_send_wr,
		   receiver.max_recv_wr,
		   sender.max_send_sge,
		   receiver.max_recv_sge,
		   sender.max_inline_data,
		   mtu,
		   static_cast<std::uint32_t>(message_max),
		   requester.signal_all(),
		   responder.device().attributes().atomic_cap != IBV_ATOMIC_NONE,
		   responder.receive_cq().solicited_only()};
}

void Flow::start_round()
{
	if (random_.chance(2)) {
		local_->reregister(random_);
		remote_->reregister(random_);
	}
	planner_.plan(limits_, round_);
	sent_done_ = 0;
	received_done_ = 0;
	rounds_++;
	// The other order makes the responder answer "receiver not ready".
	const bool late_receives = random_.chance(2);
	if (!late_receives)
		post_receives(responder_, round_, random_);
	post_sends(requester_, round_, random_);
	planner_.scramble_inline();
	if (late_receives)
		post_receives(responder_, round_, random_);
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
		verify_effect(operations[sent_done_]);
	if (idle())
		finish_round();
}

void Flow::handle_receive(const Completion &completion)
{
	if (received_done_ == round_.receives.size())
		fail("receive completion of QP 0x%x, wr_id 0x%" PRIx64 ", status %s: none was expected",
		     responder_.qp()->qp_num, completion.wr_id, ibv_wc_status_str(completion.status));
	const Receive &receive = round_.receives[received_done_];
	check_receive(completion, receive);
	const Operation &operation = round_.operations[receive.operation];
	if (operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		if (!operation.overwritten)
			verify_piece(*remote_, operation.remote, operation, "target of WRITE_IMM at its receive");
	} else {
		verify_pieces(*remote_, receive.local, operation, "receive buffer");
	}
	received_done_++;
	if (idle())
		finish_round();
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

void Flow::check_receive(const Completion &completion, const Receive &receive) const
{
	const Operation &operation = round_.operations[receive.operation];
	const bool write = operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	const bool immediate = operation.opcode != IBV_WR_SEND;
	const auto check = [&](auto got, auto wanted, const char *field) {
		expect(got, wanted, field, "receive", responder_.qp()->qp_num, operation);
	};
	if (completion.status != IBV_WC_SUCCESS)
		std::fprintf(stderr, "status is '%s', vendor error %u\n", ibv_wc_status_str(completion.status),
			     completion.vendor_error);
	check(completion.status, IBV_WC_SUCCESS, "status");
	check(completion.wr_id, receive.wr_id, "wr_id");
	check(completion.opcode, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV, "opcode");
	if (completion.byte_length != operation.length && write && !responder_.device().is_ohca())
		return;  // rxe 6.12 counts the bytes put into the receive buffer
	check(completion.byte_length, operation.length, "byte_len");
	check(completion.flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV), immediate ? unsigned{IBV_WC_WITH_IMM} : 0U, "wc_flags");
	if (immediate)
		check(completion.immediate, operation.immediate, "imm_data");
	if (responder_.device().is_ohca())
		check(completion.src_qp, requester_.qp()->qp_num, "src_qp");
}

// As soon as an operation is known to be done its data must be there.
void Flow::verify_effect(const Operation &operation) const
{
	if (operation.opcode == IBV_WR_RDMA_READ) {
		verify_pieces(*local_, operation.local, operation, "local buffer of READ");
	} else if (is_atomic(operation.opcode)) {
		verify_pieces(*local_, operation.local, operation, "result of an atomic");
	} else if (!uses_receive(operation.opcode) && !operation.overwritten) {
		verify_piece(*remote_, operation.remote, operation, "target of WRITE");
	}
}

void Flow::finish_round()
{
	for (const Operation &operation : round_.operations) {
		bytes_ += operation.length;
		if (operation.opcode == IBV_WR_RDMA_READ || is_atomic(operation.opcode)) {
			for (unsigned i = 0; i < operation.local.count; i++)
				verify_around(*local_, operation.local.piece[i], "around the local buffer, at the end of a round");
		}
		if (operation.opcode != IBV_WR_SEND && operation.opcode != IBV_WR_SEND_WITH_IMM &&
		    (operation.length < 4096 || operation.overwritten))
			verify_around(*remote_, operation.remote, "around the target, at the end of a round");
	}
	for (const Receive &receive : round_.receives) {
		for (unsigned i = 0; i < receive.local.count; i++)
			verify_around(*remote_, receive.local.piece[i], "around the receive buffer, at the end of a round");
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
