// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// cmd/qp_disconnect.cc: a command that completes later than it was executed.
#include <gtest/gtest.h>

#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kReceives = 500; // several steps of flushing
constexpr TimeNs kFlushNs = 10'000'000;

struct Disconnect : testing::Test {
	Disconnect()
	{
		FakeQpOptions options = net.qp_options(0);
		options.log_rq_depth = 9;
		qp = host.create_qp(options);
		host.connect(qp, qp);
	}
	void post_receives(uint32_t count)
	{
		ohca_sge sge{};
		for (uint32_t i = 0; i < count; i++)
			qp.post_receive(i, {&sge, 0});
	}
	// Each slot has its own: commands in progress are not to see each other's input.
	uint64_t mailbox(uint16_t slot) { return host.input() + slot * uint64_t{128}; }
	// Puts it into the ring; one pass executes it.
	void submit(uint16_t opcode, uint16_t slot, uint32_t generation, uint32_t handle)
	{
		ohca_cmd_entry entry{};
		entry.opcode = opcode;
		entry.slot = slot;
		entry.generation = generation;
		entry.input_address = mailbox(slot);
		entry.output_address = host.output();
		entry.input_length = opcode == OHCA_CMD_NOP ? 0 : sizeof(ohca_cmd_handle);
		ohca_cmd_handle in{};
		in.handle = handle;
		if (entry.input_length)
			std::memcpy(host.host(mailbox(slot)), &in, sizeof(in));
		host.push_entry(entry);
		host.ring_commands();
	}
	void expect_completion(uint16_t slot, uint32_t generation, uint8_t status = OHCA_CMD_STATUS_OK)
	{
		std::optional<ohca_cmd_completion> completion = host.poll_completion();
		ASSERT_TRUE(completion);
		EXPECT_EQ(completion->slot, slot);
		EXPECT_EQ(completion->generation, generation);
		EXPECT_EQ(int{completion->status}, int{status});
	}
	uint32_t flushed()
	{
		uint32_t count = 0;
		while (std::optional<ohca_cqe> cqe = net.cq(0).poll()) {
			EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_FLUSHED);
			count++;
		}
		return count;
	}
	uint8_t state() { return host.function().context().qp(qp.qpn)->state; }
	// Flushing goes on by timers, so time has to pass.
	void disconnect(uint8_t status = OHCA_CMD_STATUS_OK)
	{
		submit(OHCA_CMD_DISCONNECT_QP, 3, ++generation, qp.qpn);
		net.advance(kFlushNs);
		expect_completion(3, generation, status);
	}

	Loopback net{1};
	FakeFunction &host = net[0];
	FakeQp qp;
	uint32_t generation = 1000;
};

// OHCA-QP-D7
TEST_F(Disconnect, CompletesWhenEverythingIsFlushed)
{
	post_receives(kReceives);
	disconnect();
	EXPECT_EQ(state(), OHCA_QP_STATE_ERR);
	EXPECT_EQ(flushed(), kReceives); // all there when the command is
}

// OHCA-QP-D7
TEST_F(Disconnect, AnEmptyQueuePairIsDoneAtOnce)
{
	submit(OHCA_CMD_DISCONNECT_QP, 3, 7, qp.qpn);
	host.step();
	expect_completion(3, 7);
	EXPECT_EQ(state(), OHCA_QP_STATE_ERR);
	// In ERR already: what has been posted since.
	post_receives(5);
	disconnect();
	EXPECT_EQ(flushed(), 5u);
}

// OHCA-QP-D8
TEST_F(Disconnect, OtherCommandsDoNotWait)
{
	post_receives(kReceives);
	submit(OHCA_CMD_DISCONNECT_QP, 3, 7, qp.qpn);
	submit(OHCA_CMD_NOP, 4, 8, 0);
	host.step();
	expect_completion(4, 8); // out of order
	EXPECT_FALSE(host.poll_completion());
	net.advance(kFlushNs);
	expect_completion(3, 7);
	EXPECT_EQ(flushed(), kReceives);
	EXPECT_EQ(host.function().state().cmdq_in_progress, 0u);
}

// OHCA-CMD-D3
TEST_F(Disconnect, ItsSlotIsInProgress)
{
	post_receives(kReceives);
	submit(OHCA_CMD_DISCONNECT_QP, 3, 7, qp.qpn);
	submit(OHCA_CMD_NOP, 3, 8, 0);
	host.step();
	expect_completion(3, 8, OHCA_CMD_STATUS_BUSY_SLOT);
	net.advance(kFlushNs);
	expect_completion(3, 7);
	submit(OHCA_CMD_NOP, 3, 9, 0);
	host.step();
	expect_completion(3, 9);
}

// OHCA-CMD-D6
TEST_F(Disconnect, KeepsItsPlaceInTheCompletionRing)
{
	post_receives(kReceives);
	submit(OHCA_CMD_DISCONNECT_QP, 31, 1, qp.qpn);
	host.step();
	for (uint16_t slot = 0; slot < 31; slot++)
		submit(OHCA_CMD_NOP, slot, 100u + slot, 0);
	submit(OHCA_CMD_NOP, 0, 200, 0); // one more than there is room for
	net.advance(kFlushNs);
	EXPECT_EQ(host.function().state().cmdq_in_progress, 0u);
	uint32_t completions = 0;
	while (host.poll_completion())
		completions++;
	EXPECT_EQ(completions, 32u); // none of them written over
	net.advance(kCommandRetryNs * 2);
	expect_completion(0, 200);
	EXPECT_EQ(host.function().state().failure, unsigned{OHCA_FAIL_NONE});
}

// OHCA-QP-D9
TEST_F(Disconnect, EndsWithTheQueuePair)
{
	for (bool destroy : {false, true}) {
		post_receives(kReceives);
		submit(OHCA_CMD_DISCONNECT_QP, 3, 7, qp.qpn);
		host.step();
		EXPECT_FALSE(host.poll_completion());
		if (destroy) {
			submit(OHCA_CMD_DESTROY_QP, 4, 8, qp.qpn);
			host.step();
			expect_completion(3, 7);
			expect_completion(4, 8);
			break;
		}
		ohca_cmd_modify_qp_in in{};
		in.qpn = qp.qpn;
		in.mask = OHCA_QP_ATTR_STATE;
		std::memcpy(host.host(mailbox(5)), &in, sizeof(in));
		ohca_cmd_entry entry{};
		entry.opcode = OHCA_CMD_MODIFY_QP;
		entry.slot = 5;
		entry.generation = 9;
		entry.input_address = mailbox(5);
		entry.input_length = sizeof(in);
		host.push_entry(entry);
		host.ring_commands();
		host.step();
		expect_completion(3, 7);
		expect_completion(5, 9);
		net.run();
		EXPECT_LT(flushed(), kReceives); // RESET forgets the rest
		qp.rq_producer = 0;
		qp.record() = {};
		host.connect(qp, qp);
	}
	EXPECT_EQ(host.function().state().cmdq_in_progress, 0u);
}

// OHCA-CMD-D14
TEST_F(Disconnect, Refusals)
{
	post_receives(kReceives);
	submit(OHCA_CMD_DISCONNECT_QP, 3, 7, qp.qpn);
	submit(OHCA_CMD_DISCONNECT_QP, 4, 8, qp.qpn);
	host.step();
	expect_completion(4, 8, OHCA_CMD_STATUS_IN_USE);
	net.advance(kFlushNs);
	expect_completion(3, 7);
	submit(OHCA_CMD_DISCONNECT_QP, 3, 7, 0xffffff);
	host.step();
	expect_completion(3, 7, OHCA_CMD_STATUS_BAD_HANDLE);
	host.function().state().features &= ~OHCA_FEATURE_COMPOUND;
	disconnect(OHCA_CMD_STATUS_UNSUPPORTED);
}

struct Order : testing::Test {
	uint64_t memory(Loopback &net, uint32_t &key)
	{
		uint64_t address = net[0].allocate(8192);
		key = net[0].register_memory(net.pd(0), address, 8192);
		return address;
	}
};

// OHCA-CMD-D17
TEST_F(Order, ADoorbellAfterTheCompletionFindsTheNewState)
{
	Loopback net(1);
	auto [a, b] = net.connected_pair(0, 0);
	uint32_t key;
	uint64_t at = memory(net, key);
	FakeFunction::must(net[0].modify(a.qpn, OHCA_QP_STATE_SQD, 0));
	FakeFunction::must(net[0].modify(a.qpn, OHCA_QP_STATE_RTS, 0));
	net.write(a, at, key, at + 4096, key, 64);
	a.ring();
	net.run();
	std::optional<ohca_cqe> cqe = net.cq(0).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
	ohca_cmd_handle in{};
	in.handle = a.qpn;
	FakeFunction::must(net[0].command(OHCA_CMD_DISCONNECT_QP, in));
	net.write(a, at, key, at + 4096, key, 64);
	a.ring();
	net.run();
	cqe = net.cq(0).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_FLUSHED);
}

// OHCA-QP-D10
TEST_F(Order, ADoorbellBeforeTheCommandIsNotLost)
{
	for (bool rts : {true, false}) {
		Loopback net(1);
		FakeQp qp = net[0].create_qp(net.qp_options(0));
		uint32_t key;
		uint64_t at = memory(net, key);
		FakeFunction::must(net[0].to_init(qp.qpn));
		FakeFunction::must(net[0].to_rtr(qp.qpn, net[0], qp.qpn));
		net.write(qp, at, key, at + 4096, key, 64);
		qp.ring();
		net.run();
		EXPECT_FALSE(net.cq(0).poll());
		if (rts)
			FakeFunction::must(net[0].to_rts(qp.qpn));
		else
			FakeFunction::must(net[0].modify(qp.qpn, OHCA_QP_STATE_ERR, 0));
		net.run();
		std::optional<ohca_cqe> cqe = net.cq(0).poll();
		ASSERT_TRUE(cqe);
		EXPECT_EQ(int{cqe->status}, rts ? OHCA_CQE_STATUS_SUCCESS : OHCA_CQE_STATUS_FLUSHED);
	}
}

} // namespace
} // namespace ohca::core::test
