// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What becomes of completions when a queue pair or the device goes away.
#include <vector>

#include "fixture.hh"

namespace ohca::test {
namespace {

class FlushTest : public ProviderTest {
protected:
	FlushTest() : ex_(create_cq_ex(32, IBV_WC_STANDARD_FLAGS)), cq_(ibv_cq_ex_to_cq(ex_)), device_(cq_) {}

	static void post(ibv_qp *qp, std::uint64_t wr_id, std::uint64_t flags = IBV_SEND_SIGNALED)
	{
		ibv_send_wr wr = write_wr(wr_id, nullptr), *bad;
		wr.num_sge = 0;
		wr.send_flags = static_cast<unsigned int>(flags);
		ASSERT_EQ(ohca_post_send(qp, &wr, &bad), 0);
	}

	static void post_receive(ibv_qp *qp, std::uint64_t wr_id)
	{
		ibv_recv_wr wr{}, *bad;
		wr.wr_id = wr_id;
		ASSERT_EQ(ohca_post_recv(qp, &wr, &bad), 0);
	}

	std::vector<ibv_wc> poll_all(int at_a_time = 3)
	{
		std::vector<ibv_wc> all;
		ibv_wc wc[32];
		while (int count = ohca_poll_cq(cq_, at_a_time, wc))
			all.insert(all.end(), wc, wc + count);
		return all;
	}

	ibv_cq_ex *ex_;
	ibv_cq *cq_;
	CqWriter device_;
};

// OHCA-DB-H7
TEST_F(FlushTest, FailedDeviceFlushesEverythingInOrder)
{
	ibv_qp *a = create_qp(cq_, cq_), *b = create_qp(cq_, cq_);
	for (std::uint64_t i = 0; i < 4; ++i) {
		post(a, 10 + i, i % 2 * IBV_SEND_SIGNALED);
		post(b, 20 + i);
		post_receive(b, 30 + i);
	}
	// The device got this far.
	device_.write({.qpn = a->qp_num, .wqe_index = 0});
	fail_device();
	std::vector<std::uint64_t> by_queue[3];
	int succeeded = 0;
	for (const ibv_wc &wc : poll_all()) {
		if (wc.status == IBV_WC_SUCCESS) {
			EXPECT_EQ(wc.wr_id, 10u);
			++succeeded;
			continue;
		}
		EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_EQ(wc.qp_num, wc.wr_id < 20 ? a->qp_num : b->qp_num);
		EXPECT_EQ(wc.opcode, wc.wr_id < 30 ? IBV_WC_RDMA_WRITE : IBV_WC_RECV);
		by_queue[wc.wr_id / 10 - 1].push_back(wc.wr_id);
	}
	EXPECT_EQ(succeeded, 1);
	EXPECT_EQ(by_queue[0], (std::vector<std::uint64_t>{11, 12, 13}));
	EXPECT_EQ(by_queue[1], (std::vector<std::uint64_t>{20, 21, 22, 23}));
	EXPECT_EQ(by_queue[2], (std::vector<std::uint64_t>{30, 31, 32, 33}));
	EXPECT_TRUE(poll_all().empty());
}

TEST_F(FlushTest, OnlyTheQueuesOfThisCqAreFlushed)
{
	ibv_cq *other = create_cq(8);
	ibv_qp *qp = create_qp(cq_, other);
	post(qp, 1);
	post_receive(qp, 2);
	fail_device();
	auto flushed = poll_all();
	ASSERT_EQ(flushed.size(), 1u);
	EXPECT_EQ(flushed[0].wr_id, 1u);
	ibv_wc wc;
	ASSERT_EQ(ohca_poll_cq(other, 1, &wc), 1);
	EXPECT_EQ(wc.wr_id, 2u);
}

TEST_F(FlushTest, ExtendedPollFlushesToo)
{
	ibv_qp *qp = create_qp(cq_, cq_);
	post(qp, 1);
	post(qp, 2);
	fail_device();
	ibv_poll_cq_attr attr{};
	ASSERT_EQ(ibv_start_poll(ex_, &attr), 0);
	EXPECT_EQ(ex_->wr_id, 1u);
	EXPECT_EQ(ex_->status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(ibv_wc_read_qp_num(ex_), qp->qp_num);
	ASSERT_EQ(ibv_next_poll(ex_), 0);
	EXPECT_EQ(ex_->wr_id, 2u);
	EXPECT_EQ(ibv_next_poll(ex_), ENOENT);
	ibv_end_poll(ex_);
	EXPECT_EQ(ibv_start_poll(ex_, &attr), ENOENT);
}

TEST_F(FlushTest, WorkingDeviceFlushesNothing)
{
	post(create_qp(cq_, cq_), 1);
	EXPECT_TRUE(poll_all().empty());
}

// OHCA-QP-H1
TEST_F(FlushTest, ResetForgetsCompletionsAndStartsFromZero)
{
	ibv_qp *qp = create_qp(cq_, cq_), *other = create_qp(cq_, cq_);
	for (int i = 0; i < 3; ++i) {
		post(qp, 1);
		post(other, 2);
		post_receive(qp, 3);
		device_.write({.qpn = qp->qp_num, .wqe_index = static_cast<Index>(i)});
		device_.write({.qpn = other->qp_num, .wqe_index = static_cast<Index>(i)});
		device_.write({.qpn = qp->qp_num, .wqe_index = static_cast<Index>(i), .flags = OHCA_CQE_RECEIVE});
	}
	ASSERT_EQ(set_state(qp, IBV_QPS_RESET), 0);
	EXPECT_EQ(QueuePair::of(qp).record->sq_producer, 0u);
	EXPECT_EQ(QueuePair::of(qp).record->rq_producer, 0u);
	auto left = poll_all();
	ASSERT_EQ(left.size(), 3u);
	for (const ibv_wc &wc : left)
		EXPECT_EQ(wc.qp_num, other->qp_num);
	EXPECT_EQ(device_.record().consumer, 9u);
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	post(qp, 7);
	EXPECT_EQ(QueuePair::of(qp).record->sq_producer, 1u);
	device_.write({.qpn = qp->qp_num, .wqe_index = 0});
	left = poll_all();
	ASSERT_EQ(left.size(), 1u);
	EXPECT_EQ(left[0].wr_id, 7u);
}

TEST_F(FlushTest, DiscardStopsAtAFullRing)
{
	ibv_qp *qp = create_qp(cq_, cq_, {64, 0, 1, 0, 0});
	for (std::uint64_t i = 0; i < 32; ++i) {
		post(qp, i);
		device_.write({.qpn = qp->qp_num, .wqe_index = static_cast<Index>(i)});
	}
	ASSERT_EQ(set_state(qp, IBV_QPS_RESET), 0);
	EXPECT_TRUE(poll_all().empty());
	EXPECT_EQ(device_.record().consumer, 32u);
}

TEST_F(FlushTest, DestroyedQueuePairIsNotFoundAgain)
{
	ibv_qp_init_attr attr{};
	attr.send_cq = attr.recv_cq = cq_;
	attr.cap = {4, 4, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	ibv_qp *qp = ohca_create_qp(pd_, &attr);
	ASSERT_NE(qp, nullptr);
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	const std::uint32_t qpn = qp->qp_num;
	post(qp, 1);
	post(qp, 2);
	device_.write({.qpn = qpn, .wqe_index = 0});
	EXPECT_EQ(poll_all().size(), 1u); // now the CQ remembers the queue pair
	device_.write({.qpn = qpn, .wqe_index = 1});
	ASSERT_EQ(ohca_destroy_qp(qp), 0);
	EXPECT_TRUE(poll_all().empty());
	device_.write({.qpn = qpn, .wqe_index = 1}); // a device that does not stop
	EXPECT_TRUE(poll_all().empty());
	fail_device();
	EXPECT_TRUE(poll_all().empty());
}

} // namespace
} // namespace ohca::test
