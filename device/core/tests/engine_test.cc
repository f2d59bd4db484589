// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include <random>

#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

// `count` bytes that depend on the seed, at a fresh address.
uint64_t filled(FakeFunction &host, uint64_t count, uint64_t seed)
{
	uint64_t address = host.allocate(count);
	std::mt19937_64 random(seed);
	for (uint64_t i = 0; i < count; i++)
		host.at<uint8_t>(address + i) = static_cast<uint8_t>(random());
	return address;
}

// OHCA-MEM-D10
TEST(Engine, WritesFromOneFunctionToAnother)
{
	Loopback net(2);
	auto [a, b] = net.connected_pair(0, 1);
	uint64_t from = filled(net[0], 100'000, 1);
	uint64_t to = net[1].allocate(100'000);
	uint32_t lkey = net[0].register_memory(net.pd(0), from, 100'000);
	uint32_t rkey = net[1].register_memory(net.pd(1), to, 100'000);

	net.write(a, from, lkey, to, rkey, 100'000);
	a.ring();
	net.run();
	std::optional<ohca_cqe> cqe = net.cq(0).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
	EXPECT_EQ(cqe->qpn, a.qpn);
	EXPECT_EQ(std::memcmp(net[0].host(from), net[1].host(to), 100'000), 0);
	EXPECT_FALSE(net.cq(1).poll());
}

TEST(Engine, ManyQueuePairsShareOnePass)
{
	Loopback net(2);
	constexpr uint32_t kPairs = 50;
	uint64_t from = filled(net[0], 1 << 20, 2);
	uint64_t to = net[1].allocate(kPairs * 70'000);
	uint32_t lkey = net[0].register_memory(net.pd(0), from, 1 << 20);
	uint32_t rkey = net[1].register_memory(net.pd(1), to, kPairs * 70'000);
	std::vector<std::pair<FakeQp, FakeQp>> pairs;
	for (uint32_t i = 0; i < kPairs; i++)
		pairs.push_back(net.connected_pair(0, 1));
	for (uint32_t i = 0; i < kPairs; i++) {
		net.write(pairs[i].first, from + i * 10, lkey, to + i * 70'000, rkey, 70'000);
		pairs[i].first.ring();
	}
	net.run();
	for (uint32_t i = 0; i < kPairs; i++) {
		std::optional<ohca_cqe> cqe = net.cq(0).poll();
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
		EXPECT_EQ(std::memcmp(net[0].host(from + i * 10), net[1].host(to + i * 70'000), 70'000), 0);
	}
}

// OHCA-RC-D16
TEST(Engine, OnePassIsBounded)
{
	FakeOptions options;
	options.memory_size = uint64_t{256} << 20;
	Loopback net(1, options);
	auto [a, b] = net.connected_pair(0, 0);
	uint64_t from = net[0].allocate(64 << 20);
	uint64_t to = net[0].allocate(64 << 20);
	uint32_t key = net[0].register_memory(net.pd(0), from, 128 << 20);
	net.write(a, from, key, to, key, 64 << 20);
	a.ring();
	EXPECT_TRUE(net.engine.run(net.now));
	EXPECT_LE(net[0].counter(OHCA_COUNTER_TX_BYTES), uint64_t{1} << 20);
	EXPECT_EQ(net.engine.poll_timeout(), net.now); // there is more to do
	EXPECT_FALSE(net.engine.prepare_sleep());
	net.run();
	EXPECT_EQ(net[0].counter(OHCA_COUNTER_TX_BYTES), uint64_t{64} << 20);
	EXPECT_TRUE(net.cq(0).poll());
}

// OHCA-RC-D16
TEST(Engine, ABusyQueuePairDoesNotStarveAnother)
{
	FakeOptions options;
	options.memory_size = uint64_t{256} << 20;
	Loopback net(2, options);
	auto [a, b] = net.connected_pair(0, 0);
	auto [c, d] = net.connected_pair(1, 1);
	uint64_t from = net[0].allocate(128 << 20);
	uint32_t key = net[0].register_memory(net.pd(0), from, 128 << 20);
	uint64_t small = net[1].allocate(4096);
	uint32_t small_key = net[1].register_memory(net.pd(1), small, 4096);
	net.write(a, from, key, from + (64 << 20), key, 64 << 20);
	a.ring();
	net.engine.run(net.now);
	net.write(c, small, small_key, small + 2048, small_key, 8);
	c.ring();
	net.engine.run(net.now);
	net.engine.run(net.now);
	EXPECT_TRUE(net.cq(1).poll());
	EXPECT_FALSE(net.cq(0).poll()); // still busy
}

TEST(Engine, AnUnreachablePeerTimesOut)
{
	Loopback net(2);
	ConnectOptions o;
	o.ack_timeout = 10; // 4.2 ms
	o.retry_count = 2;
	auto [a, b] = net.connected_pair(0, 1, o);
	uint64_t buffer = net[0].allocate(4096);
	uint32_t key = net[0].register_memory(net.pd(0), buffer, 4096);
	FakeFunction::must(net[1].destroy(OHCA_CMD_DESTROY_QP, b.qpn));
	net.write(a, buffer, key, buffer, key, 8);
	a.ring();
	net.run();
	EXPECT_FALSE(net.cq(0).poll());
	net.advance(100'000'000);
	std::optional<ohca_cqe> cqe = net.cq(0).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_RETRY_EXCEEDED);
	EXPECT_EQ(net[1].counter(OHCA_COUNTER_PACKETS_DROPPED), 3u);
}

TEST(Engine, PortsThatAreDownDrop)
{
	Loopback net(2);
	auto [a, b] = net.connected_pair(0, 1);
	uint64_t buffer = net[0].allocate(4096);
	uint32_t lkey = net[0].register_memory(net.pd(0), buffer, 4096);
	uint64_t remote = net[1].allocate(4096);
	uint32_t rkey = net[1].register_memory(net.pd(1), remote, 4096);
	ohca_cmd_set_port_in port{};
	port.max_mtu = 4096;
	FakeFunction::must(net[1].command(OHCA_CMD_SET_PORT, port)); // down
	net.write(a, buffer, lkey, remote, rkey, 8);
	a.ring();
	net.run();
	EXPECT_FALSE(net.cq(0).poll());
	port.active = 1;
	FakeFunction::must(net[1].command(OHCA_CMD_SET_PORT, port));
	net.advance(200'000'000); // the ACK timeout sends again
	std::optional<ohca_cqe> cqe = net.cq(0).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
}

TEST(Engine, MacDecidesBetweenFunctionsWithOneGid)
{
	Loopback net(3);
	for (uint32_t i = 0; i < 3; i++)
		net[i].set_gid(0, 77);
	for (uint32_t peer : {0u, 1u, 2u}) {
		auto [a, b] = net.connected_pair(0, peer);
		uint64_t buffer = net[0].allocate(4096);
		uint32_t lkey = net[0].register_memory(net.pd(0), buffer, 4096);
		uint64_t remote = net[peer].allocate(4096);
		uint32_t rkey = net[peer].register_memory(net.pd(peer), remote, 4096);
		net[0].at<uint64_t>(buffer) = 0x1234 + peer;
		net.write(a, buffer, lkey, remote, rkey, 8);
		a.ring();
		net.run();
		std::optional<ohca_cqe> cqe = net.cq(0).poll();
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
		EXPECT_EQ(net[peer].at<uint64_t>(remote), 0x1234 + peer);
	}
}

// OHCA-RC-D11 OHCA-GEN-D4
TEST(Engine, ADriverCannotTakeTheGidOfAnotherFunction)
{
	Loopback net(3);
	auto [a, b] = net.connected_pair(2, 1);
	// Function 0, which comes first, claims GID and MAC of function 1.
	ohca_cmd_set_gid_in theft{};
	theft.gid[0] = 0xfd;
	theft.gid[15] = net[1].gid_byte();
	theft.index = 3;
	theft.vlan_id = OHCA_VLAN_NONE;
	std::memcpy(theft.mac, &net[1].options().mac, sizeof(theft.mac));
	FakeFunction::must(net[0].command(OHCA_CMD_SET_GID, theft));
	uint64_t buffer = filled(net[2], 4096, 5);
	uint32_t lkey = net[2].register_memory(net.pd(2), buffer, 4096);
	uint64_t remote = net[1].allocate(4096);
	uint32_t rkey = net[1].register_memory(net.pd(1), remote, 4096);
	net.write(a, buffer, lkey, remote, rkey, 4096);
	a.ring();
	net.run();
	EXPECT_TRUE(net.cq(2).poll());
	EXPECT_EQ(std::memcmp(net[2].host(buffer), net[1].host(remote), 4096), 0);
	EXPECT_EQ(net[0].counter(OHCA_COUNTER_PACKETS_DROPPED), 0u);
}

TEST(Engine, AFunctionCannotSpeakForAnother)
{
	// a of function 0 is connected to b of function 1. A queue pair of function 2 claims to be a:
	// same number, same PSN.
	Loopback net(3);
	auto [a, b] = net.connected_pair(0, 1);
	FakeQp liar = net[2].create_qp(net.qp_options(2));
	ASSERT_EQ(liar.qpn, a.qpn);
	ConnectOptions o;
	o.ack_timeout = 8;
	o.retry_count = 1;
	net[2].connect(liar, b, o);
	uint64_t target = net[1].allocate(4096);
	uint32_t rkey = net[1].register_memory(net.pd(1), target, 4096);
	uint64_t poison = filled(net[2], 4096, 3);
	uint32_t lkey = net[2].register_memory(net.pd(2), poison, 4096);
	net.write(liar, poison, lkey, target, rkey, 8);
	liar.ring();
	net.advance(50'000'000);
	EXPECT_EQ(net[1].at<uint64_t>(target), 0u);
	std::optional<ohca_cqe> cqe = net.cq(2).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_RETRY_EXCEEDED);
	EXPECT_EQ(net[1].function().context().qp(b.qpn)->state, OHCA_QP_STATE_RTS);
}

TEST(Engine, ResetForgetsEverythingAndStartsAgain) // OHCA-RST-D3, OHCA-RST-D4
{
	Loopback net(2);
	auto [a, b] = net.connected_pair(0, 1);
	net[0].ring(0, 17);
	net.engine.reset(0);
	EXPECT_EQ(net[0].uar(0).summary, 0u);
	EXPECT_FALSE(net[0].function().running());
	EXPECT_EQ(net[0].function().context().object_count(), 0u);
	EXPECT_EQ(net.engine.failure(0), unsigned{OHCA_FAIL_NONE});
	net.run();
	net[0].bring_up(1);
	EXPECT_GE(net[0].create_pd(), 1u);
	// The other one has noticed nothing.
	EXPECT_TRUE(net[1].function().running());
	EXPECT_NE(net[1].function().context().qp(b.qpn), nullptr);
}

TEST(Engine, FailureOfOneFunctionIsItsOwn) // OHCA-RST-D10, OHCA-RST-D12
{
	Loopback net(2);
	net.connected_pair(0, 1);
	FakeQp c = net.connected_pair(1, 1).first;
	net[0].cmdq_record().producer += 1000;
	net[0].ring_commands();
	net[0].interrupts.raised.clear();
	net.run();
	EXPECT_EQ(net.engine.failure(0), unsigned{OHCA_FAIL_CMDQ_INDEX});
	EXPECT_EQ(net[0].uar(0).device_state, unsigned{OHCA_UAR_DEVICE_FAILED});
	EXPECT_EQ(net[0].interrupts.raised, std::vector<uint32_t>{OHCA_CMD_VECTOR});
	EXPECT_EQ(net.engine.failure(1), unsigned{OHCA_FAIL_NONE});
	uint64_t buffer = net[1].allocate(4096);
	uint32_t key = net[1].register_memory(net.pd(1), buffer, 4096);
	net.write(c, buffer, key, buffer + 8, key, 8);
	c.ring();
	net.run();
	EXPECT_TRUE(net.cq(1).poll());
}

// Data that is on its way to the second function and from it, and a request for more.
struct Traffic {
	static constexpr uint32_t kLength = 4 << 20;

	explicit Traffic(Loopback &net)
	{
		auto [a, b] = net.connected_pair(0, 1);
		uint64_t memory[2];
		uint32_t keys[2];
		for (uint32_t i = 0; i < 2; i++) {
			memory[i] = net[i].allocate(2 * kLength);
			keys[i] = net[i].register_memory(net.pd(i), memory[i], 2 * kLength);
			std::memset(net[i].host(memory[i]), 0x5a, kLength);
		}
		net[1].completion_eq.arm();
		net.cq(1).arm(OHCA_CQ_ARM_NEXT);
		net.write(a, memory[0], keys[0], memory[1] + kLength, keys[1], kLength);
		net.write(b, memory[1], keys[1], memory[0] + kLength, keys[0], kLength);
		a.ring();
		b.ring();
		net.engine.run(net.now);
		last_byte = memory[1] + 2 * kLength - 1;
		net.write(b, memory[1], keys[1], memory[0], keys[0], 1);
		sender = b;
	}

	uint64_t last_byte;
	FakeQp sender;
};

// OHCA-RST-D2
TEST(Engine, FunctionThatIsOutOfServiceIsSilent)
{
	FakeOptions options;
	options.memory_size = uint64_t{16} << 20;
	for (const bool fails : {true, false}) {
		Loopback net(2, options);
		Traffic traffic(net);
		if (fails) {
			net[1].cmdq_record().producer += 1000;
			net[1].ring_commands();
			while (net.engine.failure(1) == OHCA_FAIL_NONE)
				ASSERT_TRUE(net.engine.run(net.now));
		} else {
			net.engine.reset(1);
		}
		EXPECT_EQ(net[1].at<uint8_t>(traffic.last_byte), 0u) << "there is nothing left to come";
		net[1].interrupts.raised.clear();
		const std::span memory(net[1].host(options.bus_base), options.memory_size);
		const std::vector<std::byte> before(memory.begin(), memory.end());
		traffic.sender.ring();
		net[1].ring_commands();
		net.advance(1'000'000'000);
		EXPECT_TRUE(std::equal(memory.begin(), memory.end(), before.begin())) << fails;
		EXPECT_TRUE(net[1].interrupts.raised.empty()) << fails;
	}
}

TEST(Engine, RaisesEachVectorOncePerPass)
{
	Loopback net(1);
	auto [a, b] = net.connected_pair(0, 0);
	uint64_t buffer = net[0].allocate(4096);
	uint32_t key = net[0].register_memory(net.pd(0), buffer, 4096);
	net[0].completion_eq.arm();
	net.cq(0).arm(OHCA_CQ_ARM_NEXT);
	net[0].interrupts.raised.clear();
	for (int i = 0; i < 10; i++)
		net.write(a, buffer, key, buffer + 8, key, 8);
	a.ring();
	net.run();
	EXPECT_EQ(net[0].interrupts.raised, std::vector<uint32_t>{1});
	EXPECT_EQ(net[0].completion_eq.poll()->number, net.cq(0).cqn);
}

TEST(Engine, SleepHandshake) // OHCA-DB-D4, OHCA-DB-D5
{
	Loopback net(1);
	auto [a, b] = net.connected_pair(0, 0);
	net.run();
	EXPECT_TRUE(net.engine.prepare_sleep());
	EXPECT_EQ(net[0].uar(0).need_wakeup, 1u);
	net.engine.end_sleep();
	EXPECT_EQ(net[0].uar(0).need_wakeup, 0u);
	a.ring();
	EXPECT_FALSE(net.engine.prepare_sleep()); // it came in between
	EXPECT_EQ(net[0].uar(0).need_wakeup, 0u);
	net.run();
	EXPECT_TRUE(net.engine.prepare_sleep());
	net.engine.end_sleep();
	EXPECT_EQ(net.engine.poll_timeout(), kNever);
}

TEST(Engine, AnotherEngineGoesOnFromContextMemory) // D3
{
	FakeFunction host; // its own function is only memory and driver here
	FunctionResources resources = host.function().resources();
	// First engine: makes a PD, dies.
	uint32_t first_pd;
	{
		Engine engine;
		uint32_t index = engine.add_function(resources);
		EnableRequest request = host.enable_request();
		ASSERT_EQ(engine.enable(index, request), unsigned{OHCA_FAIL_NONE});
		ohca_cmd_entry entry{};
		entry.opcode = OHCA_CMD_CREATE_PD;
		entry.output_address = host.output();
		entry.output_length = 8;
		host.push_entry(entry);
		host.ring_commands();
		engine.run(1);
		ASSERT_TRUE(host.poll_completion());
		first_pd = host.at<uint32_t>(host.output());
		// A command is in the ring when it dies.
		host.push_entry(entry);
	}
	Engine engine;
	uint32_t index = engine.add_function(resources);
	EXPECT_TRUE(engine.function(index).running());
	engine.run(2);
	EXPECT_EQ(host.interrupts.raised, std::vector<uint32_t>{OHCA_CMD_VECTOR}); // in case one was lost
	auto completion = host.poll_completion();
	ASSERT_TRUE(completion);
	EXPECT_EQ(completion->status, OHCA_CMD_STATUS_OK);
	EXPECT_NE(host.at<uint32_t>(host.output()), first_pd);
	EXPECT_EQ(engine.function(index).live_uars(), std::vector<uint32_t>{0});
}

TEST(Engine, AnotherEngineTransmitsWhatWasPosted) // D3
{
	// The second engine gets the memory of the first one's function while a write is under way.
	FakeFunction host;
	FunctionResources resources = host.function().resources();
	{
		// All objects by the function's own command processor.
		host.bring_up();
	}
	uint32_t pd = host.create_pd();
	FakeCq cq = host.create_cq();
	FakeQpOptions options;
	options.pd = pd;
	options.send_cq = options.recv_cq = cq.cqn;
	options.uar = host.create_uar();
	FakeQp a = host.create_qp(options), b = host.create_qp(options);
	host.connect(a, b);
	host.connect(b, a);
	uint64_t memory = host.allocate(8192);
	uint32_t key = host.register_memory(pd, memory, 8192);
	host.at<uint64_t>(memory) = 99;
	Loopback::write(a, memory, key, memory + 4096, key, 8);
	a.ring();
	scan_doorbells(host.function(), host.now); // the doorbell is taken, and then it dies

	Engine engine;
	engine.add_function(resources);
	for (TimeNs now = host.now; now < host.now + 10; now++)
		engine.run(now);
	std::optional<ohca_cqe> cqe = cq.poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
	EXPECT_EQ(host.at<uint64_t>(memory + 4096), 99u);
}

TEST(Engine, ManyTimersOfQueuePairsInErr)
{
	FakeOptions options;
	options.memory_size = uint64_t{1} << 30;
	Loopback net(1, options);
	// Every queue pair in ERR keeps a timer.
	FakeQpOptions o = net.qp_options(0);
	o.log_sq_depth = o.log_rq_depth = 0;
	o.log_sq_stride = o.log_rq_stride = 6;
	for (int i = 0; i < 2000; i++) {
		FakeQp qp = net[0].create_qp(o);
		FakeFunction::must(net[0].modify(qp.qpn, OHCA_QP_STATE_ERR, 0));
	}
	net.advance(300'000'000);
	EXPECT_TRUE(net[0].function().running());
}

} // namespace
} // namespace ohca::core::test
