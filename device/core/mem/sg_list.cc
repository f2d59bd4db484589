// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/sg_list.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "core/mem/function_memory.hh"
#include "core/mem/protected_stream.hh"

namespace ohca::core {

namespace {

constexpr size_t kBounceSize = 4096;

// The front of a cursor: contiguous on the bus, and a pointer if there is shared memory behind it.
struct Piece {
	std::byte *pointer = nullptr;
	uint64_t bus_address = 0;
	uint64_t length = 0; // 0: the cursor is at its end
};

DmaSpace *space_of(const SgCursor &cursor)
{
	if (cursor.index >= cursor.count || !cursor.ranges[cursor.index].memory)
		return nullptr;
	return &cursor.ranges[cursor.index].memory->dma();
}

Piece front(SgCursor &cursor, uint64_t length, bool write)
{
	while (cursor.index < cursor.count && cursor.offset >= cursor.ranges[cursor.index].length) {
		cursor.offset -= cursor.ranges[cursor.index].length;
		cursor.index++;
	}
	if (cursor.index >= cursor.count)
		return {};
	const SgRange &range = cursor.ranges[cursor.index];
	length = std::min(length, range.length - cursor.offset);
	if (!range.memory)
		return {range.bytes + cursor.offset, 0, length};
	auto bus = range.memory->bus_range(*range.mkey, range.address + cursor.offset, length);
	if (!bus.length) [[unlikely]]
		return {};
	std::span<std::byte> direct = range.memory->dma().translate(bus.address, bus.length, write);
	if (!direct.empty())
		return {direct.data(), bus.address, direct.size()};
	return {nullptr, bus.address, bus.length};
}

uint64_t load64(const std::byte *from)
{
	uint64_t value;
	std::memcpy(&value, from, sizeof(value));
	return value;
}

void store64(std::byte *to, uint64_t value)
{
	std::memcpy(to, &value, sizeof(value));
}

// Applications poll the last byte of what a peer WRITEs, as adapters place a message front to back.
// memcpy promises no order, so the last 8 bytes are stored by themselves, after the rest.
void copy_in_order(std::byte *to, const std::byte *from, uint64_t length)
{
	if (length < sizeof(uint64_t)) {
		std::memmove(to, from, length);
		return;
	}
	uint64_t tail = load64(from + length - sizeof(uint64_t)); // first: the ranges may overlap
	if (length > 2 * sizeof(uint64_t))
		std::memmove(to, from, length - sizeof(uint64_t));
	else if (length > sizeof(uint64_t))
		store64(to, load64(from));
	std::atomic_thread_fence(std::memory_order_release);
	store64(to + length - sizeof(uint64_t), tail);
}

// At least one side has no shared memory: through the stack. Translates both sides again, as
// reading in band may change the map.
CopyResult copy_in_band(DmaSpace *to_space, const Piece &to, DmaSpace *from_space, const Piece &from,
			uint64_t length)
{
	std::array<std::byte, kBounceSize> bounce;
	std::span<std::byte> bytes(bounce.data(), length);
	if (!from_space)
		std::memcpy(bytes.data(), from.pointer, length);
	else if (!from_space->read(from.bus_address, bytes))
		return CopyResult::kSourceFault;
	if (!to_space)
		std::memcpy(to.pointer, bytes.data(), length);
	else if (!to_space->write(to.bus_address, bytes))
		return CopyResult::kDestinationFault;
	return CopyResult::kOk;
}

enum class Indirect : bool { kDestination, kSource };

bool is_at_protected_key(const SgCursor &cursor)
{
	return cursor.index < cursor.count && cursor.ranges[cursor.index].memory &&
	       cursor.ranges[cursor.index].mkey->flags & kMkeyFlagIntegrity;
}

// The front of a cursor is not memory: it is at its end, or at a key whose bytes are made on the way.
CopyResult copy_indirect(SgCursor &destination, SgCursor &source, uint64_t &length, Indirect side)
{
	const bool to_key = side == Indirect::kDestination;
	uint64_t done = 0;

	if (!is_at_protected_key(to_key ? destination : source))
		return to_key ? CopyResult::kDestinationFault : CopyResult::kSourceFault;
	const CopyResult result = to_key ? copy_to_protected(destination, source, length, done)
					 : copy_from_protected(destination, source, length, done);
	length -= done;
	return result;
}

} // namespace

void SgCursor::skip(uint64_t bytes)
{
	while (index < count && bytes >= ranges[index].length - offset) {
		bytes -= ranges[index].length - offset;
		offset = 0;
		index++;
	}
	if (index < count)
		offset += bytes;
}

CopyResult copy(SgCursor &destination, SgCursor &source, uint64_t length)
{
	while (length) {
		Piece to = front(destination, length, true);
		if (!to.length) [[unlikely]] {
			const CopyResult result = copy_indirect(destination, source, length, Indirect::kDestination);
			if (result != CopyResult::kOk)
				return result;
			continue;
		}
		DmaSpace *to_space = space_of(destination);
		uint64_t to_generation = to_space ? to_space->generation() : 0;
		Piece from = front(source, to.length, false);
		if (!from.length) [[unlikely]] {
			const CopyResult result = copy_indirect(destination, source, length, Indirect::kSource);
			if (result != CopyResult::kOk)
				return result;
			continue;
		}
		if (to_space && to_space->generation() != to_generation)
			continue; // translating the source changed the map: the other pointer is stale
		DmaSpace *from_space = space_of(source);
		uint64_t piece = from.length;
		if (to.pointer && from.pointer) {
			uint64_t to_faults = to_space ? to_space->fault_count() : 0;
			uint64_t from_faults = from_space ? from_space->fault_count() : 0;
			copy_in_order(to.pointer, from.pointer, piece);
			if (from_space && from_space->fault_count() != from_faults)
				return CopyResult::kSourceFault;
			if (to_space && to_space->fault_count() != to_faults)
				return CopyResult::kDestinationFault;
		} else {
			piece = std::min<uint64_t>(piece, kBounceSize);
			CopyResult result = copy_in_band(to_space, to, from_space, from, piece);
			if (result != CopyResult::kOk)
				return result;
		}
		destination.skip(piece);
		source.skip(piece);
		length -= piece;
	}
	return CopyResult::kOk;
}

} // namespace ohca::core
