// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What a SEND costs from the doorbell to both polled CQEs, received from the queue pair's own
// receive queue and from an SRQ that many queue pairs share.
#include <benchmark/benchmark.h>

#include "core/tests/fake_srq.hh"
#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kBatch = 32;

struct Receivers {
	explicit Receivers(uint32_t pairs, bool shared) : net(1, options())
	{
		if (shared)
			srq = create_srq(net[0], {.pd = net.pd(0)});
		for (uint32_t i = 0; i < pairs; i++) {
			FakeQp a = net[0].create_qp(net.qp_options(0));
			FakeQp b = shared ? create_qp_on(net[0], net.qp_options(0), srq.srqn)
					  : net[0].create_qp(net.qp_options(0));
			net[0].connect(a, b);
			net[0].connect(b, a);
			senders.push_back(a);
			receivers.push_back(b);
		}
		memory = net[0].allocate(4096);
		key = net[0].register_memory(net.pd(0), memory, 4096);
	}
	static FakeOptions options()
	{
		FakeOptions o;
		o.memory_size = uint64_t{1} << 30;
		o.uar_count = 4096;
		return o;
	}

	Loopback net;
	FakeSrq srq;
	std::vector<FakeQp> senders, receivers;
	uint64_t memory = 0;
	uint32_t key = 0;
};

// kBatch SENDs of 8 bytes, each by the next of the queue pairs.
void send_batch(benchmark::State &state, bool shared)
{
	auto pairs = static_cast<uint32_t>(state.range(0));
	Receivers r(pairs, shared);
	ohca_sge sge{.address = r.memory, .length = 8, .lkey = r.key};
	ohca_sq_wqe wqe{};
	wqe.opcode = OHCA_WR_SEND;
	wqe.flags = OHCA_WQE_SIGNALED;
	uint32_t next = 0;
	for (auto _ : state) {
		for (uint32_t i = 0; i < kBatch; i++) {
			uint32_t pair = next++ % pairs;
			if (shared)
				r.srq.post(i, sge);
			else
				r.receivers[pair].post_receive(i, {&sge, 1});
			r.senders[pair].post_send(wqe, {&sge, 1});
			r.senders[pair].ring();
		}
		uint32_t completions = 0;
		while (completions < 2 * kBatch) {
			r.net.engine.run(r.net.now += 100);
			while (auto cqe = r.net.cq(0).poll()) {
				if (cqe->status)
					state.SkipWithError("completion with error");
				completions++;
			}
		}
	}
	state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBatch);
}

void send8(benchmark::State &state) { send_batch(state, false); }
BENCHMARK(send8)->Arg(1)->Arg(1000);

void send8_srq(benchmark::State &state) { send_batch(state, true); }
BENCHMARK(send8_srq)->Arg(1)->Arg(1000)->Arg(4000);

} // namespace
} // namespace ohca::core::test
