// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the engine needs per operation, alone: one thread is application and
// device in turn.  "items" are operations from the doorbell to the polled CQE.
#include <benchmark/benchmark.h>

#include <cstring>

#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kBatch = 32;

// Write `size` bytes, kBatch at a time, on one of `qp_count` connected pairs; the others are idle.
void write_batch(benchmark::State &state, uint32_t size, uint32_t qp_count, bool is_inline, uint32_t batch)
{
	FakeOptions options;
	options.memory_size = uint64_t{1} << 30;
	options.uar_count = 4096;
	Loopback net(1, options);
	std::vector<std::pair<FakeQp, FakeQp>> pairs;
	for (uint32_t i = 0; i < qp_count; i++)
		pairs.push_back(net.connected_pair(0, 0));
	FakeQp &qp = pairs[qp_count / 2].first;
	uint64_t from = net[0].allocate(size);
	uint64_t to = net[0].allocate(size);
	uint32_t key = net[0].register_memory(net.pd(0), net[0].options().bus_base, options.memory_size);
	std::vector<std::byte> data(size);

	for (auto _ : state) {
		for (uint32_t i = 0; i < batch; i++) {
			uint8_t flags = i == batch - 1 ? OHCA_WQE_SIGNALED : 0;
			if (is_inline) {
				ohca_sq_wqe wqe{};
				wqe.opcode = OHCA_WR_WRITE;
				wqe.flags = flags;
				wqe.remote_address = to;
				wqe.rkey = key;
				qp.post_inline(wqe, data);
			} else {
				Loopback::write(qp, from, key, to, key, size, flags);
			}
		}
		qp.ring();
		std::optional<ohca_cqe> cqe;
		while (!(cqe = net.cq(0).poll())) {
			net.now += 100;
			net.engine.run(net.now);
		}
		if (cqe->status)
			state.SkipWithError("completion with error");
	}
	state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * batch);
	state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * batch * size);
}

void write8(benchmark::State &state) { write_batch(state, 8, static_cast<uint32_t>(state.range(0)), false, kBatch); }
BENCHMARK(write8)->Arg(1)->Arg(1000);

void write8_inline(benchmark::State &state) { write_batch(state, 8, 1, true, kBatch); }
BENCHMARK(write8_inline);

// One operation at a time: latency.
void write8_single(benchmark::State &state) { write_batch(state, 8, static_cast<uint32_t>(state.range(0)), false, 1); }
BENCHMARK(write8_single)->Arg(1)->Arg(1000);

void write_large(benchmark::State &state)
{
	write_batch(state, static_cast<uint32_t>(state.range(0)), 1, false, 4);
}
BENCHMARK(write_large)->Arg(4096)->Arg(65536)->Arg(1 << 20)->Arg(8 << 20);

// A key whose pages are scattered, as those of a user buffer are: many short pieces.
void write_scattered(benchmark::State &state)
{
	auto size = static_cast<uint32_t>(state.range(0));
	FakeOptions options;
	options.memory_size = uint64_t{256} << 20;
	Loopback net(1, options);
	FakeQp qp = net.connected_pair(0, 0).first;
	uint64_t memory = net[0].allocate(2 * size);
	uint64_t table = net[0].allocate(2 * size / 4096 * 8);
	for (uint64_t i = 0; i < 2 * size / 4096; i++) // no two neighbours in order
		net[0].at<uint64_t>(table + i * 8) = memory + (i ^ 1) * 4096;
	ohca_page_list list{};
	list.address = table;
	list.page_count = 2 * size / 4096;
	list.log_page_size = 12;
	list.levels = 1;
	ohca_cmd_create_mkey_out key;
	FakeFunction::must(net[0].command(OHCA_CMD_CREATE_MKEY,
					  FakeFunction::mkey_request(net.pd(0), list, 0, 2 * size), key));
	for (auto _ : state) {
		Loopback::write(qp, 0, key.key, size, key.key, size);
		qp.ring();
		while (!net.cq(0).poll())
			net.engine.run(net.now += 100);
	}
	state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * size);
}
BENCHMARK(write_scattered)->Arg(65536)->Arg(1 << 20);

// The yardstick for the above.
void memcpy_bytes(benchmark::State &state)
{
	auto size = static_cast<size_t>(state.range(0));
	std::vector<std::byte> from(size), to(size);
	for (auto _ : state) {
		std::memcpy(to.data(), from.data(), size);
		benchmark::DoNotOptimize(to.data());
		benchmark::ClobberMemory();
	}
	state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(size));
}
BENCHMARK(memcpy_bytes)->Arg(65536)->Arg(1 << 20)->Arg(8 << 20);

// A pass that finds nothing: what polling costs per live UAR page.
void idle_pass(benchmark::State &state)
{
	FakeOptions options;
	options.uar_count = 4096;
	Loopback net(1, options);
	for (int64_t i = 1; i < state.range(0); i++)
		net[0].create_uar();
	for (auto _ : state)
		benchmark::DoNotOptimize(net.engine.run(net.now += 100));
}
BENCHMARK(idle_pass)->Arg(1)->Arg(64)->Arg(1000);

// A fast registration of `range` scattered pages and its invalidation, kBatch / 2 pairs at a time.
void register_invalidate(benchmark::State &state)
{
	FakeOptions options;
	options.memory_size = uint64_t{256} << 20;
	Loopback net(1, options);
	auto [qp, peer] = net.connected_pair(0, 0);
	const auto pages = static_cast<uint32_t>(state.range(0));
	ohca_cmd_create_mkey_in in{};
	in.pd = net.pd(0);
	in.type = OHCA_MKEY_TYPE_FAST_REGION;
	in.list_entry_max = pages;
	ohca_cmd_create_mkey_out key;
	FakeFunction::must(net[0].command(OHCA_CMD_CREATE_MKEY, in, key));
	ohca_wqe_register body{};
	body.length = uint64_t{pages} << 12;
	body.list_address = net[0].allocate(uint64_t{pages} * 8);
	body.entry_count = pages;
	body.access = OHCA_ACCESS_LOCAL_WRITE;
	body.log_page_size = 12;
	for (uint32_t i = 0; i < pages; i++)
		net[0].at<uint64_t>(body.list_address + uint64_t{i} * 8) = uint64_t{(i * 7) % 4096 + 1} << 12;

	for (auto _ : state) {
		for (uint32_t i = 0; i < kBatch; i++) {
			ohca_sq_wqe wqe{};
			wqe.opcode = i % 2 ? OHCA_WR_LOCAL_INV : OHCA_WR_REG_MR;
			wqe.flags = i == kBatch - 1 ? OHCA_WQE_SIGNALED : 0;
			wqe.rkey = wqe.invalidate_key = key.key;
			std::memcpy(qp.sq_slot(qp.sq_producer) + sizeof(wqe), &body, sizeof(body));
			qp.post_send(wqe, {});
		}
		qp.ring();
		std::optional<ohca_cqe> cqe;
		while (!(cqe = net.cq(0).poll()))
			net.engine.run(net.now += 100);
		if (cqe->status)
			state.SkipWithError("completion with error");
	}
	state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBatch);
}
BENCHMARK(register_invalidate)->Arg(1)->Arg(256)->Arg(65536);

} // namespace
} // namespace ohca::core::test
