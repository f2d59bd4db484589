// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "write_pair.hh"

#include "connection.hh"
#include "deadline.hh"
#include "failure.hh"

namespace bench {

using verbs_test::must;
using verbs_test::must_succeed;

Resources::Resources(const verbs_test::Device &from)
	: device(from), pd(must(ibv_alloc_pd(from.context()), "ibv_alloc_pd")),
	  cq(must(ibv_create_cq(from.context(), 4 * kWindow, nullptr, nullptr, 0), "ibv_create_cq")),
	  mr(must(ibv_reg_mr(pd, &source, 2 * sizeof(source), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		  "ibv_reg_mr"))
{
}

Resources::~Resources()
{
	must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr");
	must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
	must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
}

namespace {

ibv_qp *create_qp(Resources &resources)
{
	ibv_qp_init_attr attributes{};
	attributes.send_cq = resources.cq;
	attributes.recv_cq = resources.cq;
	attributes.qp_type = IBV_QPT_RC;
	attributes.cap.max_send_wr = kWindow;
	attributes.cap.max_recv_wr = 1;
	attributes.cap.max_send_sge = 1;
	attributes.cap.max_recv_sge = 1;
	return must(ibv_create_qp(resources.pd, &attributes), "ibv_create_qp");
}

}  // namespace

WritePair::WritePair(Resources &resources)
	: resources_(resources), from_(create_qp(resources)), to_(create_qp(resources))
{
	const verbs_test::ConnectionOptions options;
	verbs_test::connect(from_, resources.device, {resources.device.gid(), to_->qp_num}, options);
	verbs_test::connect(to_, resources.device, {resources.device.gid(), from_->qp_num}, options);
	element_ = {reinterpret_cast<std::uintptr_t>(&resources.source), sizeof(resources.source), resources.mr->lkey};
	request_.sg_list = &element_;
	request_.num_sge = 1;
	request_.opcode = IBV_WR_RDMA_WRITE;
	request_.send_flags = IBV_SEND_SIGNALED;
	request_.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(&resources.target);
	request_.wr.rdma.rkey = resources.mr->rkey;
}

WritePair::~WritePair()
{
	must_succeed(ibv_destroy_qp(from_), "ibv_destroy_qp");
	must_succeed(ibv_destroy_qp(to_), "ibv_destroy_qp");
}

void WritePair::post()
{
	ibv_send_wr *bad;
	const int error = ibv_post_send(from_, &request_, &bad);
	if (error != 0)
		verbs_test::fail_errno("ibv_post_send", error);
}

void take_completions(ibv_cq *cq, std::uint32_t count, int batch)
{
	ibv_wc completions[kWindow];
	const verbs_test::Deadline deadline(30);
	for (std::uint32_t empty = 0; count > 0;) {
		const int taken = ibv_poll_cq(cq, batch, completions);
		if (taken < 0)
			verbs_test::fail("ibv_poll_cq: %d", taken);
		for (int i = 0; i < taken; ++i) {
			if (completions[i].status != IBV_WC_SUCCESS)
				verbs_test::fail("completion: %s", ibv_wc_status_str(completions[i].status));
		}
		count -= static_cast<std::uint32_t>(taken);
		// The clock is looked at rarely, it costs more than a poll.
		if (taken == 0 && ++empty % 65536 == 0 && deadline.passed())
			verbs_test::fail("waited 30 s for %u completions", count);
	}
}

}  // namespace bench
