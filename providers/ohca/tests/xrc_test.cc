// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// XRC: queue pairs that only send, targets without queues, SRQs with a CQ.
#include <vector>

#include "../shared_receive_queue.hh"
#include "fixture.hh"

namespace ohca::test {
namespace {

constexpr std::uint8_t kFromSrq = OHCA_CQE_RECEIVE | OHCA_CQE_FROM_SRQ;

class XrcTest : public ProviderTest {
protected:
	XrcTest() : cq_(create_cq(16)), device_(cq_) {}

	ibv_qp *create_initiator()
	{
		ibv_qp_init_attr_ex attr = qp_attr(IBV_QPT_XRC_SEND, cq_, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
		attr.recv_cq = nullptr;
		return create_qp(attr);
	}

	ibv_srq *create_xrc_srq(ibv_cq *cq)
	{
		ibv_srq_init_attr_ex attr{};
		attr.attr = {4, 1, 0};
		attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
		attr.pd = pd_;
		attr.xrcd = &xrcd_;
		attr.cq = cq;
		attr.srq_context = this;
		return ohca_create_srq_ex(context(), &attr);
	}

	static int post(ibv_srq *srq, std::uint64_t wr_id)
	{
		ibv_recv_wr wr{}, *bad;
		wr.wr_id = wr_id;
		return ohca_post_srq_recv(srq, &wr, &bad);
	}

	ibv_cq *cq_;
	CqWriter device_;
	ibv_xrcd xrcd_{};
	ibv_wc wc_[8];
};

TEST_F(XrcTest, InitiatorHasASendQueueOnly)
{
	ibv_qp *qp = create_initiator();
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(fake_kernel.qp_request.log_rq_depth, 0);
	EXPECT_EQ(fake_kernel.qp_request.rq_offset, 0u);
	EXPECT_EQ(fake_kernel.qp_request.log_sq_depth, 4);
	EXPECT_EQ(QueuePair::of(qp).cap.max_recv_wr, 0u);
	ibv_recv_wr wr{}, *bad;
	EXPECT_EQ(ohca_post_recv(qp, &wr, &bad), EINVAL);
}

TEST_F(XrcTest, BothInterfacesNameTheRemoteSrq)
{
	ibv_qp *qp = create_initiator();
	ibv_send_wr wr = write_wr(1, nullptr), *bad;
	wr.num_sge = 0;
	wr.wr.rdma = {0x10, 0x20};
	wr.qp_type.xrc.remote_srqn = 0x4321;
	ASSERT_EQ(ohca_post_send(qp, &wr, &bad), 0);
	ibv_qp_ex *ex = &QueuePair::of(qp).verbs.qp_ex;
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, 0x20, 0x10);
	ibv_wr_set_xrc_srqn(ex, 0x4321);
	ASSERT_EQ(ibv_wr_complete(ex), 0);
	for (Index i = 0; i < 2; ++i) {
		const auto *wqe = reinterpret_cast<ohca_sq_wqe *>(QueuePair::of(qp).sq.slot(i));
		EXPECT_EQ(wqe->opcode, OHCA_WR_WRITE);
		EXPECT_EQ(wqe->remote_srqn, 0x4321u);
		EXPECT_EQ(wqe->rkey, 0x20u);
		EXPECT_EQ(wqe->remote_address, 0x10u);
	}
	device_.write({.qpn = qp->qp_num, .wqe_index = 1, .opcode = OHCA_WR_WRITE});
	EXPECT_EQ(ohca_poll_cq(cq_, 8, wc_), 1);
}

TEST_F(XrcTest, TargetHasNoQueues)
{
	ibv_qp_init_attr_ex attr{};
	attr.qp_type = IBV_QPT_XRC_RECV;
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = &xrcd_;
	ibv_qp *qp = create_qp(attr);
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(fake_kernel.qp_request.buffer_length, 0u);
	EXPECT_EQ(fake_kernel.qp_request.comp_mask, 0u);
	EXPECT_EQ(fake_kernel.qp_attr.comp_mask, unsigned{IBV_QP_INIT_ATTR_XRCD});
	EXPECT_EQ(set_state(qp, IBV_QPS_RESET), 0);
	ibv_send_wr wr = write_wr(1, nullptr), *bad;
	EXPECT_NE(ohca_post_send(qp, &wr, &bad), 0);
	ibv_recv_wr recv{}, *bad_recv;
	EXPECT_EQ(ohca_post_recv(qp, &recv, &bad_recv), EINVAL);
	attr.xrcd = nullptr;
	EXPECT_EQ(create_qp(attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

TEST_F(XrcTest, OpenedTarget)
{
	ibv_qp_open_attr attr{};
	attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	attr.qp_num = 0x88;
	attr.xrcd = &xrcd_;
	attr.qp_type = IBV_QPT_XRC_RECV;
	ibv_qp *first = ohca_open_qp(context(), &attr), *second = ohca_open_qp(context(), &attr);
	ASSERT_NE(first, nullptr);
	ASSERT_NE(second, nullptr);
	EXPECT_EQ(set_state(first, IBV_QPS_ERR), 0);
	ibv_send_wr wr = write_wr(1, nullptr), *bad;
	EXPECT_NE(ohca_post_send(first, &wr, &bad), 0);
	EXPECT_EQ(ohca_destroy_qp(first), 0);
	EXPECT_EQ(ohca_destroy_qp(second), 0);
	fake_kernel.error = EPERM;
	EXPECT_EQ(ohca_open_qp(context(), &attr), nullptr);
	EXPECT_EQ(errno, EPERM);
	attr.qp_type = IBV_QPT_RC;
	EXPECT_EQ(ohca_open_qp(context(), &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

TEST_F(XrcTest, SrqIsFoundByItsNumber)
{
	ibv_srq *srq = create_xrc_srq(cq_);
	ASSERT_NE(srq, nullptr);
	EXPECT_EQ(srq->srq_context, this);
	EXPECT_EQ(srq->pd, pd_);
	std::uint32_t number = 0;
	ASSERT_EQ(ohca_get_srq_num(srq, &number), 0);
	ASSERT_EQ(post(srq, 7), 0);
	// From a target that may be another process's.
	device_.write({.qpn = 0x7777, .wqe_index = 0, .flags = kFromSrq, .srqn = number + 1});
	device_.write({.qpn = 0x7777, .wqe_index = 0, .flags = kFromSrq, .srqn = number});
	ASSERT_EQ(ohca_poll_cq(cq_, 8, wc_), 1);
	EXPECT_EQ(wc_[0].wr_id, 7u);
	EXPECT_EQ(wc_[0].qp_num, 0x7777u);
	EXPECT_EQ(ohca_destroy_srq(srq), 0);
}

TEST_F(XrcTest, CompletionInAnotherCqIsPassedOver)
{
	ibv_cq *other = create_cq(4);
	ibv_srq *srq = create_xrc_srq(other);
	ASSERT_EQ(post(srq, 7), 0);
	device_.write({.qpn = 0x7777, .wqe_index = 0, .flags = kFromSrq, .srqn = SharedReceiveQueue::of(srq).number});
	EXPECT_EQ(ohca_poll_cq(cq_, 8, wc_), 0);
	EXPECT_EQ(ohca_destroy_srq(srq), 0);
}

TEST_F(XrcTest, DestroyedSrqLeavesNoCompletions)
{
	ibv_srq *srq = create_xrc_srq(cq_);
	const std::uint32_t number = SharedReceiveQueue::of(srq).number;
	ASSERT_EQ(post(srq, 7), 0);
	device_.write({.qpn = 0x7777, .wqe_index = 0, .flags = kFromSrq, .srqn = number});
	EXPECT_EQ(ohca_destroy_srq(srq), 0);
	// The number is used again.
	fake_kernel.next_srqn = number;
	srq = create_xrc_srq(cq_);
	ASSERT_EQ(post(srq, 8), 0);
	EXPECT_EQ(ohca_poll_cq(cq_, 8, wc_), 0);
	fake_kernel.error = EBUSY;
	EXPECT_EQ(ohca_destroy_srq(srq), EBUSY);
	device_.write({.qpn = 0x7777, .wqe_index = 0, .flags = kFromSrq, .srqn = number});
	EXPECT_EQ(ohca_poll_cq(cq_, 8, wc_), 1);
	EXPECT_EQ(ohca_destroy_srq(srq), 0);
}

TEST_F(XrcTest, FailedDeviceFlushesIntoTheCqOfTheSrq)
{
	ibv_srq *srq = create_xrc_srq(cq_);
	ASSERT_EQ(post(srq, 1), 0);
	ASSERT_EQ(post(srq, 2), 0);
	fail_device();
	ASSERT_EQ(ohca_poll_cq(cq_, 8, wc_), 2);
	EXPECT_EQ(wc_[0].status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(ohca_poll_cq(cq_, 8, wc_), 0);
	EXPECT_EQ(ohca_destroy_srq(srq), 0);
}

TEST_F(XrcTest, NeedsTheFeature)
{
	context_->limits.device_features &= ~OHCA_FEATURE_XRC;
	EXPECT_EQ(create_initiator(), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(create_xrc_srq(cq_), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

} // namespace
} // namespace ohca::test
