// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// cmd/qp.cc and cmd/qp_modify.cc.
#include <set>

#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

struct QpCommand : CommandTest {
	QpCommand()
	{
		cq = host.create_cq();
		options.pd = host.create_pd();
		options.send_cq = cq.cqn;
		options.recv_cq = cq.cqn;
	}
	uint8_t state(uint32_t qpn) { return query(qpn).attributes.state; }
	ohca_cmd_query_qp_out query(uint32_t qpn)
	{
		ohca_cmd_handle in{};
		in.handle = qpn;
		ohca_cmd_query_qp_out out;
		FakeFunction::must(host.command(OHCA_CMD_QUERY_QP, in, out));
		return out;
	}
	// A queue pair in `state`, connected to itself.
	FakeQp qp_in(uint8_t target)
	{
		FakeQp qp = host.create_qp(options);
		if (target == OHCA_QP_STATE_RESET)
			return qp;
		if (target == OHCA_QP_STATE_ERR) {
			FakeFunction::must(host.modify(qp.qpn, OHCA_QP_STATE_ERR, 0));
			return qp;
		}
		FakeFunction::must(host.to_init(qp.qpn));
		if (target == OHCA_QP_STATE_INIT)
			return qp;
		FakeFunction::must(host.to_rtr(qp.qpn, host, qp.qpn));
		if (target == OHCA_QP_STATE_RTR)
			return qp;
		FakeFunction::must(host.to_rts(qp.qpn));
		if (target == OHCA_QP_STATE_SQD)
			FakeFunction::must(host.modify(qp.qpn, OHCA_QP_STATE_SQD, 0));
		return qp;
	}

	FakeCq cq;
	FakeQpOptions options;
};

// OHCA-CMD-D14
TEST_F(QpCommand, CreateRefusals)
{
	auto refused = [this](auto change, uint8_t status, uint32_t detail) {
		FakeQp qp;
		ohca_cmd_create_qp_in in = host.qp_request(options, qp);
		change(in);
		expect_refused<ohca_cmd_create_qp_out>(OHCA_CMD_CREATE_QP, in, status, detail);
	};
	constexpr uint8_t kBadParameter = OHCA_CMD_STATUS_BAD_PARAMETER;
	refused([](auto &in) { in.flags = 0x08; }, OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_NONE);
	refused([](auto &in) { in.type = 0; }, OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_TYPE);
	refused([](auto &in) { in.type = 7; }, OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_TYPE);
	refused([](auto &in) { in.reserved_1b0 = 1; }, kBadParameter, OHCA_CMD_DETAIL_RESERVED);
	refused([](auto &in) { in.pd = 0; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_PD);
	refused([](auto &in) { in.send_cq = 0; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_CQ);
	refused([](auto &in) { in.recv_cq = 0xffffffff; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_CQ);
	refused([](auto &in) { in.uar = 1; }, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_UAR);
	refused([](auto &in) { in.log_sq_depth = 16; }, kBadParameter, OHCA_CMD_DETAIL_DEPTH);
	refused([](auto &in) { in.log_rq_depth = 255; }, kBadParameter, OHCA_CMD_DETAIL_DEPTH);
	refused([](auto &in) { in.log_sq_stride = 5; }, kBadParameter, OHCA_CMD_DETAIL_STRIDE);
	refused([](auto &in) { in.log_sq_stride = 12; }, kBadParameter, OHCA_CMD_DETAIL_STRIDE);
	refused([](auto &in) { in.log_rq_stride = 4; }, kBadParameter, OHCA_CMD_DETAIL_STRIDE);
	refused([](auto &in) { in.log_rq_stride = 11; }, kBadParameter, OHCA_CMD_DETAIL_STRIDE);
	refused([](auto &in) { in.sq_offset += 64; }, kBadParameter, OHCA_CMD_DETAIL_OFFSET);
	refused([](auto &in) { in.sq_offset = 0; }, kBadParameter, OHCA_CMD_DETAIL_OFFSET); // over the record
	refused([](auto &in) { in.rq_offset = in.sq_offset; }, kBadParameter, OHCA_CMD_DETAIL_OFFSET);
	refused([](auto &in) { in.rq_offset = in.sq_offset + 512; }, kBadParameter, OHCA_CMD_DETAIL_OFFSET);
	refused([](auto &in) { in.rq_offset = 0xfffffe00; }, kBadParameter, OHCA_CMD_DETAIL_PAGE_LIST);
	refused([](auto &in) { in.pages.page_count = 1; }, kBadParameter, OHCA_CMD_DETAIL_PAGE_LIST);
	refused([](auto &in) { in.pages.first_page_offset = 8; }, kBadParameter, OHCA_CMD_DETAIL_PAGE_LIST);
	// Entries would cross pages although the offset is a multiple of the stride.
	refused([](auto &in) { in.pages.first_page_offset = 64; in.pages.page_count++; }, kBadParameter,
		OHCA_CMD_DETAIL_OFFSET);
	refused([](auto &in) { in.flags = OHCA_QP_NO_SQ; }, kBadParameter, OHCA_CMD_DETAIL_DEPTH);
	refused([](auto &in) { in.flags = OHCA_QP_NO_RQ; }, kBadParameter, OHCA_CMD_DETAIL_DEPTH);
}

TEST_F(QpCommand, CreateExtremes)
{
	options.log_sq_depth = options.log_rq_depth = 0;
	options.log_sq_stride = 6;
	options.log_rq_stride = 5;
	EXPECT_GE(host.create_qp(options).qpn, 2u);
	options.log_sq_depth = 10;
	options.log_sq_stride = 11;
	options.log_rq_stride = 10;
	host.create_qp(options);
	options.flags = OHCA_QP_NO_SQ;
	host.create_qp(options);
	options.flags = OHCA_QP_NO_RQ | OHCA_QP_SIGNAL_ALL;
	host.create_qp(options);
	options.flags = OHCA_QP_NO_RQ | OHCA_QP_NO_SQ;
	host.create_qp(options);
}

TEST_F(QpCommand, SlotsAreSpreadAndNeverTheCommandQueues) // OHCA-CMD-D15
{
	std::set<uint32_t> slots;
	options.log_sq_depth = options.log_rq_depth = 0;
	options.log_sq_stride = options.log_rq_stride = 6;
	std::vector<uint32_t> qpns;
	for (uint32_t i = 0; i < OHCA_UAR_SLOT_COUNT - 1; i++) {
		FakeQp qp = host.create_qp(options);
		slots.insert(qp.slot);
		qpns.push_back(qp.qpn);
	}
	EXPECT_EQ(slots.size(), size_t{OHCA_UAR_SLOT_COUNT - 1}); // each its own
	EXPECT_EQ(slots.count(OHCA_UAR_CMDQ_SLOT), 0u);
	for (int i = 0; i < 100; i++) { // more than slots: shared
		FakeQp qp = host.create_qp(options);
		EXPECT_NE(qp.slot, unsigned{OHCA_UAR_CMDQ_SLOT});
		qpns.push_back(qp.qpn);
	}
	options.uar = host.create_uar();
	EXPECT_EQ(host.create_qp(options).slot, 0u); // of another page
	for (uint32_t qpn : qpns)
		FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, qpn));
	EXPECT_EQ(host.function().context().uar(0)->reference_count, 0u);
}

// OHCA-CMD-D11
TEST_F(QpCommand, UarInUse)
{
	options.uar = host.create_uar();
	FakeQp qp = host.create_qp(options);
	expect(host.destroy(OHCA_CMD_DESTROY_UAR, options.uar), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_UAR);
	expect(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn), OHCA_CMD_STATUS_OK);
	expect(host.destroy(OHCA_CMD_DESTROY_UAR, options.uar), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(host.function().context().block_bytes_in_use(), 0u);
}

TEST_F(QpCommand, NoSuchQueuePair)
{
	for (uint32_t qpn : {0u, 1u, 2u, 0xffffffu, 0xffffffffu}) {
		expect(host.destroy(OHCA_CMD_DESTROY_QP, qpn), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_QP);
		expect(host.modify(qpn, OHCA_QP_STATE_ERR, 0), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_QP);
		ohca_cmd_handle in{};
		in.handle = qpn;
		ohca_cmd_query_qp_out out;
		expect(host.command(OHCA_CMD_QUERY_QP, in, out), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_QP);
	}
}

TEST_F(QpCommand, TheWholeMatrixOfStates) // OHCA-QP-D1
{
	// Which transitions are legal with the attributes that they require (IBTA 11.2.5.2, RC).
	constexpr uint8_t kReset = OHCA_QP_STATE_RESET, kInit = OHCA_QP_STATE_INIT, kRtr = OHCA_QP_STATE_RTR,
			  kRts = OHCA_QP_STATE_RTS, kSqd = OHCA_QP_STATE_SQD, kErr = OHCA_QP_STATE_ERR;
	const std::set<std::pair<uint8_t, uint8_t>> legal = {
		{kReset, kInit}, {kInit, kInit}, {kInit, kRtr}, {kRtr, kRts},
		{kRts, kRts},    {kRts, kSqd},   {kSqd, kSqd},  {kSqd, kRts},
	};
	for (uint8_t from : {kReset, kInit, kRtr, kRts, kSqd, kErr}) {
		for (uint8_t to = 0; to < 16; to++) {
			FakeQp qp = qp_in(from);
			CommandResult result;
			if (from == kReset && to == kInit)
				result = host.to_init(qp.qpn);
			else if (from == kInit && to == kRtr)
				result = host.to_rtr(qp.qpn, host, qp.qpn);
			else if (from == kRtr && to == kRts)
				result = host.to_rts(qp.qpn);
			else
				result = host.modify(qp.qpn, to, 0);
			bool ok = to == kReset || to == kErr || legal.count({from, to});
			EXPECT_EQ(result.ok(), ok) << int{from} << " -> " << int{to};
			if (!ok) {
				EXPECT_EQ(int{result.status}, OHCA_CMD_STATUS_BAD_STATE);
			}
			EXPECT_EQ(state(qp.qpn), ok ? to : from);
			FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
		}
	}
}

TEST_F(QpCommand, EachRequiredAttributeIsRequiredAndOthersAreRefused) // OHCA-QP-D1
{
	struct Row {
		uint8_t from, to;
		uint32_t required, optional;
	};
	const Row rows[] = {
		{OHCA_QP_STATE_RESET, OHCA_QP_STATE_INIT, OHCA_QP_ATTR_PKEY_INDEX | OHCA_QP_ATTR_ACCESS, 0},
		{OHCA_QP_STATE_INIT, OHCA_QP_STATE_INIT, 0, OHCA_QP_ATTR_PKEY_INDEX | OHCA_QP_ATTR_ACCESS},
		{OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, 0x8000 | 0x2 | 0x800 | 0x2000 | 0x10 | 0x20, 0x400 | 0x4},
		{OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS, 0x40 | 0x80 | 0x100 | 0x1000 | 0x8, 0x4 | 0x20},
		{OHCA_QP_STATE_RTS, OHCA_QP_STATE_RTS, 0, 0x4 | 0x20},
		{OHCA_QP_STATE_RTS, OHCA_QP_STATE_SQD, 0, 0x200},
		{OHCA_QP_STATE_SQD, OHCA_QP_STATE_SQD, 0,
		 0x400 | 0x4 | 0x8000 | 0x40 | 0x80 | 0x100 | 0x8 | 0x10 | 0x20},
		{OHCA_QP_STATE_SQD, OHCA_QP_STATE_RTS, 0, 0x4 | 0x20},
		{OHCA_QP_STATE_RTS, OHCA_QP_STATE_RESET, 0, 0},
		{OHCA_QP_STATE_RTS, OHCA_QP_STATE_ERR, 0, 0},
	};
	ohca_qp_attributes good{};
	good.path_mtu = 10;
	for (const Row &row : rows) {
		for (uint32_t bit = 2; bit < 0x20000; bit <<= 1) {
			FakeQp qp = qp_in(row.from);
			uint32_t mask = row.required ^ (row.required & bit ? bit : 0);
			if (!(row.required & bit))
				mask |= bit;
			CommandResult result = host.modify(qp.qpn, row.to, mask, good);
			bool ok = row.optional & bit;
			EXPECT_EQ(result.ok(), ok) << int{row.from} << " -> " << int{row.to} << " bit " << bit;
			if (!ok)
				expect(result, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
			FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
		}
	}
}

TEST_F(QpCommand, ValuesOutOfRangeChangeNothing) // OHCA-CMD-D9
{
	auto refused = [this](uint8_t from, uint8_t to, uint32_t mask, auto change,
			      uint32_t detail = OHCA_CMD_DETAIL_ATTRIBUTE) {
		FakeQp qp = qp_in(from);
		ohca_cmd_query_qp_out before = query(qp.qpn);
		ohca_qp_attributes a{};
		a.path_mtu = 10;
		a.access = 0x0e;
		change(a);
		expect(host.modify(qp.qpn, to, mask, a), OHCA_CMD_STATUS_BAD_PARAMETER, detail);
		ohca_cmd_query_qp_out after = query(qp.qpn);
		EXPECT_EQ(std::memcmp(&before, &after, sizeof(before)), 0);
	};
	constexpr uint32_t kInitMask = OHCA_QP_ATTR_PKEY_INDEX | OHCA_QP_ATTR_ACCESS;
	constexpr uint32_t kRtrMask = 0x8000 | 0x2 | 0x800 | 0x2000 | 0x10 | 0x20;
	constexpr uint32_t kRtsMask = 0x40 | 0x80 | 0x100 | 0x1000 | 0x8;
	auto init = [&](auto change, uint32_t detail = OHCA_CMD_DETAIL_ATTRIBUTE) {
		refused(OHCA_QP_STATE_RESET, OHCA_QP_STATE_INIT, kInitMask, change, detail);
	};
	auto rtr = [&](auto change, uint32_t detail = OHCA_CMD_DETAIL_ATTRIBUTE) {
		refused(OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, kRtrMask, change, detail);
	};
	auto rts = [&](auto change) { refused(OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS, kRtsMask, change); };
	init([](auto &a) { a.pkey_index = 1; });
	init([](auto &a) { a.access = 0x10; }, OHCA_CMD_DETAIL_ACCESS);
	init([](auto &a) { a.access = OHCA_ACCESS_LOCAL_WRITE; }, OHCA_CMD_DETAIL_ACCESS);
	rtr([](auto &a) { a.path_mtu = 7; });
	rtr([](auto &a) { a.path_mtu = 13; });
	rtr([](auto &a) { a.dest_qpn = 0x1000000; });
	rtr([](auto &a) { a.rq_psn = 0x1000000; });
	rtr([](auto &a) { a.max_dest_read_atomic = 17; });
	rtr([](auto &a) { a.min_rnr_timer = 32; });
	rtr([](auto &a) { a.flow_label = 0x100000; });
	rtr([](auto &a) { a.service_level = 16; });
	rtr([](auto &a) { a.sgid_index = 1; }, OHCA_CMD_DETAIL_GID); // not set
	rts([](auto &a) { a.ack_timeout = 32; });
	rts([](auto &a) { a.retry_count = 8; });
	rts([](auto &a) { a.rnr_retry = 8; });
	rts([](auto &a) { a.sq_psn = 0xffffffff; });
	rts([](auto &a) { a.max_read_atomic = 17; });
	refused(OHCA_QP_STATE_RTS, OHCA_QP_STATE_SQD, OHCA_QP_ATTR_SQ_DRAINED_EVENT,
		[](auto &a) { a.sq_drained_event = 2; });
	init([](auto &a) { a.reserved_10 = 1; }, OHCA_CMD_DETAIL_RESERVED);
}

TEST_F(QpCommand, PathMtuIsBoundedByThePort)
{
	ohca_cmd_set_port_in port{};
	port.active = 1;
	port.max_mtu = 1024;
	FakeFunction::must(host.command(OHCA_CMD_SET_PORT, port));
	FakeQp qp = qp_in(OHCA_QP_STATE_INIT);
	ConnectOptions o;
	o.path_mtu = 11;
	expect(host.to_rtr(qp.qpn, host, qp.qpn, o), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	o.path_mtu = 10;
	expect(host.to_rtr(qp.qpn, host, qp.qpn, o), OHCA_CMD_STATUS_OK);
}

TEST_F(QpCommand, CurrentStateIsChecked)
{
	FakeQp qp = qp_in(OHCA_QP_STATE_INIT);
	ohca_cmd_modify_qp_in in{};
	in.qpn = qp.qpn;
	in.mask = OHCA_QP_ATTR_STATE;
	in.attributes.state = OHCA_QP_STATE_ERR;
	in.check_current_state = 1;
	in.current_state = OHCA_QP_STATE_RTS;
	expect(host.command(OHCA_CMD_MODIFY_QP, in), OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_QP);
	EXPECT_EQ(state(qp.qpn), OHCA_QP_STATE_INIT);
	in.check_current_state = 2;
	expect(host.command(OHCA_CMD_MODIFY_QP, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	in.check_current_state = 1;
	in.reserved_50[5] = 1;
	expect(host.command(OHCA_CMD_MODIFY_QP, in), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	in.reserved_50[5] = 0;
	in.current_state = OHCA_QP_STATE_INIT;
	expect(host.command(OHCA_CMD_MODIFY_QP, in), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(state(qp.qpn), OHCA_QP_STATE_ERR);
}

TEST_F(QpCommand, QueryReturnsWhatWasSet)
{
	FakeQp qp = host.create_qp(options);
	ConnectOptions o;
	o.access = OHCA_ACCESS_REMOTE_READ;
	o.psn = 0xabcdef;
	FakeFunction::must(host.to_init(qp.qpn, o));
	FakeFunction::must(host.to_rtr(qp.qpn, host, 0x123456, o));
	FakeFunction::must(host.to_rts(qp.qpn, o));
	ohca_qp_attributes a = query(qp.qpn).attributes;
	EXPECT_EQ(a.state, OHCA_QP_STATE_RTS);
	EXPECT_EQ(a.path_mtu, o.path_mtu);
	EXPECT_EQ(a.access, o.access);
	EXPECT_EQ(a.dest_qpn, 0x123456u);
	EXPECT_EQ(a.sq_psn, o.psn);
	EXPECT_EQ(a.rq_psn, o.psn);
	EXPECT_EQ(a.max_read_atomic, o.max_read_atomic);
	EXPECT_EQ(a.max_dest_read_atomic, o.max_dest_read_atomic);
	EXPECT_EQ(a.min_rnr_timer, o.min_rnr_timer);
	EXPECT_EQ(a.ack_timeout, o.ack_timeout);
	EXPECT_EQ(a.retry_count, o.retry_count);
	EXPECT_EQ(a.rnr_retry, o.rnr_retry);
	EXPECT_EQ(a.dgid[15], host.gid_byte());
	// RESET forgets all.
	FakeFunction::must(host.modify(qp.qpn, OHCA_QP_STATE_RESET, 0));
	a = query(qp.qpn).attributes;
	ohca_qp_attributes zero{};
	EXPECT_EQ(std::memcmp(&a, &zero, sizeof(a)), 0);
}

} // namespace
} // namespace ohca::core::test
