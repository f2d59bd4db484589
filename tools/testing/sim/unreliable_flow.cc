// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "unreliable_flow.hh"

#include <algorithm>
#include <cstring>

namespace ohca::sim {

namespace {

constexpr uint64_t kNumberSize = 4;        // bytes at the start of each message
constexpr uint64_t kMessageMax = 16 * 1024;

} // namespace

UnreliableFlow::UnreliableFlow(const Options &options, Prng &prng, Verdict &verdict, std::string name, End from, End to)
	: options_(options), prng_(prng), verdict_(verdict), name_(std::move(name)), from_(from), to_(to),
	  slot_size_(OHCA_GRH_SIZE + kMessageMax), staging_(from.host->allocate(slot_size_ << options.log_sq_depth)),
	  target_(to.host->allocate(slot_size_ << options.log_sq_depth)),
	  inbox_(to.host->allocate(slot_size_ << options.log_rq_depth)),
	  staging_key_(from.host->create_key(from.pd, staging_, slot_size_ << options.log_sq_depth, 0)),
	  target_key_(to.host->create_key(to.pd, target_, slot_size_ << options.log_sq_depth,
					  OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE)),
	  inbox_key_(to.host->create_key(to.pd, inbox_, slot_size_ << options.log_rq_depth, OHCA_ACCESS_LOCAL_WRITE))
{
}

uint64_t UnreliableFlow::length_max() const
{
	return is_datagram() ? uint64_t{1} << options_.log_mtu : kMessageMax;
}

std::vector<std::byte> UnreliableFlow::content(uint32_t number, uint64_t length)
{
	std::vector<std::byte> bytes(length);
	Prng prng(number);

	prng.fill(bytes);
	std::memcpy(bytes.data(), &number, kNumberSize);
	return bytes;
}

void UnreliableFlow::put_address(std::byte *at)
{
	ohca_wqe_datagram address{};

	address.remote_qpn = to_.qp->qpn;
	address.remote_qkey = to_.qp->attributes.qkey;
	address.pd = from_.pd;
	std::memcpy(address.dgid, to_.host->function().context().gid(0)->gid, sizeof(address.dgid));
	std::memcpy(at, &address, sizeof(address));
}

void UnreliableFlow::write_wqe(uint32_t number, const Message &message)
{
	const uint32_t slot = number & ((1u << options_.log_sq_depth) - 1);
	std::byte *at = from_.host->sq_slot(*from_.qp, number);
	const uint64_t offset = slot * slot_size_;
	ohca_sq_wqe header{};
	const ohca_sge sge = {.address = staging_ + offset,
			      .length = static_cast<uint32_t>(message.length),
			      .lkey = staging_key_};

	header.opcode = message.opcode;
	header.flags = OHCA_WQE_SIGNALED;
	header.num_sge = 1;
	header.immediate = message.opcode == OHCA_WR_SEND ? 0 : number;
	if (message.opcode == OHCA_WR_WRITE_IMM) {
		header.remote_address = target_ + offset;
		header.rkey = target_key_;
	}
	std::memcpy(at, &header, sizeof(header));
	at += sizeof(header);
	if (is_datagram()) {
		put_address(at);
		at += sizeof(ohca_wqe_datagram);
	}
	std::memcpy(at, &sge, sizeof(sge));
	from_.host->record(*from_.qp).sq_producer = number + 1;
}

bool UnreliableFlow::post_send(uint32_t limit)
{
	constexpr uint8_t kOpcodes[] = {OHCA_WR_SEND, OHCA_WR_SEND_IMM, OHCA_WR_WRITE_IMM};

	if (posted_ >= limit || posted_ - completed_ >= 1u << options_.log_sq_depth)
		return false;
	Message message;
	message.opcode = kOpcodes[prng_.below(is_datagram() ? 2 : 3)];
	message.length = prng_.between(kNumberSize, prng_.chance(0.5) ? 64 : length_max());
	const std::vector<std::byte> bytes = content(posted_, message.length);
	const uint32_t slot = posted_ & ((1u << options_.log_sq_depth) - 1);
	std::memcpy(from_.host->at(staging_ + slot * slot_size_), bytes.data(), bytes.size());
	messages_.push_back(message);
	write_wqe(posted_++, message);
	return true;
}

void UnreliableFlow::post_receives(uint32_t count_max)
{
	const uint32_t depth = 1u << options_.log_rq_depth;

	for (; count_max > 0 && receives_outstanding() < depth; count_max--) {
		const uint64_t at = inbox_ + (receives_posted_ % depth) * slot_size_;
		to_.host->post_receive(*to_.qp, receives_posted_++,
				       {{at, static_cast<uint32_t>(slot_size_), inbox_key_}});
	}
}

void UnreliableFlow::on_send(const ohca_cqe &cqe)
{
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS || cqe.wqe_index != completed_)
		fail("send " + std::to_string(cqe.wqe_index) + " completed with status " + std::to_string(cqe.status));
	completed_++;
}

void UnreliableFlow::check_content(uint32_t number, const std::byte *found)
{
	if (number >= messages_.size()) {
		fail("message " + std::to_string(number) + " was never sent");
		return;
	}
	Message &message = messages_[number];
	const std::vector<std::byte> wanted = content(number, message.length);

	if (message.arrived)
		fail("message " + std::to_string(number) + " arrived twice");
	message.arrived = true;
	// What overtakes on the way may arrive out of order, nothing else.
	if (options_.delay == 0 && number < last_arrived_)
		fail("message " + std::to_string(number) + " arrived out of order");
	last_arrived_ = number + 1;
	if (std::memcmp(wanted.data(), found, wanted.size()) != 0)
		fail("message " + std::to_string(number) + " has wrong data");
}

void UnreliableFlow::on_receive(const ohca_cqe &cqe)
{
	const uint32_t depth = 1u << options_.log_rq_depth;
	const std::byte *slot = to_.host->at(inbox_ + (cqe.wqe_index % depth) * slot_size_);
	const uint64_t header = is_datagram() ? OHCA_GRH_SIZE : 0;
	uint32_t number = 0;

	if (cqe.status != OHCA_CQE_STATUS_SUCCESS || cqe.wqe_index != received_ || cqe.src_qp != from_.qp->qpn) {
		fail("receive " + std::to_string(cqe.wqe_index) + " completed with status " + std::to_string(cqe.status));
		return;
	}
	received_++;
	if (cqe.flags & OHCA_CQE_WITH_IMM)
		number = cqe.immediate;
	else
		std::memcpy(&number, slot + header, kNumberSize);
	const bool write = cqe.opcode == OHCA_WR_WRITE_IMM;
	const uint32_t target_slot = number & ((1u << options_.log_sq_depth) - 1);
	check_content(number, write ? to_.host->at(target_ + target_slot * slot_size_) : slot + header);
	if (verdict_.failed())
		return;
	if (cqe.opcode != messages_[number].opcode || cqe.byte_length != messages_[number].length + header)
		fail("receive " + std::to_string(cqe.wqe_index) + " is not the message that was sent");
	if (is_datagram() && std::to_integer<int>(*slot) >> 4 != 6)
		fail("receive " + std::to_string(cqe.wqe_index) + " has no network header");
}

void UnreliableFlow::poll()
{
	while (auto cqe = from_.host->poll(from_.send_cq))
		on_send(*cqe);
	while (auto cqe = to_.host->poll(to_.recv_cq))
		on_receive(*cqe);
}

} // namespace ohca::sim
