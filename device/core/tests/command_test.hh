// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// For the tests of single commands: a function that has been brought up.
#pragma once

#include <gtest/gtest.h>

#include "core/tests/fake_host.hh"

namespace ohca::core::test {

struct CommandTest : testing::Test {
	CommandTest() { host.bring_up(); }

	static void expect(CommandResult result, uint8_t status, uint32_t detail = OHCA_CMD_DETAIL_NONE)
	{
		EXPECT_EQ(int{result.status}, int{status});
		EXPECT_EQ(result.detail, detail);
	}
	// A create command that must be refused, and then have changed nothing.
	template <typename Out, typename In>
	void expect_refused(uint16_t opcode, const In &in, uint8_t status, uint32_t detail = OHCA_CMD_DETAIL_NONE)
	{
		uint32_t objects = host.function().context().object_count();
		uint64_t blocks = host.function().context().block_bytes_in_use();
		Out out;
		expect(host.command(opcode, in, out), status, detail);
		EXPECT_EQ(host.function().context().object_count(), objects);
		EXPECT_EQ(host.function().context().block_bytes_in_use(), blocks);
	}

	FakeFunction host;
};

} // namespace ohca::core::test
