// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What the application sees of the CQEs a device writes, well-behaved or not.
#include "fixture.hh"

namespace ohca::test {
namespace {

constexpr std::uint64_t kAllWcFlags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;

class PollTest : public ProviderTest {
protected:
	PollTest()
		: ex_(create_cq_ex(8, kAllWcFlags)), cq_(ibv_cq_ex_to_cq(ex_)), qp_(create_qp(cq_, cq_)), device_(cq_)
	{
	}

	void post_sends(int count)
	{
		for (int i = 0; i < count; ++i) {
			ibv_send_wr wr = write_wr(100 + next_send_++, nullptr), *bad;
			wr.num_sge = 0;
			ASSERT_EQ(ohca_post_send(qp_, &wr, &bad), 0);
		}
	}

	void post_receives(int count)
	{
		for (int i = 0; i < count; ++i) {
			ibv_recv_wr wr{}, *bad;
			wr.wr_id = 200 + next_receive_++;
			ASSERT_EQ(ohca_post_recv(qp_, &wr, &bad), 0);
		}
	}

	int poll(int count = 16) { return ohca_poll_cq(cq_, count, wc_); }

	ibv_cq_ex *ex_;
	ibv_cq *cq_;
	ibv_qp *qp_;
	CqWriter device_;
	ibv_wc wc_[16];
	std::uint64_t next_send_ = 0, next_receive_ = 0;
};

TEST_F(PollTest, EmptyQueue)
{
	EXPECT_EQ(poll(), 0);
	EXPECT_EQ(device_.record().consumer, 0u);
}

TEST_F(PollTest, SendCompletion)
{
	post_sends(1);
	device_.write({.qpn = qp_->qp_num, .wqe_index = 0, .opcode = OHCA_WR_READ, .byte_length = 77});
	ASSERT_EQ(poll(), 1);
	EXPECT_EQ(wc_[0].wr_id, 100u);
	EXPECT_EQ(wc_[0].status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc_[0].opcode, IBV_WC_RDMA_READ);
	EXPECT_EQ(wc_[0].byte_len, 77u);
	EXPECT_EQ(wc_[0].qp_num, qp_->qp_num);
	EXPECT_EQ(wc_[0].wc_flags, 0u);
	EXPECT_EQ(wc_[0].slid + wc_[0].sl + wc_[0].dlid_path_bits + wc_[0].pkey_index, 0);
	EXPECT_EQ(device_.record().consumer, 1u);
}

TEST_F(PollTest, OpcodesOfSendsAndReceives)
{
	const std::pair<std::uint8_t, ibv_wc_opcode> sends[] = {
		{OHCA_WR_SEND, IBV_WC_SEND},	       {OHCA_WR_SEND_IMM, IBV_WC_SEND},
		{OHCA_WR_SEND_INV, IBV_WC_SEND},       {OHCA_WR_WRITE, IBV_WC_RDMA_WRITE},
		{OHCA_WR_WRITE_IMM, IBV_WC_RDMA_WRITE}, {OHCA_WR_READ, IBV_WC_RDMA_READ},
		{OHCA_WR_CAS, IBV_WC_COMP_SWAP},       {OHCA_WR_FADD, IBV_WC_FETCH_ADD},
	};
	Index index = 0;
	for (auto [opcode, expected] : sends) {
		post_sends(1);
		device_.write({.qpn = qp_->qp_num, .wqe_index = index++, .opcode = opcode});
		ASSERT_EQ(poll(), 1);
		EXPECT_EQ(wc_[0].opcode, expected);
	}
	index = 0;
	for (int opcode : {OHCA_WR_SEND, OHCA_WR_SEND_IMM, OHCA_WR_SEND_INV, OHCA_WR_WRITE_IMM}) {
		post_receives(1);
		device_.write({.qpn = qp_->qp_num, .wqe_index = index++, .opcode = static_cast<std::uint8_t>(opcode),
			       .flags = OHCA_CQE_RECEIVE});
		ASSERT_EQ(poll(), 1);
		EXPECT_EQ(wc_[0].opcode, opcode == OHCA_WR_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	}
}

TEST_F(PollTest, ReceiveWithImmediateAndInvalidate)
{
	post_receives(2);
	device_.write({.qpn = qp_->qp_num, .wqe_index = 0, .opcode = OHCA_WR_SEND_IMM,
		       .flags = OHCA_CQE_RECEIVE | OHCA_CQE_WITH_IMM, .byte_length = 5, .immediate = 0x04030201,
		       .src_qp = 0x99});
	device_.write({.qpn = qp_->qp_num, .wqe_index = 1, .opcode = OHCA_WR_SEND_INV,
		       .flags = OHCA_CQE_RECEIVE | OHCA_CQE_WITH_INV, .immediate = 0x700});
	ASSERT_EQ(poll(), 2);
	EXPECT_EQ(wc_[0].wr_id, 200u);
	EXPECT_EQ(wc_[0].wc_flags, IBV_WC_WITH_IMM);
	EXPECT_EQ(wc_[0].imm_data, 0x04030201u);
	EXPECT_EQ(wc_[0].byte_len, 5u);
	EXPECT_EQ(wc_[0].src_qp, 0x99u);
	EXPECT_EQ(wc_[1].wc_flags, IBV_WC_WITH_INV);
	EXPECT_EQ(wc_[1].invalidated_rkey, 0x700u);
}

// OHCA-SQ-H1
TEST_F(PollTest, SignaledCompletionRetiresUnsignaledOnes)
{
	post_sends(16);
	device_.write({.qpn = qp_->qp_num, .wqe_index = 15});
	ASSERT_EQ(poll(), 1);
	EXPECT_EQ(wc_[0].wr_id, 115u);
	post_sends(16);
	EXPECT_EQ(QueuePair::of(qp_).sq.consumer, 16u);
}

// OHCA-ERR-H1
TEST_F(PollTest, EveryStatusIsTranslated)
{
	const ibv_wc_status expected[] = {
		IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR,
		IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR, IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR,
		IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR,
		IBV_WC_REM_ABORT_ERR, IBV_WC_FATAL_ERR, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR /* no such status */,
	};
	Index index = 0;
	for (ibv_wc_status status : expected) {
		post_sends(1);
		device_.write({.qpn = qp_->qp_num, .wqe_index = index, .status = static_cast<std::uint8_t>(index),
			       .vendor_error = 1000 + index});
		ASSERT_EQ(poll(), 1);
		EXPECT_EQ(wc_[0].status, status);
		EXPECT_EQ(wc_[0].vendor_err, 1000 + index);
		++index;
	}
}

// OHCA-CQ-H2
TEST_F(PollTest, WrapsManyTimesAndPublishesOncePerCall)
{
	Index index = 0;
	for (int round = 0; round < 20; ++round) {
		post_sends(5);
		for (int i = 0; i < 5; ++i)
			device_.write({.qpn = qp_->qp_num, .wqe_index = index++});
		ASSERT_EQ(poll(3), 3);
		EXPECT_EQ(device_.record().consumer, index - 2);
		ASSERT_EQ(poll(), 2);
		EXPECT_EQ(device_.record().consumer, index);
		EXPECT_EQ(wc_[1].wr_id, 100u + index - 1);
		EXPECT_EQ(poll(), 0);
	}
}

TEST_F(PollTest, IndicesOfTheWorkQueueWrap)
{
	WorkQueue &sq = QueuePair::of(qp_).sq;
	sq.producer = sq.consumer = 0xfffffffe;
	post_sends(4);
	EXPECT_EQ(QueuePair::of(qp_).record->sq_producer, 2u);
	device_.write({.qpn = qp_->qp_num, .wqe_index = 0});
	ASSERT_EQ(poll(), 1);
	EXPECT_EQ(wc_[0].wr_id, 102u);
	device_.write({.qpn = qp_->qp_num, .wqe_index = 1});
	EXPECT_EQ(poll(), 1);
}

// OHCA-CQ-H5 OHCA-ERR-H1
TEST_F(PollTest, GarbageIsPassedOver)
{
	ibv_cq *other_cq = create_cq(8);
	ibv_qp *other = create_qp(other_cq, other_cq);
	ibv_send_wr wr = write_wr(1, nullptr), *bad;
	wr.num_sge = 0;
	ASSERT_EQ(ohca_post_send(other, &wr, &bad), 0);
	post_sends(2);
	device_.write({.qpn = 0});
	device_.write({.qpn = 0x12345});
	device_.write({.qpn = qp_->qp_num | 0xff000000});
	device_.write({.qpn = qp_->qp_num, .wqe_index = 2});		// not posted
	device_.write({.qpn = qp_->qp_num, .wqe_index = 0xffffffff});	// long done
	device_.write({.qpn = qp_->qp_num, .flags = OHCA_CQE_RECEIVE});	// nothing posted there
	device_.write({.qpn = other->qp_num});				// completes elsewhere
	device_.write({.qpn = qp_->qp_num, .wqe_index = 1, .opcode = 0xff, .flags = 0xfe, .status = 0xff});
	ASSERT_EQ(poll(), 1);
	EXPECT_EQ(wc_[0].wr_id, 101u);
	EXPECT_EQ(wc_[0].status, IBV_WC_GENERAL_ERR);
	EXPECT_EQ(device_.record().consumer, 8u);
	EXPECT_EQ(QueuePair::of(other).sq.consumer, 0u);
}

TEST_F(PollTest, NothingButGarbageStillFreesTheSlots)
{
	for (int i = 0; i < 8; ++i)
		device_.write({.qpn = 3});
	EXPECT_EQ(poll(), 0);
	EXPECT_EQ(device_.record().consumer, 8u);
	for (int i = 0; i < 8; ++i)
		device_.write({.qpn = 3});
	ibv_poll_cq_attr attr{};
	EXPECT_EQ(ibv_start_poll(ex_, &attr), ENOENT);
	EXPECT_EQ(device_.record().consumer, 16u);
}

TEST_F(PollTest, ExtendedPoll)
{
	post_sends(2);
	post_receives(1);
	device_.write({.qpn = qp_->qp_num, .wqe_index = 1, .opcode = OHCA_WR_WRITE, .timestamp_ns = 123});
	device_.write({.qpn = 0x777});
	device_.write({.qpn = qp_->qp_num, .wqe_index = 0, .opcode = OHCA_WR_WRITE_IMM,
		       .flags = OHCA_CQE_RECEIVE | OHCA_CQE_WITH_IMM, .status = OHCA_CQE_STATUS_LOCAL_LENGTH,
		       .byte_length = 10, .immediate = 11, .src_qp = 12, .vendor_error = 13, .timestamp_ns = 14});
	ibv_poll_cq_attr attr{};
	ASSERT_EQ(ibv_start_poll(ex_, &attr), 0);
	EXPECT_EQ(ex_->wr_id, 101u);
	EXPECT_EQ(ex_->status, IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_wc_read_opcode(ex_), IBV_WC_RDMA_WRITE);
	EXPECT_EQ(ibv_wc_read_completion_ts(ex_), 123u);
	ASSERT_EQ(ibv_next_poll(ex_), 0);
	EXPECT_EQ(ex_->wr_id, 200u);
	EXPECT_EQ(ex_->status, IBV_WC_LOC_LEN_ERR);
	EXPECT_EQ(ibv_wc_read_opcode(ex_), IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(ibv_wc_read_byte_len(ex_), 10u);
	EXPECT_EQ(ibv_wc_read_imm_data(ex_), 11u);
	EXPECT_EQ(ibv_wc_read_invalidated_rkey(ex_), 11u);
	EXPECT_EQ(ibv_wc_read_src_qp(ex_), 12u);
	EXPECT_EQ(ibv_wc_read_vendor_err(ex_), 13u);
	EXPECT_EQ(ibv_wc_read_completion_ts(ex_), 14u);
	EXPECT_EQ(ibv_wc_read_qp_num(ex_), qp_->qp_num);
	EXPECT_EQ(ibv_wc_read_wc_flags(ex_), IBV_WC_WITH_IMM);
	EXPECT_EQ(ibv_wc_read_slid(ex_) + ibv_wc_read_sl(ex_) + ibv_wc_read_dlid_path_bits(ex_), 0u);
	EXPECT_EQ(device_.record().consumer, 0u); // what is being read stays
	EXPECT_EQ(ibv_next_poll(ex_), ENOENT);
	ibv_end_poll(ex_);
	EXPECT_EQ(device_.record().consumer, 3u);
	EXPECT_EQ(ibv_start_poll(ex_, &attr), ENOENT);
	attr.comp_mask = 1;
	EXPECT_EQ(ibv_start_poll(ex_, &attr), EINVAL);
	EXPECT_EQ(poll(), 0); // the lock is free
}

TEST_F(PollTest, OnlyRequestedReadersArePresent)
{
	ibv_cq_ex *cq = create_cq_ex(4, IBV_WC_EX_WITH_BYTE_LEN);
	EXPECT_NE(cq->read_byte_len, nullptr);
	EXPECT_EQ(cq->read_imm_data, nullptr);
	EXPECT_EQ(cq->read_completion_ts, nullptr);
}

class ArmTest : public PollTest {
protected:
	void arm(bool solicited) { ASSERT_EQ(ohca_req_notify_cq(cq_, solicited), 0); }
	std::uint32_t type() { return device_.record().arm & OHCA_CQ_ARM_TYPE_MASK; }
	void fire() { device_.record().fired = device_.record().arm; }
};

// OHCA-CQ-H3
TEST_F(ArmTest, EveryRequestIsANewSequence)
{
	std::uint32_t last = device_.record().arm;
	for (int i = 0; i < 5; ++i) {
		arm(false);
		EXPECT_EQ(type(), unsigned{OHCA_CQ_ARM_NEXT});
		EXPECT_NE(device_.record().arm, last);
		EXPECT_NE(device_.record().arm, device_.record().fired);
		last = device_.record().arm;
	}
}

TEST_F(ArmTest, SolicitedDoesNotWeakenAPendingRequestForAny)
{
	arm(false);
	arm(true);
	EXPECT_EQ(type(), unsigned{OHCA_CQ_ARM_NEXT});
	arm(true);
	EXPECT_EQ(type(), unsigned{OHCA_CQ_ARM_NEXT});
	fire();
	arm(true);
	EXPECT_EQ(type(), unsigned{OHCA_CQ_ARM_SOLICITED});
}

TEST_F(ArmTest, AnyReplacesSolicited)
{
	arm(true);
	EXPECT_EQ(type(), unsigned{OHCA_CQ_ARM_SOLICITED});
	arm(false);
	EXPECT_EQ(type(), unsigned{OHCA_CQ_ARM_NEXT});
}

// `fired` and the record are memory that others write.
TEST_F(ArmTest, SurvivesGarbageInTheRecord)
{
	arm(false);
	device_.record().arm = 0x12345;
	device_.record().fired = 0xffffffff;
	arm(true);
	EXPECT_EQ(device_.record().arm, 2u << OHCA_CQ_ARM_SEQUENCE_SHIFT | OHCA_CQ_ARM_NEXT);
}

// OHCA-CQ-H3
TEST_F(ArmTest, SequenceWraps)
{
	CompletionQueue::of(cq_).arm = 0xfffffffc; // the last sequence, no type
	device_.record().fired = CompletionQueue::of(cq_).arm;
	arm(true);
	EXPECT_EQ(device_.record().arm, unsigned{OHCA_CQ_ARM_SOLICITED});
}

} // namespace
} // namespace ohca::test
