// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// cmd/qp_connect.cc.
#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kInitMask = OHCA_QP_ATTR_PKEY_INDEX | OHCA_QP_ATTR_ACCESS;
constexpr uint32_t kRtrMask = OHCA_QP_ATTR_PATH | OHCA_QP_ATTR_PATH_MTU | OHCA_QP_ATTR_DEST_QPN | OHCA_QP_ATTR_RQ_PSN |
			      OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC | OHCA_QP_ATTR_MIN_RNR_TIMER;
constexpr uint32_t kRtsMask = OHCA_QP_ATTR_ACK_TIMEOUT | OHCA_QP_ATTR_RETRY_COUNT | OHCA_QP_ATTR_RNR_RETRY |
			      OHCA_QP_ATTR_SQ_PSN | OHCA_QP_ATTR_MAX_READ_ATOMIC;

struct ConnectCommand : CommandTest {
	ConnectCommand()
	{
		FakeCq cq = host.create_cq();
		options.pd = host.create_pd();
		options.send_cq = cq.cqn;
		options.recv_cq = cq.cqn;
	}
	ohca_cmd_modify_qp_in request(uint32_t qpn, uint8_t target = OHCA_QP_STATE_RTS)
	{
		const ConnectOptions o;
		ohca_cmd_modify_qp_in in{};
		in.qpn = qpn;
		in.mask = OHCA_QP_ATTR_STATE | kInitMask | kRtrMask | kRtsMask;
		ohca_qp_attributes &a = in.attributes;
		a.state = target;
		a.access = o.access;
		a.path_mtu = o.path_mtu;
		a.dest_qpn = qpn;
		a.rq_psn = a.sq_psn = o.psn;
		a.max_dest_read_atomic = o.max_dest_read_atomic;
		a.max_read_atomic = o.max_read_atomic;
		a.min_rnr_timer = o.min_rnr_timer;
		a.ack_timeout = o.ack_timeout;
		a.retry_count = o.retry_count;
		a.rnr_retry = o.rnr_retry;
		a.dgid[0] = 0xfd;
		a.dgid[15] = host.gid_byte();
		std::memcpy(a.dmac, &host.options().mac, sizeof(a.dmac));
		return in;
	}
	CommandResult connect(const ohca_cmd_modify_qp_in &in) { return host.command(OHCA_CMD_CONNECT_QP, in); }
	ohca_cmd_query_qp_out query(uint32_t qpn)
	{
		ohca_cmd_handle in{};
		in.handle = qpn;
		ohca_cmd_query_qp_out out;
		FakeFunction::must(host.command(OHCA_CMD_QUERY_QP, in, out));
		return out;
	}
	static uint32_t in_phase(uint32_t detail, uint32_t state)
	{
		return detail | state << OHCA_CMD_DETAIL_PHASE_SHIFT;
	}
	void refused(const ohca_cmd_modify_qp_in &in, uint8_t status, uint32_t detail)
	{
		ohca_cmd_query_qp_out before = query(in.qpn);
		expect(connect(in), status, detail);
		ohca_cmd_query_qp_out after = query(in.qpn);
		EXPECT_EQ(std::memcmp(&before, &after, sizeof(before)), 0);
	}

	FakeQpOptions options;
};

// OHCA-QP-D6
TEST_F(ConnectCommand, IsAsTheThreeModifyCommands)
{
	FakeQp one = host.create_qp(options);
	FakeQp other = host.create_qp(options);
	host.connect(one, other);
	ohca_cmd_modify_qp_in in = request(other.qpn);
	in.attributes.dest_qpn = other.qpn;
	expect(connect(in), OHCA_CMD_STATUS_OK);
	ohca_cmd_query_qp_out a = query(one.qpn);
	ohca_cmd_query_qp_out b = query(other.qpn);
	EXPECT_EQ(b.attributes.state, OHCA_QP_STATE_RTS);
	EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0);
}

// OHCA-QP-D6
TEST_F(ConnectCommand, StartsWhereTheQueuePairIs)
{
	FakeQp qp = host.create_qp(options);
	FakeFunction::must(host.to_init(qp.qpn));
	ohca_cmd_modify_qp_in in = request(qp.qpn, OHCA_QP_STATE_RTR);
	in.mask = OHCA_QP_ATTR_STATE | kRtrMask;
	expect(connect(in), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(query(qp.qpn).attributes.state, OHCA_QP_STATE_RTR);
	in = request(qp.qpn);
	in.mask = OHCA_QP_ATTR_STATE | kRtsMask;
	expect(connect(in), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(query(qp.qpn).attributes.state, OHCA_QP_STATE_RTS);
}

// OHCA-QP-D6
TEST_F(ConnectCommand, StopsAtTheStateThatIsAskedFor)
{
	FakeQp qp = host.create_qp(options);
	ohca_cmd_modify_qp_in in = request(qp.qpn, OHCA_QP_STATE_RTR);
	// What only the step to RTS takes is one attribute too many.
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	in.mask &= ~kRtsMask;
	expect(connect(in), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(query(qp.qpn).attributes.state, OHCA_QP_STATE_RTR);
}

// OHCA-QP-D6
TEST_F(ConnectCommand, ARefusalNamesThePhaseAndChangesNothing)
{
	constexpr uint8_t kBad = OHCA_CMD_STATUS_BAD_PARAMETER;
	FakeQp qp = host.create_qp(options);
	auto with = [&](auto change) {
		ohca_cmd_modify_qp_in in = request(qp.qpn);
		change(in);
		return in;
	};
	refused(with([](auto &in) { in.mask &= ~uint32_t{OHCA_QP_ATTR_ACCESS}; }), kBad,
		in_phase(OHCA_CMD_DETAIL_ATTRIBUTE, OHCA_QP_STATE_INIT));
	refused(with([](auto &in) { in.attributes.access = OHCA_ACCESS_LOCAL_WRITE; }), kBad,
		in_phase(OHCA_CMD_DETAIL_ACCESS, OHCA_QP_STATE_INIT));
	refused(with([](auto &in) { in.attributes.sgid_index = 1; }), kBad,
		in_phase(OHCA_CMD_DETAIL_GID, OHCA_QP_STATE_RTR));
	refused(with([](auto &in) { in.attributes.path_mtu = 13; }), kBad,
		in_phase(OHCA_CMD_DETAIL_ATTRIBUTE, OHCA_QP_STATE_RTR));
	refused(with([](auto &in) { in.mask &= ~uint32_t{OHCA_QP_ATTR_DEST_QPN}; }), kBad,
		in_phase(OHCA_CMD_DETAIL_ATTRIBUTE, OHCA_QP_STATE_RTR));
	refused(with([](auto &in) { in.attributes.retry_count = 8; }), kBad,
		in_phase(OHCA_CMD_DETAIL_ATTRIBUTE, OHCA_QP_STATE_RTS));
	refused(with([](auto &in) { in.mask &= ~uint32_t{OHCA_QP_ATTR_SQ_PSN}; }), kBad,
		in_phase(OHCA_CMD_DETAIL_ATTRIBUTE, OHCA_QP_STATE_RTS));
	// Not of any phase.
	refused(with([](auto &in) { in.mask |= OHCA_QP_ATTR_QKEY; }), kBad, OHCA_CMD_DETAIL_ATTRIBUTE);
	refused(with([](auto &in) { in.mask |= 0x10000; }), kBad, OHCA_CMD_DETAIL_ATTRIBUTE);
	refused(with([](auto &in) { in.mask &= ~uint32_t{OHCA_QP_ATTR_STATE}; }), kBad, OHCA_CMD_DETAIL_ATTRIBUTE);
	refused(with([](auto &in) { in.reserved_50[0] = 1; }), kBad, OHCA_CMD_DETAIL_RESERVED);
	// And then it works.
	expect(connect(request(qp.qpn)), OHCA_CMD_STATUS_OK);
}

// OHCA-CMD-D14
TEST_F(ConnectCommand, StatesThatItDoesNotGoToOrComeFrom)
{
	FakeQp qp = host.create_qp(options);
	for (int target : {OHCA_QP_STATE_RESET, OHCA_QP_STATE_INIT, OHCA_QP_STATE_SQD, OHCA_QP_STATE_ERR, 255})
		refused(request(qp.qpn, static_cast<uint8_t>(target)), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	ohca_cmd_modify_qp_in in = request(qp.qpn);
	in.check_current_state = 1;
	in.current_state = OHCA_QP_STATE_INIT;
	refused(in, OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_QP);
	expect(connect(request(qp.qpn)), OHCA_CMD_STATUS_OK);
	refused(request(qp.qpn), OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_QP);
	FakeFunction::must(host.modify(qp.qpn, OHCA_QP_STATE_SQD, 0));
	refused(request(qp.qpn), OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_QP);
	FakeFunction::must(host.modify(qp.qpn, OHCA_QP_STATE_ERR, 0));
	refused(request(qp.qpn), OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_QP);
	expect(connect(request(0xffffff)), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_QP);
	host.function().state().features &= ~OHCA_FEATURE_COMPOUND;
	expect(connect(request(qp.qpn)), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
}

// OHCA-QP-D6
TEST_F(ConnectCommand, TakesTheAttributesOfEachType)
{
	options.type = OHCA_QP_TYPE_UD;
	FakeQp qp = host.create_qp(options);
	ohca_cmd_modify_qp_in in{};
	in.qpn = qp.qpn;
	in.mask = OHCA_QP_ATTR_STATE | OHCA_QP_ATTR_PKEY_INDEX | OHCA_QP_ATTR_QKEY | OHCA_QP_ATTR_SQ_PSN;
	in.attributes.state = OHCA_QP_STATE_RTS;
	in.attributes.qkey = 0x1234;
	expect(connect(in), OHCA_CMD_STATUS_OK);
	ohca_qp_attributes a = query(qp.qpn).attributes;
	EXPECT_EQ(a.state, OHCA_QP_STATE_RTS);
	EXPECT_EQ(a.qkey, 0x1234u);
}

} // namespace
} // namespace ohca::core::test
