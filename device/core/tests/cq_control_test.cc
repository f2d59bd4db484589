// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// MODIFY_CQ (moderation), RESIZE_CQ and OHCA_CQ_IGNORE_OVERRUN.
#include <gtest/gtest.h>

#include "core/queue/queues.hh"
#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

constexpr TimeNs kMicrosecond = 1000;

struct CqControl : testing::Test {
	CqControl() : host(net[0]), cq(host.create_cq(4)) {}

	CommandResult moderate(uint16_t count, uint16_t period_us)
	{
		ohca_cmd_modify_cq_in in{};
		in.cqn = cq.cqn;
		in.moderation_count = count;
		in.moderation_period_us = period_us;
		return host.command(OHCA_CMD_MODIFY_CQ, in);
	}
	// A CQE as a queue pair would write it.
	bool produce(uint32_t tag, uint8_t status = OHCA_CQE_STATUS_SUCCESS, uint8_t flags = 0)
	{
		ohca_cqe cqe{};
		cqe.wqe_index = tag;
		cqe.status = status;
		cqe.flags = flags;
		host.function().set_now(net.now);
		return post_cqe(host.function(), cq.cqn, cqe);
	}
	uint32_t events()
	{
		uint32_t count = 0;
		while (auto event = host.completion_eq.poll()) {
			EXPECT_EQ(event->number, cq.cqn);
			count++;
		}
		return count;
	}
	CqContext &context() { return *host.function().context().cq(cq.cqn); }

	Loopback net;
	FakeFunction &host;
	FakeCq cq;
};

// OHCA-CQ-D8
TEST_F(CqControl, CountRaisesTheEvent)
{
	FakeFunction::must(moderate(3, 100));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	produce(1);
	EXPECT_EQ(events(), 0u);
	produce(2);
	EXPECT_EQ(events(), 1u);
	EXPECT_EQ(cq.record().fired, cq.record().arm);
	net.advance(1'000 * kMicrosecond); // the timer has nothing to say any more
	EXPECT_EQ(events(), 0u);
}

// OHCA-CQ-D8
TEST_F(CqControl, PeriodRaisesTheEvent)
{
	FakeFunction::must(moderate(100, 50));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	net.advance(30 * kMicrosecond);
	produce(1);
	net.advance(19 * kMicrosecond);
	EXPECT_EQ(events(), 0u);
	EXPECT_LE(net.engine.poll_timeout(), net.now + 10 * kMicrosecond);
	net.advance(10 * kMicrosecond); // 50 after the first, and at most a tick
	EXPECT_EQ(events(), 1u);
	EXPECT_EQ(net.engine.poll_timeout(), kNever);
}

// OHCA-CQ-D8
TEST_F(CqControl, CqesBeforeArmingCount)
{
	FakeFunction::must(moderate(3, 50));
	produce(0);
	produce(1);
	net.advance(1'000 * kMicrosecond);
	EXPECT_EQ(events(), 0u); // nobody has asked
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(2); // the third, and late
	EXPECT_EQ(events(), 1u);
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(3); // the first since the event
	EXPECT_EQ(events(), 0u);
	net.advance(60 * kMicrosecond);
	EXPECT_EQ(events(), 1u);
}

// OHCA-CQ-D8: 0 in either is no moderation.
TEST_F(CqControl, ZeroIsAtOnce)
{
	for (auto [count, period] : {std::pair<uint16_t, uint16_t>{0, 100}, {100, 0}, {0, 0}, {1, 100}}) {
		FakeFunction::must(moderate(count, period));
		cq.arm(OHCA_CQ_ARM_NEXT);
		produce(0);
		EXPECT_EQ(events(), 1u) << count << " " << period;
		ASSERT_TRUE(cq.poll().has_value());
	}
}

// OHCA-CQ-D8, OHCA-CQ-D5: what is waited for decides whether there is an event, moderation when.
TEST_F(CqControl, SolicitedIsModeratedToo)
{
	FakeFunction::must(moderate(100, 50));
	cq.arm(OHCA_CQ_ARM_SOLICITED);
	produce(0);
	net.advance(1'000 * kMicrosecond);
	EXPECT_EQ(events(), 0u);
	FakeFunction::must(moderate(0, 0));
	FakeFunction::must(moderate(4, 5'000));
	produce(1, OHCA_CQE_STATUS_FLUSHED); // 1 was counted before
	EXPECT_EQ(events(), 0u);
	produce(2);
	EXPECT_EQ(events(), 0u);
	produce(3); // not waited for itself, but the fourth
	EXPECT_EQ(events(), 1u);
	cq.arm(OHCA_CQ_ARM_SOLICITED);
	produce(4, OHCA_CQE_STATUS_SUCCESS, OHCA_CQE_RECEIVE | OHCA_CQE_SOLICITED);
	net.advance(6'000 * kMicrosecond);
	EXPECT_EQ(events(), 1u);
}

// OHCA-CQ-D8: nothing is lost if the host arms anew before the event has come.
TEST_F(CqControl, ArmingAnewKeepsTheEventThatIsHeld)
{
	FakeFunction::must(moderate(100, 50));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	cq.arm(OHCA_CQ_ARM_SOLICITED);
	net.advance(60 * kMicrosecond);
	EXPECT_EQ(events(), 1u);
	EXPECT_NE(cq.record().fired, cq.record().arm); // and the CQ is still armed
	produce(1, OHCA_CQE_STATUS_GENERAL);
	net.advance(60 * kMicrosecond);
	EXPECT_EQ(events(), 1u);
	EXPECT_EQ(cq.record().fired, cq.record().arm);
}

// OHCA-CQ-D8
TEST_F(CqControl, ModifyWhileAnEventIsHeld)
{
	FakeFunction::must(moderate(100, 60'000));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	produce(1);
	FakeFunction::must(moderate(3, 60'000));
	EXPECT_EQ(events(), 0u);
	FakeFunction::must(moderate(2, 60'000)); // reached already
	EXPECT_EQ(events(), 1u);
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(2);
	FakeFunction::must(moderate(100, 20)); // an earlier time
	net.advance(30 * kMicrosecond);
	EXPECT_EQ(events(), 1u);
	FakeFunction::must(moderate(100, 60'000));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(3);
	FakeFunction::must(moderate(0, 0));
	EXPECT_EQ(events(), 1u);
	FakeFunction::must(moderate(100, 20));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(4);
	FakeFunction::must(moderate(100, 1'000)); // a later time
	net.advance(900 * kMicrosecond);
	EXPECT_EQ(events(), 0u);
	net.advance(200 * kMicrosecond);
	EXPECT_EQ(events(), 1u);
}

// OHCA-EQ-D7
TEST_F(CqControl, NobodyWaitsForACqThatIsGone)
{
	FakeFunction::must(moderate(100, 50));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_CQ, cq.cqn));
	EXPECT_EQ(net.engine.poll_timeout(), kNever);
	net.advance(1'000 * kMicrosecond);
	EXPECT_EQ(events(), 0u);
	EXPECT_EQ(moderate(1, 1).status, OHCA_CMD_STATUS_BAD_HANDLE);
}

TEST_F(CqControl, ResetForgetsHeldEvents)
{
	FakeFunction::must(moderate(100, 50));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	net.engine.reset(0);
	EXPECT_EQ(net.engine.poll_timeout(), kNever);
	host.bring_up();
	EXPECT_EQ(host.create_cq().cqn, 1u);
	net.advance(1'000 * kMicrosecond);
	EXPECT_FALSE(host.completion_eq.poll().has_value());
}

// A new engine raises what the old one has held back.
TEST_F(CqControl, RestartKeepsHeldEvents)
{
	FakeFunction::must(moderate(100, 50));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	Engine restarted;
	restarted.add_function(host.function().resources());
	net.now += 60 * kMicrosecond;
	EXPECT_LE(restarted.poll_timeout(), net.now);
	for (int i = 0; i < 4; i++)
		restarted.run(net.now += 10 * kMicrosecond);
	EXPECT_EQ(events(), 1u);
}

// OHCA-CMD-D14
TEST(CqFeatures, AreRefusedIfNotNegotiated)
{
	FakeFunction plain({.features = OHCA_FEATURE_RC});
	plain.bring_up();
	FakeCq cq = plain.create_cq();
	ohca_cmd_modify_cq_in modify{};
	modify.cqn = cq.cqn;
	CommandResult result = plain.command(OHCA_CMD_MODIFY_CQ, modify);
	EXPECT_EQ(int{result.status}, OHCA_CMD_STATUS_UNSUPPORTED);
	EXPECT_EQ(result.detail, uint32_t{OHCA_CMD_DETAIL_FEATURE});
	ohca_cmd_resize_cq_in resize{};
	resize.cqn = cq.cqn;
	result = plain.command(OHCA_CMD_RESIZE_CQ, resize);
	EXPECT_EQ(int{result.status}, OHCA_CMD_STATUS_UNSUPPORTED);
	EXPECT_EQ(result.detail, uint32_t{OHCA_CMD_DETAIL_FEATURE});
}

struct CqResize : CqControl {
	// A request, and the buffer as the host prepares it.
	ohca_cmd_resize_cq_in request(uint8_t log_depth, FakeCq &resized)
	{
		uint64_t size = OHCA_CQ_RING_OFFSET + (sizeof(ohca_cqe) << log_depth);
		resized = cq;
		resized.log_depth = log_depth;
		resized.buffer = host.allocate(size);
		resized.record().consumer = cq.consumer;
		resized.record().arm = cq.record().arm;
		ohca_cmd_resize_cq_in in{};
		in.pages = host.contiguous(resized.buffer, size);
		in.cqn = cq.cqn;
		in.log_depth = log_depth;
		return in;
	}
	void resize(uint8_t log_depth)
	{
		FakeCq resized;
		FakeFunction::must(host.command(OHCA_CMD_RESIZE_CQ, request(log_depth, resized)));
		std::memset(host.host(cq.buffer), 0xff, 64); // the host's again
		cq = resized;
	}
	void expect(uint32_t first, uint32_t end)
	{
		for (uint32_t tag = first; tag < end; tag++) {
			auto cqe = cq.poll();
			ASSERT_TRUE(cqe.has_value()) << tag;
			EXPECT_EQ(cqe->wqe_index, tag);
		}
		EXPECT_FALSE(cq.poll().has_value());
	}
};

// OHCA-CQ-D9: in each phase of the old and the new ring.
TEST_F(CqResize, KeepsCqesInOrder)
{
	uint32_t produced = 0;
	uint32_t consumed = 0;
	for (uint8_t log_depth : std::initializer_list<uint8_t>{5, 3, 6, 4, 4, 3, 10, 3}) {
		for (uint32_t waiting : {0u, 1u, 5u, 8u}) {
			while (produced < consumed + waiting)
				produce(produced++);
			resize(log_depth);
			expect(consumed, produced);
			consumed = produced;
			for (uint32_t i = 0; i < 5; i++)
				produce(produced++);
			expect(consumed, produced);
			consumed = produced;
		}
	}
	EXPECT_EQ(context().overrun, 0);
}

// OHCA-CQ-D9: the old room is not the limit any more, the new one is.
TEST_F(CqResize, TheNewDepthCounts)
{
	for (uint32_t i = 0; i < 16; i++)
		EXPECT_TRUE(produce(i));
	resize(5);
	for (uint32_t i = 16; i < 32; i++)
		EXPECT_TRUE(produce(i));
	EXPECT_FALSE(produce(32));
	expect(0, 32);
	FakeCq unused;
	CommandResult result = host.command(OHCA_CMD_RESIZE_CQ, request(6, unused)); // it has overrun
	EXPECT_EQ(int{result.status}, OHCA_CMD_STATUS_BAD_STATE);
}

// OHCA-CQ-D9, OHCA-CMD-D9
TEST_F(CqResize, RefusesAndChangesNothing)
{
	for (uint32_t i = 0; i < 5; i++)
		produce(i);
	auto refused = [&](const ohca_cmd_resize_cq_in &in, uint8_t status, uint32_t detail) {
		uint64_t blocks = host.function().context().block_bytes_in_use();
		CommandResult result = host.command(OHCA_CMD_RESIZE_CQ, in);
		EXPECT_EQ(int{result.status}, int{status});
		EXPECT_EQ(result.detail, detail);
		EXPECT_EQ(host.function().context().block_bytes_in_use(), blocks);
	};
	FakeCq resized;
	refused(request(2, resized), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH); // 5 do not fit
	ohca_cmd_resize_cq_in in = request(5, resized);
	in.log_depth = 23;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	in.log_depth = 5;
	in.reserved_e8[2] = 1;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	in = request(5, resized);
	in.cqn = 999;
	refused(in, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_CQ);
	in = request(5, resized);
	in.pages.page_count = 0;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	in = request(5, resized);
	resized.record().consumer = 6; // ahead of the producer
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	resized.record().consumer = static_cast<uint32_t>(-12); // 17 behind, the old ring has 16
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	in.pages.address = 0x7000'0000'0000;
	refused(in, OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE);
	expect(0, 5);
}

// OHCA-CQ-D9: arming and what has fired move, too.
TEST_F(CqResize, KeepsTheArming)
{
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(0);
	EXPECT_EQ(events(), 1u);
	resize(5);
	EXPECT_EQ(cq.record().fired, cq.record().arm);
	produce(1);
	EXPECT_EQ(events(), 0u); // not armed
	cq.arm(OHCA_CQ_ARM_NEXT);
	resize(6);
	produce(2);
	EXPECT_EQ(events(), 1u);
	FakeFunction::must(moderate(10, 50));
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(3);
	resize(4);
	net.advance(60 * kMicrosecond);
	EXPECT_EQ(events(), 1u); // held back over the resizing
}

// OHCA-CQ-D9: while queue pairs complete.
TEST_F(CqResize, UnderLoad)
{
	FakeQpOptions o = net.qp_options(0);
	o.send_cq = cq.cqn;
	FakeQp a = host.create_qp(o);
	FakeQp b = host.create_qp(net.qp_options(0));
	host.connect(a, b);
	host.connect(b, a);
	uint64_t memory = host.allocate(4096);
	uint32_t key = host.register_memory(net.pd(0), memory, 4096);
	uint32_t posted = 0;
	uint32_t done = 0;
	for (int round = 0; round < 200; round++) {
		while (posted - done < 8) {
			Loopback::write(a, memory, key, memory + 2048, key, 8);
			posted++;
		}
		a.ring();
		resize(static_cast<uint8_t>(3 + round % 5)); // runs passes of the engine, too
		net.run();
		while (auto cqe = cq.poll()) {
			ASSERT_EQ(int{cqe->status}, OHCA_CQE_STATUS_SUCCESS);
			ASSERT_EQ(cqe->wqe_index, done);
			done++;
		}
		ASSERT_EQ(done, posted);
	}
}

// OHCA-CQ-D10
TEST_F(CqControl, IgnoredOverrunOverwrites)
{
	cq = host.create_cq(2, OHCA_CQ_IGNORE_OVERRUN);
	for (uint32_t i = 0; i < 4 * 4 + 1; i++)
		EXPECT_TRUE(produce(i));
	EXPECT_FALSE(host.async_eq.poll().has_value());
	EXPECT_EQ(host.counter(OHCA_COUNTER_CQ_OVERRUNS), 0u);
	// The latest entry of each slot, with the phase of its pass.
	const uint32_t latest[4] = {16, 13, 14, 15};
	for (uint32_t slot = 0; slot < 4; slot++) {
		const ohca_cqe &cqe = cq.entry(slot);
		EXPECT_EQ(cqe.wqe_index, latest[slot]);
		EXPECT_EQ(cqe.owner, (latest[slot] >> 2) & 1 ? 0 : OHCA_CQE_PHASE);
	}
	cq.arm(OHCA_CQ_ARM_NEXT);
	produce(17);
	EXPECT_EQ(events(), 1u);
}

} // namespace
} // namespace ohca::core::test
