// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_wr_*(): for every operation the same bytes as ibv_post_send() writes.
#include <cstring>
#include <functional>

#include "fixture.hh"

namespace ohca::test {
namespace {

class WrApiTest : public ProviderTest {
protected:
	WrApiTest()
		: cq_(create_cq(64)), classic_(create_qp(cq_, cq_)), qp_(create_qp(cq_, cq_)),
		  ex_(&QueuePair::of(qp_).verbs.qp_ex)
	{
	}

	void expect_same(ibv_send_wr wr, const std::function<void()> &build)
	{
		SCOPED_TRACE(wr.opcode);
		ibv_send_wr *bad;
		ASSERT_EQ(ohca_post_send(classic_, &wr, &bad), 0);
		ibv_wr_start(ex_);
		ex_->wr_id = wr.wr_id;
		ex_->wr_flags = wr.send_flags & ~unsigned{IBV_SEND_INLINE};
		build();
		ASSERT_EQ(ibv_wr_complete(ex_), 0);
		QueuePair &one = QueuePair::of(classic_), &other = QueuePair::of(qp_);
		ASSERT_EQ(one.sq.producer, other.sq.producer);
		const Index index = one.sq.producer - 1;
		EXPECT_EQ(std::memcmp(one.sq.slot(index), other.sq.slot(index), 64), 0);
		EXPECT_EQ(one.sq.wr_ids[index & one.sq.mask], other.sq.wr_ids[index & other.sq.mask]);
		EXPECT_EQ(one.record->sq_producer, other.record->sq_producer);
	}

	Index producer() { return QueuePair::of(qp_).sq.producer; }

	ibv_cq *cq_;
	ibv_qp *classic_;
	ibv_qp *qp_;
	ibv_qp_ex *ex_;
	ibv_sge list_[2] = {sge(0x1000, 10, 1), sge(0x2000, 20, 2)};
};

TEST_F(WrApiTest, Send)
{
	ibv_send_wr wr = write_wr(1, list_);
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	expect_same(wr, [&] {
		ibv_wr_send(ex_);
		ibv_wr_set_sge(ex_, 1, 0x1000, 10);
	});
}

TEST_F(WrApiTest, SendImm)
{
	ibv_send_wr wr = write_wr(2, list_);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = 0x01020304;
	wr.num_sge = 2;
	expect_same(wr, [&] {
		ibv_wr_send_imm(ex_, 0x01020304);
		ibv_wr_set_sge_list(ex_, 2, list_);
	});
}

TEST_F(WrApiTest, SendInv)
{
	ibv_send_wr wr = write_wr(3, list_);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 77;
	expect_same(wr, [&] {
		ibv_wr_send_inv(ex_, 77);
		ibv_wr_set_sge(ex_, 1, 0x1000, 10);
	});
}

TEST_F(WrApiTest, Write)
{
	ibv_send_wr wr = write_wr(4, list_);
	wr.wr.rdma.remote_addr = 0x123456789a;
	wr.wr.rdma.rkey = 5;
	expect_same(wr, [&] {
		ibv_wr_rdma_write(ex_, 5, 0x123456789a);
		ibv_wr_set_sge(ex_, 1, 0x1000, 10);
	});
}

TEST_F(WrApiTest, WriteImm)
{
	ibv_send_wr wr = write_wr(5, list_);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = 9;
	wr.wr.rdma.remote_addr = 6;
	wr.wr.rdma.rkey = 5;
	expect_same(wr, [&] {
		ibv_wr_rdma_write_imm(ex_, 5, 6, 9);
		ibv_wr_set_sge(ex_, 1, 0x1000, 10);
	});
}

TEST_F(WrApiTest, Read)
{
	ibv_send_wr wr = write_wr(6, list_);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_FENCE;
	wr.wr.rdma.remote_addr = 6;
	wr.wr.rdma.rkey = 5;
	expect_same(wr, [&] {
		ibv_wr_rdma_read(ex_, 5, 6);
		ibv_wr_set_sge(ex_, 1, 0x1000, 10);
	});
}

TEST_F(WrApiTest, CompareAndSwap)
{
	ibv_send_wr wr = write_wr(7, list_);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 6;
	wr.wr.atomic.rkey = 5;
	wr.wr.atomic.compare_add = 11;
	wr.wr.atomic.swap = 12;
	expect_same(wr, [&] {
		ibv_wr_atomic_cmp_swp(ex_, 5, 6, 11, 12);
		ibv_wr_set_sge(ex_, 1, 0x1000, 10);
	});
}

TEST_F(WrApiTest, FetchAndAdd)
{
	ibv_send_wr wr = write_wr(8, list_);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = 6;
	wr.wr.atomic.rkey = 5;
	wr.wr.atomic.compare_add = 11;
	expect_same(wr, [&] {
		ibv_wr_atomic_fetch_add(ex_, 5, 6, 11);
		ibv_wr_set_sge_list(ex_, 1, list_);
	});
}

TEST_F(WrApiTest, InlineData)
{
	char data[] = "0123456789";
	ibv_sge list[2] = {sge(reinterpret_cast<std::uintptr_t>(data), 4, 0),
			   sge(reinterpret_cast<std::uintptr_t>(data + 4), 6, 0)};
	ibv_send_wr wr = write_wr(9, list);
	wr.num_sge = 2;
	wr.send_flags |= IBV_SEND_INLINE;
	expect_same(wr, [&] {
		ibv_wr_rdma_write(ex_, 0, 0);
		ibv_wr_set_inline_data(ex_, data, 10);
	});
	expect_same(wr, [&] {
		const ibv_data_buf buffers[] = {{data, 4}, {data + 4, 6}};
		ibv_wr_rdma_write(ex_, 0, 0);
		ibv_wr_set_inline_data_list(ex_, 2, buffers);
	});
}

TEST_F(WrApiTest, WithoutPayload)
{
	ibv_send_wr wr = write_wr(10, nullptr);
	wr.num_sge = 0;
	wr.opcode = IBV_WR_SEND;
	expect_same(wr, [&] { ibv_wr_send(ex_); });
}

TEST_F(WrApiTest, BatchRingsOnceWhenComplete)
{
	ibv_wr_start(ex_);
	for (int i = 0; i < 3; ++i) {
		ibv_wr_send(ex_);
		ibv_wr_set_sge(ex_, 1, 2, 3);
	}
	EXPECT_EQ(uar().summary, 0u);
	EXPECT_EQ(QueuePair::of(qp_).record->sq_producer, 0u);
	EXPECT_EQ(ibv_wr_complete(ex_), 0);
	EXPECT_EQ(QueuePair::of(qp_).record->sq_producer, 3u);
	EXPECT_NE(uar().summary, 0u);
}

TEST_F(WrApiTest, EmptyBatchRingsNothing)
{
	ibv_wr_start(ex_);
	EXPECT_EQ(ibv_wr_complete(ex_), 0);
	EXPECT_EQ(uar().summary, 0u);
}

TEST_F(WrApiTest, AbortPostsNothing)
{
	ibv_wr_start(ex_);
	ibv_wr_send(ex_);
	ibv_wr_set_sge(ex_, 1, 2, 3);
	ibv_wr_abort(ex_);
	EXPECT_EQ(producer(), 0u);
	EXPECT_EQ(uar().summary, 0u);
	ibv_wr_start(ex_); // the lock is free again
	EXPECT_EQ(ibv_wr_complete(ex_), 0);
}

TEST_F(WrApiTest, FullQueueFailsTheWholeBatch)
{
	ibv_wr_start(ex_);
	for (int i = 0; i < 17; ++i) {
		ibv_wr_send(ex_);
		ibv_wr_set_sge_list(ex_, 2, list_);
	}
	EXPECT_EQ(ibv_wr_complete(ex_), ENOMEM);
	EXPECT_EQ(producer(), 0u);
}

TEST_F(WrApiTest, BadPayloadFailsTheBatch)
{
	char data[64] = {};
	const ibv_data_buf buffers[] = {{data, 32}, {data, ~std::size_t{0}}};
	const ibv_data_buf one_too_many[] = {{data, 32}, {data, 1}};
	ibv_sge three[3] = {};
	const std::function<void()> cases[] = {
		[&] { ibv_wr_send(ex_), ibv_wr_set_sge_list(ex_, 3, three); },
		[&] { ibv_wr_send(ex_), ibv_wr_set_inline_data(ex_, data, 33); },
		[&] { ibv_wr_send(ex_), ibv_wr_set_inline_data_list(ex_, 2, buffers); },
		[&] { ibv_wr_send(ex_), ibv_wr_set_inline_data_list(ex_, 2, one_too_many); },
		[&] { ibv_wr_rdma_read(ex_, 0, 0), ibv_wr_set_inline_data(ex_, data, 1); },
		[&] { ibv_wr_atomic_fetch_add(ex_, 0, 0, 0), ibv_wr_set_inline_data_list(ex_, 1, buffers); },
		[&] { ibv_wr_atomic_fetch_add(ex_, 0, 0, 0), ibv_wr_set_sge_list(ex_, 2, list_); },
	};
	for (const auto &build : cases) {
		ibv_wr_start(ex_);
		build();
		EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
	}
	EXPECT_EQ(producer(), 0u);
}

TEST_F(WrApiTest, SetterWithoutBuilderIsHarmless)
{
	ibv_wr_start(ex_);
	ibv_wr_set_sge_list(ex_, 2, list_);
	EXPECT_EQ(ibv_wr_complete(ex_), 0);
	EXPECT_EQ(producer(), 0u);
}

TEST_F(WrApiTest, RefusedByState)
{
	ASSERT_EQ(set_state(qp_, IBV_QPS_RESET), 0);
	ibv_wr_start(ex_);
	ibv_wr_send(ex_);
	EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
}

TEST_F(WrApiTest, FailedDeviceGivesEio)
{
	fail_device();
	ibv_wr_start(ex_);
	ibv_wr_send(ex_);
	EXPECT_EQ(ibv_wr_complete(ex_), EIO);
	EXPECT_EQ(producer(), 0u);
}

} // namespace
} // namespace ohca::test
