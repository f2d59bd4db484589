// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "hostile/bare_function.hh"

#include "deadline.hh"
#include "failure.hh"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hostile {

using namespace verbs_test;

namespace {

constexpr double kResetSeconds = 30;

void *map_resource(const std::string &path, std::size_t length)
{
	const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
	if (file < 0)
		fail_errno(path.c_str(), last_error());
	void *result = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (result == MAP_FAILED)
		fail_errno(path.c_str(), last_error());
	return result;
}

// Memory decoding and bus mastering, as a driver's probe would switch them on.
void switch_on(const std::string &folder)
{
	constexpr off_t kCommand = 4;
	std::uint16_t command = 0;
	const int file = open((folder + "/config").c_str(), O_RDWR | O_CLOEXEC);
	if (file < 0 || pread(file, &command, 2, kCommand) != 2)
		fail_errno("the configuration space", last_error());
	command |= 6;
	if (pwrite(file, &command, 2, kCommand) != 2)
		fail_errno("the configuration space", last_error());
	close(file);
}

}  // namespace

BareFunction::BareFunction(const std::string &address)
{
	const std::string folder = "/sys/bus/pci/devices/" + address;
	if (access((folder + "/driver").c_str(), F_OK) == 0)
		fail("%s has a driver", address.c_str());
	switch_on(folder);
	registers_ = static_cast<volatile std::uint32_t *>(map_resource(folder + "/resource0", OHCA_CONTROL_BAR_SIZE));
	uar_ = static_cast<ohca_uar *>(map_resource(folder + "/resource2", OHCA_UAR_SIZE));
	map_memory();
	if (read(OHCA_REGS_MAGIC_OFF) != OHCA_MAGIC)
		fail("%s: magic 0x%x", address.c_str(), read(OHCA_REGS_MAGIC_OFF));
}

// A huge page is contiguous for the function, too; /proc/self/pagemap has its address.
void BareFunction::map_memory()
{
	void *page = mmap(nullptr, kMemorySize, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE | MAP_LOCKED, -1, 0);
	if (page == MAP_FAILED)
		fail_errno("a huge page", last_error());
	memory_ = static_cast<std::uint8_t *>(page);
	std::uint64_t entry = 0;
	const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(page) / 4096 * 8);
	if (file < 0 || pread(file, &entry, 8, at) != 8 || (entry >> 63) == 0)
		fail_errno("/proc/self/pagemap", last_error());
	close(file);
	dma_ = (entry & ((std::uint64_t{1} << 55) - 1)) * 4096;
}

void BareFunction::write64(std::uint32_t offset, std::uint64_t value) const
{
	write(offset, static_cast<std::uint32_t>(value));
	write(offset + 4, static_cast<std::uint32_t>(value >> 32));
}

bool BareFunction::wait_status(std::uint32_t wanted, double seconds) const
{
	const Deadline deadline(seconds);
	while ((read(OHCA_REGS_STATUS_OFF) & wanted) != wanted || read(OHCA_REGS_STATUS_OFF) == OHCA_STATUS_GONE) {
		if (deadline.passed())
			return false;
		usleep(100);
	}
	return true;
}

void BareFunction::reset()
{
	write(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_RESET);
	const Deadline deadline(kResetSeconds);
	while (read(OHCA_REGS_STATUS_OFF) != OHCA_STATUS_READY) {
		if (deadline.passed())
			fail("waited %.0f s for READY after RESET, STATUS is 0x%x", kResetSeconds, read(OHCA_REGS_STATUS_OFF));
		usleep(100);
	}
	std::memset(memory_, 0, kFree);
	std::memset(uar_, 0, OHCA_UAR_SIZE);
	producer = consumer_ = 0;
}

void BareFunction::enable()
{
	write64(OHCA_REGS_DRIVER_FEATURES_OFF, OHCA_FEATURES_MANDATORY);
	write64(OHCA_REGS_CMDQ_SQ_ADDR_OFF, dma(kEntries));
	write64(OHCA_REGS_CMDQ_CQ_ADDR_OFF, dma(kCompletions));
	write64(OHCA_REGS_CMDQ_RECORD_ADDR_OFF, dma(kRecord));
	write(OHCA_REGS_CMDQ_LOG_DEPTH_OFF, kLogDepth);
	write(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE);
	if (!wait_status(OHCA_STATUS_ENABLED, kResetSeconds))
		fail("waited %.0f s for ENABLED, STATUS is 0x%x, reason %u", kResetSeconds, read(OHCA_REGS_STATUS_OFF),
		     read(OHCA_REGS_FAIL_REASON_OFF));
}

void BareFunction::ring(std::uint32_t new_producer)
{
	producer = new_producer;
	__atomic_store_n(&record()->producer, producer, __ATOMIC_RELEASE);
	__atomic_fetch_or(&uar_->notify[0], std::uint64_t{1} << OHCA_UAR_CMDQ_SLOT, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&uar_->summary, std::uint64_t{1}, __ATOMIC_SEQ_CST);
	kick();
}

bool BareFunction::completion(ohca_cmd_completion &result, double seconds)
{
	const auto *next = reinterpret_cast<ohca_cmd_completion *>(memory(kCompletions)) + (consumer_ & (kDepth - 1));
	const std::uint8_t phase = (consumer_ >> kLogDepth & 1) == 0 ? OHCA_CMD_COMPLETION_PHASE : 0;
	const Deadline deadline(seconds);
	while ((__atomic_load_n(&next->owner, __ATOMIC_ACQUIRE) & OHCA_CMD_COMPLETION_PHASE) != phase) {
		if (deadline.passed())
			return false;
		usleep(50);
	}
	result = *next;
	consumer_++;
	__atomic_store_n(&record()->completion_consumer, consumer_, __ATOMIC_RELEASE);
	return true;
}

void BareFunction::expect_nop(const char *after)
{
	ohca_cmd_entry nop{};
	nop.opcode = OHCA_CMD_NOP;
	nop.slot = static_cast<std::uint16_t>(producer & (kDepth - 1));
	nop.generation = 0x4e4f50;
	*entry(producer) = nop;
	ring(producer + 1);
	ohca_cmd_completion result{};
	do {
		if (!completion(result, 10))
			fail("%s: waited 10 s for a NOP; STATUS is 0x%x", after, read(OHCA_REGS_STATUS_OFF));
	} while (result.generation != nop.generation);
	if (result.status != OHCA_CMD_STATUS_OK)
		fail("%s: a NOP has status %u", after, result.status);
}

}  // namespace hostile
