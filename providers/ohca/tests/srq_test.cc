// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Shared receive queues: posting, completion in any order, resizing, the end.
#include <cstring>
#include <set>
#include <vector>

#include "../shared_receive_queue.hh"
#include "fixture.hh"

namespace ohca::test {
namespace {

constexpr std::uint8_t kFromSrq = OHCA_CQE_RECEIVE | OHCA_CQE_FROM_SRQ;

class SrqTest : public ProviderTest {
protected:
	SrqTest()
		: ex_(create_cq_ex(32, IBV_WC_STANDARD_FLAGS)), cq_(ibv_cq_ex_to_cq(ex_)), srq_(create_srq(8)),
		  qp_(create_qp_on(srq_)), device_(cq_)
	{
	}

	ibv_qp *create_qp_on(ibv_srq *srq)
	{
		ibv_qp_init_attr_ex attr = qp_attr(IBV_QPT_RC, cq_);
		attr.srq = srq;
		return create_qp(attr);
	}

	int post(std::uint64_t wr_id)
	{
		ibv_recv_wr wr{}, *bad;
		wr.wr_id = wr_id;
		wr.sg_list = list_;
		wr.num_sge = 2;
		return ohca_post_srq_recv(srq_, &wr, &bad);
	}

	SharedReceiveQueue &srq() { return SharedReceiveQueue::of(srq_); }

	std::uint32_t tag_at(Index index)
	{
		return reinterpret_cast<ohca_rq_wqe *>(srq().slot(index))->tag;
	}

	void complete(std::uint32_t tag, std::uint8_t status = OHCA_CQE_STATUS_SUCCESS)
	{
		device_.write({.qpn = qp_->qp_num, .wqe_index = tag, .flags = kFromSrq, .status = status,
			       .srqn = srq().number});
	}

	std::vector<std::uint64_t> poll_ids()
	{
		std::vector<std::uint64_t> ids;
		ibv_wc wc[32];
		const int count = ohca_poll_cq(cq_, 32, wc);
		for (int i = 0; i < count; ++i)
			ids.push_back(wc[i].wr_id);
		return ids;
	}

	ibv_cq_ex *ex_;
	ibv_cq *cq_;
	ibv_srq *srq_;
	ibv_qp *qp_;
	CqWriter device_;
	ibv_sge list_[3] = {sge(0x1000, 10, 1), sge(0x2000, 20, 2), sge(0x3000, 30, 3)};
};

// OHCA-QB-H3
TEST_F(SrqTest, LayoutObeysTheContract)
{
	ibv_srq_init_attr attr{};
	attr.attr = {100, 5, 77};
	ibv_srq *srq = ohca_create_srq(pd_, &attr);
	ASSERT_NE(srq, nullptr);
	const ohca_create_srq_req &request = fake_kernel.srq_request;
	EXPECT_EQ(request.log_depth, 7);
	EXPECT_EQ(request.log_stride, 7); // 16 + 80
	EXPECT_EQ(request.ring_offset, 128u);
	EXPECT_EQ(request.buffer_address % 4096, 0u);
	EXPECT_GE(request.buffer_length, 128u + 128 * 128);
	EXPECT_EQ(attr.attr.max_wr, 128u);
	EXPECT_EQ(attr.attr.max_sge, 7u);
	EXPECT_EQ(fake_kernel.srq_attr.attr.max_wr, 128u);
	EXPECT_EQ(fake_kernel.srq_attr.attr.srq_limit, 0u);
	EXPECT_EQ(ohca_destroy_srq(srq), 0);
}

TEST_F(SrqTest, Refusals)
{
	EXPECT_EQ(create_srq(0), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(create_srq(1025), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(create_srq(1, 17), nullptr);
	EXPECT_EQ(errno, EINVAL);
	fake_kernel.error = ENOSPC; // no memory for the buffer
	EXPECT_EQ(create_srq(1), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	ibv_srq_init_attr_ex attr{};
	attr.attr.max_wr = 1;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attr.pd = pd_;
	attr.srq_type = IBV_SRQT_TM;
	EXPECT_EQ(ohca_create_srq_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.srq_type = IBV_SRQT_XRC; // without domain and CQ
	EXPECT_EQ(ohca_create_srq_ex(context(), &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	context_->limits.device_features &= ~OHCA_FEATURE_SRQ;
	EXPECT_EQ(create_srq(1), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(create_qp_on(srq_), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(SrqTest, QueuePairHasNoReceiveQueueOfItsOwn)
{
	EXPECT_EQ(fake_kernel.qp_request.log_rq_depth, 0);
	EXPECT_EQ(fake_kernel.qp_request.rq_offset, 0u);
	EXPECT_EQ(QueuePair::of(qp_).cap.max_recv_wr, 0u);
	ibv_recv_wr wr{}, *bad;
	EXPECT_EQ(ohca_post_recv(qp_, &wr, &bad), EINVAL);
}

TEST_F(SrqTest, Post)
{
	std::memset(srq().slot(0), 0xff, 64);
	ASSERT_EQ(post(1), 0);
	ASSERT_EQ(post(2), 0);
	EXPECT_EQ(srq().record->producer, 2u);
	const auto *wqe = reinterpret_cast<ohca_rq_wqe *>(srq().slot(0));
	EXPECT_EQ(wqe->num_sge, 2);
	EXPECT_EQ(wqe->reserved_8[0], 0);
	const auto *elements = reinterpret_cast<const ohca_sge *>(wqe + 1);
	EXPECT_EQ(elements[1].address, 0x2000u);
	EXPECT_NE(tag_at(0), tag_at(1));
}

TEST_F(SrqTest, PostRefusals)
{
	ibv_recv_wr wr{}, *bad = nullptr;
	wr.num_sge = 4; // three fit
	EXPECT_EQ(ohca_post_srq_recv(srq_, &wr, &bad), EINVAL);
	EXPECT_EQ(bad, &wr);
	wr.num_sge = -1;
	EXPECT_EQ(ohca_post_srq_recv(srq_, &wr, &bad), EINVAL);
	for (std::uint64_t i = 0; i < 8; ++i)
		ASSERT_EQ(post(i), 0);
	EXPECT_EQ(post(8), ENOMEM);
	EXPECT_EQ(srq().record->producer, 8u);
	fail_device();
	EXPECT_EQ(post(8), EIO);
}

TEST_F(SrqTest, CompletesInAnyOrderAndTagsAreUsedAgain)
{
	for (int round = 0; round < 50; ++round) {
		std::set<std::uint32_t> tags;
		const Index first = srq().producer;
		for (std::uint64_t i = 0; i < 8; ++i)
			ASSERT_EQ(post(100 + i), 0);
		for (Index i = 0; i < 8; ++i)
			tags.insert(tag_at(first + i));
		ASSERT_EQ(tags.size(), 8u);
		for (const Index i : {3u, 0u, 7u, 1u, 2u, 6u, 5u, 4u})
			complete(tag_at(first + i));
		EXPECT_EQ(poll_ids(), (std::vector<std::uint64_t>{103, 100, 107, 101, 102, 106, 105, 104}));
	}
}

TEST_F(SrqTest, ExtendedPoll)
{
	ASSERT_EQ(post(5), 0);
	complete(tag_at(0), OHCA_CQE_STATUS_LOCAL_LENGTH);
	ibv_poll_cq_attr attr{};
	ASSERT_EQ(ibv_start_poll(ex_, &attr), 0);
	EXPECT_EQ(ex_->wr_id, 5u);
	EXPECT_EQ(ex_->status, IBV_WC_LOC_LEN_ERR);
	EXPECT_EQ(ibv_wc_read_qp_num(ex_), qp_->qp_num);
	EXPECT_EQ(ibv_next_poll(ex_), ENOENT);
	ibv_end_poll(ex_);
}

// OHCA-CQ-H5
TEST_F(SrqTest, CompletionsOfNothingArePassedOver)
{
	ASSERT_EQ(post(5), 0);
	const std::uint32_t tag = tag_at(0);
	complete(tag + 1);
	complete(0xffffffff);
	device_.write({.qpn = qp_->qp_num, .wqe_index = tag, .flags = OHCA_CQE_RECEIVE});
	device_.write({.qpn = 0x999, .wqe_index = tag, .flags = kFromSrq, .srqn = srq().number});
	complete(tag);
	complete(tag);
	EXPECT_EQ(poll_ids(), (std::vector<std::uint64_t>{5}));
}

TEST_F(SrqTest, DestroyedQueuePairGivesItsCompletionsBack)
{
	ibv_qp *second = create_qp_on(srq_);
	for (std::uint64_t i = 0; i < 8; ++i)
		ASSERT_EQ(post(i), 0);
	device_.write({.qpn = second->qp_num, .wqe_index = tag_at(0), .flags = kFromSrq, .srqn = srq().number});
	complete(tag_at(1));
	ASSERT_EQ(set_state(second, IBV_QPS_RESET), 0);
	EXPECT_EQ(post(8), 0);
	EXPECT_EQ(post(9), ENOMEM);
	EXPECT_EQ(poll_ids(), (std::vector<std::uint64_t>{1}));
}

TEST_F(SrqTest, GrowsWithWorkRequestsOutstanding)
{
	for (std::uint64_t i = 0; i < 8; ++i)
		ASSERT_EQ(post(i), 0);
	const std::vector<std::uint32_t> tags = {tag_at(0), tag_at(7)};
	fake_kernel.on_resize = [](std::uint64_t buffer) {
		EXPECT_EQ(reinterpret_cast<ohca_srq_record *>(buffer)->producer, 8u);
	};
	ibv_srq_attr attr{};
	attr.max_wr = 9;
	ASSERT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), 0);
	EXPECT_EQ(attr.max_wr, 16u);
	EXPECT_EQ(fake_kernel.srq_request.log_depth, 4);
	EXPECT_EQ(fake_kernel.srq_request.buffer_address, reinterpret_cast<std::uintptr_t>(srq().record));
	EXPECT_EQ(fake_kernel.srq_mask, IBV_SRQ_MAX_WR);
	for (std::uint64_t i = 8; i < 16; ++i)
		ASSERT_EQ(post(i), 0);
	EXPECT_EQ(post(16), ENOMEM);
	complete(tags[0]);
	complete(tags[1]);
	complete(tag_at(15));
	EXPECT_EQ(poll_ids(), (std::vector<std::uint64_t>{0, 7, 15}));
}

TEST_F(SrqTest, ShrinksWhenItsWorkRequestsFit)
{
	for (std::uint64_t i = 0; i < 8; ++i)
		ASSERT_EQ(post(i), 0);
	ibv_srq_attr attr{};
	attr.max_wr = 4;
	EXPECT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), EINVAL);
	const std::uint32_t last = tag_at(7);
	for (Index i = 0; i < 7; ++i)
		complete(tag_at(i));
	EXPECT_EQ(poll_ids().size(), 7u);
	ASSERT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), 0);
	for (std::uint64_t i = 10; i < 13; ++i)
		ASSERT_EQ(post(i), 0);
	EXPECT_EQ(post(13), ENOMEM);
	complete(last); // a tag beyond the new depth
	EXPECT_EQ(poll_ids(), (std::vector<std::uint64_t>{7}));
	EXPECT_EQ(post(13), 0);
	// And back, without losing or inventing tags.
	attr.max_wr = 32;
	ASSERT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), 0);
	std::uint64_t posted = 4;
	while (post(posted) == 0)
		++posted;
	EXPECT_EQ(posted, 32u);
}

TEST_F(SrqTest, RefusedResizeChangesNothing)
{
	ASSERT_EQ(post(1), 0);
	const ohca_srq_record *record = srq().record;
	fake_kernel.error = 0;
	ibv_srq_attr attr{};
	attr.max_wr = 2048;
	EXPECT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = 0;
	EXPECT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), EINVAL);
	EXPECT_EQ(ohca_modify_srq(srq_, &attr, 1 << 5), EINVAL);
	context_->limits.device_features &= ~OHCA_FEATURE_RESIZE;
	attr.max_wr = 16;
	EXPECT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	EXPECT_EQ(srq().record, record);
	attr.srq_limit = 3;
	EXPECT_EQ(ohca_modify_srq(srq_, &attr, IBV_SRQ_LIMIT), 0);
	EXPECT_EQ(fake_kernel.srq_attr.attr.srq_limit, 3u);
}

// OHCA-DB-H7
TEST_F(SrqTest, FailedDeviceFlushesEachOnce)
{
	create_qp_on(srq_);
	for (std::uint64_t i = 0; i < 5; ++i)
		ASSERT_EQ(post(i), 0);
	complete(tag_at(2));
	fail_device();
	EXPECT_EQ(poll_ids(), (std::vector<std::uint64_t>{2}));
	const std::vector<std::uint64_t> ids = poll_ids();
	EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()), (std::set<std::uint64_t>{0, 1, 3, 4}));
	EXPECT_EQ(ids.size(), 4u);
	EXPECT_TRUE(poll_ids().empty());
	ibv_poll_cq_attr attr{};
	EXPECT_EQ(ibv_start_poll(ex_, &attr), ENOENT);
}

TEST_F(SrqTest, NumberIsOfXrcOnly)
{
	std::uint32_t number;
	EXPECT_EQ(ohca_get_srq_num(srq_, &number), EINVAL);
}

} // namespace
} // namespace ohca::test
