// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include "core/tests/loopback.hh"

namespace ohca::core::test {
namespace {

TEST(Engine, WritesFromOneFunctionToAnother)
{
	Loopback net(2);
	auto [a, b] = net.connected_pair(0, 1);
	uint64_t from = net[0].allocate(100'000);
	uint64_t to = net[1].allocate(100'000);
	for (uint32_t i = 0; i < 100'000; i++)
		net[0].at<uint8_t>(from + i) = static_cast<uint8_t>(i * 7);
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

} // namespace
} // namespace ohca::core::test
