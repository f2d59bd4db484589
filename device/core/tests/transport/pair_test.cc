// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Two connected queue pairs and a perfect network between them.
#include <gtest/gtest.h>

#include "core/tests/transport/rc_host.hh"
#include "core/transport/psn.hh"

namespace ohca::core::test {
namespace {

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

class Pair : public testing::Test {
protected:
	void SetUp() override
	{
		options.pd = pd = host.create_pd();
		options.send_cq = options.recv_cq = cq = host.create_cq();
		a = &host.create_qp(options);
		b = &host.create_qp(options);
	}
	void connect(uint8_t log_mtu, uint32_t psn = 0xfffff0)
	{
		for (QpContext *qp : {a, b}) {
			qp->attributes.path_mtu = log_mtu;
			qp->attributes.access = OHCA_QP_ACCESS_ALL;
			qp->attributes.max_read_atomic = 16;
			qp->attributes.max_dest_read_atomic = 16;
			qp->attributes.ack_timeout = 14;
			qp->attributes.retry_count = 7;
			qp->attributes.rnr_retry = 7;
			qp->attributes.dest_qpn = (qp == a ? b : a)->qpn;
			qp->attributes.sq_psn = psn;
			qp->attributes.rq_psn = psn;
			for (int state : {OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS})
				host.modify(*qp, static_cast<uint8_t>(state));
		}
	}
	// Until both are silent. Returns the number of segments.
	uint64_t run()
	{
		uint64_t segments = 0;
		for (bool again = true; again;) {
			again = false;
			for (QpContext *qp : {a, b}) {
				Segment segment;
				while (poll_transmit(host.function(), *qp, 0, limits, scratch, segment)) {
					EXPECT_EQ(handle_segment(host.function(), *host.function().context().qp(segment.dest_qpn),
								 segment, 0),
						  Delivery::kDone);
					segments++;
					again = true;
				}
			}
		}
		return segments;
	}
	// A key of 2 GiB over and over the same 2 MiB of memory.
	uint32_t huge_key(uint64_t bus)
	{
		const std::vector<uint64_t> pages(2 * kGibibyte >> 21, bus);
		return host.create_key(pd, pages, 21, 0, 2 * kGibibyte, OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ, 0);
	}
	void expect_success(uint32_t index)
	{
		const auto cqe = host.poll(cq);
		ASSERT_TRUE(cqe.has_value());
		EXPECT_EQ(cqe->wqe_index, index);
		EXPECT_EQ(int{cqe->status}, OHCA_CQE_STATUS_SUCCESS);
	}

	RcHost host{0, size_t{64} << 20};
	QpOptions options;
	uint32_t pd = 0;
	uint32_t cq = 0;
	QpContext *a = nullptr;
	QpContext *b = nullptr;
	TransportLimits limits;
	TransmitScratch scratch;
};

TEST_F(Pair, SmallWriteTakesTwoSegments)
{
	const uint64_t memory = host.allocate(8192);
	const uint32_t key = host.create_key(pd, memory, 8192, OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ);
	connect(12);
	host.store64(memory, 0x1234);
	SendRequest request;
	request.opcode = OHCA_WR_WRITE;
	request.sges = {{memory, 8, key}, {memory, 0, 0}};
	request.remote_address = memory + 4096;
	request.rkey = key;
	host.post_send(*a, request);
	EXPECT_EQ(run(), 2u);
	expect_success(0);
	EXPECT_EQ(host.load64(memory + 4096), 0x1234u);
}

// 2^23 packets: half of all PSNs in one message (IBTA 9.7.2), across the wrap.
TEST_F(Pair, TwoGibibytesInPacketsOf256Bytes)
{
	const uint64_t from = host.allocate(2 << 20, 2 << 20);
	const uint64_t to = host.allocate(2 << 20, 2 << 20);
	const uint64_t back = host.allocate(2 << 20, 2 << 20);
	connect(8);
	host.fill(from, 2 << 20, 1);
	SendRequest request;
	request.opcode = OHCA_WR_WRITE;
	request.sges = {{0, 1u << 31, huge_key(from)}, {0, 0, 0}};
	request.rkey = huge_key(to);
	host.post_send(*a, request);
	// The WRITE behind it waits: no more than 2^23 packets may be outstanding.
	request.sges[0].length = 8;
	host.post_send(*a, request);
	run();
	expect_success(0);
	expect_success(1);
	EXPECT_EQ(std::memcmp(host.at(from), host.at(to), 2 << 20), 0);

	request.opcode = OHCA_WR_READ;
	request.sges = {{0, 1u << 31, huge_key(back)}, {0, 0, 0}};
	host.post_send(*a, request);
	run();
	expect_success(2);
	EXPECT_EQ(std::memcmp(host.at(from), host.at(back), 2 << 20), 0);
	EXPECT_EQ(a->requester.unacked_psn, psn_add(0xfffff0, 2 * kPsnWindow + 1));
}

TEST_F(Pair, AQueuePairMayTalkToItself)
{
	const uint64_t memory = host.allocate(8192);
	const uint32_t key = host.create_key(pd, memory, 8192, OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ);
	connect(10);
	host.modify(*a, OHCA_QP_STATE_RESET);
	a->attributes.dest_qpn = a->qpn;
	for (int state : {OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS})
		host.modify(*a, static_cast<uint8_t>(state));
	host.store64(memory, 77);
	host.post_receive(*a, 5, {{memory + 4096, 8, key}});
	SendRequest request;
	request.sges = {{memory, 8, key}, {memory, 0, 0}};
	host.post_send(*a, request);
	run();
	expect_success(5); // the receive
	expect_success(0);
	EXPECT_EQ(host.load64(memory + 4096), 77u);
}

} // namespace
} // namespace ohca::core::test
