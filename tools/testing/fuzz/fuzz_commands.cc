// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Boundary: driver -> device.  The input is a sequence of commands: opcode,
// input mailbox, with page lists that point into memory that the input fills.
// Nothing may crash, and the function beside must still work in the end.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>

#include "core/tests/loopback.hh"

using namespace ohca::core;
using namespace ohca::core::test;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzedDataProvider input(data, size);
	FakeOptions options;
	options.memory_size = 1 << 20;
	Loopback net(2, options);
	FakeFunction &host = net[0];
	uint64_t scratch = host.allocate(8192);
	std::vector<uint8_t> filler = input.ConsumeBytes<uint8_t>(input.ConsumeIntegralInRange<size_t>(0, 2048));
	if (!filler.empty())
		std::memcpy(host.host(scratch), filler.data(), filler.size());

	while (input.remaining_bytes() > 0 && host.function().running()) {
		static constexpr uint32_t kSizes[] = {0, 8, 32, 56, 80};
		auto opcode = static_cast<uint16_t>(input.ConsumeIntegralInRange<int>(0, OHCA_CMD_INVALIDATE_MKEY + 1));
		uint32_t length = input.PickValueInArray(kSizes);
		std::byte mailbox[80] = {};
		std::vector<uint8_t> bytes = input.ConsumeBytes<uint8_t>(length);
		if (!bytes.empty())
			std::memcpy(mailbox, bytes.data(), bytes.size());
		if (length >= sizeof(ohca_page_list) && input.ConsumeBool()) {
			ohca_page_list list = host.contiguous(scratch, 8192);
			list.levels = static_cast<uint8_t>(input.ConsumeIntegralInRange<int>(0, 2));
			std::memcpy(mailbox, &list, sizeof(list));
		}
		std::byte output[256];
		host.execute(opcode, mailbox, length, output, sizeof(output));
		net.advance(1'000'000);
	}
	ohca_cmd_query_device_out out;
	if (!net[1].query(OHCA_CMD_QUERY_DEVICE, out).ok())
		std::abort();
	return 0;
}
