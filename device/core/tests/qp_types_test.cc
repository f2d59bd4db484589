// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// CREATE_QP and MODIFY_QP of all types (cmd/qp_types.cc).
#include <set>

#include "core/cmd/qp_types.hh"
#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kPkey = OHCA_QP_ATTR_PKEY_INDEX;
constexpr uint32_t kConnect =
	OHCA_QP_ATTR_PATH | OHCA_QP_ATTR_PATH_MTU | OHCA_QP_ATTR_DEST_QPN | OHCA_QP_ATTR_RQ_PSN;

struct QpTypes : CommandTest {
	QpTypes()
	{
		cq = host.create_cq();
		options.pd = host.create_pd();
		options.send_cq = options.recv_cq = cq.cqn;
	}
	ohca_cmd_create_qp_in request(uint8_t type, uint8_t flags)
	{
		FakeQp qp;
		options.flags = flags;
		ohca_cmd_create_qp_in in = host.qp_request(options, qp);
		in.type = type;
		return in;
	}
	uint32_t create(uint8_t type, uint8_t flags)
	{
		ohca_cmd_create_qp_out out;
		FakeFunction::must(host.command(OHCA_CMD_CREATE_QP, request(type, flags), out));
		return out.qpn;
	}
	void refused(const ohca_cmd_create_qp_in &in, uint8_t status, uint32_t detail)
	{
		expect_refused<ohca_cmd_create_qp_out>(OHCA_CMD_CREATE_QP, in, status, detail);
	}

	FakeCq cq;
	FakeQpOptions options;
};

// OHCA-CMD-D15 OHCA-CMD-D14
TEST_F(QpTypes, OneGsi)
{
	EXPECT_EQ(create(OHCA_QP_TYPE_GSI, 0), unsigned{OHCA_QPN_GSI});
	refused(request(OHCA_QP_TYPE_GSI, 0), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_QP);
	for (int i = 0; i < 10; i++)
		EXPECT_GT(create(OHCA_QP_TYPE_UD, 0), unsigned{OHCA_QPN_GSI});
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, OHCA_QPN_GSI));
	EXPECT_GT(create(OHCA_QP_TYPE_UD, 0), unsigned{OHCA_QPN_GSI});
	EXPECT_EQ(create(OHCA_QP_TYPE_GSI, 0), unsigned{OHCA_QPN_GSI});
}

// OHCA-CMD-D14
TEST_F(QpTypes, QueuesThatATypeDoesNotHave)
{
	constexpr uint8_t kBadParameter = OHCA_CMD_STATUS_BAD_PARAMETER;
	ohca_cmd_create_qp_in in = request(OHCA_QP_TYPE_XRC_INI, 0);
	refused(in, kBadParameter, OHCA_CMD_DETAIL_TYPE);
	in = request(OHCA_QP_TYPE_XRC_INI, OHCA_QP_NO_RQ);
	refused(in, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_CQ); // recv_cq given
	in.recv_cq = 0;
	in.xrcd = 1;
	refused(in, kBadParameter, OHCA_CMD_DETAIL_XRCD);
	in.xrcd = 0;
	in.srq = 1;
	refused(in, kBadParameter, OHCA_CMD_DETAIL_SRQ);
	in.srq = 0;
	ohca_cmd_create_qp_out out;
	FakeFunction::must(host.command(OHCA_CMD_CREATE_QP, in, out));
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, out.qpn));
	in = request(OHCA_QP_TYPE_UC, 0);
	in.srq = 1;
	refused(in, kBadParameter, OHCA_CMD_DETAIL_TYPE); // an RQ and an SRQ
	in = request(OHCA_QP_TYPE_UC, OHCA_QP_NO_RQ);
	in.srq = 1;
	refused(in, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_SRQ);
	refused(request(OHCA_QP_TYPE_RC, OHCA_QP_BLOCK_MULTICAST_LOOPBACK), OHCA_CMD_STATUS_UNSUPPORTED,
		OHCA_CMD_DETAIL_NONE);
	in = request(OHCA_QP_TYPE_UD, 0);
	in.log_sq_stride = 6; // no room for the address
	refused(in, kBadParameter, OHCA_CMD_DETAIL_STRIDE);
}

// OHCA-CMD-D14
TEST_F(QpTypes, TypesNeedTheirFeature)
{
	const std::pair<uint8_t, uint64_t> features[] = {
		{OHCA_QP_TYPE_UC, OHCA_FEATURE_UC},       {OHCA_QP_TYPE_UD, OHCA_FEATURE_UD},
		{OHCA_QP_TYPE_GSI, OHCA_FEATURE_UD},      {OHCA_QP_TYPE_XRC_INI, OHCA_FEATURE_XRC},
		{OHCA_QP_TYPE_XRC_TGT, OHCA_FEATURE_XRC},
	};
	for (auto [type, feature] : features) {
		host.function().state().features = OHCA_FEATURES_ALL & ~feature;
		refused(request(type, 0), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
	}
}

// OHCA-QP-D1
TEST_F(QpTypes, TransitionsOfDatagrams)
{
	for (int type : {OHCA_QP_TYPE_UD, OHCA_QP_TYPE_GSI}) {
		uint32_t qpn = create(static_cast<uint8_t>(type), 0);
		auto modify = [&](int state, uint32_t mask) {
			return host.modify(qpn, static_cast<uint8_t>(state), mask).ok();
		};
		EXPECT_FALSE(modify(OHCA_QP_STATE_INIT, kPkey));
		EXPECT_FALSE(modify(OHCA_QP_STATE_INIT, kPkey | OHCA_QP_ATTR_QKEY | OHCA_QP_ATTR_ACCESS));
		EXPECT_TRUE(modify(OHCA_QP_STATE_INIT, kPkey | OHCA_QP_ATTR_QKEY));
		EXPECT_FALSE(modify(OHCA_QP_STATE_RTR, OHCA_QP_ATTR_PATH));
		EXPECT_TRUE(modify(OHCA_QP_STATE_RTR, 0));
		EXPECT_FALSE(modify(OHCA_QP_STATE_RTS, 0));
		EXPECT_TRUE(modify(OHCA_QP_STATE_RTS, OHCA_QP_ATTR_SQ_PSN));
		EXPECT_TRUE(modify(OHCA_QP_STATE_RTS, OHCA_QP_ATTR_QKEY));
		EXPECT_TRUE(modify(OHCA_QP_STATE_SQD, OHCA_QP_ATTR_SQ_DRAINED_EVENT));
		EXPECT_TRUE(modify(OHCA_QP_STATE_RTS, OHCA_QP_ATTR_QKEY));
		EXPECT_FALSE(modify(OHCA_QP_STATE_SQE, 0));
	}
}

// OHCA-QP-D1
TEST_F(QpTypes, TransitionsOfUc)
{
	uint32_t qpn = create(OHCA_QP_TYPE_UC, 0);
	ohca_qp_attributes a{};
	a.path_mtu = 10;
	auto modify = [&](int state, uint32_t mask) { return host.modify(qpn, static_cast<uint8_t>(state), mask, a).ok(); };
	EXPECT_TRUE(modify(OHCA_QP_STATE_INIT, kPkey | OHCA_QP_ATTR_ACCESS));
	EXPECT_FALSE(modify(OHCA_QP_STATE_RTR, kConnect | OHCA_QP_ATTR_MIN_RNR_TIMER));
	EXPECT_FALSE(modify(OHCA_QP_STATE_RTR, kConnect & ~uint32_t{OHCA_QP_ATTR_RQ_PSN}));
	EXPECT_TRUE(modify(OHCA_QP_STATE_RTR, kConnect));
	EXPECT_FALSE(modify(OHCA_QP_STATE_RTS, OHCA_QP_ATTR_SQ_PSN | OHCA_QP_ATTR_ACK_TIMEOUT));
	EXPECT_TRUE(modify(OHCA_QP_STATE_RTS, OHCA_QP_ATTR_SQ_PSN));
}

// OHCA-QP-D1: SQE leads to RTS, for the types that have it.
TEST_F(QpTypes, TransitionsFromSqe)
{
	const std::set<uint8_t> with_sqe = {OHCA_QP_TYPE_UC, OHCA_QP_TYPE_UD, OHCA_QP_TYPE_GSI};
	for (uint8_t type = OHCA_QP_TYPE_RC; type <= OHCA_QP_TYPE_XRC_TGT; type++) {
		EXPECT_EQ(find_qp_transition(type, OHCA_QP_STATE_SQE, OHCA_QP_STATE_RTS) != nullptr,
			  with_sqe.contains(type));
		EXPECT_NE(find_qp_transition(type, OHCA_QP_STATE_SQE, OHCA_QP_STATE_ERR), nullptr);
		EXPECT_EQ(find_qp_transition(type, OHCA_QP_STATE_SQE, OHCA_QP_STATE_SQD), nullptr);
		for (uint8_t from = 0; from <= OHCA_QP_STATE_ERR; from++)
			EXPECT_EQ(find_qp_transition(type, from, OHCA_QP_STATE_SQE), nullptr);
	}
}

} // namespace
} // namespace ohca::core::test
