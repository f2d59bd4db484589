// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fixture.hh"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <sys/mman.h>
#include <unistd.h>

namespace ohca::test {

FakeKernel fake_kernel;

namespace {

int take_error()
{
	return std::exchange(fake_kernel.error, 0);
}

} // namespace

void CqWriter::write(const CqeFields &fields)
{
	ohca_cqe &cqe = cq_->ring[slot_of(producer_, cq_->mask)];
	cqe.timestamp_ns = fields.timestamp_ns;
	cqe.qpn = fields.qpn;
	cqe.wqe_index = fields.wqe_index;
	cqe.byte_length = fields.byte_length;
	cqe.immediate = fields.immediate;
	cqe.src_qp = fields.src_qp;
	cqe.status = fields.status;
	cqe.opcode = fields.opcode;
	cqe.flags = fields.flags;
	cqe.vendor_error = fields.vendor_error;
	cqe.srqn = fields.srqn;
	cqe.network_header = fields.network_header;
	store_release(cqe.owner, phase_of(producer_, cq_->depth));
	++producer_;
}

ProviderTest::ProviderTest()
{
	fake_kernel = FakeKernel{};
	memory_ = memfd_create("ohca test", 0);
	EXPECT_EQ(ftruncate(memory_, 2 * OHCA_UAR_SIZE), 0);
	uar_ = mmap(nullptr, OHCA_UAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
	uar().device_state = OHCA_UAR_DEVICE_RUNNING;
	kick_ = mmap(nullptr, kKickPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, OHCA_UAR_SIZE);
	uar().device_state = OHCA_UAR_DEVICE_RUNNING;
	context_ = static_cast<Context *>(std::calloc(1, ohca_context_size()));
	context_->verbs.sz = sizeof(verbs_context);
	context_->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	ohca_alloc_ucontext_resp response{};
	response.uar_mmap_key = 0;
	response.kick_mmap_key = OHCA_UAR_SIZE;
	response.device_features = OHCA_FEATURES_ALL;
	response.max_inline = 256;
	response.log_max_sq_depth = response.log_max_rq_depth = 10;
	response.log_max_cq_depth = 12;
	response.max_send_sge = response.max_recv_sge = response.max_srq_sge = 16;
	response.log_max_srq_depth = 10;
	EXPECT_EQ(ohca_context_init(&context_->verbs, memory_, &response), 0);
	pd_ = ohca_alloc_pd(context());
}

ProviderTest::~ProviderTest()
{
	for (ibv_qp *qp : qps_)
		EXPECT_EQ(ohca_destroy_qp(qp), 0);
	for (ibv_srq *srq : srqs_)
		EXPECT_EQ(ohca_destroy_srq(srq), 0);
	for (ibv_cq *cq : cqs_)
		EXPECT_EQ(ohca_destroy_cq(cq), 0);
	EXPECT_EQ(ohca_dealloc_pd(pd_), 0);
	ohca_context_cleanup(&context_->verbs);
	std::free(context_);
	munmap(uar_, OHCA_UAR_SIZE);
	munmap(kick_, kKickPageSize);
	close(memory_);
	EXPECT_EQ(fake_kernel.hidden_ranges, 0);
	EXPECT_EQ(fake_kernel.pds + fake_kernel.cqs + fake_kernel.qps, 0);
	EXPECT_EQ(fake_kernel.srqs + fake_kernel.ahs + fake_kernel.uars, 0);
}

ibv_cq *ProviderTest::create_cq(int cqe)
{
	ibv_cq *cq = ohca_create_cq(context(), cqe, nullptr, 0);
	if (cq)
		cqs_.push_back(cq);
	return cq;
}

ibv_cq_ex *ProviderTest::create_cq_ex(std::uint32_t cqe, std::uint64_t wc_flags, std::uint32_t flags)
{
	ibv_cq_init_attr_ex attr{};
	attr.cqe = cqe;
	attr.wc_flags = wc_flags;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = flags;
	ibv_cq_ex *cq = ohca_create_cq_ex(context(), &attr);
	if (cq)
		cqs_.push_back(ibv_cq_ex_to_cq(cq));
	return cq;
}

ibv_qp *ProviderTest::create_qp(ibv_cq *send_cq, ibv_cq *recv_cq, ibv_qp_cap cap, bool extended)
{
	ibv_qp_init_attr_ex attr{};
	attr.send_cq = send_cq;
	attr.recv_cq = recv_cq;
	attr.cap = cap;
	attr.qp_type = IBV_QPT_RC;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (extended)
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;
	attr.pd = pd_;
	ibv_qp *qp = ohca_create_qp_ex(context(), &attr);
	if (!qp)
		return nullptr;
	qps_.push_back(qp);
	EXPECT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	return qp;
}

ibv_qp *ProviderTest::create_qp(const ibv_qp_init_attr_ex &attr)
{
	ibv_qp_init_attr_ex copy = attr;
	ibv_qp *qp = ohca_create_qp_ex(context(), &copy);
	if (!qp)
		return nullptr;
	qps_.push_back(qp);
	EXPECT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	return qp;
}

ibv_qp_init_attr_ex ProviderTest::qp_attr(ibv_qp_type type, ibv_cq *cq, std::uint64_t send_ops)
{
	ibv_qp_init_attr_ex attr{};
	attr.send_cq = attr.recv_cq = cq;
	attr.cap = {16, 16, 2, 2, 32};
	attr.qp_type = type;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = send_ops;
	attr.pd = pd_;
	return attr;
}

ibv_srq *ProviderTest::create_srq(std::uint32_t max_wr, std::uint32_t max_sge)
{
	ibv_srq_init_attr attr{};
	attr.attr.max_wr = max_wr;
	attr.attr.max_sge = max_sge;
	ibv_srq *srq = ohca_create_srq(pd_, &attr);
	if (srq)
		srqs_.push_back(srq);
	return srq;
}

int ProviderTest::set_state(ibv_qp *qp, ibv_qp_state state)
{
	ibv_qp_attr attr{};
	attr.qp_state = state;
	return ohca_modify_qp(qp, &attr, IBV_QP_STATE);
}

ibv_sge sge(std::uint64_t address, std::uint32_t length, std::uint32_t lkey)
{
	ibv_sge element{};
	element.addr = address;
	element.length = length;
	element.lkey = lkey;
	return element;
}

ibv_send_wr write_wr(std::uint64_t wr_id, ibv_sge *list)
{
	ibv_send_wr wr{};
	wr.wr_id = wr_id;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.sg_list = list;
	wr.num_sge = 1;
	return wr;
}

} // namespace ohca::test

// shim.c as far as these tests need it.
using ohca::test::fake_kernel;

int ohca_shim_create_pd(ibv_context *context, ibv_pd *pd, ohca_alloc_pd_resp *response)
{
	pd->context = context;
	pd->handle = 0x9d;
	response->pdn = ohca::test::kPdNumber;
	++fake_kernel.pds;
	return 0;
}

int ohca_shim_destroy_pd(ibv_pd *)
{
	--fake_kernel.pds;
	return 0;
}

int ohca_shim_create_cq(ibv_context *context, const ibv_cq_init_attr_ex *attr, ohca_verbs_cq *cq,
			const ohca_create_cq_req *request, ohca_create_cq_resp *)
{
	if (int error = ohca::test::take_error())
		return error;
	fake_kernel.cq_request = *request;
	fake_kernel.cq_attr = *attr;
	cq->cq.context = context;
	++fake_kernel.cqs;
	return 0;
}

int ohca_shim_destroy_cq(ibv_cq *)
{
	--fake_kernel.cqs;
	return 0;
}

int ohca_shim_create_qp(ibv_context *context, ibv_qp_init_attr_ex *attr, ohca_verbs_qp *qp,
			const ohca_create_qp_req *request, ohca_create_qp_resp *response)
{
	if (int error = ohca::test::take_error())
		return error;
	fake_kernel.qp_request = *request;
	fake_kernel.qp_attr = *attr;
	qp->qp.context = context;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_num = fake_kernel.next_qpn++;
	response->qpn = qp->qp.qp_num;
	response->uar_slot = fake_kernel.uar_slot;
	++fake_kernel.qps;
	return 0;
}

int ohca_shim_modify_qp(ibv_qp *, ibv_qp_attr *, int)
{
	return ohca::test::take_error();
}

int ohca_shim_query_qp(ibv_qp *, ibv_qp_attr *, int, ibv_qp_init_attr *)
{
	return ohca::test::take_error();
}

int ohca_shim_destroy_qp(ibv_qp *)
{
	if (int error = ohca::test::take_error())
		return error;
	--fake_kernel.qps;
	return 0;
}

void ohca_shim_enable_qp_ex(ohca_verbs_qp *qp)
{
	qp->opaque[0] = 1;
}

int ohca_shim_query_device(ibv_context *, const ibv_query_device_ex_input *, ibv_device_attr_ex *, size_t,
			   uint64_t *firmware_version, ohca_query_device_resp *clocks)
{
	if (int error = ohca::test::take_error())
		return error;
	++fake_kernel.device_queries;
	*firmware_version = std::uint64_t{1} << 32 | 2 << 16 | 3;
	*clocks = fake_kernel.clocks;
	return 0;
}

int ohca_shim_resize_cq(ibv_cq *, int, const ohca_create_cq_req *request)
{
	if (int error = ohca::test::take_error())
		return error;
	fake_kernel.resize_cq_request = *request;
	if (fake_kernel.on_resize)
		fake_kernel.on_resize(request->buffer_address);
	return 0;
}

int ohca_shim_create_srq(ibv_context *context, ibv_srq_init_attr_ex *attr, ohca_verbs_srq *srq,
			 const ohca_create_srq_req *request, ohca_create_srq_resp *response)
{
	if (int error = ohca::test::take_error())
		return error;
	fake_kernel.srq_request = *request;
	fake_kernel.srq_attr = *attr;
	srq->srq.context = context;
	response->srqn = fake_kernel.next_srqn++;
	++fake_kernel.srqs;
	return 0;
}

int ohca_shim_modify_srq(ibv_srq *, ibv_srq_attr *attr, int mask, const ohca_create_srq_req *request)
{
	if (int error = ohca::test::take_error())
		return error;
	fake_kernel.srq_attr.attr = *attr;
	fake_kernel.srq_mask = mask;
	if (request) {
		fake_kernel.srq_request = *request;
		if (fake_kernel.on_resize)
			fake_kernel.on_resize(request->buffer_address);
	}
	return 0;
}

int ohca_shim_destroy_srq(ibv_srq *)
{
	if (int error = ohca::test::take_error())
		return error;
	--fake_kernel.srqs;
	return 0;
}

int ohca_shim_create_ah(ibv_pd *pd, ibv_ah *ah, ibv_ah_attr *, ohca_create_ah_resp *response)
{
	if (int error = ohca::test::take_error())
		return error;
	ah->context = pd->context;
	ah->pd = pd;
	*response = fake_kernel.ah_response;
	++fake_kernel.ahs;
	return 0;
}

int ohca_shim_destroy_ah(ibv_ah *)
{
	if (int error = ohca::test::take_error())
		return error;
	--fake_kernel.ahs;
	return 0;
}

int ohca_shim_create_uar(ibv_context *, std::uint32_t *handle, std::uint32_t *index, void **page)
{
	if (int error = ohca::test::take_error())
		return error;
	*handle = 0x77;
	*index = ohca::test::kUarIndex;
	*page = &fake_kernel.second_uar;
	fake_kernel.second_uar.device_state = OHCA_UAR_DEVICE_RUNNING;
	++fake_kernel.uars;
	return 0;
}

int ohca_shim_destroy_uar(ibv_context *, std::uint32_t, void *)
{
	--fake_kernel.uars;
	return 0;
}

int ohca_shim_open_qp(ibv_context *context, ibv_qp_open_attr *attr, ohca_verbs_qp *qp)
{
	if (int error = ohca::test::take_error())
		return error;
	qp->qp.context = context;
	qp->qp.qp_num = attr->qp_num;
	++fake_kernel.qps;
	return 0;
}

int ohca_shim_create_async_queue(ibv_context *, std::uint32_t, int *fd)
{
	int ends[2];
	if (int error = ohca::test::take_error())
		return error;
	if (pipe(ends) != 0)
		return errno;
	*fd = ends[0];
	fake_kernel.completions = ends[1];
	return 0;
}

int ohca_shim_submit_async(ibv_context *, int, const std::uint32_t *, const ohca_async_operation *operations,
			   std::uint32_t count)
{
	if (int error = ohca::test::take_error())
		return error;
	fake_kernel.async_operations.insert(fake_kernel.async_operations.end(), operations, operations + count);
	return 0;
}

int ohca_shim_create_qps_async(const ibv_qp_init_attr_ex *attr, int, const ohca_async_create_qp *creations,
			       std::uint32_t count)
{
	if (fake_kernel.async_creation_error)
		return fake_kernel.async_creation_error;
	fake_kernel.qp_attr = *attr;
	fake_kernel.async_creations.insert(fake_kernel.async_creations.end(), creations, creations + count);
	return 0;
}

bool ohca_shim_is_ohca(const ibv_device *)
{
	return fake_kernel.is_ohca;
}

int ohca_shim_dontfork(void *, size_t)
{
	if (int error = ohca::test::take_error())
		return error;
	++fake_kernel.hidden_ranges;
	return 0;
}

int ohca_shim_dofork(void *, size_t)
{
	--fake_kernel.hidden_ranges;
	return 0;
}
