// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Boundary: application -> device.  The input is written over the queue pair's
// buffer, the CQ and the UAR page of an application, between passes of the
// engine.  A queue pair of another application must still work in the end.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>

#include "core/tests/loopback.hh"

using namespace ohca::core;
using namespace ohca::core::test;

namespace {

void overwrite(FuzzedDataProvider &input, std::byte *target, size_t size)
{
	size_t at = input.ConsumeIntegralInRange<size_t>(0, size - 1);
	std::vector<uint8_t> bytes = input.ConsumeBytes<uint8_t>(std::min<size_t>(size - at, input.ConsumeIntegralInRange<size_t>(0, 80)));
	if (!bytes.empty())
		std::memcpy(target + at, bytes.data(), bytes.size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzedDataProvider input(data, size);
	FakeOptions options;
	options.memory_size = 4 << 20;
	Loopback net(1, options);
	FakeFunction &host = net[0];
	auto [good, good_peer] = net.connected_pair(0, 0);

	FakeCq cq = host.create_cq(3);
	FakeQpOptions o = net.qp_options(0);
	o.send_cq = o.recv_cq = cq.cqn;
	o.uar = host.create_uar();
	o.log_sq_depth = o.log_rq_depth = 2;
	o.log_sq_stride = o.log_rq_stride = 7;
	FakeQp a = host.create_qp(o), b = host.create_qp(o);
	ConnectOptions connection;
	connection.ack_timeout = 6;
	connection.retry_count = connection.rnr_retry = 1;
	host.connect(a, b, connection);
	host.connect(b, a, connection);
	uint64_t memory = host.allocate(8192);
	uint32_t key = host.register_memory(net.pd(0), memory, 8192);

	while (input.remaining_bytes() > 0) {
		FakeQp &qp = input.ConsumeBool() ? a : b;
		ohca_sge sge{.address = memory + input.ConsumeIntegral<uint8_t>(), .length = input.ConsumeIntegral<uint8_t>(), .lkey = key};
		ohca_sq_wqe wqe{};
		wqe.opcode = static_cast<uint8_t>(input.ConsumeIntegralInRange<int>(0, 9));
		wqe.flags = input.ConsumeIntegral<uint8_t>() & 0x1f;
		wqe.remote_address = memory + 4096;
		wqe.rkey = key;
		qp.post_send(wqe, {&sge, 1});
		if (input.ConsumeBool())
			qp.post_receive(1, {&sge, 1});
		switch (input.ConsumeIntegralInRange(0, 4)) {
		case 0: overwrite(input, host.host(qp.buffer), 1024); break;
		case 1: overwrite(input, host.host(cq.buffer), 576); break;
		case 2: overwrite(input, reinterpret_cast<std::byte *>(&host.uar(o.uar)), OHCA_UAR_SIZE); break;
		default: break;
		}
		qp.ring();
		net.advance(input.ConsumeIntegral<uint16_t>() * uint64_t{1000});
		while (cq.poll())
			;
	}
	Loopback::write(good, memory, key, memory + 4096, key, 8);
	good.ring();
	net.advance(1'000'000);
	std::optional<ohca_cqe> cqe = net.cq(0).poll();
	if (!cqe || cqe->status != OHCA_CQE_STATUS_SUCCESS)
		std::abort();
	return 0;
}
