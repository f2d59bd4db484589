// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/plan.hh"

#include <algorithm>
#include <cstring>

namespace verbs_test {

namespace {

bool is_write(const Operation &operation)
{
	return (operation.opcode == IBV_WR_RDMA_WRITE || operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) &&
	       operation.length > 0;
}

bool brings_data(const Operation &operation)
{
	return operation.opcode == IBV_WR_RDMA_READ || is_atomic(operation.opcode);
}

bool writes_8_bytes(const Operation &operation)
{
	return is_atomic(operation.opcode) || operation.opcode == IBV_WR_ATOMIC_WRITE;
}

struct Weight {
	ibv_wr_opcode opcode;
	unsigned share;
};

constexpr Weight kWeights[] = {
	{IBV_WR_SEND, 6},
	{IBV_WR_SEND_WITH_IMM, 4},
	{IBV_WR_SEND_WITH_INV, 1},
	{IBV_WR_RDMA_WRITE, 10},
	{IBV_WR_RDMA_WRITE_WITH_IMM, 4},
	{IBV_WR_RDMA_READ, 8},
	{IBV_WR_ATOMIC_CMP_AND_SWP, 4},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, 4},
	{IBV_WR_ATOMIC_WRITE, 3},
	{IBV_WR_FLUSH, 2},
	{IBV_WR_BIND_MW, 3},
	{IBV_WR_LOCAL_INV, 3},
};

// Those that bind and use windows of their own: a window of type 2 belongs to one queue pair.
bool has_windows(const PairKind &kind)
{
	return kind.service == Service::kRc || kind.service == Service::kUc;
}

}  // namespace

bool is_planned(ibv_wr_opcode opcode, const Limits &limits)
{
	const Service service = limits.kind.service;
	const bool answers = service == Service::kRc || service == Service::kXrc;
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return service != Service::kUd;
	case IBV_WR_RDMA_READ:
		return answers;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return answers && limits.atomics;
	case IBV_WR_ATOMIC_WRITE:
	case IBV_WR_FLUSH:
		return answers && limits.placement && limits.wr_api;
	case IBV_WR_BIND_MW:
	case IBV_WR_LOCAL_INV:
		return has_windows(limits.kind) && limits.placement;
	case IBV_WR_SEND_WITH_INV:
		return service == Service::kRc && limits.placement;
	default:
		return false;
	}
}

Planner::Planner(Region &local, Region &remote, const Limits &limits, Random &random)
	: local_(local), remote_(remote), random_(random), limits_(limits)
{
	for (const Weight &weight : kWeights) {
		if (is_planned(weight.opcode, limits))
			opcodes_.insert(opcodes_.end(), weight.share, weight.opcode);
	}
}

void Planner::plan(Round &round)
{
	round.operations.clear();
	round.receives.clear();
	round.payloads.clear();
	inline_data_.resize(std::size_t{limits_.send_depth} * limits_.inline_max);
	inline_used_ = 0;
	local_cursor_ = local_.begin() + random_.below(4096);
	remote_cursor_ = remote_.begin() + random_.below(4096);
	window_invalidated_ = false;
	window_in_use_ = aids_.peer_window != nullptr && aids_.peer_window->try_use();
	const unsigned room = limits_.send_depth - (limits_.kind.service == Service::kUc ? 1 : 0);
	const unsigned wanted = random_.chance(20) ? room : random_.between(1U, room);
	// Pointers to operations are kept while one is added.
	round.operations.reserve(limits_.send_depth);
	while (round.operations.size() < wanted && add(round)) {
	}
	if (limits_.kind.service == Service::kUc && (round.operations.empty() || !uses_receive(round.operations.back().opcode)))
		add_closing(round);
	Operation &last = round.operations.back();
	last.flags |= IBV_SEND_SIGNALED;
	last.completes = true;
	if (limits_.solicit_last && !round.receives.empty())
		round.operations[round.receives.back().operation].flags |= IBV_SEND_SOLICITED;
}

void Planner::finish()
{
	if (window_in_use_)
		aids_.peer_window->end_use(window_invalidated_);
}

void Planner::scramble_inline()
{
	std::memset(inline_data_.data(), 0xa5, inline_used_);
}

// One more operation; false when the round's memory or queues are used up.
bool Planner::add(Round &round)
{
	Operation &operation = round.operations.emplace_back();
	operation.opcode = opcodes_[random_.below(opcodes_.size())];
	operation.length = writes_8_bytes(operation) ? 8 : std::min(random_length(), length_max(operation.opcode));
	// The first one always fits: a round is never empty.
	if (round.operations.size() == 1)
		operation.length = std::min<std::uint32_t>(operation.length, limits_.message_max / 4);
	operation.wr_id = next_wr_id();
	operation.flags = random_.chance(40) ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0;
	if (random_.chance(10))
		operation.flags |= IBV_SEND_FENCE;
	operation.immediate = static_cast<std::uint32_t>(random_.next());
	if (aids_.addresses != nullptr)
		operation.address = &aids_.addresses->any(random_);
	if (!add_of_opcode(round, operation)) {
		round.operations.pop_back();
		return false;
	}
	operation.completes = limits_.signal_all || (operation.flags & IBV_SEND_SIGNALED) != 0;
	return true;
}

bool Planner::add_of_opcode(Round &round, Operation &operation)
{
	switch (operation.opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return add_atomic(round, operation);
	case IBV_WR_ATOMIC_WRITE:
		return add_atomic_write(round, operation);
	case IBV_WR_FLUSH:
		return add_flush(round, operation);
	case IBV_WR_RDMA_READ:
		return add_read(round, operation);
	case IBV_WR_BIND_MW:
	case IBV_WR_LOCAL_INV:
		if (add_window_change(operation))
			return true;
		operation.opcode = IBV_WR_RDMA_WRITE;
		return add_write(round, operation);
	case IBV_WR_SEND_WITH_INV:
		if (!window_in_use_ || window_invalidated_ || random_.chance(70))
			operation.opcode = IBV_WR_SEND;
		return add_write(round, operation);
	default:
		return add_write(round, operation);
	}
}

// False: the window is not in a state for it.
bool Planner::add_window_change(Operation &operation)
{
	Window *window = aids_.own_window;
	const bool bind = operation.opcode == IBV_WR_BIND_MW;
	// Left bound for a while, so that it is used.
	if (window == nullptr || !(bind ? window->can_bind() : window->can_invalidate() && random_.chance(30)))
		return false;
	operation.length = 0;
	operation.window = window;
	operation.window_key = bind ? window->start_bind(random_) : window->start_invalidation();
	return true;
}

bool Planner::atomic_target(Round &round, Operation &operation)
{
	const Operation *same = random_.chance(40) ? earlier(round, writes_8_bytes) : nullptr;
	if (same != nullptr) {
		operation.remote = same->remote;
		mark_overwritten(round, operation);
	} else {
		// mappings are page aligned, so an aligned offset is an aligned address
		remote_cursor_ = (remote_cursor_ + 7) & ~std::size_t{7};
		if (!take(remote_, remote_cursor_, 8, operation.remote))
			return false;
		// `take` may have moved it next to a page's end
		operation.remote.offset &= ~std::size_t{7};
	}
	name_target(operation);
	return true;
}

bool Planner::add_atomic(Round &round, Operation &operation)
{
	if (!scatter(local_, local_cursor_, 8, 1, operation.local) || !atomic_target(round, operation))
		return false;
	std::uint64_t value;
	std::memcpy(&value, remote_.model(operation.remote.offset), 8);
	std::memcpy(local_.model(operation.local.piece[0].offset), &value, 8);
	operation.swap = random_.next();
	if (operation.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		operation.compare_add = random_.next();
		value += operation.compare_add;
	} else {
		operation.compare_add = random_.chance(60) ? value : random_.next();
		if (operation.compare_add == value)
			value = operation.swap;
	}
	std::memcpy(remote_.model(operation.remote.offset), &value, 8);
	return true;
}

bool Planner::add_atomic_write(Round &round, Operation &operation)
{
	if (!atomic_target(round, operation))
		return false;
	operation.swap = random_.next();
	std::memcpy(remote_.model(operation.remote.offset), &operation.swap, 8);
	return true;
}

// Of what was written before, or of anything.
bool Planner::add_flush(Round &round, Operation &operation)
{
	const Operation *written = earlier(round, is_write);
	if (written != nullptr) {
		operation.remote = written->remote;
	} else {
		const std::size_t length = std::clamp<std::size_t>(operation.length, 1, remote_.end() - remote_.begin());
		operation.remote = {remote_.begin() + random_.below(remote_.end() - remote_.begin() - length + 1),
				    static_cast<std::uint32_t>(length)};
	}
	operation.length = 0;
	const KeyedAddress target = remote_.keyed(operation.remote, random_);
	operation.remote_address = target.address;
	operation.rkey = target.rkey;
	return true;
}

// Through one of the region's keys, or the window.
void Planner::name_target(Operation &operation)
{
	if (window_in_use_ && !window_invalidated_ && aids_.peer_window->covers(operation.remote) && random_.chance(40)) {
		operation.remote_address = aids_.peer_window->address_of(operation.remote);
		operation.rkey = aids_.peer_window->rkey();
		return;
	}
	const KeyedAddress target = remote_.keyed(operation.remote, random_);
	operation.remote_address = target.address;
	operation.rkey = target.rkey;
}

bool Planner::add_read(Round &round, Operation &operation)
{
	const Operation *written = random_.chance(10) ? earlier(round, is_write) : nullptr;
	if (written != nullptr) {
		operation.length = std::min(operation.length, written->length);
		operation.remote.offset = written->remote.offset + random_.below(written->length - operation.length + 1);
		operation.remote.length = operation.length;
	} else {
		if (!take(remote_, remote_cursor_, operation.length, operation.remote))
			return false;
		remote_.stamp(operation.remote, random_);
	}
	if (!scatter(local_, local_cursor_, operation.length, limits_.send_sge, operation.local))
		return false;
	name_target(operation);
	copy_scattered(operation.length, Cursor(remote_.model(operation.remote.offset), operation.length),
		       ScatteredCursor(&local_, operation.local));
	return true;
}

// Everything this one touches belongs to some WRITE, or atomic, of this round.
void Planner::mark_overwritten(Round &round, const Operation &operation)
{
	for (Operation &other : round.operations) {
		if (&other != &operation && (is_write(other) || writes_8_bytes(other)) &&
		    other.remote.offset < operation.remote.offset + operation.length &&
		    operation.remote.offset < other.remote.offset + other.length)
			other.overwritten = true;
	}
}

// WRITE*, SEND*
bool Planner::add_write(Round &round, Operation &operation)
{
	const bool send = is_send(operation.opcode);
	// UC keeps one for the closing message.
	const unsigned receives_max = limits_.receive_depth - (limits_.kind.service == Service::kUc ? 1 : 0);
	if (uses_receive(operation.opcode) && round.receives.size() == receives_max)
		return false;
	Operation *over = !send && random_.chance(4) ? earlier(round, is_write) : nullptr;
	if (over != nullptr)
		operation.length = std::min(operation.length, over->length);
	if (!source(round, operation, over == nullptr))
		return false;
	if (over != nullptr && operation.length > 0) {
		operation.remote = {over->remote.offset + random_.below(over->length - operation.length + 1),
				    operation.length};
		// READs of the first WRITE's result come before this one only with a fence
		operation.flags |= IBV_SEND_FENCE;
		mark_overwritten(round, operation);
	} else if (!send && !take(remote_, remote_cursor_, operation.length, operation.remote)) {
		return false;
	}
	if (uses_receive(operation.opcode)) {
		if (!add_receive(round, operation))
			return false;
		if (random_.chance(30))
			operation.flags |= IBV_SEND_SOLICITED;
	}
	if (operation.opcode == IBV_WR_SEND_WITH_INV) {
		operation.window_key = aids_.peer_window->rkey();
		window_invalidated_ = true;
		// READs through the window come before only with a fence
		operation.flags |= IBV_SEND_FENCE;
	}
	if (!send)
		name_target(operation);
	deliver(round, operation, (operation.flags & IBV_SEND_INLINE) != 0 ? nullptr : &local_);
	return true;
}

// Takes the payload to where the models have it in the end.
void Planner::deliver(Round &round, const Operation &operation, const Region *from)
{
	const ScatteredCursor source(from, operation.local);
	if (!is_send(operation.opcode)) {
		copy_scattered(operation.length, source, Cursor(remote_.model(operation.remote.offset), operation.length));
		return;
	}
	Receive &receive = round.receives.back();
	if (limits_.kind.shared_receives) {
		receive.payload = round.payloads.size();
		round.payloads.resize(receive.payload + operation.length);
		copy_scattered(operation.length, source,
			       Cursor(round.payloads.data() + receive.payload, operation.length));
		return;
	}
	ScatteredCursor target(&remote_, receive.buffer.list);
	target.skip(limits_.kind.service == Service::kUd ? kGrhSize : 0);
	copy_scattered(operation.length, source, target);
}

bool Planner::add_receive(Round &round, Operation &operation)
{
	Receive receive{};
	receive.operation = round.operations.size() - 1;
	receive.buffer.wr_id = ~operation.wr_id;
	if (!limits_.kind.shared_receives) {
		std::uint32_t length = is_send(operation.opcode) ? operation.length : 0;
		if (limits_.kind.service == Service::kUd)
			length += kGrhSize;
		// what the message leaves over must stay as it is
		if (random_.chance(50))
			length += static_cast<std::uint32_t>(random_.below(200));
		if (!scatter(remote_, remote_cursor_, length, limits_.receive_sge, receive.buffer.list))
			return false;
	}
	round.receives.push_back(receive);
	return true;
}

// A message of no bytes whose receive says that what was sent before it has arrived.
void Planner::add_closing(Round &round)
{
	Operation &operation = round.operations.emplace_back();
	operation.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	operation.wr_id = next_wr_id();
	operation.immediate = static_cast<std::uint32_t>(random_.next());
	operation.remote = {remote_.begin(), 0};
	name_target(operation);
	Receive receive{};
	receive.operation = round.operations.size() - 1;
	receive.buffer.wr_id = ~operation.wr_id;
	round.receives.push_back(receive);
}

// may_grow: the operation may become as long as an earlier one whose data it sends.
bool Planner::source(Round &round, Operation &operation, bool may_grow)
{
	if (operation.length <= limits_.inline_max && random_.chance(40))
		return inline_source(operation);
	const Operation *brought = may_grow && random_.chance(5) ? earlier(round, brings_data) : nullptr;
	if (brought != nullptr && brought->length <= length_max(operation.opcode)) {
		operation.local = brought->local;
		operation.length = brought->length;
		operation.flags |= IBV_SEND_FENCE;
		return true;
	}
	if (!scatter(local_, local_cursor_, operation.length, limits_.send_sge, operation.local))
		return false;
	for (unsigned i = 0; i < operation.local.count; i++)
		local_.stamp(operation.local.piece[i], random_);
	return true;
}

bool Planner::inline_source(Operation &operation)
{
	operation.flags |= IBV_SEND_INLINE;
	ScatterList &list = operation.local;
	list.count = operation.length == 0 ? 0 : random_.between(1U, std::min(limits_.send_sge, 4U));
	std::uint32_t left = operation.length;
	for (unsigned i = 0; i < list.count; i++) {
		const std::uint32_t part =
			i + 1 == list.count ? left : static_cast<std::uint32_t>(random_.below(std::uint64_t{left} + 1));
		list.sge[i].addr = reinterpret_cast<std::uint64_t>(inline_data_.data() + inline_used_);
		list.sge[i].length = part;
		list.sge[i].lkey = static_cast<std::uint32_t>(random_.next());  // must not matter
		random_.fill(inline_data_.data() + inline_used_, part);
		inline_used_ += part;
		left -= part;
	}
	return true;
}

// `length` bytes of the region cut into a random number of elements.
bool Planner::scatter(Region &region, std::size_t &cursor, std::uint32_t length, unsigned sge_max, ScatterList &list)
{
	unsigned count = random_.chance(50) ? 1 : random_.between(1U, sge_max);
	if (length == 0)
		count = random_.chance(50) ? 0 : 1;
	list.count = count;
	std::uint32_t left = length;
	for (unsigned i = 0; i < count; i++) {
		std::uint32_t part = left;
		if (i + 1 < count && left > 0)
			part = static_cast<std::uint32_t>(1 + random_.below(std::max(left / (count - i), 1U)));
		if (!take(region, cursor, part, list.piece[i]))
			return false;
		const KeyedAddress where = region.keyed(list.piece[i], random_);
		list.sge[i] = {where.address, part, where.lkey};
		left -= part;
	}
	return true;
}

// The next free range of the region, at times placed across a page's end.
bool Planner::take(Region &region, std::size_t &cursor, std::uint32_t length, Piece &piece)
{
	cursor += random_.chance(50) ? 0 : random_.below(64);
	if (length > 1 && length <= 4096 && random_.chance(15))
		cursor = ((cursor + length) | 4095) + 1 - length / 2;
	if (cursor + length > region.end())
		return false;
	piece = {cursor, length};
	cursor += length;
	return true;
}

// A random earlier operation of the round of which `wanted` is true, if a few tries find one.
Operation *Planner::earlier(Round &round, bool (*wanted)(const Operation &))
{
	if (round.operations.size() < 2)
		return nullptr;
	for (int tries = 0; tries < 4; tries++) {
		Operation &candidate = round.operations[random_.below(round.operations.size() - 1)];
		if (wanted(candidate))
			return &candidate;
	}
	return nullptr;
}

std::uint32_t Planner::random_length()
{
	const auto dice = random_.below(1000);
	std::uint32_t length;
	if (dice < 40)
		length = 0;
	else if (dice < 350)
		length = random_.between(1U, 16U);
	else if (dice < 620)
		length = random_.between(17U, 256U);
	else if (dice < 830)
		length = random_.between(257U, 4096U);
	else if (dice < 920)
		length = random_.between(1U, 8U) * limits_.mtu - 1 + random_.between(0U, 2U);
	else if (dice < 990)
		length = random_.between(4097U, 32768U);
	else if (dice < 998)
		length = random_.between(32769U, 70000U);
	else
		length = static_cast<std::uint32_t>(random_.below(limits_.message_max)) + 1;
	return std::min(length, limits_.message_max);
}

std::uint32_t Planner::length_max(ibv_wr_opcode opcode) const
{
	return is_send(opcode) ? limits_.send_max : limits_.message_max;
}

}  // namespace verbs_test
