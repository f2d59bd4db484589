// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "flow.hh"

#include <algorithm>
#include <cstring>

namespace ohca::sim {

namespace {

using core::test::SendRequest;

constexpr uint32_t kInlineMax = 480;   // bytes that fit into a slot of 512
constexpr uint64_t kWordCount = 8;
constexpr uint64_t kGapMax = 7;        // bytes between two elements

uint64_t slot_size(const Options &options)
{
	return (options.message_max + options.sge_max * kGapMax + 7) / 8 * 8;
}

} // namespace

Flow::Flow(const Options &options, Prng &prng, Verdict &verdict, const std::string &name, Endpoint from, Endpoint to)
	: options_(options), prng_(prng), from_(from), to_(to), slot_size_(slot_size(options)),
	  staging_(*from.host, prng, from.pd, slot_size_ << options.log_sq_depth, OHCA_ACCESS_LOCAL_WRITE),
	  target_(*to.host, prng, to.pd, options.message_max * 2,
		  OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ),
	  constant_(*to.host, prng, to.pd, options.message_max * 2, OHCA_ACCESS_REMOTE_READ),
	  words_(*to.host, prng, to.pd, kWordCount * 8, OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_ATOMIC),
	  inbox_(*to.host, prng, to.pd, slot_size_ << options.log_rq_depth, OHCA_ACCESS_LOCAL_WRITE),
	  target_shadow_(target_.length()), constant_shadow_(constant_.length()), words_shadow_(kWordCount),
	  oracle_(verdict, name, staging_, inbox_)
{
	prng.fill(target_shadow_);
	prng.fill(constant_shadow_);
	for (uint64_t &word : words_shadow_)
		word = prng.below(4); // small: comparisons shall hit
	target_.write(0, target_shadow_);
	constant_.write(0, constant_shadow_);
	words_.write(0, std::as_bytes(std::span(words_shadow_)));
	receive_times_.assign(size_t{1} << options.log_rq_depth, 0);
}

// Cuts `length` bytes into at most count_max pieces with gaps, some of them empty.
std::vector<Piece> Flow::cut(uint64_t length, uint32_t count_max, uint64_t room)
{
	std::vector<Piece> pieces;
	const uint64_t count = prng_.between(length > 0 ? 1 : 0, count_max);
	uint64_t at = 0;

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t take = i + 1 == count ? length : prng_.below(length + 1);
		const uint64_t slack = room - at - length;
		at += prng_.below(std::min(kGapMax, slack) + 1);
		pieces.push_back({at, static_cast<uint32_t>(take)});
		at += take;
		length -= take;
	}
	return pieces;
}

uint8_t Flow::draw_opcode()
{
	uint32_t sum = 0;

	for (uint32_t weight : options_.weights)
		sum += weight;
	uint64_t ticket = prng_.below(sum);
	for (uint8_t opcode = OHCA_WR_SEND; opcode <= OHCA_WR_FADD; opcode++) {
		if (ticket < options_.weights[opcode])
			return opcode;
		ticket -= options_.weights[opcode];
	}
	return OHCA_WR_WRITE;
}

uint64_t Flow::draw_length()
{
	const uint64_t mtu = uint64_t{1} << options_.log_mtu;

	switch (prng_.below(4)) {
	case 0: // around a multiple of the MTU
		return std::min(options_.message_max, mtu * prng_.below(4) + prng_.below(3));
	case 1:
		return prng_.below(std::min<uint64_t>(options_.message_max, 16) + 1);
	default:
		return prng_.below(options_.message_max + 1);
	}
}

// The local buffer of a request: fresh bytes in its slot, elements over a part of them.
void Flow::draw_local(SendRequest &request, PostedSend &send, uint64_t length)
{
	std::vector<std::byte> slot(slot_size_);

	send.slot_offset = (send.index & ((1u << options_.log_sq_depth) - 1)) * slot_size_;
	send.length = length;
	prng_.fill(slot);
	staging_.write(send.slot_offset, slot);
	pieces_ = cut(length, options_.sge_max, slot_size_);
	payload_.clear();
	for (const Piece &piece : pieces_) {
		request.sges.push_back({staging_.address() + send.slot_offset + piece.offset, piece.length,
					staging_.key()});
		payload_.insert(payload_.end(), slot.begin() + static_cast<ptrdiff_t>(piece.offset),
				slot.begin() + static_cast<ptrdiff_t>(piece.offset + piece.length));
	}
	if (break_local_key_ && length > 0) {
		for (auto &sge : request.sges)
			sge.lkey ^= 0x100;
		break_local_key_ = false;
	}
	send.image = std::move(slot); // reading the payload must not change it, READ puts data into it
}

void Flow::plan_send(SendRequest &request, PostedSend &send)
{
	ExpectedMessage message;

	draw_local(request, send, draw_length());
	if (request.opcode == OHCA_WR_SEND_IMM)
		request.immediate_be = static_cast<uint32_t>(prng_.next());
	message.opcode = request.opcode;
	message.solicited = (request.flags & OHCA_WQE_SOLICITED) != 0;
	message.immediate_be = request.immediate_be;
	message.data = payload_;
	message.length = payload_.size();
	oracle_.note_message(std::move(message));
}

void Flow::plan_write(SendRequest &request, PostedSend &send)
{
	draw_local(request, send, draw_length());
	const uint64_t offset = prng_.below(target_.length() - send.length + 1);

	request.remote_address = target_.address() + offset;
	request.rkey = target_.key();
	std::ranges::copy(payload_, target_shadow_.begin() + static_cast<ptrdiff_t>(offset));
	if (request.opcode != OHCA_WR_WRITE_IMM)
		return;
	ExpectedMessage message;
	request.immediate_be = static_cast<uint32_t>(prng_.next());
	message.opcode = request.opcode;
	message.solicited = (request.flags & OHCA_WQE_SOLICITED) != 0;
	message.immediate_be = request.immediate_be;
	message.length = send.length;
	oracle_.note_message(std::move(message));
}

void Flow::plan_read(SendRequest &request, PostedSend &send)
{
	const bool written = prng_.chance(0.3);
	Region &region = written ? target_ : constant_;
	const std::vector<std::byte> &shadow = written ? target_shadow_ : constant_shadow_;

	draw_local(request, send, draw_length());
	const uint64_t offset = prng_.below(region.length() - send.length + 1);
	request.remote_address = region.address() + offset;
	request.rkey = region.key();
	auto from = shadow.begin() + static_cast<ptrdiff_t>(offset);
	for (const Piece &piece : pieces_) {
		std::copy_n(from, piece.length, send.image.begin() + static_cast<ptrdiff_t>(piece.offset));
		from += piece.length;
	}
	// A WRITE may overtake the execution of an earlier READ unless it is fenced.
	fence_next_ = fence_next_ || written;
}

void Flow::plan_atomic(SendRequest &request, PostedSend &send)
{
	const uint64_t word = prng_.below(kWordCount);
	uint64_t &value = words_shadow_[word];
	const uint64_t original = value;

	send.slot_offset = (send.index & ((1u << options_.log_sq_depth) - 1)) * slot_size_;
	send.length = 8;
	request.sges.push_back({staging_.address() + send.slot_offset, 8, staging_.key()});
	if (break_local_key_) {
		request.sges[0].lkey ^= 0x100;
		break_local_key_ = false;
	}
	request.remote_address = words_.address() + word * 8;
	request.rkey = words_.key();
	request.operand = prng_.below(4);
	if (request.opcode == OHCA_WR_CAS) {
		request.compare = prng_.chance(0.6) ? value : prng_.below(4);
		if (value == request.compare)
			value = request.operand;
	} else {
		value += request.operand;
	}
	send.image.resize(8);
	std::memcpy(send.image.data(), &original, 8);
}

void Flow::draw_flags(SendRequest &request)
{
	const uint32_t depth = 1u << options_.log_sq_depth;
	const bool last = posted_ + 1 >= options_.operations;

	request.flags = 0;
	if (last || since_signaled_ >= depth / 2 || !prng_.chance(options_.unsignaled))
		request.flags |= OHCA_WQE_SIGNALED;
	since_signaled_ = request.flags & OHCA_WQE_SIGNALED ? 0 : since_signaled_ + 1;
	if ((fence_next_ || prng_.chance(options_.fence)) && options_.canary != Canary::kFence)
		request.flags |= OHCA_WQE_FENCE;
	fence_next_ = false;
	if (prng_.chance(0.2))
		request.flags |= OHCA_WQE_SOLICITED;
}

bool Flow::post_request()
{
	const bool late = stopped_ && late_ > 0;
	if (!late && (stopped_ || all_posted()))
		return false;
	if (oracle_.sends_outstanding() >= 1u << options_.log_sq_depth)
		return false;
	SendRequest request;
	PostedSend send;

	request.opcode = send.opcode = draw_opcode();
	send.index = from_.host->posted_sends(*from_.qp);
	draw_flags(request);
	switch (request.opcode) {
	case OHCA_WR_READ:
		plan_read(request, send);
		break;
	case OHCA_WR_CAS:
	case OHCA_WR_FADD:
		plan_atomic(request, send);
		break;
	case OHCA_WR_WRITE:
	case OHCA_WR_WRITE_IMM:
		plan_write(request, send);
		break;
	default:
		plan_send(request, send);
	}
	const bool message = request.opcode < OHCA_WR_READ;
	if (message && send.length <= kInlineMax && prng_.chance(options_.inline_share)) {
		request.flags |= OHCA_WQE_INLINE;
		request.inline_data = payload_;
		request.sges.clear();
	}
	if (break_remote_key_ && send.length > 0 && request.rkey != 0) {
		request.rkey ^= 0x55;
		break_remote_key_ = false;
	}
	send.signaled = (request.flags & OHCA_WQE_SIGNALED) || options_.signal_all;
	posted_ += !late;
	late_ -= late;
	from_.host->post_send(*from_.qp, request);
	oracle_.note_send(std::move(send));
	return true;
}

bool Flow::post_one_receive()
{
	const uint32_t depth = 1u << options_.log_rq_depth;
	PostedReceive receive;
	std::vector<core::test::Sge> sges;

	receive.tag = receives_posted_++;
	receive.slot_offset = (receive.tag % depth) * slot_size_;
	receive.before.resize(slot_size_);
	prng_.fill(receive.before);
	inbox_.write(receive.slot_offset, receive.before);
	receive.pieces = cut(shorten_receive_ ? 0 : options_.message_max, options_.sge_max, slot_size_);
	shorten_receive_ = false;
	for (const Piece &piece : receive.pieces)
		sges.push_back({inbox_.address() + receive.slot_offset + piece.offset, piece.length, inbox_.key()});
	to_.host->post_receive(*to_.qp, receive.tag, sges);
	oracle_.note_receive(std::move(receive));
	return true;
}

bool Flow::post_receives(core::TimeNs now)
{
	if (receives_stopped_)
		return false;
	return std::erase_if(receive_times_, [&](core::TimeNs time) { return time <= now && post_one_receive(); }) >
	       0;
}

core::TimeNs Flow::next_receive_time() const
{
	if (receive_times_.empty() || receives_stopped_)
		return core::kNever;
	return *std::ranges::min_element(receive_times_);
}

void Flow::post_late()
{
	late_ = 2;
	while (post_request())
		;
	late_ = 0;
}

void Flow::on_send(const ohca_cqe &cqe)
{
	oracle_.send_completed(cqe);
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS)
		stopped_ = true;
}

void Flow::on_receive(const ohca_cqe &cqe, core::TimeNs now)
{
	oracle_.receive_completed(cqe);
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS)
		receives_stopped_ = true;
	const core::TimeNs pause = options_.receive_pause_ns;
	receive_times_.push_back(now + (pause == 0 ? 0 : prng_.below(2 * pause)));
}

void Flow::finish(bool exact)
{
	std::vector<std::byte> found(constant_.length());

	if (!staging_.slack_intact() || !target_.slack_intact() || !constant_.slack_intact() ||
	    !words_.slack_intact() || !inbox_.slack_intact())
		oracle_.fail("memory outside of a registered range was changed");
	constant_.read(0, found);
	if (found != constant_shadow_)
		oracle_.fail("memory that is only read was changed");
	if (oracle_.messages_sent_ok() > oracle_.messages_received())
		oracle_.fail("more messages were acknowledged than received");
	if (oracle_.sends_outstanding() > 0)
		oracle_.fail(std::to_string(oracle_.sends_outstanding()) + " requests never completed");
	if (!exact)
		return;
	if (oracle_.messages_expected() > 0)
		oracle_.fail("a message was not received");
	found.resize(target_.length());
	target_.read(0, found);
	if (found != target_shadow_)
		oracle_.fail("written memory differs");
	for (uint64_t word = 0; word < kWordCount; word++)
		if (words_.load64(word * 8) != words_shadow_[word])
			oracle_.fail("an atomic was carried out more or less than once");
}

} // namespace ohca::sim
