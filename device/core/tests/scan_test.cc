// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// doorbell/scan.cc.
#include <random>

#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

struct ScanTest : CommandTest {
	ScanTest()
	{
		FakeCq cq = host.create_cq();
		options.pd = host.create_pd();
		options.send_cq = options.recv_cq = cq.cqn;
		options.log_sq_depth = options.log_rq_depth = 2;
		options.uar = host.create_uar();
	}
	uint64_t bad() { return host.counter(OHCA_COUNTER_DOORBELLS_BAD); }

	FakeQpOptions options;
};

TEST_F(ScanTest, ClearsWhatItTakes) // OHCA-DB-D2
{
	FakeQp qp = host.create_qp(options);
	EXPECT_FALSE(scan_doorbells(host.function(), host.now));
	host.ring(qp.uar, qp.slot);
	EXPECT_TRUE(doorbells_rung(host.function()));
	EXPECT_TRUE(scan_doorbells(host.function(), host.now));
	EXPECT_EQ(host.uar(qp.uar).summary, 0u);
	EXPECT_EQ(host.uar(qp.uar).notify[qp.slot / 64], 0u);
	EXPECT_FALSE(doorbells_rung(host.function()));
	EXPECT_EQ(bad(), 0u);
}

TEST_F(ScanTest, BitsWithoutQueueAreCountedAndHarmless) // OHCA-DB-D7
{
	FakeQp qp = host.create_qp(options);
	host.ring(options.uar, qp.slot + 1);
	EXPECT_TRUE(scan_doorbells(host.function(), host.now));
	EXPECT_EQ(bad(), 1u);
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
	host.ring(options.uar, qp.slot);
	scan_doorbells(host.function(), host.now);
	EXPECT_EQ(bad(), 2u);
	// A page on which there never was a queue.
	uint32_t empty = host.create_uar();
	host.ring(empty, 4095);
	scan_doorbells(host.function(), host.now);
	EXPECT_EQ(bad(), 3u);
}

TEST_F(ScanTest, APageFullOfGarbageIsOneBoundedScan) // OHCA-DB-D8, OHCA-DB-D11
{
	FakeQp qp = host.create_qp(options);
	std::memset(static_cast<void *>(&host.uar(options.uar)), 0xff, OHCA_UAR_SIZE);
	EXPECT_TRUE(scan_doorbells(host.function(), host.now));
	EXPECT_EQ(bad(), OHCA_UAR_SLOT_COUNT - 1u);
	EXPECT_FALSE(scan_doorbells(host.function(), host.now));
	EXPECT_TRUE(host.function().running());
	EXPECT_EQ(host.function().context().qp(qp.qpn)->state, OHCA_QP_STATE_RESET);
	std::mt19937_64 random(1);
	for (int round = 0; round < 100; round++) {
		uint64_t words[OHCA_UAR_SIZE / 8];
		for (uint64_t &word : words)
			word = random();
		std::memcpy(static_cast<void *>(&host.uar(options.uar)), words, sizeof(words));
		scan_doorbells(host.function(), host.now);
	}
	EXPECT_TRUE(host.function().running());
}

TEST_F(ScanTest, SummaryWithoutNotifyBitsAndTheOtherWayRound)
{
	host.uar(options.uar).summary = 0xff;
	EXPECT_TRUE(scan_doorbells(host.function(), host.now));
	EXPECT_EQ(bad(), 0u);
	// A bit whose summary has not been set yet stays for the next scan.
	host.uar(options.uar).notify[3] = 1;
	EXPECT_FALSE(scan_doorbells(host.function(), host.now));
	EXPECT_EQ(host.uar(options.uar).notify[3], 1u);
	host.uar(options.uar).summary = 8;
	EXPECT_TRUE(scan_doorbells(host.function(), host.now));
	EXPECT_EQ(bad(), 1u);
}

// OHCA-DB-D10
TEST_F(ScanTest, OnlyLivePagesAreScanned)
{
	std::memset(static_cast<void *>(&host.uar(5)), 0xff, OHCA_UAR_SIZE);
	EXPECT_FALSE(scan_doorbells(host.function(), host.now));
	EXPECT_EQ(host.uar(5).summary, ~uint64_t{0});
	uint32_t uar = host.create_uar();
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_UAR, uar));
	host.ring(uar, 0);
	EXPECT_FALSE(scan_doorbells(host.function(), host.now));
}

TEST_F(ScanTest, SlotZeroOfPageZeroIsTheCommandQueueOnly)
{
	host.ring(0, OHCA_UAR_CMDQ_SLOT);
	scan_doorbells(host.function(), host.now);
	EXPECT_TRUE(host.function().commands_pending());
	host.function().set_commands_pending(false);
	host.ring(options.uar, OHCA_UAR_CMDQ_SLOT);
	scan_doorbells(host.function(), host.now);
	EXPECT_FALSE(host.function().commands_pending());
}

TEST_F(ScanTest, NeedWakeupInAllLivePages) // OHCA-DB-D4, OHCA-DB-D5
{
	set_need_wakeup(host.function(), true);
	EXPECT_EQ(host.uar(0).need_wakeup, 1u);
	EXPECT_EQ(host.uar(options.uar).need_wakeup, 1u);
	EXPECT_EQ(host.uar(options.uar + 1).need_wakeup, 0u); // not live
	set_need_wakeup(host.function(), false);
	EXPECT_EQ(host.uar(0).need_wakeup, 0u);
	EXPECT_EQ(host.uar(options.uar).need_wakeup, 0u);
}

} // namespace
} // namespace ohca::core::test
