// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// queue/: sq_fetch.cc, rq_fetch.cc, cq_post.cc, eq_post.cc.
#include <random>

#include "core/queue/eq_post.hh"
#include "core/queue/queues.hh"
#include "core/tests/command_test.hh"

namespace ohca::core::test {
namespace {

ohca_sq_wqe header(uint8_t opcode, uint8_t flags = 0)
{
	ohca_sq_wqe h{};
	h.opcode = opcode;
	h.flags = flags;
	h.remote_address = 0x1122334455667788;
	h.rkey = 0xaabbccdd;
	h.immediate = 0x01020304;
	h.invalidate_key = 0x55667788;
	return h;
}

struct QueueTest : CommandTest {
	QueueTest()
	{
		cq = host.create_cq(3);
		options.pd = host.create_pd();
		options.send_cq = cq.cqn;
		options.recv_cq = cq.cqn;
		qp = host.create_qp(options);
		wqe = std::make_unique<SendWqe>();
	}
	QpContext &context() { return *host.function().context().qp(qp.qpn); }
	Fetch fetch(uint32_t index) { return fetch_send_wqe(host.function(), context(), index, *wqe); }
	Fetch fetch_receive(uint32_t index) { return fetch_receive_wqe(host.function(), context(), index, receive); }
	// A WQE with a body, and an element behind it: the vendor error.
	template <typename Body>
	uint32_t posted(uint8_t opcode, const Body &body, uint8_t sge_count = 0, uint8_t flags = 0)
	{
		uint32_t index = qp.sq_producer;
		ohca_sq_wqe h = header(opcode, flags);
		h.num_sge = sge_count;
		ohca_sge sge{.address = 0x1000, .length = 8, .lkey = 9};
		std::memcpy(qp.sq_slot(index), &h, sizeof(h));
		std::memcpy(qp.sq_slot(index) + sizeof(h), &body, sizeof(body));
		std::memcpy(qp.sq_slot(index) + sizeof(h) + sizeof(body), &sge, sizeof(sge));
		qp.record().sq_producer = ++qp.sq_producer;
		EXPECT_EQ(fetch(index), Fetch::kOk);
		context().requester.complete_index = index + 1;
		return wqe->vendor_error;
	}
	bool post(uint8_t flags = 0, uint8_t status = OHCA_CQE_STATUS_SUCCESS, uint32_t number = 0)
	{
		ohca_cqe cqe{};
		cqe.flags = flags;
		cqe.status = status;
		cqe.wqe_index = number;
		return post_cqe(host.function(), cq.cqn, cqe);
	}

	FakeCq cq;
	FakeQpOptions options;
	FakeQp qp;
	std::unique_ptr<SendWqe> wqe;
	ReceiveWqe receive;
};

using SqFetch = QueueTest;
using RqFetch = QueueTest;
using CqPost = QueueTest;
using EqPost = QueueTest;

TEST_F(SqFetch, EmptyUntilPosted)
{
	EXPECT_EQ(fetch(0), Fetch::kEmpty);
	ohca_sge sges[2] = {{.address = 0x1000, .length = 5, .lkey = 9}, {.address = 0x2000, .length = 7, .lkey = 10}};
	qp.post_send(header(OHCA_WR_WRITE_IMM, OHCA_WQE_SIGNALED), sges);
	ASSERT_EQ(fetch(0), Fetch::kOk);
	EXPECT_EQ(wqe->status, 0);
	EXPECT_EQ(wqe->index, 0u);
	EXPECT_EQ(wqe->opcode, OHCA_WR_WRITE_IMM);
	EXPECT_EQ(wqe->flags, OHCA_WQE_SIGNALED);
	EXPECT_EQ(wqe->sge_count, 2);
	EXPECT_EQ(wqe->length, 12u);
	EXPECT_EQ(wqe->remote_address, 0x1122334455667788u);
	EXPECT_EQ(wqe->rkey, 0xaabbccddu);
	EXPECT_EQ(wqe->immediate_be, 0x01020304u);
	EXPECT_EQ(wqe->invalidate_key, 0x55667788u);
	EXPECT_EQ(wqe->sges[1].address, 0x2000u);
	EXPECT_EQ(fetch(1), Fetch::kEmpty);
	EXPECT_EQ(host.counter(OHCA_COUNTER_SEND_WQES), 1u);
}

// OHCA-GEN-D3
TEST_F(SqFetch, InlineAndAtomic)
{
	std::byte data[480];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = static_cast<std::byte>(i);
	qp.post_inline(header(OHCA_WR_SEND), data); // all that a stride of 512 takes
	ASSERT_EQ(fetch(0), Fetch::kOk);
	EXPECT_EQ(wqe->status, 0);
	EXPECT_EQ(wqe->length, 480u);
	EXPECT_EQ(std::memcmp(wqe->inline_data, data, 480), 0);
	qp.post_atomic(header(OHCA_WR_CAS), {.operand = 5, .compare = 6}, {.address = 1, .length = 8, .lkey = 2});
	ASSERT_EQ(fetch(1), Fetch::kOk);
	EXPECT_EQ(wqe->status, 0);
	EXPECT_EQ(wqe->operand, 5u);
	EXPECT_EQ(wqe->compare, 6u);
	EXPECT_EQ(wqe->sges[0].lkey, 2u);
	EXPECT_EQ(wqe->length, 8u);
}

// OHCA-SQ-D2 OHCA-SQ-D3 OHCA-SQ-D4 OHCA-SQ-D5
TEST_F(SqFetch, RefusesWhatIsMalformed)
{
	auto refused = [this](ohca_sq_wqe h, uint8_t status, uint32_t vendor_error) {
		uint32_t index = qp.sq_producer;
		std::memset(qp.sq_slot(index), 0, 512);
		std::memcpy(qp.sq_slot(index), &h, sizeof(h));
		qp.record().sq_producer = ++qp.sq_producer;
		ASSERT_EQ(fetch(index), Fetch::kOk);
		EXPECT_EQ(wqe->status, status);
		EXPECT_EQ(wqe->vendor_error, vendor_error);
		EXPECT_EQ(wqe->sge_count, 0);
		EXPECT_EQ(wqe->inline_length, 0u);
		context().requester.complete_index = index + 1;
	};
	constexpr uint8_t kOp = OHCA_CQE_STATUS_LOCAL_QP_OPERATION;
	for (int opcode : {0, OHCA_WR_REG_MR_INTEGRITY + 1, 100, 255})
		refused(header(static_cast<uint8_t>(opcode)), kOp, OHCA_VENDOR_ERROR_OPCODE);
	refused(header(OHCA_WR_SEND, 0x10), kOp, OHCA_VENDOR_ERROR_FLAGS);
	refused(header(OHCA_WR_READ, OHCA_WQE_INLINE), kOp, OHCA_VENDOR_ERROR_FLAGS);
	refused(header(OHCA_WR_CAS, OHCA_WQE_INLINE), kOp, OHCA_VENDOR_ERROR_FLAGS);
	ohca_sq_wqe h = header(OHCA_WR_SEND);
	h.reserved_18 = 1;
	refused(h, kOp, OHCA_VENDOR_ERROR_FLAGS);
	h = header(OHCA_WR_SEND);
	h.remote_srqn = 1;
	refused(h, kOp, OHCA_VENDOR_ERROR_FLAGS);
	for (int count : {31, 255}) {
		h = header(OHCA_WR_SEND);
		h.num_sge = static_cast<uint8_t>(count);
		refused(h, kOp, OHCA_VENDOR_ERROR_SGE_COUNT);
	}
	h = header(OHCA_WR_SEND, OHCA_WQE_INLINE);
	h.num_sge = 1;
	refused(h, kOp, OHCA_VENDOR_ERROR_SGE_COUNT);
	for (int count : {0, 2}) {
		h = header(OHCA_WR_FADD);
		h.num_sge = static_cast<uint8_t>(count);
		refused(h, kOp, OHCA_VENDOR_ERROR_SGE_COUNT);
	}
	for (uint32_t length : {481u, 1025u, 0xffffffffu}) {
		h = header(OHCA_WR_SEND, OHCA_WQE_INLINE);
		h.inline_length = length;
		refused(h, kOp, OHCA_VENDOR_ERROR_LENGTH);
	}
	h = header(OHCA_WR_SEND);
	h.inline_length = 1;
	refused(h, kOp, OHCA_VENDOR_ERROR_LENGTH);
	h = header(OHCA_WR_FADD); // its element has length 0 instead of 8
	h.num_sge = 1;
	refused(h, OHCA_CQE_STATUS_LOCAL_LENGTH, OHCA_VENDOR_ERROR_LENGTH);
}

// OHCA-SQ-D5
TEST_F(SqFetch, MessageOfTwoGibibytesAtMost)
{
	ohca_sge sges[2] = {{.address = 0, .length = 0x80000000, .lkey = 0}, {.address = 0, .length = 0, .lkey = 0}};
	qp.post_send(header(OHCA_WR_WRITE), sges);
	ASSERT_EQ(fetch(0), Fetch::kOk);
	EXPECT_EQ(wqe->status, 0);
	sges[1].length = 1;
	qp.post_send(header(OHCA_WR_WRITE), sges);
	ASSERT_EQ(fetch(1), Fetch::kOk);
	EXPECT_EQ(wqe->status, OHCA_CQE_STATUS_LOCAL_LENGTH);
}

// OHCA-SQ-D2 OHCA-REG-D10
TEST_F(SqFetch, OpcodesNeedTheirFeature)
{
	host.function().state().features = OHCA_FEATURE_RC;
	ohca_sge sge{.address = 0, .length = 8, .lkey = 0};
	for (uint8_t opcode : std::initializer_list<uint8_t>{OHCA_WR_SEND_INV, OHCA_WR_CAS, OHCA_WR_FADD,
							     OHCA_WR_READ_INV, OHCA_WR_MASKED_CAS, OHCA_WR_MASKED_FADD,
							     OHCA_WR_ATOMIC_WRITE, OHCA_WR_FLUSH, OHCA_WR_BIND_MW,
							     OHCA_WR_REG_MR, OHCA_WR_LOCAL_INV,
							     OHCA_WR_REG_MR_INTEGRITY}) {
		uint32_t index = qp.sq_producer;
		qp.post_send(header(opcode), {&sge, 1});
		ASSERT_EQ(fetch(index), Fetch::kOk);
		EXPECT_EQ(wqe->vendor_error, unsigned{OHCA_VENDOR_ERROR_OPCODE});
	}
}

// OHCA-SQ-D2
TEST_F(SqFetch, OpcodesOfTheServiceOnly)
{
	const std::vector<uint8_t> datagram = {OHCA_WR_SEND, OHCA_WR_SEND_IMM, OHCA_WR_REG_MR, OHCA_WR_LOCAL_INV};
	std::vector<uint8_t> unreliable = datagram;
	for (int opcode : {OHCA_WR_WRITE, OHCA_WR_WRITE_IMM, OHCA_WR_BIND_MW, OHCA_WR_REG_MR_INTEGRITY})
		unreliable.push_back(static_cast<uint8_t>(opcode));
	std::vector<uint8_t> reliable;
	for (uint8_t opcode = OHCA_WR_SEND; opcode <= OHCA_WR_REG_MR_INTEGRITY; opcode++)
		reliable.push_back(opcode);
	const std::pair<uint8_t, std::vector<uint8_t>> services[] = {
		{OHCA_QP_TYPE_RC, reliable},      {OHCA_QP_TYPE_XRC_INI, reliable}, {OHCA_QP_TYPE_UC, unreliable},
		{OHCA_QP_TYPE_UD, datagram},      {OHCA_QP_TYPE_GSI, datagram},     {OHCA_QP_TYPE_XRC_TGT, {}},
	};
	uint32_t index = 0;
	for (const auto &[type, allowed] : services) {
		context().type = type;
		for (uint8_t opcode = OHCA_WR_SEND; opcode <= OHCA_WR_REG_MR_INTEGRITY; opcode++, index++) {
			context().requester.complete_index = index;
			ohca_sge sge{.address = 0, .length = 8, .lkey = 0};
			qp.post_send(header(opcode), {&sge, 1});
			ASSERT_EQ(fetch(index), Fetch::kOk);
			EXPECT_EQ(wqe->vendor_error == OHCA_VENDOR_ERROR_OPCODE, std::ranges::count(allowed, opcode) == 0)
				<< "type " << +type << " opcode " << +opcode;
		}
	}
}

// OHCA-SQ-D3 OHCA-SQ-D4 OHCA-SQ-D5
TEST_F(SqFetch, BodiesOfNewOpcodes)
{
	ohca_wqe_masked_atomic masked{.operand = 1, .compare = 2, .swap_mask = 3, .compare_mask = 4};
	EXPECT_EQ(posted(OHCA_WR_MASKED_CAS, masked, 1), 0u);
	EXPECT_EQ(wqe->operand, 1u);
	EXPECT_EQ(wqe->compare, 2u);
	EXPECT_EQ(wqe->swap_mask, 3u);
	EXPECT_EQ(wqe->compare_mask, 4u);
	EXPECT_EQ(wqe->sges[0].lkey, 9u);
	EXPECT_EQ(posted(OHCA_WR_MASKED_FADD, masked, 1), unsigned{OHCA_VENDOR_ERROR_FLAGS});
	EXPECT_EQ(posted(OHCA_WR_MASKED_CAS, masked, 0), unsigned{OHCA_VENDOR_ERROR_SGE_COUNT});
	EXPECT_EQ(posted(OHCA_WR_MASKED_CAS, masked, 1, OHCA_WQE_INLINE), unsigned{OHCA_VENDOR_ERROR_FLAGS});

	ohca_wqe_flush flush{};
	flush.placement = OHCA_FLUSH_GLOBAL;
	flush.length = 0xffffffff;
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush), 0u);
	EXPECT_EQ(wqe->length, 0xffffffffu);
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush, 1), unsigned{OHCA_VENDOR_ERROR_SGE_COUNT});
	flush.selectivity = OHCA_FLUSH_REGION; // takes no length
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush), unsigned{OHCA_VENDOR_ERROR_FLAGS});
	flush.length = 0;
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush), 0u);
	flush.selectivity = 2;
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush), unsigned{OHCA_VENDOR_ERROR_FLAGS});
	flush = {};
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush), unsigned{OHCA_VENDOR_ERROR_FLAGS});
	flush.placement = 4;
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush), unsigned{OHCA_VENDOR_ERROR_FLAGS});
	flush.placement = OHCA_FLUSH_PERSISTENT;
	flush.reserved_30[9] = 1;
	EXPECT_EQ(posted(OHCA_WR_FLUSH, flush), unsigned{OHCA_VENDOR_ERROR_FLAGS});
}

// OHCA-SQ-D3 OHCA-SQ-D4 OHCA-SQ-D5
TEST_F(SqFetch, BodiesOfWorkRequestsAboutKeys)
{
	ohca_wqe_bind bind{};
	bind.lkey = 0x77;
	EXPECT_EQ(posted(OHCA_WR_BIND_MW, bind), 0u);
	EXPECT_EQ(wqe->bind.lkey, 0x77u);
	EXPECT_EQ(posted(OHCA_WR_BIND_MW, bind, 1), unsigned{OHCA_VENDOR_ERROR_SGE_COUNT});
	bind.reserved_c0[7] = 1;
	EXPECT_EQ(posted(OHCA_WR_BIND_MW, bind), unsigned{OHCA_VENDOR_ERROR_FLAGS});

	ohca_wqe_register registration{};
	registration.entry_count = 5;
	EXPECT_EQ(posted(OHCA_WR_REG_MR, registration), 0u);
	EXPECT_EQ(wqe->registration.entry_count, 5u);
	registration.reserved_148[6] = 1;
	EXPECT_EQ(posted(OHCA_WR_REG_MR, registration), unsigned{OHCA_VENDOR_ERROR_FLAGS});
	ohca_wqe_register_integrity integrity{};
	integrity.interval = 520;
	EXPECT_EQ(posted(OHCA_WR_REG_MR_INTEGRITY, integrity), 0u);
	EXPECT_EQ(wqe->integrity.interval, 520u);
	EXPECT_EQ(posted(OHCA_WR_REG_MR_INTEGRITY, integrity, 1), unsigned{OHCA_VENDOR_ERROR_SGE_COUNT});
	integrity.reserved_148[0] = 1;
	EXPECT_EQ(posted(OHCA_WR_REG_MR_INTEGRITY, integrity), unsigned{OHCA_VENDOR_ERROR_FLAGS});
	EXPECT_EQ(posted(OHCA_WR_LOCAL_INV, bind), 0u);
	EXPECT_EQ(posted(OHCA_WR_LOCAL_INV, bind, 1), unsigned{OHCA_VENDOR_ERROR_SGE_COUNT});

	ohca_sge eight{.address = 0, .length = 8, .lkey = 0};
	EXPECT_EQ(posted(OHCA_WR_ATOMIC_WRITE, eight, 1), 0u);
	eight.length = 4;
	EXPECT_EQ(posted(OHCA_WR_ATOMIC_WRITE, eight, 1), unsigned{OHCA_VENDOR_ERROR_LENGTH});
	EXPECT_EQ(wqe->status, OHCA_CQE_STATUS_LOCAL_LENGTH);
}

// OHCA-SQ-D4
TEST_F(SqFetch, BodiesMustFitTheStride)
{
	options.log_sq_stride = 6; // 64 bytes: 32 behind the header
	qp = host.create_qp(options);
	uint32_t index = 0;
	for (auto [opcode, fits] : {std::pair{OHCA_WR_MASKED_CAS, false}, {OHCA_WR_REG_MR, false},
				    {OHCA_WR_REG_MR_INTEGRITY, false},
				    {OHCA_WR_BIND_MW, true}, {OHCA_WR_LOCAL_INV, true}}) {
		qp.post_send(header(static_cast<uint8_t>(opcode)), {});
		ASSERT_EQ(fetch(index++), Fetch::kOk);
		EXPECT_EQ(wqe->status == 0, fits) << opcode;
	}
}

// OHCA-SQ-D3
TEST_F(SqFetch, RemoteSrqOnXrcOnly)
{
	ohca_sge sge{.address = 0, .length = 8, .lkey = 0};
	ohca_sq_wqe h = header(OHCA_WR_SEND);
	h.remote_srqn = 0x1234;
	qp.post_send(h, {&sge, 1});
	ASSERT_EQ(fetch(0), Fetch::kOk);
	EXPECT_EQ(wqe->vendor_error, unsigned{OHCA_VENDOR_ERROR_FLAGS});
	context().type = OHCA_QP_TYPE_XRC_INI;
	ASSERT_EQ(fetch(0), Fetch::kOk);
	EXPECT_EQ(wqe->status, 0);
	EXPECT_EQ(wqe->remote_srqn, 0x1234u);
}

// OHCA-SQ-D4
TEST_F(SqFetch, SmallStridesBoundElements)
{
	options.log_sq_stride = 6; // 64 bytes: two elements
	qp = host.create_qp(options);
	ohca_sq_wqe h = header(OHCA_WR_SEND);
	for (uint8_t count = 0; count < 5; count++) {
		h.num_sge = count;
		std::memcpy(qp.sq_slot(count), &h, sizeof(h));
		qp.record().sq_producer = count + 1u;
		ASSERT_EQ(fetch(count), Fetch::kOk);
		EXPECT_EQ(wqe->status == 0, count <= 2);
	}
}

// OHCA-SQ-D9
TEST_F(SqFetch, ProducerBeyondTheRing)
{
	qp.record().sq_producer = 65;
	EXPECT_EQ(fetch(0), Fetch::kBadIndex);
	qp.record().sq_producer = 0xffffffff;
	EXPECT_EQ(fetch(0), Fetch::kBadIndex);
	EXPECT_EQ(host.counter(OHCA_COUNTER_DOORBELLS_BAD), 2u);
	qp.record().sq_producer = 64;
	EXPECT_EQ(fetch(0), Fetch::kOk);
}

TEST_F(SqFetch, IndicesWrap)
{
	context().requester.complete_index = 0xfffffff0;
	context().sq_producer_seen = 0xfffffff0;
	qp.sq_producer = 0xfffffff0;
	for (uint32_t i = 0; i < 64; i++) {
		ohca_sge sge{.address = i, .length = 1, .lkey = 0};
		qp.post_send(header(OHCA_WR_SEND), {&sge, 1});
	}
	for (uint32_t i = 0; i < 64; i++) {
		ASSERT_EQ(fetch(0xfffffff0 + i), Fetch::kOk);
		EXPECT_EQ(wqe->sges[0].address, i);
	}
	EXPECT_EQ(fetch(0xfffffff0 + 64), Fetch::kEmpty);
}

TEST_F(SqFetch, RingIsGone)
{
	host.dma.clear();
	EXPECT_EQ(fetch(0), Fetch::kFault);
	EXPECT_EQ(fetch_receive(0), Fetch::kFault);
}

// OHCA-RQ-D2 OHCA-RQ-D5
TEST_F(RqFetch, TakesAndRefuses)
{
	EXPECT_EQ(fetch_receive(0), Fetch::kEmpty);
	ohca_sge sges[30];
	for (uint32_t i = 0; i < 30; i++)
		sges[i] = {.address = i, .length = 100, .lkey = i};
	qp.post_receive(0x77, sges);
	ASSERT_EQ(fetch_receive(0), Fetch::kOk);
	EXPECT_EQ(receive.status, 0);
	EXPECT_EQ(receive.tag, 0x77u);
	EXPECT_EQ(receive.sge_count, 30);
	EXPECT_EQ(receive.length, 3000u);
	qp.post_receive(1, {});
	ASSERT_EQ(fetch_receive(1), Fetch::kOk);
	EXPECT_EQ(receive.length, 0u);

	auto refused = [this](auto change, uint32_t vendor_error) {
		uint32_t index = qp.rq_producer;
		qp.post_receive(5, {});
		ohca_rq_wqe h{};
		h.tag = 5;
		change(h);
		std::memcpy(qp.rq_slot(index), &h, sizeof(h));
		ASSERT_EQ(fetch_receive(index), Fetch::kOk);
		EXPECT_EQ(receive.status, OHCA_CQE_STATUS_LOCAL_QP_OPERATION);
		EXPECT_EQ(receive.vendor_error, vendor_error);
		EXPECT_EQ(receive.tag, 5u);
		EXPECT_EQ(receive.sge_count, 0);
	};
	refused([](auto &h) { h.num_sge = 31; }, OHCA_VENDOR_ERROR_SGE_COUNT);
	refused([](auto &h) { h.num_sge = 255; }, OHCA_VENDOR_ERROR_SGE_COUNT);
	refused([](auto &h) { h.reserved_8[2] = 1; }, OHCA_VENDOR_ERROR_FLAGS);
	refused([](auto &h) { h.reserved_40 = 1; }, OHCA_VENDOR_ERROR_FLAGS);
	qp.record().rq_producer = 1000;
	context().rq_producer_seen = qp.rq_producer;
	EXPECT_EQ(fetch_receive(qp.rq_producer), Fetch::kBadIndex);
}

// OHCA-CQ-D1
TEST_F(CqPost, WritesOwnerByPassAndTimestamp)
{
	for (uint32_t i = 0; i < 100; i++) {
		ASSERT_TRUE(post(0, 0, i));
		auto cqe = cq.poll();
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->wqe_index, i);
		EXPECT_EQ(cqe->timestamp_ns, host.now);
		EXPECT_EQ(cqe->owner, (i / 8) % 2 ? 0 : 1);
		EXPECT_FALSE(cq.poll());
	}
	EXPECT_EQ(host.counter(OHCA_COUNTER_CQES), 100u);
}

TEST_F(CqPost, PhaseSurvivesTheWrapOfTheIndex)
{
	CqContext &context = *host.function().context().cq(cq.cqn);
	context.producer = context.consumer_seen = cq.consumer = 0xfffffff8;
	cq.record().consumer = 0xfffffff8;
	for (uint32_t i = 0; i < 8; i++)
		cq.entry(i).owner = 1; // of the pass before
	for (uint32_t i = 0; i < 20; i++) {
		ASSERT_TRUE(post(0, 0, i));
		auto cqe = cq.poll();
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->wqe_index, i);
	}
}

// OHCA-CQ-D2 OHCA-CQ-D3
TEST_F(CqPost, OverrunBreaksTheCq)
{
	for (uint32_t i = 0; i < 8; i++)
		ASSERT_TRUE(post(0, 0, i));
	EXPECT_FALSE(post(0, 0, 8));
	EXPECT_EQ(host.counter(OHCA_COUNTER_CQ_OVERRUNS), 1u);
	auto event = host.async_eq.poll();
	ASSERT_TRUE(event);
	EXPECT_EQ(event->type, OHCA_EVENT_CQ_ERROR);
	EXPECT_EQ(event->number, cq.cqn);
	EXPECT_EQ(event->detail, unsigned{OHCA_VENDOR_ERROR_CQ_OVERRUN});
	// What was there stays, and nothing comes any more even if there is room again.
	for (uint32_t i = 0; i < 8; i++)
		EXPECT_EQ(cq.poll()->wqe_index, i);
	EXPECT_FALSE(post());
	EXPECT_FALSE(cq.poll());
	EXPECT_FALSE(host.async_eq.poll()); // reported once
}

// OHCA-CQ-D2
TEST_F(CqPost, IgnoreOverrunOverwrites)
{
	cq = host.create_cq(3, OHCA_CQ_IGNORE_OVERRUN);
	for (uint32_t i = 0; i < 20; i++)
		EXPECT_TRUE(post(0, 0, i));
	EXPECT_EQ(cq.entry(19).wqe_index, 19u);
	EXPECT_EQ(cq.entry(12).wqe_index, 12u);
	EXPECT_FALSE(host.async_eq.poll());
}

// OHCA-CQ-D2
TEST_F(CqPost, GarbageInTheConsumerIndexCountsAsFull)
{
	for (uint32_t i = 0; i < 8; i++)
		ASSERT_TRUE(post());
	cq.record().consumer = 1000; // ahead of the producer
	EXPECT_FALSE(post());
	EXPECT_TRUE(host.async_eq.poll());
}

TEST_F(CqPost, MemoryIsGone)
{
	host.dma.unmap(cq.buffer, 4096);
	EXPECT_FALSE(post());
	auto event = host.async_eq.poll();
	ASSERT_TRUE(event);
	EXPECT_EQ(event->type, OHCA_EVENT_CQ_ERROR);
	EXPECT_EQ(event->detail, unsigned{OHCA_VENDOR_ERROR_DMA});
}

TEST_F(CqPost, NoSuchCq)
{
	ohca_cqe cqe{};
	EXPECT_FALSE(post_cqe(host.function(), 999, cqe));
}

// OHCA-CQ-D4 OHCA-CQ-D5
TEST_F(CqPost, ArmNextFiresOncePerArming)
{
	post();
	EXPECT_FALSE(host.completion_eq.poll());
	cq.arm(OHCA_CQ_ARM_NEXT);
	post();
	auto event = host.completion_eq.poll();
	ASSERT_TRUE(event);
	EXPECT_EQ(event->type, OHCA_EVENT_COMPLETION);
	EXPECT_EQ(event->number, cq.cqn);
	EXPECT_EQ(cq.record().fired, cq.record().arm);
	post();
	EXPECT_FALSE(host.completion_eq.poll());
	cq.arm(OHCA_CQ_ARM_NEXT);
	EXPECT_FALSE(host.completion_eq.poll()); // for the next CQE, not for those there
	post();
	EXPECT_TRUE(host.completion_eq.poll());
	cq.arm(OHCA_CQ_ARM_NONE);
	post();
	EXPECT_FALSE(host.completion_eq.poll());
	EXPECT_EQ(host.counter(OHCA_COUNTER_COMPLETION_EVENTS), 2u);
}

// OHCA-CQ-D5
TEST_F(CqPost, ArmSolicitedFiresForSolicitedAndErrors)
{
	cq.arm(OHCA_CQ_ARM_SOLICITED);
	post(OHCA_CQE_RECEIVE);
	EXPECT_FALSE(host.completion_eq.poll());
	post(OHCA_CQE_RECEIVE | OHCA_CQE_SOLICITED);
	EXPECT_TRUE(host.completion_eq.poll());
	cq.arm(OHCA_CQ_ARM_SOLICITED);
	post(0, OHCA_CQE_STATUS_FLUSHED);
	EXPECT_TRUE(host.completion_eq.poll());
	// From solicited to next without an event in between.
	cq.arm(OHCA_CQ_ARM_SOLICITED);
	post();
	cq.arm(OHCA_CQ_ARM_NEXT);
	post();
	EXPECT_TRUE(host.completion_eq.poll());
}

TEST_F(EqPost, InterruptOnlyIfArmed) // OHCA-EQ-D4, OHCA-EQ-D5
{
	host.function().take_interrupts();
	post_async_event(host.function(), OHCA_EVENT_QP_FATAL, 7, 8);
	EXPECT_EQ(host.function().take_interrupts(), 0u);
	host.async_eq.arm();
	post_async_event(host.function(), OHCA_EVENT_QP_FATAL, 7, 8);
	EXPECT_EQ(host.function().take_interrupts(), 1u); // vector 0
	EXPECT_EQ(host.async_eq.record().interrupt_arm, 0u);
	host.completion_eq.arm();
	cq.arm(OHCA_CQ_ARM_NEXT);
	post();
	EXPECT_EQ(host.function().take_interrupts(), 2u); // vector 1
	for (int i = 0; i < 2; i++) {
		auto event = host.async_eq.poll();
		ASSERT_TRUE(event);
		EXPECT_EQ(event->number, 7u);
		EXPECT_EQ(event->detail, 8u);
	}
}

TEST_F(EqPost, EntriesWrapWithPhase) // OHCA-EQ-D1
{
	for (uint32_t i = 0; i < 1000; i++) {
		post_async_event(host.function(), OHCA_EVENT_COMM_ESTABLISHED, i, 0);
		auto event = host.async_eq.poll();
		ASSERT_TRUE(event);
		EXPECT_EQ(event->number, i);
		EXPECT_FALSE(host.async_eq.poll());
	}
}

TEST_F(EqPost, LostAsyncEventsAreReported) // OHCA-EQ-D2, OHCA-EQ-D3
{
	for (uint32_t i = 0; i < 70; i++)
		post_async_event(host.function(), OHCA_EVENT_QP_FATAL, i, 0);
	EXPECT_FALSE(retry_events(host.function()));
	for (uint32_t i = 0; i < 64; i++)
		EXPECT_EQ(host.async_eq.poll()->number, i);
	EXPECT_FALSE(host.async_eq.poll());
	EXPECT_TRUE(retry_events(host.function()));
	post_async_event(host.function(), OHCA_EVENT_QP_FATAL, 99, 0);
	auto event = host.async_eq.poll();
	ASSERT_TRUE(event);
	EXPECT_EQ(event->type, OHCA_EVENT_EQ_OVERRUN);
	EXPECT_EQ(event->number, host.async_eq.handle);
	EXPECT_EQ(host.async_eq.poll()->number, 99u);
	EXPECT_EQ(host.function().state().eq_pending, 0u);
}

TEST_F(EqPost, OverrunIsReportedBeforeTheNextEvent) // OHCA-EQ-D3
{
	for (uint32_t i = 0; i < 65; i++)
		post_async_event(host.function(), OHCA_EVENT_QP_FATAL, i, 0);
	for (uint32_t i = 0; i < 64; i++)
		host.async_eq.poll();
	post_async_event(host.function(), OHCA_EVENT_QP_FATAL, 99, 0);
	EXPECT_EQ(host.async_eq.poll()->type, OHCA_EVENT_EQ_OVERRUN);
	EXPECT_EQ(host.async_eq.poll()->number, 99u);
}

// OHCA-EQ-D9
TEST_F(EqPost, CompletionEventsWaitForRoom)
{
	host.completion_eq = host.create_eq(OHCA_EQ_COMPLETION, 2, 1); // two entries
	std::vector<FakeCq> cqs;
	for (int i = 0; i < 6; i++)
		cqs.push_back(host.create_cq(3));
	for (FakeCq &each : cqs) {
		each.arm(OHCA_CQ_ARM_NEXT);
		ohca_cqe cqe{};
		post_cqe(host.function(), each.cqn, cqe);
	}
	// One that waits is destroyed: from the middle, and the last.
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_CQ, cqs[3].cqn));
	FakeFunction::must(host.destroy(OHCA_CMD_DESTROY_CQ, cqs[5].cqn));
	std::vector<uint32_t> seen;
	for (int round = 0; round < 10; round++) {
		while (auto event = host.completion_eq.poll())
			seen.push_back(event->number);
		retry_events(host.function());
	}
	EXPECT_EQ(seen, (std::vector<uint32_t>{cqs[0].cqn, cqs[1].cqn, cqs[2].cqn, cqs[4].cqn}));
	EXPECT_EQ(host.function().state().eq_pending, 0u);
}

} // namespace
} // namespace ohca::core::test
