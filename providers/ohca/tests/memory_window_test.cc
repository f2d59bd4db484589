// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Work requests on keys: windows of both types, invalidation; and the two operations of
// persistent memory.
#include <cstring>

#include <rdma/ohca_hw_cmd.h>

#include "fixture.hh"

namespace ohca::test {
namespace {

class MemoryWindowTest : public ProviderTest {
protected:
	MemoryWindowTest() : cq_(create_cq(64)), qp_(create_qp(qp_attr(IBV_QPT_RC, cq_, IBV_QP_EX_WITH_BIND_MW)))
	{
		ex_ = &QueuePair::of(qp_).verbs.qp_ex;
		region_.lkey = 0x500;
		window_.rkey = 0x12ff;
		window_.type = IBV_MW_TYPE_1;
		bind_.wr_id = 9;
		bind_.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
		bind_.bind_info = {&region_, 0x1000, 0x20, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE};
	}

	template <class T> T at(std::size_t offset, Index index = 0)
	{
		T value;
		std::memcpy(&value, QueuePair::of(qp_).sq.slot(index) + offset, sizeof(value));
		return value;
	}
	Index producer() { return QueuePair::of(qp_).record->sq_producer; }

	ibv_send_wr bind_wr()
	{
		ibv_send_wr wr{};
		wr.opcode = IBV_WR_BIND_MW;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.bind_mw.mw = &window_;
		wr.bind_mw.rkey = 0x1234;
		wr.bind_mw.bind_info = bind_.bind_info;
		return wr;
	}

	ibv_cq *cq_;
	ibv_qp *qp_;
	ibv_qp_ex *ex_;
	ibv_mr region_{};
	ibv_mw window_{};
	ibv_mw_bind bind_{};
	ibv_send_wr *bad_;
};

TEST_F(MemoryWindowTest, BindOfTypeOneChangesTheKey)
{
	std::memset(QueuePair::of(qp_).sq.slot(0), 0xff, 64);
	ASSERT_EQ(ohca_bind_mw(qp_, &window_, &bind_), 0);
	EXPECT_EQ(window_.rkey, 0x1200u); // the consumer key wraps
	const auto header = at<ohca_sq_wqe>(0);
	EXPECT_EQ(header.opcode, OHCA_WR_BIND_MW);
	EXPECT_EQ(header.flags, OHCA_WQE_SIGNALED | OHCA_WQE_FENCE);
	EXPECT_EQ(header.num_sge, 0);
	EXPECT_EQ(header.rkey, 0x1200u);
	EXPECT_EQ(header.remote_address, 0u);
	const auto bind = at<ohca_wqe_bind>(32);
	EXPECT_EQ(bind.address, 0x1000u);
	EXPECT_EQ(bind.length, 0x20u);
	EXPECT_EQ(bind.lkey, 0x500u);
	EXPECT_EQ(bind.access, unsigned{OHCA_ACCESS_REMOTE_WRITE});
	EXPECT_EQ(bind.reserved_c0[7], 0);
	EXPECT_EQ(producer(), 1u);
	CqWriter(cq_).write({.qpn = qp_->qp_num, .wqe_index = 0, .opcode = OHCA_WR_BIND_MW});
	ibv_wc wc;
	ASSERT_EQ(ohca_poll_cq(cq_, 1, &wc), 1);
	EXPECT_EQ(wc.wr_id, 9u);
	EXPECT_EQ(wc.opcode, IBV_WC_BIND_MW);
}

TEST_F(MemoryWindowTest, LengthZeroUnbinds)
{
	bind_.bind_info = {nullptr, 0, 0, 0};
	ASSERT_EQ(ohca_bind_mw(qp_, &window_, &bind_), 0);
	EXPECT_EQ(at<ohca_wqe_bind>(32).length, 0u);
	EXPECT_EQ(at<ohca_wqe_bind>(32).lkey, 0u);
}

TEST_F(MemoryWindowTest, RefusedBindKeepsTheKey)
{
	bind_.bind_info.mw_access_flags = IBV_ACCESS_ON_DEMAND;
	EXPECT_EQ(ohca_bind_mw(qp_, &window_, &bind_), EINVAL);
	bind_.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	EXPECT_EQ(ohca_bind_mw(qp_, &window_, &bind_), EINVAL);
	bind_.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	window_.type = IBV_MW_TYPE_2;
	EXPECT_EQ(ohca_bind_mw(qp_, &window_, &bind_), EINVAL);
	window_.type = IBV_MW_TYPE_1;
	EXPECT_EQ(ohca_bind_mw(create_qp(qp_attr(IBV_QPT_UD, cq_)), &window_, &bind_), EINVAL);
	ASSERT_EQ(set_state(qp_, IBV_QPS_INIT), 0);
	EXPECT_EQ(ohca_bind_mw(qp_, &window_, &bind_), EINVAL);
	fail_device();
	EXPECT_EQ(ohca_bind_mw(qp_, &window_, &bind_), EIO);
	EXPECT_EQ(window_.rkey, 0x12ffu);
	EXPECT_EQ(producer(), 0u);
}

TEST_F(MemoryWindowTest, BindOfTypeTwo)
{
	ibv_send_wr wr = bind_wr();
	EXPECT_EQ(ohca_post_send(qp_, &wr, &bad_), EINVAL); // type 1
	window_.type = IBV_MW_TYPE_2;
	bind_.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_READ;
	wr = bind_wr();
	ASSERT_EQ(ohca_post_send(qp_, &wr, &bad_), 0);
	EXPECT_EQ(at<ohca_sq_wqe>(0).rkey, 0x1234u);
	EXPECT_EQ(at<ohca_wqe_bind>(32).access, unsigned{OHCA_ACCESS_ZERO_BASED | OHCA_ACCESS_REMOTE_READ});
	ibv_wr_start(ex_);
	ex_->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex_, &window_, 0x9934, &bind_.bind_info); // the index is the window's own
	ASSERT_EQ(ibv_wr_complete(ex_), 0);
	EXPECT_EQ(std::memcmp(QueuePair::of(qp_).sq.slot(0), QueuePair::of(qp_).sq.slot(1), 64), 0);
	window_.type = IBV_MW_TYPE_1;
	ibv_wr_start(ex_);
	ibv_wr_bind_mw(ex_, &window_, 0x1234, &bind_.bind_info);
	EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
	wr.bind_mw.mw = nullptr;
	EXPECT_EQ(ohca_post_send(qp_, &wr, &bad_), EINVAL);
	EXPECT_EQ(producer(), 2u);
}

TEST_F(MemoryWindowTest, LocalInvalidation)
{
	ibv_send_wr wr{};
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = 0x1234;
	wr.send_flags = IBV_SEND_SIGNALED;
	ASSERT_EQ(ohca_post_send(qp_, &wr, &bad_), 0);
	ibv_wr_start(ex_);
	ex_->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_local_inv(ex_, 0x1234);
	ASSERT_EQ(ibv_wr_complete(ex_), 0);
	EXPECT_EQ(at<ohca_sq_wqe>(0).opcode, OHCA_WR_LOCAL_INV);
	EXPECT_EQ(at<ohca_sq_wqe>(0).invalidate_key, 0x1234u);
	EXPECT_EQ(std::memcmp(QueuePair::of(qp_).sq.slot(0), QueuePair::of(qp_).sq.slot(1), 32), 0);
}

TEST_F(MemoryWindowTest, AtomicWrite)
{
	const std::uint64_t value = 0x1122334455667788;
	ibv_wr_start(ex_);
	ex_->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(ex_, 5, 0x100, &value);
	ASSERT_EQ(ibv_wr_complete(ex_), 0);
	EXPECT_EQ(at<ohca_sq_wqe>(0).opcode, OHCA_WR_ATOMIC_WRITE);
	EXPECT_EQ(at<ohca_sq_wqe>(0).inline_length, 8u);
	EXPECT_EQ(at<std::uint64_t>(32), value);
	ibv_sge element = sge(reinterpret_cast<std::uintptr_t>(&value), 8, 0);
	ibv_send_wr wr = write_wr(0, &element);
	wr.opcode = IBV_WR_ATOMIC_WRITE;
	wr.send_flags |= IBV_SEND_INLINE;
	wr.wr.rdma = {0x100, 5};
	ASSERT_EQ(ohca_post_send(qp_, &wr, &bad_), 0);
	EXPECT_EQ(std::memcmp(QueuePair::of(qp_).sq.slot(0), QueuePair::of(qp_).sq.slot(1), 40), 0);
}

TEST_F(MemoryWindowTest, Flush)
{
	std::memset(QueuePair::of(qp_).sq.slot(0), 0xff, 64);
	ibv_wr_start(ex_);
	ex_->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(ex_, 5, 0x100, 77, IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE);
	ibv_wr_flush(ex_, 5, 0, 77, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	ASSERT_EQ(ibv_wr_complete(ex_), 0);
	EXPECT_EQ(at<ohca_sq_wqe>(0).opcode, OHCA_WR_FLUSH);
	const auto flush = at<ohca_wqe_flush>(32);
	EXPECT_EQ(flush.length, 77u);
	EXPECT_EQ(flush.placement, OHCA_FLUSH_GLOBAL | OHCA_FLUSH_PERSISTENT);
	EXPECT_EQ(flush.selectivity, OHCA_FLUSH_RANGE);
	EXPECT_EQ(flush.reserved_30[9], 0);
	EXPECT_EQ(at<ohca_wqe_flush>(32, 1).length, 0u);
	EXPECT_EQ(at<ohca_wqe_flush>(32, 1).selectivity, OHCA_FLUSH_REGION);
	ibv_wr_start(ex_);
	ibv_wr_flush(ex_, 5, 0, std::size_t{1} << 32, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
	// ibv_send_wr has no room for its operands.
	ibv_send_wr wr = write_wr(1, nullptr);
	wr.opcode = IBV_WR_FLUSH;
	EXPECT_EQ(ohca_post_send(qp_, &wr, &bad_), EINVAL);
}

TEST_F(MemoryWindowTest, UnreliableConnections)
{
	ibv_qp *qp = create_qp(qp_attr(IBV_QPT_UC, cq_, IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_RDMA_WRITE |
							       IBV_QP_EX_WITH_LOCAL_INV));
	ASSERT_NE(qp, nullptr);
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
				     IBV_WR_LOCAL_INV}) {
		ibv_send_wr wr = write_wr(1, nullptr);
		wr.num_sge = 0;
		wr.opcode = opcode;
		EXPECT_EQ(ohca_post_send(qp, &wr, &bad_), 0);
	}
	// IBTA 9.2: packets of SEND with invalidate exist for reliable services only.
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_WRITE,
				     IBV_WR_SEND_WITH_INV}) {
		ibv_sge element = sge(0, 8, 0);
		ibv_send_wr wr = write_wr(1, &element);
		wr.opcode = opcode;
		EXPECT_EQ(ohca_post_send(qp, &wr, &bad_), EINVAL);
	}
	for (std::uint64_t op : {IBV_QP_EX_WITH_RDMA_READ, IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_QP_EX_WITH_FLUSH,
				 IBV_QP_EX_WITH_SEND_WITH_INV}) {
		EXPECT_EQ(create_qp(qp_attr(IBV_QPT_UC, cq_, op)), nullptr);
		EXPECT_EQ(errno, EOPNOTSUPP);
	}
}

} // namespace
} // namespace ohca::test
