// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One engine with several fake functions, brought up, and connected queue pairs.
#pragma once

#include <utility>

#include "core/tests/fake_host.hh"

namespace ohca::core::test {

class Loopback {
public:
	explicit Loopback(uint32_t count = 1, FakeOptions options = {})
	{
		for (uint32_t i = 0; i < count; i++) {
			options.mac = 0x0000'5500'0000'0002 + (uint64_t{i} << 40);
			auto &host = hosts_.emplace_back(std::make_unique<FakeFunction>(options, &engine));
			host->bring_up(static_cast<uint8_t>(i + 1));
			pds_.push_back(host->create_pd());
			cqs_.push_back(host->create_cq(10));
		}
	}

	FakeFunction &operator[](uint32_t index) { return *hosts_[index]; }
	uint32_t pd(uint32_t index) { return pds_[index]; }
	FakeCq &cq(uint32_t index) { return cqs_[index]; }

	FakeQpOptions qp_options(uint32_t index)
	{
		FakeQpOptions options;
		options.pd = pds_[index];
		options.send_cq = cqs_[index].cqn;
		options.recv_cq = cqs_[index].cqn;
		return options;
	}
	std::pair<FakeQp, FakeQp> connected_pair(uint32_t from, uint32_t to, const ConnectOptions &options = {})
	{
		FakeQp a = hosts_[from]->create_qp(qp_options(from));
		FakeQp b = hosts_[to]->create_qp(qp_options(to));
		hosts_[from]->connect(a, b, options);
		hosts_[to]->connect(b, a, options);
		return {a, b};
	}

	static void write(FakeQp &qp, uint64_t from, uint32_t lkey, uint64_t to, uint32_t rkey, uint32_t length,
			  uint8_t flags = OHCA_WQE_SIGNALED)
	{
		ohca_sq_wqe wqe{};
		wqe.opcode = OHCA_WR_WRITE;
		wqe.flags = flags;
		wqe.remote_address = to;
		wqe.rkey = rkey;
		ohca_sge sge{.address = from, .length = length, .lkey = lkey};
		qp.post_send(wqe, {&sge, 1});
	}

	// Passes at the same time until nothing happens any more.
	void run()
	{
		for (int i = 0; engine.run(now); i++)
			if (i > 100'000)
				throw std::runtime_error("the engine does not come to rest");
	}
	// Lets time pass, with all wake-ups that the engine asks for.
	void advance(TimeNs by)
	{
		TimeNs end = now + by;
		run();
		for (TimeNs next = engine.poll_timeout(); next < end; next = engine.poll_timeout()) {
			now = std::max(next, now + 1);
			set_clock();
			run();
		}
		now = end;
		set_clock();
		run();
	}

	Engine engine;
	TimeNs now = 1'000'000'000;

private:
	void set_clock()
	{
		for (auto &host : hosts_)
			host->now = now;
	}

	std::vector<std::unique_ptr<FakeFunction>> hosts_;
	std::vector<uint32_t> pds_;
	std::vector<FakeCq> cqs_;
};

} // namespace ohca::core::test
