// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Asynchronous creation and destruction: what is handed to the kernel when, and what is left after errors.
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "../ohcadv.h"
#include "fixture.hh"

namespace ohca::test {
namespace {

constexpr std::uint32_t kDepth = 4;
constexpr std::uint32_t kNumber = 0x77;

class DirectCreate : public ProviderTest {
protected:
	DirectCreate()
	{
		cq_ = create_cq(16);
		queue_ = ohcadv_create_async_queue(context(), kDepth);
		EXPECT_NE(queue_, nullptr);
		fcntl(queue_->fd, F_SETFL, O_NONBLOCK);
		attr_.send_cq = attr_.recv_cq = cq_;
		attr_.qp_type = IBV_QPT_RC;
		attr_.cap = {3, 3, 1, 1, 0};
		attr_.comp_mask = IBV_QP_INIT_ATTR_PD;
		attr_.pd = pd_;
	}
	~DirectCreate() override
	{
		EXPECT_EQ(ohcadv_destroy_async_queue(queue_), 0);
		close(fake_kernel.completions);
	}

	static void end(std::uint64_t user_data, std::uint32_t error, std::uint32_t detail)
	{
		ohca_async_completion completion{};
		completion.user_data = user_data;
		completion.error = error;
		completion.detail = detail;
		ASSERT_EQ(write(fake_kernel.completions, &completion, sizeof(completion)),
			  static_cast<ssize_t>(sizeof(completion)));
	}

	ohcadv_async_completion read_one()
	{
		ohcadv_async_completion completion{};
		EXPECT_EQ(ohcadv_read_async(queue_, &completion, 1), 1);
		return completion;
	}

	ibv_qp *created()
	{
		EXPECT_EQ(ohcadv_create_qp_async(queue_, &attr_, 1), 0);
		fake_kernel.next_qpn = kNumber;
		end(fake_kernel.async_creations.back().user_data, 0, kNumber);
		return read_one().qp;
	}

	ibv_cq *cq_ = nullptr;
	ohcadv_async_queue *queue_ = nullptr;
	ibv_qp_init_attr_ex attr_{};
};

TEST_F(DirectCreate, ClaimsWhatTheDeviceHasCreated)
{
	ASSERT_EQ(ohcadv_create_qp_async(queue_, &attr_, 9), 0);
	ASSERT_EQ(fake_kernel.async_creations.size(), 1u);
	const ohca_create_qp_req request = fake_kernel.async_creations[0].request;
	EXPECT_EQ(request.comp_mask & OHCA_CREATE_QP_CLAIM, 0u);
	EXPECT_EQ(fake_kernel.qps, 0);
	EXPECT_EQ(attr_.cap.max_send_wr, 4u); // as ibv_create_qp(): what has been granted
	fake_kernel.next_qpn = kNumber;
	end(fake_kernel.async_creations[0].user_data, 0, kNumber);
	const ohcadv_async_completion completion = read_one();
	EXPECT_EQ(completion.wr_id, 9u);
	EXPECT_EQ(completion.opcode, OHCADV_ASYNC_CREATE_QP);
	EXPECT_EQ(completion.error, 0);
	EXPECT_EQ(completion.vendor_error, 0u);
	ASSERT_NE(completion.qp, nullptr);
	EXPECT_EQ(completion.qp->qp_num, kNumber);
	EXPECT_EQ(fake_kernel.qp_request.comp_mask & OHCA_CREATE_QP_CLAIM, unsigned{OHCA_CREATE_QP_CLAIM});
	EXPECT_EQ(fake_kernel.qp_request.qpn, kNumber);
	EXPECT_EQ(fake_kernel.qp_request.buffer_address, request.buffer_address);
	EXPECT_EQ(fake_kernel.qps, 1);
	EXPECT_EQ(ohca_destroy_qp(completion.qp), 0);
}

TEST_F(DirectCreate, LeavesNothingAfterARefusal)
{
	ASSERT_EQ(ohcadv_create_qp_async(queue_, &attr_, 1), 0);
	end(fake_kernel.async_creations[0].user_data, ENOMEM, 7);
	const ohcadv_async_completion completion = read_one();
	EXPECT_EQ(completion.error, ENOMEM);
	EXPECT_EQ(completion.vendor_error, 7u);
	EXPECT_EQ(completion.qp, nullptr);
	EXPECT_EQ(fake_kernel.qps, 0);
	EXPECT_EQ(fake_kernel.hidden_ranges, 1); // the CQ's
}

TEST_F(DirectCreate, TellsWhenTheClaimFails)
{
	ASSERT_EQ(ohcadv_create_qp_async(queue_, &attr_, 1), 0);
	end(fake_kernel.async_creations[0].user_data, 0, kNumber);
	fake_kernel.error = EPERM;
	const ohcadv_async_completion completion = read_one();
	EXPECT_EQ(completion.error, EPERM);
	EXPECT_EQ(completion.qp, nullptr);
	EXPECT_EQ(fake_kernel.hidden_ranges, 1);
}

TEST_F(DirectCreate, CreatesAllOrNone)
{
	const std::uint64_t wr_ids[kDepth + 1] = {};
	EXPECT_EQ(ohcadv_create_qps_async(queue_, &attr_, wr_ids, kDepth + 1), EAGAIN);
	EXPECT_EQ(ohcadv_create_qps_async(queue_, &attr_, wr_ids, 0), EINVAL);
	EXPECT_EQ(ohcadv_create_qps_async(queue_, &attr_, wr_ids, OHCADV_ASYNC_BATCH_MAX + 1), EINVAL);
	attr_.comp_mask = 0;
	EXPECT_EQ(ohcadv_create_qps_async(queue_, &attr_, wr_ids, 1), EINVAL);
	attr_.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr_.qp_type = IBV_QPT_XRC_RECV;
	EXPECT_EQ(ohcadv_create_qps_async(queue_, &attr_, wr_ids, 1), EOPNOTSUPP);
	attr_.qp_type = IBV_QPT_RC;
	fake_kernel.async_creation_error = EIO;
	EXPECT_EQ(ohcadv_create_qps_async(queue_, &attr_, wr_ids, kDepth), EIO);
	fake_kernel.error = ENOMEM;
	EXPECT_EQ(ohcadv_create_qps_async(queue_, &attr_, wr_ids, kDepth), ENOMEM);
	EXPECT_TRUE(fake_kernel.async_creations.empty());
	EXPECT_EQ(fake_kernel.hidden_ranges, 1);
}

TEST_F(DirectCreate, KeepsTheQueueUntilTheCompletionIsRead)
{
	ASSERT_EQ(ohcadv_create_qp_async(queue_, &attr_, 1), 0);
	EXPECT_EQ(ohcadv_destroy_async_queue(queue_), EBUSY);
	end(fake_kernel.async_creations[0].user_data, EIO, 0);
	EXPECT_EQ(read_one().error, EIO);
}

TEST_F(DirectCreate, DestroysWhenTheCompletionIsRead)
{
	ibv_qp *qp = created();
	ASSERT_NE(qp, nullptr);
	ASSERT_EQ(ohcadv_destroy_qp_async(queue_, qp, 5), 0);
	EXPECT_EQ(fake_kernel.async_operations.at(0).opcode, unsigned{OHCA_ASYNC_DESTROY_QP});
	EXPECT_EQ(fake_kernel.qps, 1);
	EXPECT_EQ(ohca_destroy_qp(qp), EBUSY);
	EXPECT_EQ(ohcadv_destroy_qp_async(queue_, qp, 6), EBUSY);
	EXPECT_EQ(ohcadv_disconnect_qp_async(queue_, qp, 7), EBUSY);
	end(fake_kernel.async_operations[0].user_data, 0, 0);
	const ohcadv_async_completion completion = read_one();
	EXPECT_EQ(completion.wr_id, 5u);
	EXPECT_EQ(completion.error, 0);
	EXPECT_EQ(completion.qp, nullptr);
	EXPECT_EQ(fake_kernel.qps, 0);
	EXPECT_EQ(fake_kernel.hidden_ranges, 2); // the CQ's, and that of the next queue pair
}

TEST_F(DirectCreate, KeepsAQueuePairThatIsNotDestroyed)
{
	ibv_qp *qp = created();
	ASSERT_NE(qp, nullptr);
	ASSERT_EQ(ohcadv_destroy_qp_async(queue_, qp, 5), 0);
	end(fake_kernel.async_operations[0].user_data, EBUSY, 0);
	const ohcadv_async_completion completion = read_one();
	EXPECT_EQ(completion.error, EBUSY);
	EXPECT_EQ(completion.qp, qp);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
}

TEST_F(DirectCreate, DestroysNothingWhoseCompletionsAreUnread)
{
	ibv_qp *qp = created();
	ASSERT_NE(qp, nullptr);
	const ohcadv_async_operation both[] = {{1, OHCADV_ASYNC_DISCONNECT_QP, qp, nullptr, 0},
					       {2, OHCADV_ASYNC_DESTROY_QP, qp, nullptr, 0}};
	EXPECT_EQ(ohcadv_submit_async(queue_, both, 2), EBUSY);
	ASSERT_EQ(ohcadv_submit_async(queue_, both, 1), 0);
	EXPECT_EQ(ohcadv_destroy_qp_async(queue_, qp, 5), EBUSY);
	end(fake_kernel.async_operations[0].user_data, 0, 0);
	read_one();
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
}

} // namespace
} // namespace ohca::test
