// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Garbage over shared receive queues, and over CQs while they are resized, by
// fixed seeds. A pair of queue pairs with an SRQ of its own goes on beside them.
#include <gtest/gtest.h>

#include <random>

#include "core/tests/fake_srq.hh"
#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

class HostileSrq : public testing::TestWithParam<uint64_t> {
protected:
	HostileSrq() : random(GetParam()), net(1), host(net[0])
	{
		memory = host.allocate(64 * 1024);
		key = host.register_memory(net.pd(0), memory, 64 * 1024);
		good_cq = host.create_cq(4);
		good = create_srq(host, {.pd = net.pd(0), .log_depth = 2});
		FakeQpOptions o = net.qp_options(0);
		o.send_cq = o.recv_cq = good_cq.cqn;
		sender = host.create_qp(o);
		receiver = create_qp_on(host, o, good.srqn);
		host.connect(sender, receiver);
		host.connect(receiver, sender);
		xrcd = create_xrcd(host);
		make_victims();
	}

	// What the hostile application owns: a basic SRQ with two pairs, an XRC SRQ with a target.
	void make_victims()
	{
		ConnectOptions o;
		o.ack_timeout = 6;
		o.retry_count = 1;
		o.rnr_retry = 1;
		cq = host.create_cq(3);
		FakeQpOptions options = net.qp_options(0);
		options.send_cq = options.recv_cq = cq.cqn;
		basic = create_srq(host, {.pd = net.pd(0), .log_depth = 2, .log_stride = 7});
		xrc = create_srq(host, {.pd = net.pd(0), .xrcd = xrcd, .cq = cq.cqn, .log_depth = 2, .log_stride = 7});
		for (int i = 0; i < 2; i++) {
			FakeQp a = host.create_qp(options);
			FakeQp b = create_qp_on(host, options, basic.srqn);
			host.connect(a, b, o);
			host.connect(b, a, o);
			senders.push_back(a);
			others.push_back(b);
		}
		FakeQp initiator = create_xrc_initiator(host, options);
		FakeQp target = create_xrc_target(host, xrcd);
		connect_xrc(initiator, target, o);
		senders.push_back(initiator);
		others.push_back(target);
	}
	void destroy_victims()
	{
		// Sometimes while messages are under way, an XRC SRQ before its queue pairs.
		FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_SRQ, xrc.srqn));
		for (auto *list : {&senders, &others}) {
			for (FakeQp &qp : *list)
				FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
			list->clear();
		}
		FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_SRQ, basic.srqn));
		FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_CQ, cq.cqn));
	}

	void post_something()
	{
		ohca_sge sge{.address = memory + random() % 65000, .length = static_cast<uint32_t>(random() % 900),
			     .lkey = key};
		basic.post(static_cast<uint32_t>(random()), sge);
		xrc.post(static_cast<uint32_t>(random()), sge);
		FakeQp &qp = senders[random() % senders.size()];
		ohca_sq_wqe wqe{};
		wqe.opcode = random() % 2 ? OHCA_WR_SEND : OHCA_WR_WRITE_IMM;
		wqe.flags = OHCA_WQE_SIGNALED;
		wqe.remote_address = memory;
		wqe.rkey = key;
		if (&qp == &senders.back())
			wqe.remote_srqn = static_cast<uint32_t>(random() % 8 ? xrc.srqn : random() % 20);
		qp.post_send(wqe, {&sge, 1});
		qp.ring();
	}
	void scribble(std::byte *bytes, size_t size)
	{
		size_t at = random() % (size / 4) * 4;
		auto value = static_cast<uint32_t>(random() % 2 ? random() : random() % 8);
		std::memcpy(bytes + at, &value, 4);
	}
	void resize_something()
	{
		auto log_depth = static_cast<uint8_t>(random() % 6);
		FakeSrq resized;
		ohca_cmd_resize_srq_in in = srq_resize_request(basic, log_depth, resized);
		if (random() % 4 == 0)
			scribble(reinterpret_cast<std::byte *>(&resized.record()), 64);
		if (host.command(OHCA_CMD_RESIZE_SRQ, in).ok())
			basic = resized;

		uint64_t size = OHCA_CQ_RING_OFFSET + (sizeof(ohca_cqe) << log_depth);
		FakeCq other = cq;
		other.log_depth = log_depth;
		other.buffer = host.allocate(size);
		other.record().consumer = random() % 4 ? cq.consumer : static_cast<uint32_t>(random());
		ohca_cmd_resize_cq_in resize{};
		resize.pages = host.contiguous(other.buffer, size);
		resize.cqn = cq.cqn;
		resize.log_depth = log_depth;
		if (host.command(OHCA_CMD_RESIZE_CQ, resize).ok())
			cq = other;
	}
	void send_and_check(uint32_t tag)
	{
		host.at<uint32_t>(memory) = tag;
		good.post(tag, ohca_sge{.address = memory + 4096, .length = 64, .lkey = key});
		ohca_sq_wqe wqe{};
		wqe.opcode = OHCA_WR_SEND;
		ohca_sge sge{.address = memory, .length = 4, .lkey = key};
		wqe.flags = OHCA_WQE_SIGNALED;
		sender.post_send(wqe, {&sge, 1});
		sender.ring();
		uint32_t completions = 0;
		for (int pass = 0; pass < 1000 && completions < 2; pass++) {
			net.engine.run(net.now += 1000);
			while (auto cqe = good_cq.poll()) {
				ASSERT_EQ(int{cqe->status}, OHCA_CQE_STATUS_SUCCESS);
				if (cqe->flags & OHCA_CQE_FROM_SRQ) {
					ASSERT_EQ(cqe->wqe_index, tag);
				}
				completions++;
			}
		}
		ASSERT_EQ(completions, 2u);
	}

	std::mt19937_64 random;
	Loopback net;
	FakeFunction &host;
	uint64_t memory = 0;
	uint32_t key = 0;
	uint32_t xrcd = 0;
	FakeCq good_cq, cq;
	FakeSrq good, basic, xrc;
	FakeQp sender, receiver;
	std::vector<FakeQp> senders, others;
};

TEST_P(HostileSrq, OthersGoOn) // OHCA-SRQ-D8, OHCA-GEN-D4
{
	for (uint32_t round = 0; round < 300; round++) {
		post_something();
		FakeSrq &victim = random() % 2 ? basic : xrc;
		if (random() % 4 == 0)
			scribble(victim.slot(victim.producer - 1), 128);
		if (random() % 8 == 0)
			scribble(reinterpret_cast<std::byte *>(&victim.record()), 64);
		if (random() % 8 == 0)
			scribble(reinterpret_cast<std::byte *>(&cq.record()), 64);
		if (random() % 8 == 0)
			resize_something();
		if (random() % 8 == 0)
			victim.set_limit(static_cast<uint32_t>(random() % 5));
		net.advance(random() % 1'000'000);
		while (cq.poll())
			;
		if (random() % 6 == 0) {
			destroy_victims();
			make_victims();
		}
		while (host.async_eq.poll() || host.completion_eq.poll())
			;
		ASSERT_NO_FATAL_FAILURE(send_and_check(round));
		ASSERT_TRUE(host.function().running());
	}
	destroy_victims();
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_XRCD, xrcd));
}

INSTANTIATE_TEST_SUITE_P(Seeds, HostileSrq, testing::Range<uint64_t>(1, 9));

} // namespace
} // namespace ohca::core::test
