// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A CQ's new buffer, and its clock.
#include "fixture.hh"

namespace ohca::test {
namespace {

class ResizeTest : public ProviderTest {
protected:
	ResizeTest() : cq_(create_cq(4)), qp_(create_qp(cq_, cq_)), device_(cq_) {}

	void complete_one()
	{
		ibv_send_wr wr = write_wr(next_++, nullptr), *bad;
		wr.num_sge = 0;
		ASSERT_EQ(ohca_post_send(qp_, &wr, &bad), 0);
		device_.write({.qpn = qp_->qp_num, .wqe_index = static_cast<std::uint32_t>(next_ - 1)});
	}

	ibv_cq *cq_;
	ibv_qp *qp_;
	CqWriter device_;
	std::uint64_t next_ = 0;
	ibv_wc wc_[16];
};

TEST_F(ResizeTest, GoesOnWhereItWas)
{
	for (int i = 0; i < 3; ++i)
		complete_one();
	ASSERT_EQ(ohca_poll_cq(cq_, 1, wc_), 1);
	ASSERT_EQ(ohca_req_notify_cq(cq_, 0), 0);
	const std::uint32_t arm = device_.record().arm;
	CompletionQueue &cq = CompletionQueue::of(cq_);
	// The device: copies what is left, with the phase of the new depth.
	fake_kernel.on_resize = [&](std::uint64_t buffer) {
		auto *record = reinterpret_cast<ohca_cq_record *>(buffer);
		auto *ring = reinterpret_cast<ohca_cqe *>(buffer + OHCA_CQ_RING_OFFSET);
		EXPECT_EQ(record->consumer, 1u);
		EXPECT_EQ(record->arm, arm);
		record->fired = cq.record->fired;
		for (Index i = 1; i < 3; ++i) {
			ring[i] = cq.ring[i];
			ring[i].owner = phase_of(i, 16);
		}
	};
	ASSERT_EQ(ohca_resize_cq(cq_, 9), 0);
	EXPECT_EQ(cq_->cqe, 16);
	EXPECT_EQ(fake_kernel.resize_cq_request.log_depth, 4);
	EXPECT_EQ(fake_kernel.resize_cq_request.buffer_address % 4096, 0u);
	EXPECT_GE(fake_kernel.resize_cq_request.buffer_length, 64u + 16 * 64);
	for (int i = 0; i < 13; ++i)
		complete_one();
	ASSERT_EQ(ohca_poll_cq(cq_, 16, wc_), 15);
	EXPECT_EQ(wc_[0].wr_id, 1u);
	EXPECT_EQ(wc_[14].wr_id, 15u);
	complete_one(); // second pass
	ASSERT_EQ(ohca_poll_cq(cq_, 16, wc_), 1);
}

TEST_F(ResizeTest, RefusalChangesNothing)
{
	complete_one();
	const ohca_cq_record *record = &device_.record();
	EXPECT_EQ(ohca_resize_cq(cq_, 0), EINVAL);
	EXPECT_EQ(ohca_resize_cq(cq_, -1), EINVAL);
	EXPECT_EQ(ohca_resize_cq(cq_, 4097), EINVAL);
	fake_kernel.error = EAGAIN; // of the first call: hiding the buffer from children
	EXPECT_EQ(ohca_resize_cq(cq_, 8), ENOMEM);
	context_->limits.device_features &= ~OHCA_FEATURE_RESIZE;
	EXPECT_EQ(ohca_resize_cq(cq_, 8), EOPNOTSUPP);
	EXPECT_EQ(&device_.record(), record);
	EXPECT_EQ(cq_->cqe, 4);
	EXPECT_EQ(ohca_poll_cq(cq_, 16, wc_), 1);
}

class ClockTest : public ProviderTest {
protected:
	ClockTest() { fake_kernel.clocks = {.comp_mask = 0, .reserved_20 = 0, .device_clock_ns = 1000, .real_clock_ns = 5'000'000}; }

	std::uint64_t wallclock_of(std::uint64_t timestamp)
	{
		ibv_send_wr wr = write_wr(0, nullptr), *bad;
		wr.num_sge = 0;
		EXPECT_EQ(ohca_post_send(qp_, &wr, &bad), 0);
		device_.write({.qpn = qp_->qp_num, .wqe_index = index_++, .timestamp_ns = timestamp});
		ibv_poll_cq_attr attr{};
		EXPECT_EQ(ibv_start_poll(ex_, &attr), 0);
		const std::uint64_t time = ibv_wc_read_completion_wallclock_ns(ex_);
		EXPECT_EQ(ibv_wc_read_completion_ts(ex_), timestamp);
		ibv_end_poll(ex_);
		return time;
	}

	void create()
	{
		ex_ = create_cq_ex(8, std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
					      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
		ASSERT_NE(ex_, nullptr);
		qp_ = create_qp(ibv_cq_ex_to_cq(ex_), ibv_cq_ex_to_cq(ex_));
		device_ = CqWriter(ibv_cq_ex_to_cq(ex_));
	}

	ibv_cq_ex *ex_ = nullptr;
	ibv_qp *qp_ = nullptr;
	CqWriter device_;
	std::uint32_t index_ = 0;
};

TEST_F(ClockTest, WallclockOfACompletion)
{
	create();
	EXPECT_EQ(fake_kernel.device_queries, 1);
	EXPECT_EQ(wallclock_of(1500), 5'000'500u);
	EXPECT_EQ(wallclock_of(400), 4'999'400u); // from before the clocks were read
	EXPECT_EQ(fake_kernel.device_queries, 1);
	// Somebody has set the clock by a second.
	fake_kernel.clocks.device_clock_ns = 3'000'000'000;
	fake_kernel.clocks.real_clock_ns = 4'000'000'000;
	EXPECT_EQ(wallclock_of(2'999'999'999), 3'999'999'999u);
	EXPECT_EQ(fake_kernel.device_queries, 2);
	fake_kernel.error = EIO; // then the old pair has to do
	EXPECT_EQ(wallclock_of(5'000'000'000), 6'000'000'000u);
}

TEST_F(ClockTest, KernelThatDoesNotTell)
{
	fake_kernel.clocks = {};
	EXPECT_EQ(create_cq_ex(8, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_NE(create_cq_ex(8, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP), nullptr);
	ibv_values_ex values{};
	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	EXPECT_EQ(ohca_query_rt_values(context(), &values), EOPNOTSUPP);
	EXPECT_EQ(values.comp_mask, 0u);
}

TEST_F(ClockTest, RawClock)
{
	ibv_values_ex values{};
	EXPECT_EQ(ohca_query_rt_values(context(), &values), 0);
	EXPECT_EQ(fake_kernel.device_queries, 0);
	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	ASSERT_EQ(ohca_query_rt_values(context(), &values), 0);
	EXPECT_EQ(values.comp_mask, unsigned{IBV_VALUES_MASK_RAW_CLOCK});
	EXPECT_EQ(values.raw_clock.tv_nsec, 1000);
	values.comp_mask = 2;
	EXPECT_EQ(ohca_query_rt_values(context(), &values), EINVAL);
}

} // namespace
} // namespace ohca::test
