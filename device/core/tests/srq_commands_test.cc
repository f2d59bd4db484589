// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// CREATE, MODIFY, QUERY, RESIZE and DESTROY_SRQ, XRC domains, and who refers to whom.
#include "core/queue/queues.hh"
#include "core/tests/command_test.hh"
#include "core/tests/fake_srq.hh"

namespace ohca::core::test {
namespace {

struct SrqCommands : CommandTest {
	SrqCommands() : pd(host.create_pd()), cq(host.create_cq()) {}

	ohca_cmd_create_srq_in request(const FakeSrqOptions &o)
	{
		FakeSrq unused;
		return srq_request(host, o, unused);
	}
	void refused(const ohca_cmd_create_srq_in &in, uint8_t status, uint32_t detail)
	{
		expect_refused<ohca_cmd_handle>(OHCA_CMD_CREATE_SRQ, in, status, detail);
	}
	void expect_limit_event(uint32_t srqn)
	{
		auto event = host.async_eq.poll();
		ASSERT_TRUE(event.has_value());
		EXPECT_EQ(int{event->type}, OHCA_EVENT_SRQ_LIMIT);
		EXPECT_EQ(event->number, srqn);
	}
	FakeQpOptions qp_options()
	{
		FakeQpOptions o;
		o.pd = pd;
		o.send_cq = o.recv_cq = cq.cqn;
		return o;
	}

	uint32_t pd;
	FakeCq cq;
};

TEST_F(SrqCommands, LimitsAreAnnounced)
{
	ohca_cmd_query_device_out out;
	FakeFunction::must(host.query(OHCA_CMD_QUERY_DEVICE, out));
	EXPECT_EQ(int{out.log_max_srq_depth}, 15);
	EXPECT_EQ(int{out.max_srq_sge}, 30);
	EXPECT_EQ(out.max_srq, kSrqCountMax - 1);
	EXPECT_EQ(out.max_xrcd, kXrcdCountMax - 1);
}

TEST_F(SrqCommands, CreateQueryDestroy)
{
	FakeSrq srq = create_srq(host, {.pd = pd, .limit = 64});
	EXPECT_EQ(srq.srqn, 1u);
	EXPECT_EQ(srq.query().limit, 64u); // nobody has taken a WQE yet
	EXPECT_EQ(srq.query().consumer, 0u);
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_SRQ, srq.srqn));
	ohca_cmd_handle in{};
	in.handle = srq.srqn;
	ohca_cmd_query_srq_out out;
	expect(host.command(OHCA_CMD_QUERY_SRQ, in, out), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_SRQ);
	expect(host.destroy(OHCA_CMD_DESTROY_SRQ, srq.srqn), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_SRQ);
	EXPECT_EQ(host.function().context().block_bytes_in_use(), 0u);
}

// OHCA-CMD-D14
TEST_F(SrqCommands, CreateRefuses)
{
	FakeSrqOptions good{.pd = pd};
	ohca_cmd_create_srq_in in = request(good);
	in.reserved_150[1] = 1;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	in = request({.pd = 77});
	refused(in, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_PD);
	in = request(good);
	in.log_depth = 16;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	in = request(good);
	in.log_stride = 4;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_STRIDE);
	in.log_stride = 11;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_STRIDE);
	in = request(good);
	in.ring_offset = 0; // over the record
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_OFFSET);
	in.ring_offset = 512 + 64;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_OFFSET);
	in = request(good);
	in.pages.first_page_offset = 64; // entries would cross pages
	in.pages.page_count++;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_OFFSET);
	in = request(good);
	in.pages.page_count = 1;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_PAGE_LIST);
	in = request(good);
	in.limit = 65;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	in.limit = UINT32_MAX;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
}

// OHCA-CMD-D14: a domain and a CQ come together.
TEST_F(SrqCommands, CreateOfXrcRefuses)
{
	uint32_t xrcd = create_xrcd(host);
	refused(request({.pd = pd, .cq = cq.cqn}), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_CQ);
	refused(request({.pd = pd, .xrcd = xrcd}), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_CQ);
	refused(request({.pd = pd, .xrcd = xrcd, .cq = 99}), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_CQ);
	refused(request({.pd = pd, .xrcd = 99, .cq = cq.cqn}), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_XRCD);
}

TEST_F(SrqCommands, NeedsTheAsynchronousEq)
{
	FakeFunction early;
	early.enable();
	uint32_t early_pd = early.create_pd();
	FakeSrq unused;
	ohca_cmd_handle out;
	expect(early.command(OHCA_CMD_CREATE_SRQ, srq_request(early, {.pd = early_pd}, unused), out),
	       OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_EQ);
}

// OHCA-CMD-D14
TEST(SrqFeatures, AreRefusedIfNotNegotiated)
{
	FakeFunction plain({.features = OHCA_FEATURE_RC});
	plain.bring_up();
	uint32_t pd = plain.create_pd();
	FakeSrq unused;
	ohca_cmd_handle out;
	CommandTest::expect(plain.command(OHCA_CMD_CREATE_SRQ, srq_request(plain, {.pd = pd}, unused), out),
			    OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
	CommandTest::expect(plain.query(OHCA_CMD_CREATE_XRCD, out), OHCA_CMD_STATUS_UNSUPPORTED,
			    OHCA_CMD_DETAIL_FEATURE);

	FakeFunction basic({.features = OHCA_FEATURE_RC | OHCA_FEATURE_SRQ});
	basic.bring_up();
	pd = basic.create_pd();
	FakeSrq srq = create_srq(basic, {.pd = pd});
	FakeSrq resized;
	CommandTest::expect(basic.command(OHCA_CMD_RESIZE_SRQ, srq_resize_request(srq, 7, resized)),
			    OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
	CommandTest::expect(basic.command(OHCA_CMD_CREATE_SRQ,
					  srq_request(basic, {.pd = pd, .xrcd = 1, .cq = 1}, unused), out),
			    OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
}

// OHCA-CMD-D11
TEST_F(SrqCommands, NothingInUseIsDestroyed)
{
	uint32_t xrcd = create_xrcd(host);
	uint32_t srq_pd = host.create_pd();
	FakeCq srq_cq = host.create_cq();
	FakeSrq basic = create_srq(host, {.pd = srq_pd});
	FakeSrq xrc = create_srq(host, {.pd = srq_pd, .xrcd = xrcd, .cq = srq_cq.cqn});
	FakeQp qp = create_qp_on(host, qp_options(), basic.srqn);
	FakeQp target = create_xrc_target(host, xrcd);

	expect(host.destroy(OHCA_CMD_DESTROY_SRQ, basic.srqn), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_SRQ);
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_SRQ, basic.srqn));
	expect(host.destroy(OHCA_CMD_DESTROY_PD, srq_pd), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_PD);
	expect(host.destroy(OHCA_CMD_DESTROY_CQ, srq_cq.cqn), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_CQ);
	expect(host.destroy(OHCA_CMD_DESTROY_XRCD, xrcd), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_XRCD);
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_SRQ, xrc.srqn)); // target queue pairs do not hold it
	expect(host.destroy(OHCA_CMD_DESTROY_XRCD, xrcd), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_XRCD);
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, target.qpn));
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_XRCD, xrcd));
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_CQ, srq_cq.cqn));
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_PD, srq_pd));
	expect(host.destroy(OHCA_CMD_DESTROY_XRCD, xrcd), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_XRCD);
}

// OHCA-CMD-D14
TEST_F(SrqCommands, QueuePairsRefuseUnfitOnes)
{
	uint32_t xrcd = create_xrcd(host);
	FakeSrq basic = create_srq(host, {.pd = pd});
	FakeSrq xrc = create_srq(host, {.pd = pd, .xrcd = xrcd, .cq = cq.cqn});
	FakeQp unused;
	FakeQpOptions o = qp_options();
	o.flags = OHCA_QP_NO_RQ;
	ohca_cmd_create_qp_in in = host.qp_request(o, unused);
	auto refused_qp = [&](uint8_t status, uint32_t detail) {
		expect_refused<ohca_cmd_create_qp_out>(OHCA_CMD_CREATE_QP, in, status, detail);
	};
	in.srq = xrc.srqn;
	refused_qp(OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_SRQ);
	in.srq = 99;
	refused_qp(OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_SRQ);
	in = host.qp_request(qp_options(), unused); // with a receive queue of its own
	in.srq = basic.srqn;
	refused_qp(OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_TYPE);
	in = xrc_target_request(99);
	refused_qp(OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_XRCD);
	in = xrc_target_request(xrcd);
	in.srq = xrc.srqn;
	refused_qp(OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_SRQ);
}

// OHCA-SRQ-D6
TEST_F(SrqCommands, LimitRaisesOneEventAndIsGone)
{
	FakeSrq srq = create_srq(host, {.pd = pd});
	expect(srq.set_limit(65), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE);
	for (uint32_t i = 0; i < 10; i++)
		srq.post(i);
	FakeFunction::must(srq.set_limit(10)); // not fewer than 10
	EXPECT_EQ(srq.query().limit, 10u);
	EXPECT_FALSE(host.async_eq.poll().has_value());
	FakeFunction::must(srq.set_limit(11));
	expect_limit_event(srq.srqn);
	EXPECT_EQ(srq.query().limit, 0u);
	FakeFunction::must(srq.set_limit(0));
	EXPECT_FALSE(host.async_eq.poll().has_value());
	srq.srqn = 99;
	expect(srq.set_limit(0), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_SRQ);
}

struct SrqResize : SrqCommands {
	SrqResize() : srq(create_srq(host, {.pd = pd, .log_depth = 2, .log_stride = 6})) {}

	// What the device would use next.
	uint32_t take()
	{
		ReceiveWqe wqe;
		EXPECT_EQ(fetch_srq_wqe(host.function(), srq.srqn, wqe), Fetch::kOk);
		take_srq_wqe(host.function(), srq.srqn);
		return wqe.tag;
	}
	bool empty()
	{
		ReceiveWqe wqe;
		return fetch_srq_wqe(host.function(), srq.srqn, wqe) == Fetch::kEmpty;
	}

	FakeSrq srq;
};

// OHCA-SRQ-D9
TEST_F(SrqResize, KeepsWhatWasNotTaken)
{
	for (uint32_t i = 0; i < 4; i++)
		srq.post(100 + i, ohca_sge{.address = i, .length = i, .lkey = 1});
	EXPECT_EQ(take(), 100u);
	EXPECT_EQ(take(), 101u);
	srq.post(104);
	for (uint8_t log_depth : std::initializer_list<uint8_t>{5, 2, 15, 2}) {
		FakeSrq resized;
		uint64_t blocks = host.function().context().block_bytes_in_use();
		FakeFunction::must(host.command(OHCA_CMD_RESIZE_SRQ, srq_resize_request(srq, log_depth, resized)));
		EXPECT_EQ(host.function().context().block_bytes_in_use(), blocks);
		std::memset(host.host(srq.buffer), 0xff, 256); // the old one is the host's again
		srq = resized;
	}
	EXPECT_EQ(srq.query().consumer, 2u);
	ReceiveWqe wqe;
	ASSERT_EQ(fetch_srq_wqe(host.function(), srq.srqn, wqe), Fetch::kOk);
	EXPECT_EQ(wqe.length, 2u);
	EXPECT_EQ(take(), 102u);
	EXPECT_EQ(take(), 103u);
	EXPECT_EQ(take(), 104u);
	EXPECT_TRUE(empty());
	srq.post(105);
	EXPECT_EQ(take(), 105u);
}

// OHCA-SRQ-D9, OHCA-CMD-D9
TEST_F(SrqResize, RefusesAndChangesNothing)
{
	for (uint32_t i = 0; i < 4; i++)
		srq.post(i);
	FakeFunction::must(srq.set_limit(3));
	auto refused = [&](const ohca_cmd_resize_srq_in &in, uint8_t status, uint32_t detail) {
		uint64_t blocks = host.function().context().block_bytes_in_use();
		expect(host.command(OHCA_CMD_RESIZE_SRQ, in), status, detail);
		EXPECT_EQ(host.function().context().block_bytes_in_use(), blocks);
	};
	FakeSrq resized;
	ohca_cmd_resize_srq_in in = srq_resize_request(srq, 1, resized);
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_ATTRIBUTE); // the limit is above the depth
	FakeFunction::must(srq.set_limit(0));
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH); // the WQEs do not fit
	in.log_depth = 16;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	in = srq_resize_request(srq, 4, resized);
	resized.record().producer = 5; // more than the old ring had room for
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	resized.record().producer = UINT32_MAX;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_DEPTH);
	in.reserved_108[6] = 1;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_RESERVED);
	in = srq_resize_request(srq, 4, resized);
	in.ring_offset = 32;
	refused(in, OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_OFFSET);
	in = srq_resize_request(srq, 4, resized);
	in.srqn = 99;
	refused(in, OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_SRQ);
	in = srq_resize_request(srq, 4, resized);
	in.pages.address = 0x1000; // nowhere
	refused(in, OHCA_CMD_STATUS_DMA_FAULT, OHCA_CMD_DETAIL_NONE);
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(take(), i);
}

// OHCA-SRQ-D8: what is broken stays so, but can be destroyed.
TEST_F(SrqResize, RefusesABrokenOne)
{
	srq.record().producer = 5;
	ReceiveWqe wqe;
	EXPECT_EQ(fetch_srq_wqe(host.function(), srq.srqn, wqe), Fetch::kBadIndex);
	srq.record().producer = 0;
	EXPECT_EQ(fetch_srq_wqe(host.function(), srq.srqn, wqe), Fetch::kBadIndex);
	FakeSrq resized;
	expect(host.command(OHCA_CMD_RESIZE_SRQ, srq_resize_request(srq, 4, resized)), OHCA_CMD_STATUS_BAD_STATE,
	       OHCA_CMD_DETAIL_SRQ);
	expect(srq.set_limit(1), OHCA_CMD_STATUS_BAD_STATE, OHCA_CMD_DETAIL_SRQ);
	auto event = host.async_eq.poll();
	ASSERT_TRUE(event.has_value());
	EXPECT_EQ(int{event->type}, OHCA_EVENT_SRQ_ERROR);
	EXPECT_EQ(event->number, srq.srqn);
	EXPECT_EQ(event->detail, uint32_t{OHCA_VENDOR_ERROR_RING_INDEX});
	EXPECT_FALSE(host.async_eq.poll().has_value());
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_SRQ, srq.srqn));
}

// OHCA-SRQ-D10
TEST_F(SrqCommands, ResetForgetsWhatWasPosted)
{
	FakeSrq srq = create_srq(host, {.pd = pd});
	for (uint32_t tag = 0; tag < 5; tag++)
		srq.post(tag);
	FakeFunction::must(srq.set_limit(3));
	FakeQpOptions o = qp_options();
	o.srq = srq.srqn;
	o.flags = OHCA_QP_NO_RQ;
	FakeQp qp = host.create_qp(o);
	expect(host.destroy(OHCA_CMD_RESET_SRQ, srq.srqn), OHCA_CMD_STATUS_IN_USE, OHCA_CMD_DETAIL_SRQ);
	EXPECT_EQ(srq.query().limit, 3u);
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_QP, qp.qpn));
	SrqContext &context = *host.function().context().srq(srq.srqn);
	context.consumer = 2;
	context.broken = 1;
	srq.record() = {};
	expect(host.destroy(OHCA_CMD_RESET_SRQ, srq.srqn), OHCA_CMD_STATUS_OK);
	EXPECT_EQ(srq.query().limit, 0u);
	EXPECT_EQ(srq.query().consumer, 0u);
	EXPECT_EQ(context.broken, 0u);
	expect(srq.set_limit(1), OHCA_CMD_STATUS_OK);
}

// OHCA-CMD-D14
TEST_F(SrqCommands, ResetRefusals)
{
	expect(host.destroy(OHCA_CMD_RESET_SRQ, 77), OHCA_CMD_STATUS_BAD_HANDLE, OHCA_CMD_DETAIL_SRQ);
	ohca_cmd_handle domain;
	FakeFunction::must(host.query(OHCA_CMD_CREATE_XRCD, domain));
	FakeSrq srq = create_srq(host, {.pd = pd, .xrcd = domain.handle, .cq = cq.cqn});
	expect(host.destroy(OHCA_CMD_RESET_SRQ, srq.srqn), OHCA_CMD_STATUS_BAD_PARAMETER, OHCA_CMD_DETAIL_TYPE);
	host.function().state().features &= ~OHCA_FEATURE_RECYCLE;
	expect(host.destroy(OHCA_CMD_RESET_SRQ, srq.srqn), OHCA_CMD_STATUS_UNSUPPORTED, OHCA_CMD_DETAIL_FEATURE);
}

} // namespace
} // namespace ohca::core::test
