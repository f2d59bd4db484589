// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/plan.hh"

#include <algorithm>
#include <cstring>

namespace verbs_test {

namespace {

// A copy between scattered ranges, as the device has to do it.
template <typename From, typename To>
void copy_scattered(std::uint32_t length, From from, To to)
{
	while (length > 0) {
		auto [source, source_left] = from.current();
		auto [target, target_left] = to.current();
		const std::uint32_t step = std::min({length, source_left, target_left});
		std::memcpy(target, source, step);
		from.advance(step);
		to.advance(step);
		length -= step;
	}
}

class Cursor {
 public:
	Cursor(std::uint8_t *bytes, std::uint32_t length) : bytes_(bytes), left_(length) {}
	std::pair<std::uint8_t *, std::uint32_t> current() const { return {bytes_, left_}; }
	void advance(std::uint32_t step)
	{
		bytes_ += step;
		left_ -= step;
	}

 private:
	std::uint8_t *bytes_;
	std::uint32_t left_;
};

class ScatteredCursor {
 public:
	// region == nullptr: inline data, the elements are addresses
	ScatteredCursor(const Region *region, const ScatterList &list) : region_(region), list_(list) { skip_empty(); }

	std::pair<std::uint8_t *, std::uint32_t> current() const
	{
		if (region_ == nullptr)
			return {reinterpret_cast<std::uint8_t *>(list_.sge[index_].addr) + done_,
				list_.sge[index_].length - done_};
		const Piece &piece = list_.piece[index_];
		return {region_->model(piece.offset) + done_, piece.length - done_};
	}
	void advance(std::uint32_t step)
	{
		done_ += step;
		skip_empty();
	}

 private:
	void skip_empty()
	{
		while (index_ < list_.count && done_ == list_.sge[index_].length) {
			index_++;
			done_ = 0;
		}
	}

	const Region *region_;
	const ScatterList &list_;
	unsigned index_ = 0;
	std::uint32_t done_ = 0;
};

bool is_write(const Operation &operation)
{
	return (operation.opcode == IBV_WR_RDMA_WRITE || operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) &&
	       operation.length > 0;
}

bool brings_data(const Operation &operation)
{
	return operation.opcode == IBV_WR_RDMA_READ || is_atomic(operation.opcode);
}

}  // namespace

bool uses_receive(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool is_atomic(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

void Planner::plan(const Limits &limits, Round &round)
{
	limits_ = limits;
	round.operations.clear();
	round.receives.clear();
	inline_data_.resize(std::size_t{limits.send_depth} * limits.inline_max);
	inline_used_ = 0;
	local_cursor_ = local_.begin() + random_.below(4096);
	remote_cursor_ = remote_.begin() + random_.below(4096);
	const unsigned wanted = random_.chance(20) ? limits.send_depth : random_.between(1U, limits.send_depth);
	// Pointers to operations are kept while one is added.
	round.operations.reserve(limits.send_depth);
	while (round.operations.size() < wanted && add(round)) {
	}
	Operation &last = round.operations.back();
	last.flags |= IBV_SEND_SIGNALED;
	last.completes = true;
	if (limits.solicit_last && !round.receives.empty())
		round.operations[round.receives.back().operation].flags |= IBV_SEND_SOLICITED;
}

void Planner::scramble_inline()
{
	std::memset(inline_data_.data(), 0xa5, inline_used_);
}

// One more operation; false when the round's memory or queues are used up.
bool Planner::add(Round &round)
{
	Operation &operation = round.operations.emplace_back();
	operation.opcode = random_opcode();
	operation.length = is_atomic(operation.opcode) ? 8 : random_length();
	// The first one always fits: a round is never empty.
	if (round.operations.size() == 1)
		operation.length = std::min<std::uint32_t>(operation.length, limits_.message_max / 4);
	operation.wr_id = ++serial_ << 8 | random_.below(256);
	operation.flags = random_.chance(40) ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0;
	if (random_.chance(10))
		operation.flags |= IBV_SEND_FENCE;
	operation.immediate = static_cast<std::uint32_t>(random_.next());
	bool fits;
	if (is_atomic(operation.opcode))
		fits = add_atomic(round, operation);
	else if (operation.opcode == IBV_WR_RDMA_READ)
		fits = add_read(round, operation);
	else
		fits = add_write(round, operation);
	if (!fits) {
		round.operations.pop_back();
		return false;
	}
	operation.completes = limits_.signal_all || (operation.flags & IBV_SEND_SIGNALED) != 0;
	return true;
}

bool Planner::add_atomic(Round &round, Operation &operation)
{
	const Operation *same = random_.chance(40) ? earlier(round, [](const Operation &o) { return is_atomic(o.opcode); })
						   : nullptr;
	if (same != nullptr) {
		operation.remote = same->remote;
	} else {
		// mappings are page aligned, so an aligned offset is an aligned address
		remote_cursor_ = (remote_cursor_ + 7) & ~std::size_t{7};
		if (!take(remote_, remote_cursor_, 8, operation.remote))
			return false;
		// `take` may have moved it next to a page's end
		operation.remote.offset &= ~std::size_t{7};
	}
	if (!scatter(local_, local_cursor_, 8, 1, operation.local))
		return false;
	const KeyedAddress target = remote_.keyed(operation.remote, random_);
	operation.remote_address = target.address;
	operation.rkey = target.rkey;
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
	const KeyedAddress from = remote_.keyed(operation.remote, random_);
	operation.remote_address = from.address;
	operation.rkey = from.rkey;
	copy_scattered(operation.length, Cursor(remote_.model(operation.remote.offset), operation.length),
		       ScatteredCursor(&local_, operation.local));
	return true;
}

// WRITE*, SEND*
bool Planner::add_write(Round &round, Operation &operation)
{
	const bool send = operation.opcode == IBV_WR_SEND || operation.opcode == IBV_WR_SEND_WITH_IMM;
	if (uses_receive(operation.opcode) && round.receives.size() == limits_.receive_depth)
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
		// everything this one touches belongs to some WRITE of this round
		for (Operation &other : round.operations) {
			if (&other != &operation && is_write(other) &&
			    other.remote.offset < operation.remote.offset + operation.length &&
			    operation.remote.offset < other.remote.offset + other.length)
				other.overwritten = true;
		}
	} else if (!send && !take(remote_, remote_cursor_, operation.length, operation.remote)) {
		return false;
	}
	if (uses_receive(operation.opcode)) {
		if (!add_receive(round, operation))
			return false;
		if (random_.chance(30))
			operation.flags |= IBV_SEND_SOLICITED;
	}
	const Region *from = (operation.flags & IBV_SEND_INLINE) != 0 ? nullptr : &local_;
	if (send) {
		copy_scattered(operation.length, ScatteredCursor(from, operation.local),
			       ScatteredCursor(&remote_, round.receives.back().local));
		return true;
	}
	const KeyedAddress target = remote_.keyed(operation.remote, random_);
	operation.remote_address = target.address;
	operation.rkey = target.rkey;
	copy_scattered(operation.length, ScatteredCursor(from, operation.local),
		       Cursor(remote_.model(operation.remote.offset), operation.length));
	return true;
}

bool Planner::add_receive(Round &round, Operation &operation)
{
	Receive receive{};
	const bool with_data = operation.opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
	std::uint32_t length = with_data ? operation.length : 0;
	// what the message leaves over must stay as it is
	if (random_.chance(50))
		length += static_cast<std::uint32_t>(random_.below(200));
	if (!scatter(remote_, remote_cursor_, length, limits_.receive_sge, receive.local))
		return false;
	receive.wr_id = ~operation.wr_id;
	receive.operation = round.operations.size() - 1;
	round.receives.push_back(receive);
	return true;
}

// may_grow: the operation may become as long as an earlier one whose data it sends.
bool Planner::source(Round &round, Operation &operation, bool may_grow)
{
	if (operation.length <= limits_.inline_max && random_.chance(40))
		return inline_source(operation);
	const Operation *brought = may_grow && random_.chance(5) ? earlier(round, brings_data) : nullptr;
	if (brought != nullptr) {
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

ibv_wr_opcode Planner::random_opcode()
{
	static constexpr ibv_wr_opcode kWeighted[] = {
		IBV_WR_SEND,           IBV_WR_SEND,           IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,  IBV_WR_SEND_WITH_IMM,  IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE,     IBV_WR_RDMA_WRITE,     IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE,     IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,      IBV_WR_RDMA_READ,      IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ,      IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	static constexpr std::size_t kCount = sizeof(kWeighted) / sizeof(kWeighted[0]);
	return kWeighted[random_.below(limits_.atomics ? kCount : kCount - 4)];
}

}  // namespace verbs_test
