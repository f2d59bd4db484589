// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/endpoint.hh"

#include "failure.hh"

#include <algorithm>
#include <cerrno>

namespace verbs_test {

namespace {

constexpr std::uint32_t kInlineChoices[] = {0, 0, 28, 60, 64, 220, 400};

// Those of IBV_QP_EX_WITH_* that stand for the opcodes which rounds of such a flow have.
std::uint64_t send_operations(const PairKind &kind, bool is_ohca)
{
	std::uint64_t operations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (kind.service == Service::kUd)
		return operations;
	operations |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (kind.service != Service::kUc)
		operations |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	if (!is_ohca)
		return operations;
	if (kind.service != Service::kUc)
		operations |= IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE;
	if (kind.service != Service::kXrc)
		operations |= IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	if (kind.service == Service::kRc)
		operations |= IBV_QP_EX_WITH_SEND_WITH_INV;
	return operations;
}

ibv_qp_type requester_type(Service service)
{
	switch (service) {
	case Service::kUc:
		return IBV_QPT_UC;
	case Service::kUd:
		return IBV_QPT_UD;
	case Service::kXrc:
		return IBV_QPT_XRC_SEND;
	default:
		return IBV_QPT_RC;
	}
}

}  // namespace

Endpoint::Endpoint(const PairKind &kind, const EndpointParts &parts, bool with_wr_api, Random &random)
	: kind_(kind), parts_(parts), signal_all_(random.chance(15))
{
	create(with_wr_api, random);
	if (kind_.service == Service::kXrc)
		create_target();
	parts_.send_cq.attach(qp_->qp_num, this);
	parts_.receive_cq.attach(receive_qp()->qp_num, this);
}

void Endpoint::create(bool with_wr_api, Random &random)
{
	ibv_qp_init_attr_ex attributes{};
	const unsigned sge_max = std::min(static_cast<unsigned>(device().attributes().max_sge), kSgeMax);
	attributes.send_cq = parts_.send_cq.cq();
	attributes.qp_type = requester_type(kind_.service);
	attributes.sq_sig_all = signal_all_ ? 1 : 0;
	attributes.cap.max_send_wr = random.between(2U, 64U);
	attributes.cap.max_send_sge = random.between(1U, sge_max);
	attributes.cap.max_inline_data = kInlineChoices[random.below(std::size(kInlineChoices))];
	if (kind_.service != Service::kXrc)
		attributes.recv_cq = parts_.receive_cq.cq();
	if (!kind_.shared_receives) {
		attributes.cap.max_recv_wr = random.between(1U, 64U);
		attributes.cap.max_recv_sge = random.between(1U, sge_max);
	} else if (kind_.service != Service::kXrc) {
		attributes.srq = parts_.receives->srq();
	}
	attributes.pd = parts_.pd;
	attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (with_wr_api) {
		attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attributes.send_ops_flags = send_operations(kind_, device().is_ohca());
	}
	qp_ = must(ibv_create_qp_ex(device().context(), &attributes), "ibv_create_qp_ex");
	extended_ = with_wr_api ? must(ibv_qp_to_qp_ex(qp_), "ibv_qp_to_qp_ex") : nullptr;
	capabilities_ = attributes.cap;
	// What was granted is what is used: more elements than a plan can hold are left alone.
	capabilities_.max_send_sge = std::min(capabilities_.max_send_sge, kSgeMax);
	capabilities_.max_recv_sge = std::min(capabilities_.max_recv_sge, kSgeMax);
	capabilities_.max_send_wr = std::min(capabilities_.max_send_wr, 64U);
	// Of a shared queue as much as its owner's peer can send in a round.
	capabilities_.max_recv_wr = kind_.shared_receives ? 64U : std::min(capabilities_.max_recv_wr, 64U);
	capabilities_.max_inline_data = std::min(capabilities_.max_inline_data, 512U);
}

void Endpoint::create_target()
{
	ibv_qp_init_attr_ex attributes{};
	attributes.qp_type = IBV_QPT_XRC_RECV;
	attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attributes.xrcd = parts_.xrcd;
	target_ = must(ibv_create_qp_ex(device().context(), &attributes), "ibv_create_qp_ex of an XRC target");
}

Endpoint::~Endpoint()
{
	must_succeed(ibv_destroy_qp(qp_), "ibv_destroy_qp");
	if (target_ != nullptr)
		must_succeed(ibv_destroy_qp(target_), "ibv_destroy_qp of an XRC target");
}

void Endpoint::connect_to(const Endpoint &peer, const ConnectionOptions &options, Random &random)
{
	remote_qpn_ = peer.receive_qp()->qp_num;
	qkey_ = options.qkey;
	connect(qp_, device(), {peer.device().gid(), remote_qpn_}, options);
	if (target_ != nullptr) {
		remote_srqn_ = peer.shared_receives()->number();
		connect(target_, device(), {peer.device().gid(), peer.qp()->qp_num}, options);
	}
	if (kind_.service == Service::kUd && addresses_ == nullptr)
		addresses_ = std::make_unique<AddressBook>(parts_.pd, device(), peer.device(), random);
}

void Endpoint::reset()
{
	must_succeed(to_state(qp_, IBV_QPS_RESET), "ibv_modify_qp to RESET");
	if (target_ != nullptr)
		must_succeed(to_state(target_, IBV_QPS_RESET), "ibv_modify_qp of an XRC target to RESET");
}

}  // namespace verbs_test
