// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the send and the receive ring have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/context.hh"
#include "core/function.hh"
#include "core/queue/queues.hh"

namespace ohca::core {

// One entry of a ring in host memory. Entries never cross a page (their stride divides 4096 and
// their offset), so one translation serves all reads. Each byte is to be read once.
class RingSlot {
public:
	RingSlot(Function &function, const PageRange &buffer, const QueueRing &ring, uint32_t index)
		: memory_(function.memory()), buffer_(buffer), stride_(uint64_t{1} << ring.log_stride)
	{
		uint64_t slot = index & ((uint64_t{1} << ring.log_depth) - 1);
		offset_ = ring.offset + slot * stride_;
		pointer_ = memory_.pointer(buffer_, offset_, stride_, false);
		faults_ = memory_.dma().fault_count();
	}

	uint64_t stride() const { return stride_; }

	bool read(uint64_t at, void *to, uint64_t length)
	{
		if (!pointer_)
			return memory_.read(buffer_, offset_ + at, to, length);
		std::memcpy(to, pointer_ + at, length);
		return memory_.dma().fault_count() == faults_;
	}

private:
	FunctionMemory &memory_;
	const PageRange &buffer_;
	uint64_t stride_;
	uint64_t offset_;
	std::byte *pointer_;
	uint64_t faults_;
};

// Loads a producer index from the record in a queue's buffer into `seen`. kBadIndex (counted) if it
// is more than the ring's depth ahead of `consumer`, the oldest slot in use: such a queue is garbage.
Fetch read_producer(Function &function, const PageRange &buffer, uint64_t field_offset, uint8_t log_depth,
		    uint32_t consumer, uint32_t &seen);

// 32-bit accesses to a record (producer, consumer, arm words) at an aligned offset. Loads acquire:
// they pair with the host's release store of the index after it has written the entries.
bool load_record(Function &function, const PageRange &buffer, uint64_t offset, uint32_t &value);
bool store_record(Function &function, const PageRange &buffer, uint64_t offset, uint32_t value);

// Writes an entry whose last byte is the owner bit that the host polls: the last 8 bytes are
// stored by themselves (release), after all others. False: not reachable.
bool write_entry_bytes(Function &function, const PageRange &buffer, uint64_t offset, const std::byte *entry,
		       uint64_t size);

template <typename Entry>
bool write_entry(Function &function, const PageRange &buffer, uint64_t offset, const Entry &entry)
{
	static_assert(offsetof(Entry, owner) == sizeof(Entry) - 1 && sizeof(Entry) % sizeof(uint64_t) == 0);
	return write_entry_bytes(function, buffer, offset, reinterpret_cast<const std::byte *>(&entry),
				 sizeof(entry));
}

} // namespace ohca::core
