// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// hostile_driver ADDRESS - plays the driver of an unbound function, badly:
// garbage in the command ring, its mailboxes, records, registers and UAR page 0.
// After each case the function must come back with RESET and execute a NOP.
#include "deadline.hh"
#include "failure.hh"
#include "hostile/bare_function.hh"
#include "random.hh"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace {

using hostile::BareFunction;
using verbs_test::Deadline;
using verbs_test::fail;
using verbs_test::Random;

constexpr double kAnswerSeconds = 20;

void start(BareFunction &function)
{
	function.reset();
	function.enable();
}

// What garbage may do: each entry gets a completion, or the function says that it has failed.
void drain(BareFunction &function, std::uint32_t count, const char *what)
{
	ohca_cmd_completion completion{};
	for (std::uint32_t i = 0; i < count; i++) {
		const Deadline deadline(kAnswerSeconds);
		while (!function.completion(completion, 0.05)) {
			if ((function.read(OHCA_REGS_STATUS_OFF) & OHCA_STATUS_FAILED) != 0)
				return;
			if (deadline.passed())
				fail("%s: waited %.0f s for completion %u of %u", what, kAnswerSeconds, i, count);
		}
	}
}

void sound(BareFunction &function, Random &)
{
	start(function);
	for (int i = 0; i < 200; i++)
		function.expect_nop("nothing");
}

void garbage_ring(BareFunction &function, Random &random)
{
	for (int round = 0; round < 20; round++) {
		start(function);
		random.fill(function.entry(0), sizeof(ohca_cmd_entry) * BareFunction::kDepth);
		function.ring(BareFunction::kDepth);
		drain(function, BareFunction::kDepth, "garbage in the command ring");
	}
}

// Known opcodes, sound slots, garbage in the mailboxes: what a fuzzer would find first.
void garbage_mailboxes(BareFunction &function, Random &random)
{
	static constexpr std::uint16_t kOpcodes[] = {
		OHCA_CMD_NOP,        OHCA_CMD_QUERY_DEVICE, OHCA_CMD_SET_PORT,     OHCA_CMD_SET_GID,    OHCA_CMD_QUERY_COUNTERS,
		OHCA_CMD_CREATE_EQ,  OHCA_CMD_DESTROY_EQ,   OHCA_CMD_CREATE_UAR,   OHCA_CMD_DESTROY_UAR, OHCA_CMD_CREATE_PD,
		OHCA_CMD_DESTROY_PD, OHCA_CMD_CREATE_MKEY,  OHCA_CMD_DESTROY_MKEY, OHCA_CMD_CREATE_CQ,  OHCA_CMD_DESTROY_CQ,
		OHCA_CMD_CREATE_QP,  OHCA_CMD_MODIFY_QP,    OHCA_CMD_QUERY_QP,     OHCA_CMD_DESTROY_QP,
	};
	static constexpr std::uint32_t kLengths[] = {0, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 104, 4096, 0xffffffff};
	start(function);
	for (int i = 0; i < 3000; i++) {
		ohca_cmd_entry entry{};
		entry.opcode = kOpcodes[random.below(std::size(kOpcodes))];
		entry.slot = static_cast<std::uint16_t>(function.producer % BareFunction::kDepth);
		entry.input_address = function.dma(BareFunction::kFree + random.below(4) * 4096);
		entry.output_address = function.dma(BareFunction::kFree + 5 * 4096);
		entry.input_length = kLengths[random.below(std::size(kLengths))];
		entry.output_length = 4096;
		std::uint8_t *mailbox = function.memory(BareFunction::kFree);
		random.fill(mailbox, 4 * 4096);
		// small numbers are handles and sizes that exist
		for (std::size_t at = 0; at < 4 * 4096 && random.chance(70); at += 4) {
			if (random.chance(60))
				std::memset(mailbox + at, 0, 4);
			if (random.chance(30))
				mailbox[at] = static_cast<std::uint8_t>(random.below(20));
		}
		*function.entry(function.producer) = entry;
		function.ring(function.producer + 1);
		drain(function, 1, "garbage in a mailbox");
		if ((function.read(OHCA_REGS_STATUS_OFF) & OHCA_STATUS_FAILED) != 0)
			start(function);
	}
}

void bad_mailbox_addresses(BareFunction &function, Random &random)
{
	const std::uint64_t addresses[] = {0, 1, ~std::uint64_t{0}, ~std::uint64_t{4095}, std::uint64_t{1} << 62,
					   std::uint64_t{0xfee00000}, std::uint64_t{1} << 40};
	start(function);
	for (int i = 0; i < 200; i++) {
		ohca_cmd_entry entry{};
		entry.opcode = random.chance(50) ? OHCA_CMD_SET_GID : OHCA_CMD_QUERY_DEVICE;
		entry.slot = static_cast<std::uint16_t>(function.producer % BareFunction::kDepth);
		entry.input_address = addresses[random.below(std::size(addresses))];
		entry.output_address = addresses[random.below(std::size(addresses))];
		entry.input_length = entry.opcode == OHCA_CMD_SET_GID ? sizeof(ohca_cmd_set_gid_in) : 0;
		entry.output_length = 4096;
		*function.entry(function.producer) = entry;
		function.ring(function.producer + 1);
		drain(function, 1, "a mailbox at a bad address");
	}
	function.expect_nop("mailboxes at bad addresses");
}

void producer_beyond_ring(BareFunction &function, Random &random)
{
	for (int round = 0; round < 10; round++) {
		start(function);
		function.ring(BareFunction::kDepth + 1 + static_cast<std::uint32_t>(random.below(0x7fffffff)));
		if (!function.wait_status(OHCA_STATUS_FAILED, kAnswerSeconds))
			fail("a producer beyond the ring: waited %.0f s for STATUS.FAILED", kAnswerSeconds);
		if (function.read(OHCA_REGS_FAIL_REASON_OFF) != OHCA_FAIL_CMDQ_INDEX)
			fail("FAIL_REASON is %u instead of %u", function.read(OHCA_REGS_FAIL_REASON_OFF), OHCA_FAIL_CMDQ_INDEX);
	}
}

void garbage_record(BareFunction &function, Random &random)
{
	for (int round = 0; round < 20; round++) {
		start(function);
		random.fill(function.record(), sizeof(ohca_cmdq_record));
		function.ring(static_cast<std::uint32_t>(random.below(BareFunction::kDepth)));
		usleep(10000);
	}
}

void bad_queue_addresses(BareFunction &function, Random &)
{
	function.reset();
	function.write64(OHCA_REGS_DRIVER_FEATURES_OFF, OHCA_FEATURES_MANDATORY);
	function.write64(OHCA_REGS_CMDQ_SQ_ADDR_OFF, std::uint64_t{1} << 50);
	function.write64(OHCA_REGS_CMDQ_CQ_ADDR_OFF, std::uint64_t{1} << 51);
	function.write64(OHCA_REGS_CMDQ_RECORD_ADDR_OFF, std::uint64_t{1} << 52);
	function.write(OHCA_REGS_CMDQ_LOG_DEPTH_OFF, BareFunction::kLogDepth);
	function.write(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE);
	if (!function.wait_status(OHCA_STATUS_FAILED, kAnswerSeconds))
		fail("ENABLE with queues that are not there: waited %.0f s for STATUS.FAILED", kAnswerSeconds);
	function.reset();
	function.write64(OHCA_REGS_DRIVER_FEATURES_OFF, ~std::uint64_t{0});
	function.write(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE);
	if (!function.wait_status(OHCA_STATUS_FAILED, kAnswerSeconds))
		fail("ENABLE with unknown features: waited %.0f s for STATUS.FAILED", kAnswerSeconds);
}

// All sizes of access everywhere in the control page and the kick page, but not the MSI-X table.
void garbage_registers(BareFunction &function, Random &random)
{
	start(function);
	for (int i = 0; i < 3000; i++) {
		volatile std::uint8_t *at = function.bar() + (random.below(OHCA_MSIX_TABLE_OFF) & ~std::uint64_t{7});
		const std::uint64_t value = random.next();
		switch (random.below(5)) {
		case 0: at[random.below(8)] = static_cast<std::uint8_t>(value); break;
		case 1:
			*reinterpret_cast<volatile std::uint16_t *>(at + 2 * random.below(4)) = static_cast<std::uint16_t>(value);
			break;
		case 2: *reinterpret_cast<volatile std::uint32_t *>(at) = static_cast<std::uint32_t>(value); break;
		case 3: *reinterpret_cast<volatile std::uint64_t *>(at) = value; break;
		default: (void)*reinterpret_cast<volatile std::uint64_t *>(at); break;
		}
	}
}

void garbage_uar(BareFunction &function, Random &random)
{
	start(function);
	for (int i = 0; i < 3000; i++) {
		random.fill(function.uar(), OHCA_UAR_SIZE);
		if (i % 100 == 0)
			usleep(1000);
	}
}

void reset_storm(BareFunction &function, Random &random)
{
	for (int i = 0; i < 100; i++) {
		start(function);
		random.fill(function.entry(0), sizeof(ohca_cmd_entry) * BareFunction::kDepth);
		function.ring(BareFunction::kDepth / 2);
	}
}

struct Case {
	const char *name;
	void (*function)(BareFunction &, Random &);
};

}  // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fputs("usage: hostile_driver ADDRESS     (of an unbound function, such as 0000:00:11.0)\n", stderr);
		return 2;
	}
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	BareFunction function(argv[1]);
	Random random(20);
	static constexpr Case kCases[] = {
		{"a sound command ring", sound},
		{"garbage in the command ring", garbage_ring},
		{"garbage in mailboxes", garbage_mailboxes},
		{"mailboxes at bad addresses", bad_mailbox_addresses},
		{"producer beyond the command ring", producer_beyond_ring},
		{"garbage in the command queue's record", garbage_record},
		{"command queue at bad addresses", bad_queue_addresses},
		{"garbage in the registers", garbage_registers},
		{"garbage in the kernel's UAR page", garbage_uar},
		{"resets in a row", reset_storm},
	};
	for (const Case &one : kCases) {
		one.function(function, random);
		start(function);
		function.expect_nop(one.name);
		std::printf("ok %s\n", one.name);
	}
	function.reset();
	return 0;
}
