// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/endpoint.hh"

#include "failure.hh"

#include <algorithm>
#include <cerrno>

namespace verbs_test {

namespace {

constexpr std::uint32_t kInlineChoices[] = {0, 0, 28, 60, 64, 220, 400};
constexpr std::uint64_t kSendOperations =
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
	IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

}  // namespace

Endpoint::Endpoint(const Device &device, ibv_pd *pd, CompletionQueue &send_cq, CompletionQueue &receive_cq,
		   Random &random)
	: device_(device), send_cq_(send_cq), receive_cq_(receive_cq), signal_all_(random.chance(15))
{
	create(pd, random.chance(70), random);
	send_cq_.attach(qp_->qp_num, this);
	receive_cq_.attach(qp_->qp_num, this);
}

void Endpoint::create(ibv_pd *pd, bool with_wr_api, Random &random)
{
	ibv_qp_init_attr_ex attributes{};
	const unsigned sge_max =
		std::min(static_cast<unsigned>(device_.attributes().max_sge), kSgeMax);
	attributes.send_cq = send_cq_.cq();
	attributes.recv_cq = receive_cq_.cq();
	attributes.qp_type = IBV_QPT_RC;
	attributes.sq_sig_all = signal_all_ ? 1 : 0;
	attributes.cap.max_send_wr = random.between(2U, 64U);
	attributes.cap.max_recv_wr = random.between(1U, 64U);
	attributes.cap.max_send_sge = random.between(1U, sge_max);
	attributes.cap.max_recv_sge = random.between(1U, sge_max);
	attributes.cap.max_inline_data = kInlineChoices[random.below(std::size(kInlineChoices))];
	attributes.pd = pd;
	attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (with_wr_api) {
		attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attributes.send_ops_flags = kSendOperations;
	}
	qp_ = must(ibv_create_qp_ex(device_.context(), &attributes), "ibv_create_qp_ex");
	extended_ = with_wr_api ? must(ibv_qp_to_qp_ex(qp_), "ibv_qp_to_qp_ex") : nullptr;
	capabilities_ = attributes.cap;
	// What was granted is what is used: more elements than a plan can hold are left alone.
	capabilities_.max_send_sge = std::min(capabilities_.max_send_sge, kSgeMax);
	capabilities_.max_recv_sge = std::min(capabilities_.max_recv_sge, kSgeMax);
	capabilities_.max_send_wr = std::min(capabilities_.max_send_wr, 64U);
	capabilities_.max_recv_wr = std::min(capabilities_.max_recv_wr, 64U);
	capabilities_.max_inline_data = std::min(capabilities_.max_inline_data, 512U);
}

Endpoint::~Endpoint()
{
	must_succeed(ibv_destroy_qp(qp_), "ibv_destroy_qp");
}

void Endpoint::connect_to(const Endpoint &peer, const ConnectionOptions &options)
{
	connect(qp_, device_, {peer.device_.gid(), peer.qp_->qp_num}, options);
}

void Endpoint::reset()
{
	must_succeed(to_state(qp_, IBV_QPS_RESET), "ibv_modify_qp to RESET");
}

}  // namespace verbs_test
