// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "oracle.hh"

#include <algorithm>
#include <cstring>

namespace ohca::sim {

void Oracle::retire(const PostedSend &send)
{
	if (send.opcode <= OHCA_WR_SEND_INV || send.opcode == OHCA_WR_WRITE_IMM)
		messages_sent_ok_++;
	if (send.refused)
		fail("request " + std::to_string(send.index) + ", opcode " + std::to_string(send.opcode) +
		     ", was carried out with a key that is not valid for it");
	if (send.image.empty())
		return;
	std::vector<std::byte> found(send.image.size());
	staging_.read(send.slot_offset, found);
	const auto [expected, actual] = std::ranges::mismatch(send.image, found);
	if (expected != send.image.end())
		fail("request " + std::to_string(send.index) + ", opcode " + std::to_string(send.opcode) +
		     ": wrong data at byte " + std::to_string(expected - send.image.begin()) + " of its buffer");
}

void Oracle::send_completed(const ohca_cqe &cqe)
{
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS && send_error_ == OHCA_CQE_STATUS_SUCCESS) {
		send_error_ = cqe.status;
		send_error_index_ = cqe.wqe_index;
	} else if (send_error_ != OHCA_CQE_STATUS_SUCCESS && cqe.status != OHCA_CQE_STATUS_FLUSHED) {
		fail("request " + std::to_string(cqe.wqe_index) + " has status " + std::to_string(cqe.status) +
		     " after one has failed");
	}
	// Requests before this one have succeeded without a completion of their own.
	while (!sends_.empty() && sends_.front().index != cqe.wqe_index) {
		if (sends_.front().signaled || (send_error_ != OHCA_CQE_STATUS_SUCCESS &&
						sends_.front().index - send_error_index_ < 0x80000000)) {
			fail("completion of request " + std::to_string(cqe.wqe_index) + " instead of " +
			     std::to_string(sends_.front().index));
			return;
		}
		retire(sends_.front());
		sends_.pop_front();
	}
	if (sends_.empty()) {
		fail("completion of request " + std::to_string(cqe.wqe_index) + ", which is not outstanding");
		return;
	}
	const PostedSend send = std::move(sends_.front());
	sends_.pop_front();
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS)
		return;
	if (!send.signaled)
		fail("completion of unsignaled request " + std::to_string(send.index));
	if (cqe.opcode != send.opcode || cqe.flags != 0)
		fail("completion of request " + std::to_string(send.index) + " has another opcode");
	retire(send);
}

void Oracle::receive_completed(const ohca_cqe &cqe)
{
	if (receives_.empty() || receives_.front().tag != cqe.wqe_index) {
		fail("receive " + std::to_string(cqe.wqe_index) + " completed out of order");
		return;
	}
	const PostedReceive receive = std::move(receives_.front());
	receives_.pop_front();
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS) {
		if (receive_error_ == OHCA_CQE_STATUS_SUCCESS)
			receive_error_ = cqe.status;
		else if (cqe.status != OHCA_CQE_STATUS_FLUSHED)
			fail("receive has status " + std::to_string(cqe.status) + " after one has failed");
		return;
	}
	if (receive_error_ != OHCA_CQE_STATUS_SUCCESS || messages_.empty()) {
		fail("receive " + std::to_string(cqe.wqe_index) + " completed, but nothing was sent");
		return;
	}
	const ExpectedMessage message = std::move(messages_.front());
	messages_.pop_front();
	messages_received_++;

	const uint8_t flags = static_cast<uint8_t>(
		OHCA_CQE_RECEIVE | (message.opcode == OHCA_WR_SEND_INV ? OHCA_CQE_WITH_INV
				    : message.opcode == OHCA_WR_SEND   ? 0
								       : OHCA_CQE_WITH_IMM) |
		(message.solicited ? OHCA_CQE_SOLICITED : 0));
	if (cqe.opcode != message.opcode || cqe.flags != flags || cqe.byte_length != message.length ||
	    ((flags & OHCA_CQE_WITH_IMM) && cqe.immediate != message.immediate_be) ||
	    ((flags & OHCA_CQE_WITH_INV) && cqe.invalidated_rkey != message.immediate_be)) {
		fail("receive " + std::to_string(cqe.wqe_index) + " is not the message that was sent");
		return;
	}
	std::vector<std::byte> expected = receive.before;
	size_t done = 0;
	for (const Piece &piece : receive.pieces) {
		const size_t length = std::min<size_t>(piece.length, message.data.size() - done);
		std::copy_n(message.data.begin() + static_cast<ptrdiff_t>(done), length,
			    expected.begin() + static_cast<ptrdiff_t>(piece.offset));
		done += length;
	}
	std::vector<std::byte> found(expected.size());
	inbox_.read(receive.slot_offset, found);
	const auto [wanted, actual] = std::ranges::mismatch(expected, found);
	if (wanted != expected.end())
		fail("receive " + std::to_string(cqe.wqe_index) + ": wrong data at byte " +
		     std::to_string(wanted - expected.begin()) + " of its buffer, message of " +
		     std::to_string(message.length) + " bytes");
}

} // namespace ohca::sim
