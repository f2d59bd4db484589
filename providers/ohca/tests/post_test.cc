// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_post_send() and ibv_post_recv() against the layout of the contract.
#include <cstring>

#include "fixture.hh"

namespace ohca::test {
namespace {

class PostTest : public ProviderTest {
protected:
	PostTest() : cq_(create_cq(64)), qp_(create_qp(cq_, cq_)) {}

	int post(ibv_send_wr &wr) { return ohca_post_send(qp_, &wr, &bad_send_); }
	int post(ibv_recv_wr &wr) { return ohca_post_recv(qp_, &wr, &bad_recv_); }

	QueuePair &qp() { return QueuePair::of(qp_); }
	std::byte *slot(Index index) { return qp().sq.slot(index); }
	const ohca_sq_wqe &wqe(Index index = 0) { return *reinterpret_cast<ohca_sq_wqe *>(slot(index)); }
	const ohca_sge *elements(Index index = 0)
	{
		return reinterpret_cast<ohca_sge *>(slot(index) + sizeof(ohca_sq_wqe));
	}

	ibv_cq *cq_;
	ibv_qp *qp_;
	ibv_send_wr *bad_send_ = nullptr;
	ibv_recv_wr *bad_recv_ = nullptr;
	ibv_sge list_[3] = {sge(0x1111222233334444, 0x5555, 0x66), sge(0x7777, 0x88, 0x99), sge(1, 2, 3)};
};

TEST_F(PostTest, WriteOfOneElement)
{
	ibv_send_wr wr = write_wr(0xabc, list_);
	wr.wr.rdma.remote_addr = 0x1020304050607080;
	wr.wr.rdma.rkey = 0xcafe;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(wqe().opcode, OHCA_WR_WRITE);
	EXPECT_EQ(wqe().flags, OHCA_WQE_SIGNALED);
	EXPECT_EQ(wqe().num_sge, 1);
	EXPECT_EQ(wqe().inline_length, 0u);
	EXPECT_EQ(wqe().immediate, 0u);
	EXPECT_EQ(wqe().invalidate_key, 0u);
	EXPECT_EQ(wqe().remote_address, 0x1020304050607080u);
	EXPECT_EQ(wqe().rkey, 0xcafeu);
	EXPECT_EQ(wqe().remote_srqn, 0u);
	EXPECT_EQ(elements()[0].address, 0x1111222233334444u);
	EXPECT_EQ(elements()[0].length, 0x5555u);
	EXPECT_EQ(elements()[0].lkey, 0x66u);
	EXPECT_EQ(qp().record->sq_producer, 1u);
}

// OHCA-SQ-H3 OHCA-GEN-H1
TEST_F(PostTest, ReservedFieldsAreClearedWhenASlotIsUsedAgain)
{
	std::memset(slot(0), 0xff, 64);
	ibv_send_wr wr = write_wr(1, list_);
	wr.opcode = IBV_WR_SEND;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(wqe().reserved_18, 0);
	EXPECT_EQ(wqe().remote_srqn, 0u);
	EXPECT_EQ(wqe().remote_address, 0u);
	EXPECT_EQ(wqe().immediate, 0u);
}

TEST_F(PostTest, Read)
{
	ibv_send_wr wr = write_wr(1, list_);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.num_sge = 2;
	wr.send_flags = IBV_SEND_FENCE;
	wr.wr.rdma.rkey = 5;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(wqe().opcode, OHCA_WR_READ);
	EXPECT_EQ(wqe().flags, OHCA_WQE_FENCE);
	EXPECT_EQ(wqe().num_sge, 2);
	EXPECT_EQ(wqe().rkey, 5u);
	EXPECT_EQ(elements()[1].address, 0x7777u);
	EXPECT_EQ(elements()[1].lkey, 0x99u);
}

TEST_F(PostTest, ImmediateIsTakenAsItIs)
{
	ibv_send_wr wr = write_wr(1, list_);
	wr.imm_data = 0x04030201;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	ASSERT_EQ(post(wr), 0);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.send_flags |= IBV_SEND_SOLICITED;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(wqe(0).opcode, OHCA_WR_WRITE_IMM);
	EXPECT_EQ(wqe(0).immediate, 0x04030201u);
	EXPECT_EQ(wqe(1).opcode, OHCA_WR_SEND_IMM);
	EXPECT_EQ(wqe(1).immediate, 0x04030201u);
	EXPECT_EQ(wqe(1).flags, OHCA_WQE_SIGNALED | OHCA_WQE_SOLICITED);
}

TEST_F(PostTest, SendWithInvalidate)
{
	ibv_send_wr wr = write_wr(1, list_);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 0x777;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(wqe().opcode, OHCA_WR_SEND_INV);
	EXPECT_EQ(wqe().invalidate_key, 0x777u);
	EXPECT_EQ(wqe().immediate, 0u);
}

TEST_F(PostTest, Atomics)
{
	ibv_send_wr wr = write_wr(1, list_);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 0x1000;
	wr.wr.atomic.rkey = 3;
	wr.wr.atomic.compare_add = 10;
	wr.wr.atomic.swap = 20;
	ASSERT_EQ(post(wr), 0);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	ASSERT_EQ(post(wr), 0);
	for (Index index : {0u, 1u}) {
		EXPECT_EQ(wqe(index).opcode, index ? OHCA_WR_FADD : OHCA_WR_CAS);
		EXPECT_EQ(wqe(index).num_sge, 1);
		EXPECT_EQ(wqe(index).remote_address, 0x1000u);
		EXPECT_EQ(wqe(index).rkey, 3u);
		auto *atomic = reinterpret_cast<const ohca_wqe_atomic *>(elements(index));
		EXPECT_EQ(atomic->operand, index ? 10u : 20u);
		EXPECT_EQ(atomic->compare, index ? 0u : 10u);
		EXPECT_EQ(elements(index)[1].address, list_[0].addr);
	}
}

TEST_F(PostTest, InlineDataOfAllElements)
{
	char first[] = "hello, ", second[] = "world";
	ibv_sge list[2] = {sge(reinterpret_cast<std::uintptr_t>(first), 7, 0),
			   sge(reinterpret_cast<std::uintptr_t>(second), 5, 0)};
	ibv_send_wr wr = write_wr(1, list);
	wr.num_sge = 2;
	wr.send_flags |= IBV_SEND_INLINE;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(wqe().flags, OHCA_WQE_SIGNALED | OHCA_WQE_INLINE);
	EXPECT_EQ(wqe().num_sge, 0);
	EXPECT_EQ(wqe().inline_length, 12u);
	EXPECT_EQ(std::memcmp(elements(), "hello, world", 12), 0);
}

TEST_F(PostTest, InlineOfNothing)
{
	ibv_send_wr wr = write_wr(1, nullptr);
	wr.num_sge = 0;
	wr.send_flags |= IBV_SEND_INLINE;
	ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(wqe().flags & OHCA_WQE_INLINE, OHCA_WQE_INLINE);
	EXPECT_EQ(wqe().inline_length, 0u);
}

TEST_F(PostTest, RefusesBadRequestsAndNamesThem)
{
	char data[64] = {};
	ibv_sge long_list[2] = {sge(reinterpret_cast<std::uintptr_t>(data), 30, 0),
				sge(reinterpret_cast<std::uintptr_t>(data), 0xffffffff, 0)};
	ibv_send_wr good = write_wr(1, list_), bad = write_wr(2, list_);
	good.next = &bad;
	const auto expect_refused = [&] {
		EXPECT_EQ(post(good), EINVAL);
		EXPECT_EQ(bad_send_, &bad);
		bad = write_wr(2, list_);
	};
	bad.num_sge = 3; // the queue pair has 2
	expect_refused();
	bad.num_sge = -1;
	expect_refused();
	bad.opcode = IBV_WR_BIND_MW;
	expect_refused();
	std::memset(&bad.opcode, 0xff, sizeof(bad.opcode));
	expect_refused();
	bad.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	bad.num_sge = 0;
	expect_refused();
	bad.opcode = IBV_WR_RDMA_READ;
	bad.send_flags = IBV_SEND_INLINE;
	expect_refused();
	for (std::uint32_t length : {3u, 0xffffffffu}) { // 30 + 3 > 32
		long_list[1].length = length;
		bad.sg_list = long_list;
		bad.num_sge = 2;
		bad.send_flags = IBV_SEND_INLINE;
		expect_refused();
	}
	// Those before the bad one were posted.
	EXPECT_EQ(qp().record->sq_producer, 8u);
}

TEST_F(PostTest, ListRingsOnce)
{
	uar().need_wakeup = 1;
	ibv_send_wr wrs[3];
	for (int i = 2; i >= 0; --i) {
		wrs[i] = write_wr(static_cast<std::uint64_t>(i), list_);
		wrs[i].next = i < 2 ? &wrs[i + 1] : nullptr;
	}
	ASSERT_EQ(post(wrs[0]), 0);
	EXPECT_EQ(qp().record->sq_producer, 3u);
	EXPECT_EQ(uar().notify[1], 1u << 6); // slot 70
	EXPECT_EQ(uar().summary, 1u << 1);
	EXPECT_EQ(kick(), 1u);
}

TEST_F(PostTest, NothingPostedRingsNothing)
{
	ibv_send_wr wr = write_wr(1, list_);
	wr.num_sge = 9;
	EXPECT_EQ(post(wr), EINVAL);
	EXPECT_EQ(uar().summary, 0u);
	EXPECT_EQ(ohca_post_send(qp_, nullptr, &bad_send_), 0);
	EXPECT_EQ(uar().summary, 0u);
}

// OHCA-SQ-H2
TEST_F(PostTest, FullQueueGivesEnomem)
{
	ibv_send_wr wr = write_wr(1, list_);
	for (int i = 0; i < 16; ++i)
		ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(post(wr), ENOMEM);
	EXPECT_EQ(bad_send_, &wr);
	CqWriter(cq_).write({.qpn = qp_->qp_num, .wqe_index = 3});
	ibv_wc wc;
	ASSERT_EQ(ohca_poll_cq(cq_, 1, &wc), 1);
	for (int i = 0; i < 4; ++i)
		EXPECT_EQ(post(wr), 0);
	EXPECT_EQ(post(wr), ENOMEM);
}

TEST_F(PostTest, StatesThatRefuseSends)
{
	ibv_send_wr wr = write_wr(1, list_);
	ASSERT_EQ(set_state(qp_, IBV_QPS_RESET), 0);
	EXPECT_EQ(post(wr), EINVAL);
	for (ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR}) {
		ASSERT_EQ(set_state(qp_, state), 0);
		EXPECT_EQ(post(wr), EINVAL);
	}
	for (ibv_qp_state state : {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
		ASSERT_EQ(set_state(qp_, state), 0);
		EXPECT_EQ(post(wr), 0);
	}
}

TEST_F(PostTest, ReceiveLayout)
{
	ibv_recv_wr wr{};
	wr.wr_id = 9;
	wr.sg_list = list_;
	wr.num_sge = 2;
	ASSERT_EQ(post(wr), 0);
	ASSERT_EQ(post(wr), 0);
	auto *header = reinterpret_cast<const ohca_rq_wqe *>(qp().rq.slot(1));
	EXPECT_EQ(header->num_sge, 2);
	EXPECT_EQ(header->tag, 1u);
	EXPECT_EQ(header->reserved_40, 0u);
	auto *element = reinterpret_cast<const ohca_sge *>(header + 1);
	EXPECT_EQ(element[1].address, 0x7777u);
	EXPECT_EQ(element[1].length, 0x88u);
	EXPECT_EQ(qp().record->rq_producer, 2u);
	EXPECT_EQ(uar().summary, 0u);
}

// OHCA-RQ-H2
TEST_F(PostTest, ReceiveErrors)
{
	ibv_recv_wr wr{};
	wr.sg_list = list_;
	wr.num_sge = 17;
	EXPECT_EQ(post(wr), EINVAL);
	EXPECT_EQ(bad_recv_, &wr);
	wr.num_sge = 1;
	ASSERT_EQ(set_state(qp_, IBV_QPS_RESET), 0);
	EXPECT_EQ(post(wr), EINVAL);
	ASSERT_EQ(set_state(qp_, IBV_QPS_INIT), 0);
	for (int i = 0; i < 16; ++i)
		ASSERT_EQ(post(wr), 0);
	EXPECT_EQ(post(wr), ENOMEM);
}

TEST_F(PostTest, FailedDeviceGivesEio)
{
	fail_device();
	ibv_send_wr wr = write_wr(1, list_);
	EXPECT_EQ(post(wr), EIO);
	EXPECT_EQ(bad_send_, &wr);
	ibv_recv_wr receive{};
	EXPECT_EQ(post(receive), EIO);
	EXPECT_EQ(bad_recv_, &receive);
	EXPECT_EQ(qp().record->sq_producer, 0u);
}

} // namespace
} // namespace ohca::test
