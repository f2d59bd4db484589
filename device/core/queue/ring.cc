// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/queue/ring.hh"

#include <atomic>

#include "core/endian.hh"

namespace ohca::core {

bool load_record(Function &function, const PageRange &buffer, uint64_t offset, uint32_t &value)
{
	FunctionMemory &memory = function.memory();
	uint32_t raw = 0;
	uint64_t faults = memory.dma().fault_count();
	if (std::byte *pointer = memory.pointer(buffer, offset, sizeof(raw), false)) {
		raw = std::atomic_ref(*reinterpret_cast<uint32_t *>(pointer)).load(std::memory_order_acquire);
		if (memory.dma().fault_count() != faults)
			return false;
	} else if (!memory.read(buffer, offset, &raw, sizeof(raw))) {
		return false;
	}
	value = from_le(raw);
	return true;
}

bool store_record(Function &function, const PageRange &buffer, uint64_t offset, uint32_t value)
{
	FunctionMemory &memory = function.memory();
	uint32_t raw = to_le(value);
	uint64_t faults = memory.dma().fault_count();
	if (std::byte *pointer = memory.pointer(buffer, offset, sizeof(raw), true)) {
		std::atomic_ref(*reinterpret_cast<uint32_t *>(pointer)).store(raw, std::memory_order_release);
		return memory.dma().fault_count() == faults;
	}
	return memory.write(buffer, offset, &raw, sizeof(raw));
}

bool write_entry_bytes(Function &function, const PageRange &buffer, uint64_t offset, const std::byte *entry,
		       uint64_t size)
{
	FunctionMemory &memory = function.memory();
	uint64_t head = size - sizeof(uint64_t);
	uint64_t tail;
	std::memcpy(&tail, entry + head, sizeof(tail));
	uint64_t faults = memory.dma().fault_count();
	if (std::byte *pointer = memory.pointer(buffer, offset, size, true)) {
		std::memcpy(pointer, entry, head);
		std::atomic_ref(*reinterpret_cast<uint64_t *>(pointer + head)).store(tail, std::memory_order_release);
		return memory.dma().fault_count() == faults;
	}
	return memory.write(buffer, offset, entry, head) &&
	       memory.write(buffer, offset + head, &tail, sizeof(tail));
}

Fetch read_producer(Function &function, const PageRange &buffer, uint64_t field_offset, uint8_t log_depth,
		    uint32_t consumer, uint32_t &seen)
{
	uint32_t producer;
	if (!load_record(function, buffer, field_offset, producer))
		return Fetch::kFault;
	if (producer - consumer > uint32_t{1} << log_depth) {
		function.count(OHCA_COUNTER_DOORBELLS_BAD);
		return Fetch::kBadIndex;
	}
	seen = producer;
	return Fetch::kOk;
}

} // namespace ohca::core
