// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Creation of objects: what the kernel is asked for, what the application is told.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "../domain.hh"
#include "fixture.hh"

namespace ohca::test {
namespace {

class ControlTest : public ProviderTest {
protected:
	ibv_qp *try_qp(const std::function<void(ibv_qp_init_attr_ex &)> &change)
	{
		ibv_qp_init_attr_ex attr{};
		attr.send_cq = attr.recv_cq = cq_;
		attr.cap = {1, 1, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		attr.pd = pd_;
		change(attr);
		errno = 0;
		ibv_qp *qp = ohca_create_qp_ex(context(), &attr);
		cap_ = attr.cap;
		return qp;
	}

	void expect_refused(int error, const std::function<void(ibv_qp_init_attr_ex &)> &change)
	{
		EXPECT_EQ(try_qp(change), nullptr);
		EXPECT_EQ(errno, error);
	}

	ibv_cq *cq_ = create_cq(4);
	ibv_qp_cap cap_{};
};

TEST_F(ControlTest, CqIsRoundedUpAndSaysSo)
{
	ibv_cq *cq = create_cq(100);
	EXPECT_EQ(cq->cqe, 128);
	EXPECT_EQ(fake_kernel.cq_request.log_depth, 7);
	EXPECT_EQ(fake_kernel.cq_attr.cqe, 128u);
	EXPECT_EQ(fake_kernel.cq_request.buffer_address % 4096, 0u);
	EXPECT_GE(fake_kernel.cq_request.buffer_length, 64u + 128 * 64);
	EXPECT_EQ(fake_kernel.cq_request.comp_mask, 0u);
}

TEST_F(ControlTest, CqRefusals)
{
	EXPECT_EQ(create_cq(0), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(create_cq(-1), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(create_cq(4097), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(create_cq_ex(4, IBV_WC_EX_WITH_CVLAN), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(create_cq_ex(4, 0, 1u << 31), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	fake_kernel.error = ENOSPC;
	EXPECT_EQ(create_cq(4), nullptr);
	EXPECT_NE(errno, 0);
}

// OHCA-QB-H3
TEST_F(ControlTest, QpLayoutObeysTheContract)
{
	ibv_qp *qp = create_qp(cq_, cq_, {100, 50, 3, 3, 100});
	ASSERT_NE(qp, nullptr);
	const ohca_create_qp_req &request = fake_kernel.qp_request;
	EXPECT_EQ(request.log_sq_depth, 7);
	EXPECT_EQ(request.log_rq_depth, 6);
	EXPECT_EQ(request.log_sq_stride, 8); // 32 + 100
	EXPECT_EQ(request.log_rq_stride, 6); // 16 + 48
	EXPECT_EQ(request.sq_offset % 256, 0u);
	EXPECT_EQ(request.rq_offset % 64, 0u);
	EXPECT_GE(request.sq_offset, unsigned{OHCA_RECORD_SIZE});
	EXPECT_GE(request.rq_offset, request.sq_offset + 128 * 256);
	EXPECT_GE(request.buffer_length, request.rq_offset + 64u * 64);
	EXPECT_EQ(request.buffer_address % 4096, 0u);
}

TEST_F(ControlTest, ReportsWhatTheRingsReallyHold)
{
	ibv_qp *qp = try_qp([](auto &attr) { attr.cap = {100, 50, 1, 2, 33}; });
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(cap_.max_send_wr, 128u);
	EXPECT_EQ(cap_.max_recv_wr, 64u);
	EXPECT_EQ(cap_.max_send_sge, 6u);	// stride 128
	EXPECT_EQ(cap_.max_inline_data, 96u);
	EXPECT_EQ(cap_.max_recv_sge, 3u);	// stride 64
	EXPECT_EQ(fake_kernel.qp_attr.cap.max_send_wr, 128u);
	ibv_qp_attr attr{};
	ibv_qp_init_attr init_attr{};
	ASSERT_EQ(ohca_query_qp(qp, &attr, 0, &init_attr), 0);
	EXPECT_EQ(attr.cap.max_inline_data, 96u);
	EXPECT_EQ(init_attr.cap.max_send_wr, 128u);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
}

TEST_F(ControlTest, CapsDoNotExceedTheDevice)
{
	ibv_qp *qp = try_qp([](auto &attr) { attr.cap = {1024, 1024, 16, 16, 256}; });
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(cap_.max_send_sge, 16u);
	EXPECT_EQ(cap_.max_recv_sge, 16u);
	EXPECT_EQ(cap_.max_inline_data, 256u);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
}

// What is granted at the limits can really be posted, on every type.
TEST_F(ControlTest, LimitsCanBeUsed)
{
	context_->limits.log_max_sq_depth = 15;
	context_->limits.max_send_sge = 30;
	context_->limits.max_inline = 1024;
	ibv_ah_attr ah_attr{};
	ibv_ah *ah = ohca_create_ah(pd_, &ah_attr);
	std::vector<char> data(1024, 'x');
	std::vector<ibv_sge> list(30, sge(0x1000, 1, 2));
	ibv_sge whole = sge(reinterpret_cast<std::uintptr_t>(data.data()), 1024, 0);
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND}) {
		ibv_qp_init_attr_ex attr = qp_attr(type, cq_);
		attr.cap = {32768, 1, 30, 1, 1024};
		ibv_qp *qp = create_qp(attr);
		ASSERT_NE(qp, nullptr);
		const std::size_t payload = type == IBV_QPT_UD ? 80 : 32;
		ASSERT_LE(payload + 1024, std::size_t{1} << fake_kernel.qp_request.log_sq_stride);
		for (std::uint32_t i = 0; i < 32768; ++i) {
			ibv_send_wr wr = write_wr(i, i % 2 ? &whole : list.data()), *bad;
			wr.opcode = IBV_WR_SEND;
			wr.wr.ud.ah = ah;
			wr.num_sge = i % 2 ? 1 : 30;
			wr.send_flags |= i % 2 ? IBV_SEND_INLINE : 0;
			ASSERT_EQ(ohca_post_send(qp, &wr, &bad), 0);
		}
		const WorkQueue &sq = QueuePair::of(qp).sq;
		EXPECT_EQ(std::memcmp(sq.slot(32767) + payload, data.data(), 1024), 0);
		EXPECT_EQ(std::memcmp(sq.slot(32766) + payload, list.data(), 480), 0);
	}
	EXPECT_EQ(ohca_destroy_ah(ah), 0);
}

TEST_F(ControlTest, QueuePairWithoutAQueue)
{
	ibv_qp *qp = try_qp([](auto &attr) { attr.cap = {0, 4, 0, 1, 0}; });
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(fake_kernel.qp_request.sq_offset, 0u);
	EXPECT_EQ(fake_kernel.qp_request.log_sq_depth, 0);
	EXPECT_EQ(fake_kernel.qp_request.log_sq_stride, 0);
	EXPECT_EQ(cap_.max_send_wr, 0u);
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	ibv_send_wr wr = write_wr(1, nullptr), *bad;
	wr.num_sge = 0;
	EXPECT_EQ(ohca_post_send(qp, &wr, &bad), EINVAL);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
}

TEST_F(ControlTest, QpRefusals)
{
	expect_refused(EOPNOTSUPP, [](auto &attr) { attr.qp_type = IBV_QPT_RAW_PACKET; });
	expect_refused(EOPNOTSUPP, [](auto &attr) { attr.comp_mask |= IBV_QP_INIT_ATTR_IND_TABLE; });
	expect_refused(EOPNOTSUPP, [](auto &attr) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	});
	expect_refused(EINVAL, [](auto &attr) { attr.comp_mask = 0; });
	expect_refused(EINVAL, [](auto &attr) { attr.send_cq = nullptr; });
	expect_refused(EINVAL, [](auto &attr) { attr.cap.max_send_wr = 1025; });
	expect_refused(EINVAL, [](auto &attr) { attr.cap.max_recv_wr = 0xffffffff; });
	expect_refused(EINVAL, [](auto &attr) { attr.cap.max_send_sge = 17; });
	expect_refused(EINVAL, [](auto &attr) { attr.cap.max_recv_sge = 17; });
	expect_refused(EINVAL, [](auto &attr) { attr.cap.max_inline_data = 257; });
	fake_kernel.error = ENOSPC;
	EXPECT_EQ(try_qp([](auto &) {}), nullptr);
}

// OHCA-REG-H4
TEST_F(ControlTest, OperationsOfAbsentFeaturesAreRefused)
{
	context_->limits.device_features = OHCA_FEATURE_RC;
	for (std::uint64_t op : {std::uint64_t{IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP},
				 std::uint64_t{IBV_QP_EX_WITH_SEND_WITH_INV}}) {
		expect_refused(EOPNOTSUPP, [&](auto &attr) {
			attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
			attr.send_ops_flags = op;
		});
	}
}

TEST_F(ControlTest, NumberInUseIsAnErrorOfTheKernelAndNotACrash)
{
	ibv_qp *first = create_qp(cq_, cq_);
	fake_kernel.next_qpn = first->qp_num;
	expect_refused(EINVAL, [](auto &) {});
}

TEST_F(ControlTest, FailedModifyChangesNothing)
{
	ibv_qp *qp = create_qp(cq_, cq_);
	ibv_send_wr wr = write_wr(1, nullptr), *bad;
	wr.num_sge = 0;
	ASSERT_EQ(ohca_post_send(qp, &wr, &bad), 0);
	fake_kernel.error = EINVAL;
	EXPECT_EQ(set_state(qp, IBV_QPS_RESET), EINVAL);
	EXPECT_EQ(QueuePair::of(qp).sq.producer, 1u);
	EXPECT_EQ(ohca_post_send(qp, &wr, &bad), 0);
}

// The kernel is trusted, but one that answers this is another driver's.
TEST(ContextTest, RefusesImplausibleLimitsAndUnmappablePages)
{
	void *memory = std::calloc(1, ohca_context_size());
	auto *verbs = static_cast<verbs_context *>(memory);
	ohca_alloc_ucontext_resp response{};
	EXPECT_NE(ohca_context_init(verbs, -1, &response), 0);
	response.log_max_sq_depth = 31;
	EXPECT_EQ(ohca_context_init(verbs, -1, &response), EINVAL);
	response.log_max_sq_depth = 4;
	response.max_inline = OHCA_SQ_STRIDE_MAX + 1;
	EXPECT_EQ(ohca_context_init(verbs, -1, &response), EINVAL);
	std::free(memory);
}

TEST_F(ControlTest, FirmwareVersion)
{
	ibv_device_attr_ex attr{};
	ASSERT_EQ(ohca_query_device_ex(context(), nullptr, &attr, sizeof(attr)), 0);
	EXPECT_STREQ(attr.orig_attr.fw_ver, "1.2.3");
}

struct Allocator {
	std::vector<std::pair<void *, std::uint64_t>> live;
	bool use_default = false;
	bool fail = false;
	std::size_t shift = 0;

	static void *allocate(ibv_pd *, void *context, std::size_t size, std::size_t alignment, std::uint64_t type)
	{
		auto *self = static_cast<Allocator *>(context);
		if (self->use_default)
			return IBV_ALLOCATOR_USE_DEFAULT;
		if (self->fail)
			return nullptr;
		auto *memory = static_cast<char *>(std::aligned_alloc(alignment, size + alignment));
		std::memset(memory, 0xee, size);
		self->live.emplace_back(memory + self->shift, type);
		return memory + self->shift;
	}

	static void free(ibv_pd *, void *context, void *address, std::uint64_t type)
	{
		auto *self = static_cast<Allocator *>(context);
		EXPECT_EQ(std::erase(self->live, std::pair{address, type}), 1u);
		std::free(static_cast<char *>(address) - self->shift);
	}
};

class DomainTest : public ControlTest {
protected:
	ibv_pd *create_parent(ibv_td *td, Allocator *allocator)
	{
		ibv_parent_domain_init_attr attr{};
		attr.pd = pd_;
		attr.td = td;
		if (allocator) {
			attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
			attr.alloc = Allocator::allocate;
			attr.free = Allocator::free;
			attr.pd_context = allocator;
		}
		return ohca_alloc_parent_domain(context(), &attr);
	}

	ibv_cq_ex *create_cq_in(ibv_pd *parent)
	{
		ibv_cq_init_attr_ex attr{};
		attr.cqe = 4;
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
		attr.parent_domain = parent;
		return ohca_create_cq_ex(context(), &attr);
	}
};

TEST_F(DomainTest, ObjectsOfAThreadDomainTakeNoLock)
{
	ibv_td_init_attr attr{};
	ibv_td *td = ohca_alloc_td(context(), &attr);
	ibv_pd *parent = create_parent(td, nullptr);
	EXPECT_EQ(parent->handle, pd_->handle);
	ibv_qp *qp = try_qp([&](auto &a) { a.pd = parent; });
	ASSERT_NE(qp, nullptr);
	ibv_cq_ex *cq = create_cq_in(parent);
	ASSERT_NE(cq, nullptr);
	for (SpinLock *lock : {&QueuePair::of(qp).sq.lock, &QueuePair::of(qp).rq.lock, &CompletionQueue::of(cq).lock}) {
		lock->lock();
		lock->lock(); // would hang
		lock->unlock();
	}
	EXPECT_EQ(fake_kernel.qp_request.comp_mask, unsigned{OHCA_CREATE_QP_UAR});
	EXPECT_EQ(fake_kernel.qp_request.uar_index, kUarIndex);
	EXPECT_EQ(ohca_dealloc_td(td), EBUSY);
	EXPECT_EQ(ohca_dealloc_pd(parent), EBUSY);
	EXPECT_EQ(ohca_dealloc_pd(pd_), EBUSY);
	EXPECT_EQ(ohca_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	EXPECT_EQ(ohca_dealloc_pd(parent), EBUSY);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
	EXPECT_EQ(ohca_dealloc_pd(parent), 0);
	EXPECT_EQ(ohca_dealloc_td(td), 0);
}

TEST_F(DomainTest, QueuePairRingsInThePageOfItsThreadDomain)
{
	ibv_td_init_attr td_attr{};
	ibv_td *td = ohca_alloc_td(context(), &td_attr);
	ibv_pd *parent = create_parent(td, nullptr);
	ibv_qp *qp = try_qp([&](auto &a) { a.pd = parent; });
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	ibv_send_wr wr = write_wr(1, nullptr), *bad;
	wr.num_sge = 0;
	ASSERT_EQ(ohca_post_send(qp, &wr, &bad), 0);
	EXPECT_EQ(fake_kernel.second_uar.summary, 2u); // slot 70
	EXPECT_EQ(fake_kernel.second_uar.notify[1], 1u << 6);
	EXPECT_EQ(uar().summary, 0u);
	fake_kernel.second_uar.device_state = OHCA_UAR_DEVICE_FAILED;
	EXPECT_EQ(ohca_post_send(qp, &wr, &bad), EIO);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
	EXPECT_EQ(ohca_dealloc_pd(parent), 0);
	EXPECT_EQ(ohca_dealloc_td(td), 0);
}

TEST_F(DomainTest, ThreadDomainWithoutAPageSharesTheContexts)
{
	ibv_td_init_attr td_attr{};
	fake_kernel.error = ENOMEM;
	ibv_td *td = ohca_alloc_td(context(), &td_attr);
	ASSERT_NE(td, nullptr);
	ibv_pd *parent = create_parent(td, nullptr);
	ibv_qp *qp = try_qp([&](auto &a) { a.pd = parent; });
	EXPECT_EQ(fake_kernel.qp_request.comp_mask, 0u);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
	EXPECT_EQ(ohca_dealloc_pd(parent), 0);
	EXPECT_EQ(ohca_dealloc_td(td), 0);
	fake_kernel.error = EIO;
	EXPECT_EQ(ohca_alloc_td(context(), &td_attr), nullptr);
	EXPECT_EQ(errno, EIO);
}

TEST_F(DomainTest, SingleThreadedCqTakesNoLock)
{
	ibv_cq_ex *cq = create_cq_ex(4, 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	SpinLock &lock = CompletionQueue::of(cq).lock;
	lock.lock();
	lock.lock();
}

TEST_F(DomainTest, QueuesLiveInTheApplicationsMemory)
{
	Allocator allocator;
	ibv_pd *parent = create_parent(nullptr, &allocator);
	ibv_cq_ex *cq = create_cq_in(parent);
	ibv_qp *qp = try_qp([&](auto &a) { a.pd = parent; });
	ASSERT_EQ(allocator.live.size(), 2u);
	EXPECT_EQ(reinterpret_cast<std::uintptr_t>(allocator.live[0].first), fake_kernel.cq_request.buffer_address);
	EXPECT_EQ(allocator.live[0].second, static_cast<std::uint64_t>(Resource::kCompletionQueueBuffer));
	EXPECT_EQ(reinterpret_cast<std::uintptr_t>(allocator.live[1].first), fake_kernel.qp_request.buffer_address);
	// It came with rubbish in it.
	EXPECT_EQ(QueuePair::of(qp).record->sq_producer, 0u);
	ibv_wc wc;
	EXPECT_EQ(ohca_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 0);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
	EXPECT_EQ(ohca_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	EXPECT_TRUE(allocator.live.empty());
	EXPECT_EQ(ohca_dealloc_pd(parent), 0);
}

TEST_F(DomainTest, AllocatorMayDeclineOrFail)
{
	Allocator allocator;
	ibv_pd *parent = create_parent(nullptr, &allocator);
	allocator.use_default = true;
	ibv_qp *qp = try_qp([&](auto &a) { a.pd = parent; });
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(ohca_destroy_qp(qp), 0);
	allocator.use_default = false;
	allocator.fail = true;
	expect_refused(ENOMEM, [&](auto &a) { a.pd = parent; });
	allocator.fail = false;
	allocator.shift = 64; // not aligned as asked
	expect_refused(EINVAL, [&](auto &a) { a.pd = parent; });
	EXPECT_TRUE(allocator.live.empty());
	EXPECT_EQ(ohca_dealloc_pd(parent), 0);
}

TEST_F(DomainTest, Refusals)
{
	ibv_td_init_attr td_attr{};
	td_attr.comp_mask = 1;
	EXPECT_EQ(ohca_alloc_td(context(), &td_attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	ibv_parent_domain_init_attr attr{};
	EXPECT_EQ(ohca_alloc_parent_domain(context(), &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	attr.pd = pd_;
	attr.comp_mask = 1u << 30;
	EXPECT_EQ(ohca_alloc_parent_domain(context(), &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	EXPECT_EQ(ohca_alloc_parent_domain(context(), &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
}

} // namespace
} // namespace ohca::test
