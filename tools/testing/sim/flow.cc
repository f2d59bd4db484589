// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "flow.hh"

#include <algorithm>
#include <cstring>

#include "core/mem/memory_window.hh"

namespace ohca::sim {

namespace {

using core::test::SendRequest;

constexpr uint32_t kInlineMax = 480;   // bytes that fit into a slot of 512
constexpr uint64_t kWordCount = 8;
constexpr uint64_t kGapMax = 7;        // bytes between two elements
constexpr uint32_t kLeaseUses = 5;
constexpr double kLeaseShare = 0.7;    // of the requests that could use it

uint64_t slot_size(const Options &options)
{
	return (options.message_max + options.sge_max * kGapMax + 7) / 8 * 8;
}

} // namespace

Flow::Flow(const Options &options, Prng &prng, Verdict &verdict, const std::string &name, Endpoint from, Endpoint to)
	: options_(options), prng_(prng), from_(from), to_(to), slot_size_(slot_size(options)),
	  staging_(*from.host, prng, from.pd, slot_size_ << options.log_sq_depth, OHCA_ACCESS_LOCAL_WRITE),
	  target_(*to.host, prng, to.pd, options.message_max * 2,
		  OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ |
			  OHCA_ACCESS_WINDOW_BIND | OHCA_ACCESS_FLUSH_GLOBAL),
	  constant_(*to.host, prng, to.pd, options.message_max * 2,
		    OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_WINDOW_BIND),
	  words_(*to.host, prng, to.pd, kWordCount * 8,
		 OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_ATOMIC),
	  inbox_(*to.host, prng, to.pd, slot_size_ << options.log_rq_depth, OHCA_ACCESS_LOCAL_WRITE),
	  target_shadow_(target_.length()), constant_shadow_(constant_.length()), words_shadow_(kWordCount),
	  lease_(*to.host, prng, to.pd, target_,
		 OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_FLUSH_GLOBAL),
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
	target_key_ = options.windows ? bind_window(*to.qp, target_, OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ |
									      OHCA_ACCESS_FLUSH_GLOBAL)
				      : target_.key();
	constant_key_ = options.windows ? bind_window(*to.qp, constant_, OHCA_ACCESS_REMOTE_READ) : constant_.key();
	fast_key_ = from.host->create_free_key(from.pd, OHCA_MKEY_TYPE_FAST_REGION,
					       static_cast<uint32_t>(staging_.page_count()));
}

// Which the peer does without a work request here: the oracle has to know when it is done.
uint32_t Flow::bind_window(core::QpContext &qp, const Region &region, uint32_t access)
{
	const uint32_t key = to_.host->create_free_key(to_.pd, OHCA_MKEY_TYPE_WINDOW_2B) |
			     static_cast<uint32_t>(prng_.below(256));
	ohca_wqe_bind body{};

	body.address = region.address();
	body.length = region.length();
	body.lkey = region.key();
	body.access = access;
	if (core::bind_window(to_.host->function(), qp, key, body) != OHCA_VENDOR_ERROR_NONE)
		core::test::host_panic("window");
	return key;
}

// At the target region, with the lease or without.
void Flow::aim(SendRequest &request, uint32_t index, uint64_t offset)
{
	if (lease_.granted() && lease_.uses() < kLeaseUses && prng_.chance(kLeaseShare)) {
		request.rkey = lease_.key();
		request.remote_address = lease_.address() + offset;
		lease_.used(index, request.opcode == OHCA_WR_READ || request.opcode == OHCA_WR_FLUSH);
		return;
	}
	request.rkey = target_key_;
	request.remote_address = target_.address() + offset;
}

// The key of a SEND_INV: the lease's, unless a READ that uses it may still be repeated.
void Flow::invalidate_at_peer(SendRequest &request, uint32_t index)
{
	if (lease_.granted() && (!lease_.last_read() || oracle_.send_over(*lease_.last_read()))) {
		request.invalidate_key = lease_.key();
		lease_.withdrawing();
		withdrawal_ = index;
		return;
	}
	request.invalidate_key = bind_window(*to_.qp, target_, OHCA_ACCESS_REMOTE_READ);
}

void Flow::care_for_lease()
{
	if (withdrawal_ && oracle_.send_over(*withdrawal_)) {
		withdrawal_.reset();
		lease_.withdrawn();
	}
	if (lease_.free() && prng_.chance(options_.leases))
		lease_.ask();
	else if (lease_.granted() && lease_.uses() == kLeaseUses && oracle_.send_over(*lease_.last_use()))
		lease_.give_back();
}

// What the other direction asks for: one request at a time.
bool Flow::post_grant()
{
	if (grant_ || stopped_ || oracle_.sends_outstanding() >= 1u << options_.log_sq_depth)
		return false;
	std::optional<SendRequest> request = back_->lease_.due();
	if (!request)
		return false;
	grant_ = from_.host->posted_sends(*from_.qp);
	post_local(std::move(*request), OHCA_WQE_SIGNALED);
	return true;
}

// A window that covers the memory and permits everything, but belongs to another queue pair.
uint32_t Flow::foreign_window()
{
	core::test::QpOptions options;

	options.pd = to_.pd;
	options.log_sq_depth = options.log_rq_depth = 0;
	return bind_window(to_.host->create_qp(options), target_, OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ);
}

// One of the many ways in which a key is not valid for a request.
void Flow::misaim(SendRequest &request, PostedSend &send)
{
	const bool atomic = request.opcode != OHCA_WR_READ && request.opcode != OHCA_WR_WRITE &&
			    request.opcode != OHCA_WR_WRITE_IMM;

	send.refused = true;
	switch (prng_.below(5)) {
	case 0:
		if (lease_.stale_key()) {
			request.rkey = lease_.stale_key();
			request.remote_address = prng_.chance(0.5) ? 0 : target_.address();
			return;
		}
		break;
	case 1:
		request.rkey = foreign_window();
		request.remote_address = target_.address();
		return;
	case 2: // no right: what is only read is written, what is only changed atomically is read
		request.rkey = request.opcode == OHCA_WR_READ ? words_.key() : constant_.key();
		request.remote_address = request.opcode == OHCA_WR_READ ? words_.address() : constant_.address() & ~7ull;
		return;
	case 3:
		if (!atomic) {
			request.rkey = target_key_;
			request.remote_address = target_.address() + target_.length() - send.length + 1;
			return;
		}
		break;
	default:
		break;
	}
	request.rkey ^= 0x55;
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
	for (uint8_t opcode = OHCA_WR_SEND; opcode <= OHCA_WR_FLUSH; opcode++) {
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
	if (request.opcode == OHCA_WR_SEND_INV)
		invalidate_at_peer(request, send.index);
	message.opcode = request.opcode;
	message.solicited = (request.flags & OHCA_WQE_SOLICITED) != 0;
	message.immediate_be = request.immediate_be | request.invalidate_key;
	message.data = payload_;
	message.length = payload_.size();
	oracle_.note_message(std::move(message));
}

void Flow::plan_write(SendRequest &request, PostedSend &send)
{
	draw_local(request, send, draw_length());
	const uint64_t offset = prng_.below(target_.length() - send.length + 1);

	aim(request, send.index, offset);
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
	request.rkey = constant_key_;
	if (written)
		aim(request, send.index, offset);
	auto from = shadow.begin() + static_cast<ptrdiff_t>(offset);
	for (const Piece &piece : pieces_) {
		std::copy_n(from, piece.length, send.image.begin() + static_cast<ptrdiff_t>(piece.offset));
		from += piece.length;
	}
	// A WRITE may overtake the execution of an earlier READ unless it is fenced.
	fence_next_ = fence_next_ || written;
}

// One of the words and room for what it was. Returns what the model has in it.
uint64_t &Flow::draw_word(SendRequest &request, PostedSend &send)
{
	const uint64_t word = prng_.below(kWordCount);

	send.slot_offset = (send.index & ((1u << options_.log_sq_depth) - 1)) * slot_size_;
	send.length = 8;
	send.image.resize(8);
	std::memcpy(send.image.data(), &words_shadow_[word], 8);
	request.sges.push_back({staging_.address() + send.slot_offset, 8, staging_.key()});
	if (break_local_key_) {
		request.sges[0].lkey ^= 0x100;
		break_local_key_ = false;
	}
	request.remote_address = words_.address() + word * 8;
	request.rkey = words_.key();
	return words_shadow_[word];
}

void Flow::plan_atomic(SendRequest &request, PostedSend &send)
{
	uint64_t &value = draw_word(request, send);

	request.operand = prng_.below(4);
	if (request.opcode == OHCA_WR_CAS) {
		request.compare = prng_.chance(0.6) ? value : prng_.below(4);
		if (value == request.compare)
			value = request.operand;
	} else {
		value += request.operand;
	}
}

void Flow::plan_masked_atomic(SendRequest &request, PostedSend &send)
{
	const bool swap = request.opcode == OHCA_WR_MASKED_CAS;
	uint64_t &value = draw_word(request, send);
	ohca_wqe_masked_atomic body{};

	body.operand = prng_.next();
	if (swap) {
		body.compare = prng_.below(4);
		body.compare_mask = prng_.below(4);
		body.swap_mask = prng_.next();
		if (((value ^ body.compare) & body.compare_mask) == 0)
			value = (value & ~body.swap_mask) | (body.operand & body.swap_mask);
	} else {
		body.boundary_mask = prng_.next();
		uint64_t sum = 0;
		bool carry = false;
		for (int bit = 0; bit < 64; bit++) { // bit by bit, as the specification defines it
			const uint64_t mask = uint64_t{1} << bit;
			const int ones = ((value & mask) != 0) + ((body.operand & mask) != 0) + carry;
			sum |= ones & 1 ? mask : 0;
			carry = ones > 1 && !(body.boundary_mask & mask);
		}
		value = sum;
	}
	request.carry(body);
}

void Flow::plan_atomic_write(SendRequest &request, PostedSend &send)
{
	const uint64_t word = prng_.below(kWordCount);

	draw_local(request, send, 8);
	request.remote_address = words_.address() + word * 8;
	request.rkey = words_.key();
	std::memcpy(&words_shadow_[word], payload_.data(), 8);
}

void Flow::plan_flush(SendRequest &request, PostedSend &send)
{
	ohca_wqe_flush body{};

	body.placement = OHCA_FLUSH_GLOBAL;
	if (prng_.chance(0.5))
		body.selectivity = OHCA_FLUSH_REGION;
	else
		body.length = static_cast<uint32_t>(prng_.below(target_.length() + 1));
	request.carry(body);
	aim(request, send.index, 0);
}

void Flow::plan(SendRequest &request, PostedSend &send)
{
	switch (request.opcode) {
	case OHCA_WR_READ:
		return plan_read(request, send);
	case OHCA_WR_CAS:
	case OHCA_WR_FADD:
		return plan_atomic(request, send);
	case OHCA_WR_MASKED_CAS:
	case OHCA_WR_MASKED_FADD:
		return plan_masked_atomic(request, send);
	case OHCA_WR_ATOMIC_WRITE:
		return plan_atomic_write(request, send);
	case OHCA_WR_FLUSH:
		return plan_flush(request, send);
	case OHCA_WR_WRITE:
	case OHCA_WR_WRITE_IMM:
		return plan_write(request, send);
	default:
		return plan_send(request, send);
	}
}

// A request that is carried out here: REG_MR, BIND_MW, LOCAL_INV.
void Flow::post_local(SendRequest request, uint8_t flags)
{
	PostedSend send;

	request.flags = flags;
	send.opcode = request.opcode;
	send.index = from_.host->posted_sends(*from_.qp);
	send.signaled = (flags & OHCA_WQE_SIGNALED) || options_.signal_all;
	from_.host->post_send(*from_.qp, request);
	oracle_.note_send(std::move(send));
}

// A key that only the request behind it uses.
void Flow::register_staging()
{
	SendRequest request;

	fast_key_ = (fast_key_ & ~0xffu) | ((fast_key_ + 1) & 0xff);
	request.opcode = OHCA_WR_REG_MR;
	request.rkey = fast_key_;
	request.carry(staging_.registration(OHCA_ACCESS_LOCAL_WRITE));
	post_local(std::move(request), 0);
}

// Fenced: not while the request's data may still be sent again or received.
void Flow::invalidate_staging()
{
	SendRequest request;

	request.opcode = OHCA_WR_LOCAL_INV;
	request.invalidate_key = fast_key_;
	post_local(std::move(request), OHCA_WQE_SIGNALED | OHCA_WQE_FENCE);
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
	if (post_grant())
		return true;
	if (!late && (stopped_ || all_posted()))
		return false;
	if (oracle_.sends_outstanding() >= 1u << options_.log_sq_depth)
		return false;
	SendRequest request;
	PostedSend send;
	// Three requests instead of one: the last is signaled, so that the queue never fills for good.
	const bool registered = !late && oracle_.sends_outstanding() + 3 <= 1u << options_.log_sq_depth &&
				prng_.chance(options_.registration);

	if (!late)
		care_for_lease();
	if (registered)
		register_staging();
	request.opcode = send.opcode = draw_opcode();
	send.index = from_.host->posted_sends(*from_.qp);
	draw_flags(request);
	plan(request, send);
	const bool message = request.opcode < OHCA_WR_READ;
	if (message && send.length <= kInlineMax && prng_.chance(options_.inline_share)) {
		request.flags |= OHCA_WQE_INLINE;
		request.inline_data = payload_;
		request.sges.clear();
	}
	if (break_remote_key_ && send.length > 0 && request.rkey != 0) {
		misaim(request, send);
		break_remote_key_ = false;
	}
	if (registered)
		for (auto &sge : request.sges)
			if (sge.lkey == staging_.key())
				sge.lkey = fast_key_;
	send.signaled = (request.flags & OHCA_WQE_SIGNALED) || options_.signal_all;
	posted_ += !late;
	late_ -= late;
	from_.host->post_send(*from_.qp, request);
	oracle_.note_send(std::move(send));
	if (registered)
		invalidate_staging();
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
	if (cqe.status != OHCA_CQE_STATUS_SUCCESS) {
		stopped_ = true;
	} else if (grant_ == cqe.wqe_index) {
		grant_.reset();
		back_->lease_.done();
	}
}

void Flow::on_receive(const ohca_cqe &cqe, core::TimeNs now)
{
	oracle_.receive_completed(cqe);
	for (const uint64_t address : {uint64_t{0}, target_.address()}) // zero based or not
		if ((cqe.flags & OHCA_CQE_WITH_INV) &&
		    to_.host->function().memory().check_remote_key(cqe.invalidated_rkey, *to_.qp, address, 1, 0).mkey)
			oracle_.fail("a key that was invalidated is still valid");
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
