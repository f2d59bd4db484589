// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A PCI function without a driver, in the hands of this program: registers,
// UAR page 0 and memory that the function can reach.
#pragma once

#include <rdma/ohca_hw.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hostile {

class BareFunction {
 public:
	static constexpr unsigned kLogDepth = 6;
	static constexpr std::uint32_t kDepth = 1U << kLogDepth;

	// address: such as 0000:00:11.0; no driver may be bound
	explicit BareFunction(const std::string &address);
	BareFunction(const BareFunction &) = delete;
	BareFunction &operator=(const BareFunction &) = delete;

	std::uint32_t read(std::uint32_t offset) const { return registers_[offset / 4]; }
	void write(std::uint32_t offset, std::uint32_t value) const { registers_[offset / 4] = value; }
	void write64(std::uint32_t offset, std::uint64_t value) const;
	volatile std::uint8_t *bar() const { return reinterpret_cast<volatile std::uint8_t *>(registers_); }
	ohca_uar *uar() const { return uar_; }

	// Both fail() when the function does not follow in time.
	void reset();
	void enable();
	bool wait_status(std::uint32_t wanted, double seconds) const;

	// The layout of the memory: queues first, then room for mailboxes and page lists.
	std::uint8_t *memory(std::size_t offset) const { return memory_ + offset; }
	std::uint64_t dma(std::size_t offset) const { return dma_ + offset; }
	ohca_cmdq_record *record() const { return reinterpret_cast<ohca_cmdq_record *>(memory(kRecord)); }
	ohca_cmd_entry *entry(std::uint32_t index) const
	{
		return reinterpret_cast<ohca_cmd_entry *>(memory(kEntries)) + (index & (kDepth - 1));
	}

	// Announces everything up to `producer`.
	void ring(std::uint32_t producer);
	// The next completion; false after `seconds`.
	bool completion(ohca_cmd_completion &result, double seconds);
	// A sound NOP, from submission to completion; fail() if it does not work.
	void expect_nop(const char *after);

	std::uint32_t producer = 0;

	static constexpr std::size_t kRecord = 0;
	static constexpr std::size_t kEntries = 4096;
	static constexpr std::size_t kCompletions = 3 * 4096;
	static constexpr std::size_t kFree = 16 * 4096;
	static constexpr std::size_t kMemorySize = std::size_t{2} << 20;

 private:
	void map_memory();
	void kick() const { registers_[(OHCA_KICK_PAGE_OFF + OHCA_KICK_OFF) / 4] = 1; }

	volatile std::uint32_t *registers_ = nullptr;
	ohca_uar *uar_ = nullptr;
	std::uint8_t *memory_ = nullptr;
	std::uint64_t dma_ = 0;
	std::uint32_t consumer_ = 0;
};

}  // namespace hostile
