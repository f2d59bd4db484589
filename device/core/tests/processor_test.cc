// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "core/tests/fake_host.hh"

namespace ohca::core::test {
namespace {

struct ProcessorTest : testing::Test {
	FakeFunction host;
	ohca_cmd_entry nop(uint16_t slot = 0)
	{
		ohca_cmd_entry entry{};
		entry.opcode = OHCA_CMD_NOP;
		entry.slot = slot;
		entry.generation = 0x1000u + slot;
		entry.input_address = host.input();
		entry.output_address = host.output();
		return entry;
	}
	ohca_cmd_completion run(const ohca_cmd_entry &entry)
	{
		host.push_entry(entry);
		host.ring_commands();
		host.step();
		auto completion = host.poll_completion();
		EXPECT_TRUE(completion);
		return completion.value_or(ohca_cmd_completion{});
	}
	void expect(const ohca_cmd_entry &entry, uint8_t status, uint32_t detail = OHCA_CMD_DETAIL_NONE)
	{
		ohca_cmd_completion completion = run(entry);
		EXPECT_EQ(completion.status, status);
		EXPECT_EQ(completion.detail, detail);
		EXPECT_EQ(completion.slot, entry.slot);
		EXPECT_EQ(completion.generation, entry.generation);
	}
};

TEST_F(ProcessorTest, EnableChecksFeatures) // OHCA-RST-D8
{
	EnableRequest request = host.enable_request();
	request.driver_features = OHCA_FEATURES_ALL | (uint64_t{1} << 40);
	EXPECT_EQ(enable_function(host.function(), request), unsigned{OHCA_FAIL_FEATURES});
	request.driver_features = OHCA_FEATURE_ATOMIC;
	EXPECT_EQ(enable_function(host.function(), request), unsigned{OHCA_FAIL_FEATURES});
	EXPECT_FALSE(host.function().running());
	request.driver_features = OHCA_FEATURE_RC;
	EXPECT_EQ(enable_function(host.function(), request), unsigned{OHCA_FAIL_NONE});
	EXPECT_TRUE(host.function().running());
	EXPECT_FALSE(host.function().has_feature(OHCA_FEATURE_ATOMIC));
}

TEST_F(ProcessorTest, EnableChecksTheCommandQueue) // OHCA-RST-D8
{
	const EnableRequest good = host.enable_request();
	EnableRequest request = good;
	for (uint32_t log_depth : {0u, 3u, 13u, 255u}) {
		request.cmdq_log_depth = log_depth;
		EXPECT_EQ(enable_function(host.function(), request), unsigned{OHCA_FAIL_CMDQ_CONFIG});
	}
	for (auto field : {&EnableRequest::cmdq_sq_address, &EnableRequest::cmdq_cq_address,
			   &EnableRequest::cmdq_record_address}) {
		request = good;
		request.*field += 8;
		EXPECT_EQ(enable_function(host.function(), request), unsigned{OHCA_FAIL_CMDQ_CONFIG});
		request.*field = 0xdead'0000'0000;
		EXPECT_EQ(enable_function(host.function(), request), unsigned{OHCA_FAIL_CMDQ_DMA});
	}
}

TEST_F(ProcessorTest, CompletesInOrderWithPhase) // OHCA-CMD-D1, OHCA-CMD-D2, OHCA-CMD-D4
{
	host.enable();
	for (int round = 0; round < 10; round++) {
		for (uint16_t slot = 0; slot < 32; slot++)
			host.push_entry(nop(slot));
		host.ring_commands();
		for (int pass = 0; pass < 4; pass++)
			host.step();
		for (uint16_t slot = 0; slot < 32; slot++) {
			auto completion = host.poll_completion();
			ASSERT_TRUE(completion);
			EXPECT_EQ(completion->slot, slot);
			EXPECT_EQ(completion->generation, 0x1000u + slot);
			EXPECT_EQ(completion->status, OHCA_CMD_STATUS_OK);
		}
		EXPECT_FALSE(host.poll_completion());
	}
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS), 320u);
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS_FAILED), 0u);
}

TEST_F(ProcessorTest, TakesABoundedNumberPerPass)
{
	host.enable();
	for (uint16_t slot = 0; slot < 32; slot++)
		host.push_entry(nop(slot));
	host.ring_commands();
	host.step();
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS), kCommandsPerPass);
	host.step(); // without another doorbell
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS), 32u);
}

TEST_F(ProcessorTest, LongPageListsEndThePass) // OHCA-CMD-D16
{
	host.bring_up();
	uint32_t pd = host.create_pd();
	constexpr uint32_t kPages = 100'000;
	uint64_t table = host.allocate(kPages * 8);
	for (uint32_t i = 0; i < kPages; i++)
		host.at<uint64_t>(table + i * 8) = uint64_t{i} * 2 * 4096;
	ohca_page_list list{};
	list.address = table;
	list.page_count = kPages;
	list.log_page_size = 12;
	list.levels = 1;
	auto in = FakeFunction::mkey_request(pd, list, 0, uint64_t{kPages} * 4096);
	std::memcpy(host.host(host.input()), &in, sizeof(in));
	ohca_cmd_entry entry = nop();
	entry.opcode = OHCA_CMD_CREATE_MKEY;
	entry.input_length = sizeof(in);
	entry.output_length = sizeof(ohca_cmd_create_mkey_out);
	uint64_t before = host.counter(OHCA_COUNTER_COMMANDS);
	for (uint16_t slot = 0; slot < 3; slot++) {
		entry.slot = slot;
		host.push_entry(entry);
	}
	host.ring_commands();
	for (uint64_t done = 1; done <= 3; done++) {
		host.step();
		EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS), before + done);
		EXPECT_EQ(host.poll_completion()->status, OHCA_CMD_STATUS_OK);
	}
}

TEST_F(ProcessorTest, RefusesSlotsOutOfRange) // OHCA-CMD-D3
{
	host.enable();
	expect(nop(32), OHCA_CMD_STATUS_BUSY_SLOT);
	expect(nop(0xffff), OHCA_CMD_STATUS_BUSY_SLOT);
	expect(nop(31), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS_FAILED), 2u);
}

// OHCA-CMD-D14
TEST_F(ProcessorTest, RefusesUnknownOpcodes)
{
	host.enable();
	for (uint16_t opcode : std::initializer_list<uint16_t>{0, 6, 0xf, 0x1a, 0x34, 0xff, 0xffff}) {
		ohca_cmd_entry entry = nop();
		entry.opcode = opcode;
		expect(entry, OHCA_CMD_STATUS_BAD_OPCODE);
	}
}

// OHCA-GEN-D2
TEST_F(ProcessorTest, RefusesReservedBytes)
{
	host.enable();
	ohca_cmd_entry entry = nop();
	entry.reserved_100[31] = 1;
	expect(entry, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
}

TEST_F(ProcessorTest, RefusesWrongLengths) // OHCA-CMD-D12
{
	host.enable();
	ohca_cmd_entry entry = nop();
	entry.input_length = 1;
	expect(entry, OHCA_CMD_STATUS_BAD_LENGTH, OHCA_CMD_DETAIL_LENGTH);
	entry = nop();
	entry.opcode = OHCA_CMD_QUERY_DEVICE;
	entry.output_length = sizeof(ohca_cmd_query_device_out) - 1;
	expect(entry, OHCA_CMD_STATUS_BAD_LENGTH, OHCA_CMD_DETAIL_LENGTH);
	entry.output_length = 4096; // more is allowed
	expect(entry, OHCA_CMD_STATUS_OK);
	entry = nop();
	entry.opcode = OHCA_CMD_SET_PORT;
	for (uint32_t length : {0u, 7u, 9u, 4096u, 0xffffffffu}) {
		entry.input_length = length;
		expect(entry, OHCA_CMD_STATUS_BAD_LENGTH, OHCA_CMD_DETAIL_LENGTH);
	}
}

TEST_F(ProcessorTest, UnreachableMailboxes) // OHCA-CMD-D9
{
	host.enable();
	ohca_cmd_entry entry = nop();
	entry.opcode = OHCA_CMD_SET_PORT;
	entry.input_length = sizeof(ohca_cmd_set_port_in);
	entry.input_address = 0xdead'0000;
	expect(entry, OHCA_CMD_STATUS_DMA_FAULT);
	entry.input_address = UINT64_MAX - 3;
	expect(entry, OHCA_CMD_STATUS_DMA_FAULT);

	// A create command whose answer cannot be delivered has not happened.
	entry = nop();
	entry.opcode = OHCA_CMD_CREATE_PD;
	entry.output_length = sizeof(ohca_cmd_handle);
	entry.output_address = 0xdead'0000;
	expect(entry, OHCA_CMD_STATUS_DMA_FAULT);
	EXPECT_EQ(host.function().context().object_count(), 0u);
}

TEST_F(ProcessorTest, WritesNothingIfRefused) // OHCA-CMD-D10
{
	host.enable();
	std::memset(host.host(host.output()), 0xcc, 4096);
	ohca_cmd_entry entry = nop();
	entry.opcode = OHCA_CMD_QUERY_QP;
	entry.input_length = sizeof(ohca_cmd_handle);
	entry.output_length = sizeof(ohca_cmd_query_qp_out);
	std::memset(host.host(host.input()), 0, 8);
	expect(entry, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_QP);
	entry = nop();
	entry.opcode = OHCA_CMD_CREATE_PD;
	entry.output_length = 4096;
	expect(entry, OHCA_CMD_STATUS_OK);
	EXPECT_EQ(host.at<uint8_t>(host.output() + 8), 0xcc); // nor beyond the structure
}

TEST_F(ProcessorTest, FailsWhenTheProducerIsTooFarAhead) // OHCA-CMD-D7
{
	host.enable();
	host.cmdq_record().producer = 33;
	host.ring_commands();
	host.step();
	EXPECT_EQ(host.function().state().failure, unsigned{OHCA_FAIL_CMDQ_INDEX});
	EXPECT_EQ(host.uar(0).device_state, unsigned{OHCA_UAR_DEVICE_FAILED});
	EXPECT_EQ(host.function().take_interrupts(), 1u); // vector 0
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS), 0u);
}

// OHCA-CMD-D7
TEST_F(ProcessorTest, FailsOnGarbageInCompletionConsumer)
{
	host.enable();
	host.cmdq_record().completion_consumer = 1; // nothing has been completed
	host.ring_commands();
	host.step();
	EXPECT_EQ(host.function().state().failure, unsigned{OHCA_FAIL_CMDQ_INDEX});
}

TEST_F(ProcessorTest, FailsWhenTheRingsAreGone)
{
	host.enable();
	host.dma.clear();
	host.ring_commands();
	host.step();
	EXPECT_EQ(host.function().state().failure, unsigned{OHCA_FAIL_CMDQ_DMA});
}

TEST_F(ProcessorTest, WaitsForRoomInTheCompletionRing) // OHCA-CMD-D6
{
	host.enable();
	for (uint16_t slot = 0; slot < 32; slot++)
		host.push_entry(nop(slot));
	host.ring_commands();
	for (int pass = 0; pass < 4; pass++)
		host.step();
	// All 32 done, none read: further entries stay in the ring.
	for (uint16_t slot = 0; slot < 4; slot++)
		host.push_entry(nop(slot));
	host.ring_commands();
	host.step();
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS), 32u);
	EXPECT_TRUE(host.function().commands_pending());
	for (int i = 0; i < 32; i++)
		EXPECT_TRUE(host.poll_completion());
	host.step();
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMMANDS), 36u);
}

TEST_F(ProcessorTest, InterruptsOnlyIfArmed) // OHCA-CMD-D8
{
	host.enable();
	run(nop());
	EXPECT_EQ(host.function().take_interrupts(), 0u);
	host.cmdq_record().interrupt_arm = 1;
	run(nop());
	EXPECT_EQ(host.function().take_interrupts(), 1u);
	EXPECT_EQ(host.cmdq_record().interrupt_arm, 0u);
	run(nop());
	EXPECT_EQ(host.function().take_interrupts(), 0u);
}

TEST_F(ProcessorTest, SurvivesGarbageEntries) // acceptance: garbage in the command ring
{
	host.bring_up();
	std::mt19937_64 random(42);
	for (int round = 0; round < 3000; round++) {
		uint64_t words[sizeof(ohca_cmd_entry) / 8];
		for (uint64_t &word : words)
			word = random();
		auto entry = std::bit_cast<ohca_cmd_entry>(words);
		// Some of it plausible, so that it comes past the first checks.
		if (random() % 4) {
			std::memset(entry.reserved_100, 0, sizeof(entry.reserved_100));
			entry.slot %= 32;
			entry.opcode %= 0x28;
			entry.input_address = host.input();
			entry.output_address = host.output();
			static constexpr uint32_t kLengths[] = {0, 8, 32, 56, 80};
			entry.input_length = kLengths[random() % 5];
			entry.output_length = 4096;
			for (uint64_t at = 0; at < 128; at += 8)
				host.at<uint64_t>(host.input() + at) = random() % 3 ? random() % 4 : random();
		}
		run(entry);
		ASSERT_TRUE(host.function().running());
	}
	// It still works.
	ohca_cmd_query_device_out out;
	EXPECT_TRUE(host.query(OHCA_CMD_QUERY_DEVICE, out).ok());
}

} // namespace
} // namespace ohca::core::test
