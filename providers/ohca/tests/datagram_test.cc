// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Address handles and the work requests of UD queue pairs.
#include <cstring>

#include "../address_handle.hh"
#include "fixture.hh"

namespace ohca::test {
namespace {

class DatagramTest : public ProviderTest {
protected:
	DatagramTest() : cq_(create_cq(64))
	{
		constexpr std::uint64_t kOps = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
		qp_ = create_qp(qp_attr(IBV_QPT_UD, cq_, kOps));
		fake_kernel.ah_response = {.dmac = {2, 3, 4, 5, 6, 7}, .sgid_index = 9, .hop_limit = 63, .comp_mask = 0};
		attr_.is_global = 1;
		attr_.sl = 5;
		attr_.grh.flow_label = 0xfff12345;
		attr_.grh.traffic_class = 0x68;
		attr_.grh.sgid_index = 8;
		for (std::uint8_t i = 0; i < 16; ++i)
			attr_.grh.dgid.raw[i] = i;
		ah_ = ohca_create_ah(pd_, &attr_);
	}
	~DatagramTest() override { EXPECT_EQ(ohca_destroy_ah(ah_), 0); }

	ibv_send_wr send_wr()
	{
		ibv_send_wr wr = write_wr(1, list_);
		wr.opcode = IBV_WR_SEND;
		wr.wr.ud.ah = ah_;
		wr.wr.ud.remote_qpn = 0x123456;
		wr.wr.ud.remote_qkey = 0x80010000;
		return wr;
	}

	template <class T> T at(std::size_t offset, Index index = 0)
	{
		T value;
		std::memcpy(&value, QueuePair::of(qp_).sq.slot(index) + offset, sizeof(value));
		return value;
	}

	ibv_cq *cq_;
	ibv_qp *qp_;
	ibv_ah *ah_;
	ibv_ah_attr attr_{};
	ibv_send_wr *bad_;
	ibv_sge list_[2] = {sge(0x1000, 10, 1), sge(0x2000, 20, 2)};
};

TEST_F(DatagramTest, HandleHoldsWhatTheKernelResolved)
{
	const ohca_wqe_datagram &vector = AddressHandle::of(ah_).vector;
	EXPECT_EQ(vector.pd, kPdNumber);
	EXPECT_EQ(vector.flow_label, 0x12345u);
	EXPECT_EQ(std::memcmp(vector.dgid, attr_.grh.dgid.raw, 16), 0);
	EXPECT_EQ(vector.dmac[0], 2);
	EXPECT_EQ(vector.dmac[5], 7);
	EXPECT_EQ(vector.sgid_index, 9);
	EXPECT_EQ(vector.hop_limit, 63);
	EXPECT_EQ(vector.traffic_class, 0x68);
	EXPECT_EQ(vector.service_level, 5);
	EXPECT_EQ(vector.source_udp_port, ibv_flow_label_to_udp_sport(0x12345));
	EXPECT_EQ(vector.pkey_index, 0);
}

TEST_F(DatagramTest, DeviceChoosesThePortWithoutAFlowLabel)
{
	attr_.grh.flow_label = 0;
	ibv_ah *ah = ohca_create_ah(pd_, &attr_);
	EXPECT_EQ(AddressHandle::of(ah).vector.source_udp_port, 0);
	EXPECT_EQ(ohca_destroy_ah(ah), 0);
}

TEST_F(DatagramTest, HandleRefusals)
{
	fake_kernel.error = ENETUNREACH;
	EXPECT_EQ(ohca_create_ah(pd_, &attr_), nullptr);
	EXPECT_EQ(errno, ENETUNREACH);
	// Whose number nobody here knows.
	ibv_pd *imported = ohca_import_pd(context(), 3);
	EXPECT_EQ(ohca_create_ah(imported, &attr_), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	ohca_unimport_pd(imported);
	context_->limits.device_features &= ~OHCA_FEATURE_UD;
	EXPECT_EQ(ohca_create_ah(pd_, &attr_), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(DatagramTest, Send)
{
	std::memset(QueuePair::of(qp_).sq.slot(0), 0xff, 128);
	ibv_send_wr wr = send_wr();
	wr.num_sge = 2;
	ASSERT_EQ(ohca_post_send(qp_, &wr, &bad_), 0);
	const auto header = at<ohca_sq_wqe>(0);
	EXPECT_EQ(header.opcode, OHCA_WR_SEND);
	EXPECT_EQ(header.num_sge, 2);
	EXPECT_EQ(header.rkey, 0u);
	EXPECT_EQ(header.remote_srqn, 0u);
	const auto datagram = at<ohca_wqe_datagram>(32);
	EXPECT_EQ(datagram.remote_qpn, 0x123456u);
	EXPECT_EQ(datagram.remote_qkey, 0x80010000u);
	EXPECT_EQ(datagram.pd, kPdNumber);
	EXPECT_EQ(datagram.dmac[1], 3);
	EXPECT_EQ(datagram.reserved_170[0], 0);
	EXPECT_EQ(at<ohca_sge>(80).address, 0x1000u);
	EXPECT_EQ(at<ohca_sge>(96).lkey, 2u);
}

TEST_F(DatagramTest, InlineData)
{
	char text[] = "datagram";
	ibv_sge element = sge(reinterpret_cast<std::uintptr_t>(text), sizeof(text), 0);
	ibv_send_wr wr = send_wr();
	wr.sg_list = &element;
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = 7;
	wr.send_flags |= IBV_SEND_INLINE;
	ASSERT_EQ(ohca_post_send(qp_, &wr, &bad_), 0);
	EXPECT_EQ(at<ohca_sq_wqe>(0).inline_length, sizeof(text));
	EXPECT_EQ(at<ohca_sq_wqe>(0).immediate, 7u);
	EXPECT_EQ(std::memcmp(QueuePair::of(qp_).sq.slot(0) + 80, text, sizeof(text)), 0);
}

TEST_F(DatagramTest, TheTwoInterfacesWriteTheSame)
{
	ibv_send_wr wr = send_wr();
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = 7;
	wr.num_sge = 2;
	ASSERT_EQ(ohca_post_send(qp_, &wr, &bad_), 0);
	ibv_qp_ex *ex = &QueuePair::of(qp_).verbs.qp_ex;
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(ex, 7);
	ibv_wr_set_ud_addr(ex, ah_, 0x123456, 0x80010000);
	ibv_wr_set_sge_list(ex, 2, list_);
	ibv_wr_send(ex); // setters in the other order
	ibv_wr_set_sge(ex, 1, 0x1000, 10);
	ibv_wr_set_ud_addr(ex, ah_, 1, 2);
	ASSERT_EQ(ibv_wr_complete(ex), 0);
	const WorkQueue &sq = QueuePair::of(qp_).sq;
	EXPECT_EQ(std::memcmp(sq.slot(0), sq.slot(1), 112), 0);
	EXPECT_EQ(at<ohca_sge>(80, 2).address, 0x1000u);
	EXPECT_EQ(at<ohca_wqe_datagram>(32, 2).remote_qpn, 1u);
}

TEST_F(DatagramTest, OtherOperationsAreRefused)
{
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV,
				     IBV_WR_LOCAL_INV, IBV_WR_BIND_MW, IBV_WR_TSO}) {
		ibv_send_wr wr = send_wr();
		wr.opcode = opcode;
		EXPECT_EQ(ohca_post_send(qp_, &wr, &bad_), EINVAL);
	}
	ibv_send_wr wr = send_wr();
	wr.wr.ud.ah = nullptr;
	EXPECT_EQ(ohca_post_send(qp_, &wr, &bad_), EINVAL);
	for (std::uint64_t op : {IBV_QP_EX_WITH_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_READ, IBV_QP_EX_WITH_BIND_MW,
				 IBV_QP_EX_WITH_SEND_WITH_INV, IBV_QP_EX_WITH_LOCAL_INV, IBV_QP_EX_WITH_TSO}) {
		EXPECT_EQ(create_qp(qp_attr(IBV_QPT_UD, cq_, op)), nullptr);
		EXPECT_EQ(errno, EOPNOTSUPP);
	}
}

TEST_F(DatagramTest, EveryGrantedElementAndByteFits)
{
	ibv_qp_init_attr_ex attr = qp_attr(IBV_QPT_UD, cq_);
	attr.cap = {4, 4, 3, 3, 100};
	ibv_qp *qp = create_qp(attr);
	const ibv_qp_cap &cap = QueuePair::of(qp).cap;
	const std::size_t stride = std::size_t{1} << fake_kernel.qp_request.log_sq_stride;
	EXPECT_GE(cap.max_send_sge, 3u);
	EXPECT_GE(cap.max_inline_data, 100u);
	EXPECT_LE(80 + cap.max_send_sge * sizeof(ohca_sge), stride);
	EXPECT_LE(80 + std::size_t{cap.max_inline_data}, stride);
}

TEST_F(DatagramTest, ReceivedDatagram)
{
	ibv_recv_wr wr{}, *bad;
	wr.wr_id = 44;
	ASSERT_EQ(ohca_post_recv(qp_, &wr, &bad), 0);
	CqWriter device(cq_);
	device.write({.qpn = qp_->qp_num, .wqe_index = 0, .opcode = OHCA_WR_SEND_IMM,
		      .flags = OHCA_CQE_RECEIVE | OHCA_CQE_WITH_GRH | OHCA_CQE_WITH_IMM, .byte_length = 48, .immediate = 6,
		      .src_qp = 0x77, .network_header = OHCA_NETWORK_HEADER_IPV4});
	ibv_wc wc;
	ASSERT_EQ(ohca_poll_cq(cq_, 1, &wc), 1);
	EXPECT_EQ(wc.wr_id, 44u);
	EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
	EXPECT_EQ(wc.src_qp, 0x77u);
	EXPECT_EQ(wc.sl, 0xa);
	EXPECT_EQ(wc.slid, 0);
	EXPECT_EQ(wc.byte_len, 48u);
}

TEST_F(DatagramTest, BlockedLoopbackIsPassedToTheKernel)
{
	ibv_qp_init_attr_ex attr = qp_attr(IBV_QPT_UD, cq_);
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	ASSERT_NE(create_qp(attr), nullptr);
	EXPECT_TRUE(fake_kernel.qp_attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS);
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	EXPECT_EQ(create_qp(attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	attr.qp_type = IBV_QPT_RC;
	EXPECT_EQ(create_qp(attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

} // namespace
} // namespace ohca::test
