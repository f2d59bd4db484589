// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Applications and a driver that write garbage where the device reads, by
// fixed seeds.  Whatever they do, the queue pairs of others go on and their
// memory stays intact (design D7).
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

// A pair that writes and checks, to be run beside the hostile ones.
class HealthyFlow {
public:
	HealthyFlow(Loopback &net, uint32_t index) : net_(net), host_(net[index])
	{
		cq_ = host_.create_cq(6);
		FakeQpOptions options = net.qp_options(index);
		options.send_cq = options.recv_cq = cq_.cqn;
		options.uar = host_.create_uar();
		a_ = host_.create_qp(options);
		b_ = host_.create_qp(options);
		host_.connect(a_, b_);
		host_.connect(b_, a_);
		memory_ = host_.allocate(8192);
		key_ = host_.register_memory(net.pd(index), memory_, 8192);
	}

	void write_and_check(uint64_t value)
	{
		host_.at<uint64_t>(memory_) = value;
		Loopback::write(a_, memory_, key_, memory_ + 4096, key_, 8);
		a_.ring();
		std::optional<ohca_cqe> cqe;
		for (int pass = 0; pass < 1000 && !(cqe = cq_.poll()); pass++)
			net_.engine.run(net_.now += 1000);
		ASSERT_TRUE(cqe);
		ASSERT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
		ASSERT_EQ(cqe->qpn, a_.qpn);
		ASSERT_EQ(host_.at<uint64_t>(memory_ + 4096), value);
	}

private:
	Loopback &net_;
	FakeFunction &host_;
	FakeCq cq_;
	FakeQp a_, b_;
	uint64_t memory_ = 0;
	uint32_t key_ = 0;
};

struct Hostile : testing::TestWithParam<uint64_t> {
	Hostile() : random(GetParam()), net(2) {}

	// Mostly small numbers and near misses: those come past the first checks.
	uint64_t odd_number()
	{
		switch (random() % 6) {
		case 0: return random() % 4;
		case 1: return random() % 100;
		case 2: return uint64_t{0} - random() % 4;
		case 3: return uint64_t{1} << (random() % 64);
		case 4: return random() % (uint64_t{1} << 32);
		default: return random();
		}
	}
	void scribble(std::byte *bytes, size_t size)
	{
		for (uint64_t n = 1 + random() % 8; n; n--) {
			size_t at = random() % (size / 8) * 8;
			uint64_t value = odd_number();
			std::memcpy(bytes + at, &value, 8);
		}
	}

	std::mt19937_64 random;
	Loopback net;
};

// An application of function 0 with a CQ, a UAR page and a few queue pairs of its own.
class HostileApplication {
public:
	explicit HostileApplication(Loopback &net) : host_(net[0])
	{
		options_ = net.qp_options(0);
		options_.uar = host_.create_uar();
		options_.log_sq_depth = options_.log_rq_depth = 3;
		options_.log_sq_stride = options_.log_rq_stride = 7;
		memory_ = host_.allocate(8192);
		key_ = host_.register_memory(net.pd(0), memory_, 8192);
		make_windows(net.pd(0));
		make_cq();
	}

	FakeQp &any_qp(std::mt19937_64 &random)
	{
		ConnectOptions o;
		o.ack_timeout = 6;
		o.retry_count = 1;
		o.rnr_retry = 1;
		while (qps_.size() < 6) {
			FakeQp a = host_.create_qp(options_), b = host_.create_qp(options_);
			host_.connect(a, b, o);
			host_.connect(b, a, o);
			qps_.push_back(a);
			qps_.push_back(b);
		}
		return qps_[random() % qps_.size()];
	}
	// A work request that may be good.
	void post(FakeQp &qp, std::mt19937_64 &random)
	{
		if (random() % 2)
			post_good_bind(qp, random);
		ohca_sge sge{.address = memory_ + random() % 8000, .length = static_cast<uint32_t>(random() % 200),
			     .lkey = key_};
		ohca_sq_wqe wqe{};
		wqe.opcode = static_cast<uint8_t>(1 + random() % OHCA_WR_REG_MR_INTEGRITY);
		wqe.flags = static_cast<uint8_t>(random() % 16);
		wqe.remote_address = memory_ + random() % 9000;
		wqe.rkey = any_key(random);
		wqe.invalidate_key = any_key(random);
		if (wqe.opcode == OHCA_WR_BIND_MW || wqe.opcode == OHCA_WR_LOCAL_INV || wqe.opcode == OHCA_WR_FLUSH)
			post_without_elements(qp, wqe, random);
		else
			qp.post_send(wqe, {&sge, 1});
		qp.post_receive(static_cast<uint32_t>(random()), {&sge, 1});
	}
	// Destroys one queue pair; all, and the CQ, once that is broken.
	void destroy_some(std::mt19937_64 &random)
	{
		size_t which = random() % qps_.size();
		FakeFunction::must(host_.destroy(OHCA_CMD_DESTROY_QP, qps_[which].qpn));
		qps_.erase(qps_.begin() + static_cast<ptrdiff_t>(which));
		if (!host_.function().context().cq(cq.cqn)->overrun)
			return;
		for (FakeQp &qp : qps_)
			FakeFunction::must(host_.destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
		qps_.clear();
		FakeFunction::must(host_.destroy(OHCA_CMD_DESTROY_CQ, cq.cqn));
		make_cq();
	}
	ohca_uar &uar() { return host_.uar(options_.uar); }

	FakeCq cq;

private:
	uint32_t any_key(std::mt19937_64 &random)
	{
		size_t which = random() % (std::size(windows_) * 2);
		return which < std::size(windows_) ? windows_[which] | static_cast<uint32_t>(random() % 2) : key_;
	}
	void post_without_elements(FakeQp &qp, ohca_sq_wqe &wqe, std::mt19937_64 &random)
	{
		ohca_wqe_bind bind = good_bind(random);
		ohca_wqe_flush flush{};
		wqe.flags &= OHCA_WQE_SIGNALED | OHCA_WQE_FENCE;
		if (random() % 2)
			bind.access = static_cast<uint32_t>(random() % 0x400);
		flush.length = static_cast<uint32_t>(random() % 200);
		flush.placement = static_cast<uint8_t>(random() % 4);
		std::byte *slot = qp.sq_slot(qp.sq_producer);
		qp.post_send(wqe, {});
		if (wqe.opcode == OHCA_WR_BIND_MW)
			std::memcpy(slot + sizeof(wqe), &bind, sizeof(bind));
		else
			std::memcpy(slot + sizeof(wqe), &flush, sizeof(flush));
	}
	ohca_wqe_bind good_bind(std::mt19937_64 &random)
	{
		ohca_wqe_bind bind{};
		bind.address = memory_ + random() % 7000;
		bind.length = 1 + random() % 1000;
		bind.lkey = key_;
		bind.access = OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_REMOTE_WRITE;
		return bind;
	}
	// Of a window of type 1, which may be bound at any time.
	void post_good_bind(FakeQp &qp, std::mt19937_64 &random)
	{
		ohca_sq_wqe wqe{};
		wqe.opcode = OHCA_WR_BIND_MW;
		wqe.rkey = windows_[random() % 2] | static_cast<uint32_t>(random() % 2);
		const ohca_wqe_bind bind = good_bind(random);
		std::memcpy(qp.sq_slot(qp.sq_producer) + sizeof(wqe), &bind, sizeof(bind));
		qp.post_send(wqe, {});
	}
	void make_windows(uint32_t pd)
	{
		for (uint32_t &window : windows_) {
			ohca_cmd_create_mkey_in in{};
			in.pd = pd;
			in.type = &window - windows_ < 2 ? OHCA_MKEY_TYPE_WINDOW_1 : OHCA_MKEY_TYPE_WINDOW_2B;
			ohca_cmd_create_mkey_out out;
			FakeFunction::must(host_.command(OHCA_CMD_CREATE_MKEY, in, out));
			window = out.key;
		}
	}
	void make_cq()
	{
		cq = host_.create_cq(4);
		options_.send_cq = options_.recv_cq = cq.cqn;
	}

	FakeFunction &host_;
	FakeQpOptions options_;
	std::vector<FakeQp> qps_;
	uint64_t memory_ = 0;
	uint32_t key_ = 0;
	uint32_t windows_[6] = {};
};

TEST_P(Hostile, ApplicationScribblesOverItsRings) // OHCA-GEN-D4; acceptance: garbage over rings and UAR page
{
	HealthyFlow same_function(net, 0), other_function(net, 1);
	FakeFunction &host = net[0];
	HostileApplication application(net);
	// Memory that no key covers.
	uint64_t canary = host.allocate(4096);
	std::memset(host.host(canary), 0x5c, 4096);

	for (int round = 0; round < 400; round++) {
		FakeQp &qp = application.any_qp(random);
		application.post(qp, random);
		if (random() % 2)
			scribble(qp.sq_slot(qp.sq_producer - 1), 128);
		if (random() % 4 == 0)
			scribble(qp.rq_slot(qp.rq_producer - 1), 128);
		if (random() % 8 == 0)
			scribble(reinterpret_cast<std::byte *>(&qp.record()), 64);
		if (random() % 8 == 0)
			scribble(reinterpret_cast<std::byte *>(&application.cq.record()), 64);
		if (random() % 4 == 0)
			scribble(reinterpret_cast<std::byte *>(&application.uar()), OHCA_UAR_SIZE);
		qp.ring();
		net.advance(random() % 1'000'000);
		while (application.cq.poll())
			;
		if (random() % 3 == 0)
			application.destroy_some(random);
		while (host.async_eq.poll() || host.completion_eq.poll())
			;
		ASSERT_NO_FATAL_FAILURE(same_function.write_and_check(random()));
		ASSERT_NO_FATAL_FAILURE(other_function.write_and_check(random()));
		ASSERT_TRUE(host.function().running());
	}
	EXPECT_GT(host.counter(OHCA_COUNTER_REGISTRATIONS), 0u); // some binds were good
	for (uint64_t at = 0; at < 4096; at++)
		ASSERT_EQ(host.at<uint8_t>(canary + at), 0x5c);
}

struct OddCommand {
	uint16_t opcode;
	uint32_t input_size;
};

constexpr uint32_t kHandleSize = sizeof(ohca_cmd_handle);

constexpr OddCommand kOddCommands[] = {
	{OHCA_CMD_SET_PORT, sizeof(ohca_cmd_set_port_in)},
	{OHCA_CMD_SET_GID, sizeof(ohca_cmd_set_gid_in)},
	{OHCA_CMD_CREATE_EQ, sizeof(ohca_cmd_create_eq_in)},
	{OHCA_CMD_DESTROY_EQ, kHandleSize},
	{OHCA_CMD_CREATE_UAR, 0},
	{OHCA_CMD_DESTROY_UAR, kHandleSize},
	{OHCA_CMD_CREATE_PD, 0},
	{OHCA_CMD_DESTROY_PD, kHandleSize},
	{OHCA_CMD_CREATE_MKEY, sizeof(ohca_cmd_create_mkey_in)},
	{OHCA_CMD_MODIFY_MKEY, sizeof(ohca_cmd_modify_mkey_in)},
	{OHCA_CMD_DESTROY_MKEY, kHandleSize},
	{OHCA_CMD_CREATE_CQ, sizeof(ohca_cmd_create_cq_in)},
	{OHCA_CMD_MODIFY_CQ, sizeof(ohca_cmd_modify_cq_in)},
	{OHCA_CMD_RESIZE_CQ, sizeof(ohca_cmd_resize_cq_in)},
	{OHCA_CMD_DESTROY_CQ, kHandleSize},
	{OHCA_CMD_CREATE_QP, sizeof(ohca_cmd_create_qp_in)},
	{OHCA_CMD_MODIFY_QP, sizeof(ohca_cmd_modify_qp_in)},
	{OHCA_CMD_QUERY_QP, kHandleSize},
	{OHCA_CMD_CONNECT_QP, sizeof(ohca_cmd_modify_qp_in)},
	{OHCA_CMD_DISCONNECT_QP, kHandleSize},
	{OHCA_CMD_RESET_SRQ, kHandleSize},
	{OHCA_CMD_INVALIDATE_MKEY, kHandleSize},
	{OHCA_CMD_DESTROY_QP, kHandleSize},
	{OHCA_CMD_CREATE_SRQ, sizeof(ohca_cmd_create_srq_in)},
	{OHCA_CMD_MODIFY_SRQ, sizeof(ohca_cmd_modify_srq_in)},
	{OHCA_CMD_QUERY_SRQ, kHandleSize},
	{OHCA_CMD_RESIZE_SRQ, sizeof(ohca_cmd_resize_srq_in)},
	{OHCA_CMD_DESTROY_SRQ, kHandleSize},
	{OHCA_CMD_CREATE_XRCD, 0},
	{OHCA_CMD_DESTROY_XRCD, kHandleSize},
	{OHCA_CMD_ATTACH_MULTICAST, sizeof(ohca_cmd_multicast_in)},
	{OHCA_CMD_DETACH_MULTICAST, sizeof(ohca_cmd_multicast_in)},
};

TEST_P(Hostile, DriverSendsOddCommands) // acceptance: garbage in the command ring, oversized create
{
	HealthyFlow other(net, 1);
	FakeFunction &host = net[0];
	for (int round = 0; round < 1500; round++) {
		const OddCommand &odd = kOddCommands[random() % std::size(kOddCommands)];
		std::byte input[128];
		// Fields of every size with odd numbers in them.
		for (size_t at = 0; at < sizeof(input);) {
			size_t size = size_t{1} << (random() % 4);
			if (at + size > sizeof(input))
				break;
			uint64_t value = odd_number();
			std::memcpy(input + at, &value, size);
			at += size;
		}
		if (random() % 2) {
			// A page list that may be all right.
			ohca_page_list list = host.contiguous(host.options().bus_base + random() % 0x10000 * 64, 1 << 20);
			list.levels = static_cast<uint8_t>(random() % 3);
			list.first_page_offset = random() % 2 ? 0 : odd_number();
			std::memcpy(input, &list, sizeof(list));
		}
		std::byte output[4096];
		host.execute(odd.opcode, input, odd.input_size, output, 256);
		net.advance(random() % 100'000);
		ASSERT_TRUE(host.function().running());
		if (round % 50 == 0) {
			ASSERT_NO_FATAL_FAILURE(other.write_and_check(random()));
		}
	}
	net.engine.reset(0);
	ASSERT_NO_FATAL_FAILURE(other.write_and_check(1));
}

TEST_P(Hostile, MemoryVanishes) // OHCA-MEM-D8: unmapped under the queues
{
	HealthyFlow other(net, 1);
	FakeFunction &host = net[0];
	auto [a, b] = net.connected_pair(0, 0);
	uint64_t memory = host.allocate(1 << 20);
	uint32_t key = host.register_memory(net.pd(0), memory, 1 << 20);
	std::byte *base = host.host(host.options().bus_base);
	for (int round = 0; round < 300; round++) {
		uint64_t hole = random() % (host.options().memory_size / 4096 / 8) * 4096;
		host.dma.unmap(host.options().bus_base + hole, 4096 * (1 + random() % 64));
		Loopback::write(a, memory, key, memory + (1 << 19), key, 1 << 19);
		a.ring();
		net.advance(10'000'000);
		net.cq(0).poll();
		host.dma.clear();
		host.dma.map(host.options().bus_base, host.options().memory_size, base, true);
		ASSERT_NO_FATAL_FAILURE(other.write_and_check(random()));
		if (host.function().context().qp(a.qpn)->state == OHCA_QP_STATE_ERR || a.sq_producer > 50) {
			FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, a.qpn));
			FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, b.qpn));
			if (host.function().context().cq(net.cq(0).cqn)->overrun) {
				net.cq(0) = host.create_cq(10);
			}
			std::tie(a, b) = net.connected_pair(0, 0);
		}
		while (host.async_eq.poll())
			;
	}
}

INSTANTIATE_TEST_SUITE_P(Seeds, Hostile, testing::Range<uint64_t>(1, 9));

} // namespace
} // namespace ohca::core::test
