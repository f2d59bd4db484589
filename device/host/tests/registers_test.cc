// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/registers.hh"

#include <cstring>
#include <gtest/gtest.h>
#include <rdma/ohca_hw_regs.h>

namespace ohca::host {
namespace {

using Action = ControlRegisters::Action;

struct Registers : testing::Test {
	ControlRegisters registers{{.device_features = 0x1'0000'0007, .uar_count = 1024, .vector_count = 32,
				    .mac = 0x0100'7700'5452}};

	uint32_t get(uint32_t offset)
	{
		uint32_t value{};
		registers.read(offset, std::as_writable_bytes(std::span(&value, 1)));
		return value;
	}
	Action put(uint32_t offset, uint32_t value)
	{
		return registers.write(offset, std::as_bytes(std::span(&value, 1)));
	}
	void enable()
	{
		EXPECT_EQ(put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE), Action::kEnable);
		registers.finish_enable(OHCA_FAIL_NONE);
	}
};

// OHCA-REG-D1 OHCA-REG-D4 OHCA-REG-D6
TEST_F(Registers, DescribeTheDevice)
{
	EXPECT_EQ(get(OHCA_REGS_MAGIC_OFF), uint32_t{OHCA_MAGIC});
	EXPECT_EQ(get(OHCA_REGS_VERSION_OFF), uint32_t{OHCA_INTERFACE_VERSION});
	EXPECT_EQ(get(OHCA_REGS_DEVICE_FEATURES_OFF), 7u);
	EXPECT_EQ(get(OHCA_REGS_DEVICE_FEATURES_OFF + 4), 1u);
	EXPECT_EQ(get(OHCA_REGS_UAR_COUNT_OFF), 1024u);
	EXPECT_EQ(get(OHCA_REGS_VECTOR_COUNT_OFF), 32u);
	EXPECT_EQ(get(OHCA_REGS_MAC_OFF), 0x77005452u);
	EXPECT_EQ(get(OHCA_REGS_MAC_OFF + 4), 0x0100u);
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), uint32_t{OHCA_STATUS_READY});
	EXPECT_EQ(get(OHCA_REGS_CONTROL_OFF), 0u);
	EXPECT_EQ(get(0xffc), 0u);
}

TEST_F(Registers, EnableTakesWhatTheDriverWrote)
{
	put(OHCA_REGS_DRIVER_FEATURES_OFF, 3);
	put(OHCA_REGS_CMDQ_SQ_ADDR_OFF, 0x1000);
	put(OHCA_REGS_CMDQ_SQ_ADDR_OFF + 4, 0x1);
	put(OHCA_REGS_CMDQ_CQ_ADDR_OFF, 0x2000);
	put(OHCA_REGS_CMDQ_RECORD_ADDR_OFF + 4, 0x3);
	put(OHCA_REGS_CMDQ_LOG_DEPTH_OFF, 8);
	EXPECT_EQ(put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE), Action::kEnable);
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), 0u) << "until the engine has answered";
	EXPECT_EQ(registers.enable_request().driver_features, 3u);
	EXPECT_EQ(registers.enable_request().cmdq_sq_address, 0x1'0000'1000u);
	EXPECT_EQ(registers.enable_request().cmdq_cq_address, 0x2000u);
	EXPECT_EQ(registers.enable_request().cmdq_record_address, 0x3'0000'0000u);
	EXPECT_EQ(registers.enable_request().cmdq_log_depth, 8u);
	registers.finish_enable(OHCA_FAIL_NONE);
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), uint32_t{OHCA_STATUS_READY | OHCA_STATUS_ENABLED});
}

// OHCA-REG-D7 OHCA-RST-D9
TEST_F(Registers, ConfigurationIsFrozenByEnable)
{
	put(OHCA_REGS_DRIVER_FEATURES_OFF, 1);
	enable();
	put(OHCA_REGS_DRIVER_FEATURES_OFF, 7);
	put(OHCA_REGS_CMDQ_SQ_ADDR_OFF, 0x5000);
	EXPECT_EQ(get(OHCA_REGS_DRIVER_FEATURES_OFF), 1u);
	EXPECT_EQ(get(OHCA_REGS_CMDQ_SQ_ADDR_OFF), 0u);
	EXPECT_EQ(put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE), Action::kNone) << "it is enabled already";
}

// OHCA-REG-D5 OHCA-REG-D9 OHCA-RST-D1 OHCA-RST-D5
TEST_F(Registers, ResetForgetsAndCounts)
{
	put(OHCA_REGS_DRIVER_FEATURES_OFF, 1);
	enable();
	EXPECT_EQ(put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_RESET), Action::kReset);
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), 0u);
	EXPECT_EQ(get(OHCA_REGS_RESET_COUNT_OFF), 0u);
	put(OHCA_REGS_DRIVER_FEATURES_OFF, 1);
	registers.finish_reset();
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), uint32_t{OHCA_STATUS_READY});
	EXPECT_EQ(get(OHCA_REGS_RESET_COUNT_OFF), 1u);
	EXPECT_EQ(get(OHCA_REGS_DRIVER_FEATURES_OFF), 0u) << "a write during the reset is lost";
	EXPECT_EQ(get(OHCA_REGS_DEVICE_FEATURES_OFF), 7u);
}

// OHCA-RST-D8 OHCA-RST-D11
TEST_F(Registers, RefusedEnableIsAFailureWithReason)
{
	put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE);
	registers.finish_enable(OHCA_FAIL_CMDQ_DMA);
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), uint32_t{OHCA_STATUS_READY | OHCA_STATUS_FAILED});
	EXPECT_EQ(get(OHCA_REGS_FAIL_REASON_OFF), uint32_t{OHCA_FAIL_CMDQ_DMA});
	EXPECT_EQ(put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_ENABLE), Action::kNone) << "sticky until RESET";
	put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_RESET);
	registers.finish_reset();
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), uint32_t{OHCA_STATUS_READY});
	EXPECT_EQ(get(OHCA_REGS_FAIL_REASON_OFF), uint32_t{OHCA_FAIL_NONE});
}

// OHCA-RST-D11
TEST_F(Registers, FirstFailureIsKept)
{
	enable();
	registers.fail(OHCA_FAIL_ENGINE_DIED);
	registers.fail(OHCA_FAIL_ENGINE_STUCK);
	EXPECT_EQ(get(OHCA_REGS_FAIL_REASON_OFF), uint32_t{OHCA_FAIL_ENGINE_DIED});
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF),
		  uint32_t{OHCA_STATUS_READY | OHCA_STATUS_ENABLED | OHCA_STATUS_FAILED});
}

// OHCA-RST-D1
TEST_F(Registers, AnswersThatComeTooLateAreIgnored)
{
	registers.finish_reset();
	EXPECT_EQ(get(OHCA_REGS_RESET_COUNT_OFF), 0u);
	registers.finish_enable(OHCA_FAIL_NONE);
	EXPECT_EQ(get(OHCA_REGS_STATUS_OFF), uint32_t{OHCA_STATUS_READY});
}

// OHCA-REG-D3 OHCA-REG-D4 OHCA-REG-D8
TEST_F(Registers, OddAccessesDoNothing)
{
	const std::byte bytes[8] = {std::byte{1}};
	for (const size_t size : {1u, 2u, 3u, 5u, 7u})
		EXPECT_EQ(registers.write(OHCA_REGS_CONTROL_OFF, std::span(bytes, size)), Action::kNone);
	EXPECT_EQ(registers.write(OHCA_REGS_CONTROL_OFF + 1, std::span(bytes, 4)), Action::kNone);
	EXPECT_EQ(put(OHCA_REGS_CONTROL_OFF, OHCA_CONTROL_RESET | OHCA_CONTROL_ENABLE), Action::kNone);
	EXPECT_EQ(put(OHCA_REGS_CONTROL_OFF, 0x100), Action::kNone);
	put(OHCA_REGS_MAGIC_OFF, 0);
	EXPECT_EQ(get(OHCA_REGS_MAGIC_OFF), uint32_t{OHCA_MAGIC});
}

// OHCA-REG-D2
TEST_F(Registers, SixtyFourBitAccessIsTwoRegisters)
{
	const uint64_t address = 0x1234'5678'9abc'd000;
	registers.write(OHCA_REGS_CMDQ_SQ_ADDR_OFF, std::as_bytes(std::span(&address, 1)));
	EXPECT_EQ(registers.enable_request().cmdq_sq_address, address);
	uint64_t value{};
	registers.read(OHCA_REGS_CMDQ_SQ_ADDR_OFF, std::as_writable_bytes(std::span(&value, 1)));
	EXPECT_EQ(value, address);
}

} // namespace
} // namespace ohca::host
