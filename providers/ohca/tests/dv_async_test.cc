// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The fake kernel's queue is a pipe: what a test writes into it are completions.
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "../ohcadv.h"
#include "fixture.hh"

namespace ohca::test {
namespace {

constexpr std::uint32_t kDepth = 4;

class DirectAsync : public ProviderTest {
protected:
	DirectAsync()
	{
		cq_ = create_cq(16);
		qp_ = create_qp(qp_attr(IBV_QPT_RC, cq_));
		set_state(qp_, IBV_QPS_RESET);
		queue_ = ohcadv_create_async_queue(context(), kDepth);
		EXPECT_NE(queue_, nullptr);
		fcntl(queue_->fd, F_SETFL, O_NONBLOCK);
	}
	~DirectAsync() override
	{
		EXPECT_EQ(ohcadv_destroy_async_queue(queue_), 0);
		close(fake_kernel.completions);
	}

	// The kernel ends the operation that was submitted as the `index`th.
	static void end(std::size_t index, std::uint32_t error = 0)
	{
		ohca_async_completion completion{};
		completion.user_data = fake_kernel.async_operations.at(index).user_data;
		completion.error = error;
		completion.detail = error ? 5 : 0;
		ASSERT_EQ(write(fake_kernel.completions, &completion, sizeof(completion)),
			  static_cast<ssize_t>(sizeof(completion)));
	}

	int read_one(ohcadv_async_completion &completion) { return ohcadv_read_async(queue_, &completion, 1); }

	int connect(std::uint64_t wr_id)
	{
		ibv_qp_attr attr{};
		attr.qp_state = IBV_QPS_RTS;
		attr.sq_psn = 0x123;
		attr.ah_attr.grh.sgid_index = 3;
		attr.ah_attr.grh.dgid.raw[15] = 9;
		attr.ah_attr.is_global = 1;
		return ohcadv_connect_qp_async(queue_, qp_, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_AV, wr_id);
	}

	int post_write()
	{
		ibv_sge element = sge(0x1000, 8, 1);
		ibv_send_wr wr = write_wr(1, &element);
		ibv_send_wr *bad = nullptr;
		return ohca_post_send(qp_, &wr, &bad);
	}

	ibv_cq *cq_ = nullptr;
	ibv_qp *qp_ = nullptr;
	ohcadv_async_queue *queue_ = nullptr;
};

TEST_F(DirectAsync, HandsOverWhatTheMaskNames)
{
	ASSERT_EQ(connect(77), 0);
	ASSERT_EQ(fake_kernel.async_operations.size(), 1u);
	const ohca_async_operation &operation = fake_kernel.async_operations[0];
	EXPECT_EQ(operation.opcode, unsigned{OHCA_ASYNC_CONNECT_QP});
	EXPECT_EQ(operation.attr.mask, static_cast<std::uint32_t>(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_AV));
	EXPECT_EQ(operation.attr.qp_state, IBV_QPS_RTS);
	EXPECT_EQ(operation.attr.sq_psn, 0x123u);
	EXPECT_EQ(operation.attr.sgid_index, 3);
	EXPECT_EQ(operation.attr.dgid[15], 9);
	EXPECT_EQ(operation.reserved_60 | operation.reserved_280[0] | operation.reserved_280[1], 0u);
	ohcadv_async_completion completion{};
	EXPECT_EQ(read_one(completion), 0);
	end(0);
	ASSERT_EQ(read_one(completion), 1);
	EXPECT_EQ(completion.wr_id, 77u);
	EXPECT_EQ(completion.qp, qp_);
	EXPECT_EQ(completion.opcode, OHCADV_ASYNC_CONNECT_QP);
	EXPECT_EQ(completion.error, 0);
	EXPECT_EQ(read_one(completion), 0);
}

TEST_F(DirectAsync, ChangesTheQueuePairWhenTheCompletionIsRead)
{
	ASSERT_EQ(connect(1), 0);
	end(0);
	EXPECT_NE(post_write(), 0);
	ohcadv_async_completion completion{};
	ASSERT_EQ(read_one(completion), 1);
	EXPECT_EQ(qp_->state, IBV_QPS_RTS);
	EXPECT_EQ(post_write(), 0);
}

TEST_F(DirectAsync, LeavesTheQueuePairWhereItIsAfterAnError)
{
	ASSERT_EQ(connect(1), 0);
	end(0, EINVAL);
	ohcadv_async_completion completion{};
	ASSERT_EQ(read_one(completion), 1);
	EXPECT_EQ(completion.error, EINVAL);
	EXPECT_EQ(completion.vendor_error, 5u);
	EXPECT_NE(post_write(), 0);
}

TEST_F(DirectAsync, KeepsTheQueuePairUntilTheCompletionIsRead)
{
	ASSERT_EQ(ohcadv_disconnect_qp_async(queue_, qp_, 1), 0);
	EXPECT_EQ(ohca_destroy_qp(qp_), EBUSY);
	EXPECT_EQ(ohcadv_destroy_async_queue(queue_), EBUSY);
	end(0);
	EXPECT_EQ(ohca_destroy_qp(qp_), EBUSY);
	ohcadv_async_completion completion{};
	ASSERT_EQ(read_one(completion), 1);
	// the fixture destroys both
}

TEST_F(DirectAsync, TakesNoMoreThanItsDepth)
{
	for (std::uint32_t i = 0; i < kDepth; ++i)
		ASSERT_EQ(connect(i), 0);
	EXPECT_EQ(connect(9), EAGAIN);
	EXPECT_EQ(fake_kernel.async_operations.size(), kDepth);
	ohcadv_async_completion completions[kDepth];
	end(2);
	ASSERT_EQ(ohcadv_read_async(queue_, completions, kDepth), 1);
	EXPECT_EQ(completions[0].wr_id, 2u);
	EXPECT_EQ(connect(9), 0);
	for (std::size_t i : {0u, 1u, 3u, 4u})
		end(i);
	ASSERT_EQ(ohcadv_read_async(queue_, completions, kDepth), 4);
	EXPECT_EQ(completions[3].wr_id, 9u);
}

TEST_F(DirectAsync, SubmitsABatchAsAWholeOrNotAtAll)
{
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_RESET;
	ohcadv_async_operation operations[3] = {
		{1, OHCADV_ASYNC_MODIFY_QP, qp_, &attr, IBV_QP_STATE},
		{2, OHCADV_ASYNC_DISCONNECT_QP, qp_, nullptr, 0},
		{3, OHCADV_ASYNC_MODIFY_QP, qp_, nullptr, IBV_QP_STATE},
	};
	EXPECT_EQ(ohcadv_submit_async(queue_, operations, 3), EINVAL);
	EXPECT_EQ(ohcadv_submit_async(queue_, operations, 0), EINVAL);
	EXPECT_EQ(ohcadv_submit_async(queue_, operations, OHCADV_ASYNC_BATCH_MAX + 1), EINVAL);
	fake_kernel.error = ENOMEM;
	EXPECT_EQ(ohcadv_submit_async(queue_, operations, 2), ENOMEM);
	EXPECT_TRUE(fake_kernel.async_operations.empty());
	ASSERT_EQ(ohcadv_submit_async(queue_, operations, 2), 0);
	end(0);
	end(1);
	ohcadv_async_completion completions[2];
	EXPECT_EQ(ohcadv_read_async(queue_, completions, 2), 2);
}

TEST_F(DirectAsync, IgnoresWhatItHasNotSubmitted)
{
	ohca_async_completion foreign{};
	foreign.user_data = 2;
	ASSERT_EQ(write(fake_kernel.completions, &foreign, sizeof(foreign)), static_cast<ssize_t>(sizeof(foreign)));
	foreign.user_data = UINT64_MAX;
	ASSERT_EQ(write(fake_kernel.completions, &foreign, sizeof(foreign)), static_cast<ssize_t>(sizeof(foreign)));
	ohcadv_async_completion completions[4];
	EXPECT_EQ(ohcadv_read_async(queue_, completions, 4), 0);
}

TEST_F(DirectAsync, IsForDevicesOfOhca)
{
	EXPECT_EQ(ohcadv_create_async_queue(context(), 0), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(ohcadv_create_async_queue(context(), OHCADV_ASYNC_DEPTH_MAX + 1), nullptr);
	EXPECT_EQ(errno, EINVAL);
	fake_kernel.is_ohca = false;
	EXPECT_EQ(ohcadv_create_async_queue(context(), 1), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

} // namespace
} // namespace ohca::test
