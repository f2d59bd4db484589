// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "qp_layout.hh"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <rdma/ohca_hw_io.h>
#include <rdma/ohca_hw_regs.h>

namespace ohca {
namespace {

constexpr std::uint32_t bit(ibv_wr_opcode opcode)
{
	return std::uint32_t{1} << opcode;
}

struct SendOp {
	std::uint64_t flag; // of send_ops_flags
	ibv_wr_opcode opcode;
};

constexpr SendOp kSendOps[] = {
	{IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE},
	{IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM},
	{IBV_QP_EX_WITH_SEND, IBV_WR_SEND},
	{IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM},
	{IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ},
	{IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP},
	{IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD},
	{IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV},
	{IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW},
	{IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV},
	{IBV_QP_EX_WITH_FLUSH, IBV_WR_FLUSH},
	{IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE},
};

int check_send_ops(const Context &context, const ibv_qp_init_attr_ex &attr)
{
	const std::uint32_t opcodes = opcodes_of(context, attr.qp_type);
	std::uint64_t unsupported = attr.send_ops_flags;
	for (const SendOp &op : kSendOps) {
		if (opcodes & bit(op.opcode))
			unsupported &= ~op.flag;
	}
	return unsupported ? EOPNOTSUPP : 0;
}

// What the application asks for, without the receive queue of one that has none.
ibv_qp_cap wanted_caps(const ibv_qp_init_attr_ex &attr)
{
	if (attr.qp_type == IBV_QPT_XRC_RECV)
		return {};
	ibv_qp_cap cap = attr.cap;
	if (attr.srq || attr.qp_type == IBV_QPT_XRC_SEND)
		cap.max_recv_wr = cap.max_recv_sge = 0;
	return cap;
}

int check_caps(const ohca_alloc_ucontext_resp &limits, const ibv_qp_cap &cap)
{
	const bool fits = cap.max_send_wr <= 1u << limits.log_max_sq_depth &&
			  cap.max_recv_wr <= 1u << limits.log_max_rq_depth &&
			  cap.max_send_sge <= limits.max_send_sge && cap.max_recv_sge <= limits.max_recv_sge &&
			  cap.max_inline_data <= limits.max_inline;
	return fits ? 0 : EINVAL;
}

// 0: no such queue pairs.
std::uint64_t feature_of(ibv_qp_type type)
{
	switch (static_cast<int>(type)) {
	case IBV_QPT_RC:
		return OHCA_FEATURE_RC;
	case IBV_QPT_UC:
		return OHCA_FEATURE_UC;
	case IBV_QPT_UD:
		return OHCA_FEATURE_UD;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return OHCA_FEATURE_XRC;
	default:
		return 0;
	}
}

int check_flags(const ibv_qp_init_attr_ex &attr)
{
	if (!(attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) || !attr.create_flags)
		return 0;
	const bool is_known = attr.create_flags == IBV_QP_CREATE_BLOCK_SELF_MCAST_LB && attr.qp_type == IBV_QPT_UD;
	return is_known ? 0 : EOPNOTSUPP;
}

// The objects that a type needs.
int check_parts(const ibv_qp_init_attr_ex &attr)
{
	if (attr.qp_type == IBV_QPT_XRC_RECV)
		return attr.comp_mask & IBV_QP_INIT_ATTR_XRCD && attr.xrcd ? 0 : EINVAL;
	if (!(attr.comp_mask & IBV_QP_INIT_ATTR_PD) || !attr.pd || !attr.send_cq)
		return EINVAL;
	if (attr.qp_type == IBV_QPT_XRC_SEND)
		return attr.srq ? EINVAL : 0;
	return attr.recv_cq ? 0 : EINVAL;
}

// Before the payload of a send WQE.
std::uint32_t send_header(ibv_qp_type type)
{
	const std::size_t datagram = type == IBV_QPT_UD ? sizeof(ohca_wqe_datagram) : 0;
	return static_cast<std::uint32_t>(sizeof(ohca_sq_wqe) + datagram);
}

std::uint32_t send_stride(ibv_qp_type type, const ibv_qp_cap &cap)
{
	// Every WQE has room for the operations that the application need not announce.
	constexpr std::size_t kOperation = std::max({sizeof(ohca_wqe_atomic) + sizeof(ohca_sge), sizeof(ohca_wqe_bind),
						     sizeof(ohca_wqe_flush)});
	const std::size_t operation = type == IBV_QPT_UD ? 0 : kOperation;
	const std::size_t payload = std::max({cap.max_send_sge * sizeof(ohca_sge), std::size_t{cap.max_inline_data}, operation});
	return std::max<std::uint32_t>(std::bit_ceil(send_header(type) + static_cast<std::uint32_t>(payload)),
				       OHCA_SQ_STRIDE_MIN);
}

} // namespace

std::uint32_t opcodes_of(const Context &context, ibv_qp_type type)
{
	// One of the features is enough.
	const auto if_has = [&](std::uint64_t features, std::uint32_t opcodes) {
		return context.has_feature(features) ? opcodes : 0;
	};
	if (type == IBV_QPT_XRC_RECV)
		return 0;
	std::uint32_t opcodes = bit(IBV_WR_SEND) | bit(IBV_WR_SEND_WITH_IMM);
	if (type == IBV_QPT_UD)
		return opcodes;
	opcodes |= bit(IBV_WR_RDMA_WRITE) | bit(IBV_WR_RDMA_WRITE_WITH_IMM);
	opcodes |= if_has(OHCA_FEATURE_FAST_REG | OHCA_FEATURE_WINDOW, bit(IBV_WR_LOCAL_INV));
	opcodes |= if_has(OHCA_FEATURE_WINDOW, bit(IBV_WR_BIND_MW));
	if (type == IBV_QPT_UC)
		return opcodes;
	opcodes |= if_has(OHCA_FEATURE_SEND_INV, bit(IBV_WR_SEND_WITH_INV));
	opcodes |= bit(IBV_WR_RDMA_READ);
	opcodes |= if_has(OHCA_FEATURE_ATOMIC, bit(IBV_WR_ATOMIC_CMP_AND_SWP) | bit(IBV_WR_ATOMIC_FETCH_AND_ADD));
	opcodes |= if_has(OHCA_FEATURE_ATOMIC_WRITE, bit(IBV_WR_ATOMIC_WRITE));
	opcodes |= if_has(OHCA_FEATURE_FLUSH, bit(IBV_WR_FLUSH));
	return opcodes;
}

int check_qp(const Context &context, const ibv_qp_init_attr_ex &attr)
{
	constexpr std::uint32_t kCompMask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
					    IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	const std::uint64_t feature = feature_of(attr.qp_type);
	if (!feature || !context.has_feature(feature) || attr.comp_mask & ~kCompMask)
		return EOPNOTSUPP;
	if (attr.srq && !context.has_feature(OHCA_FEATURE_SRQ))
		return EOPNOTSUPP;
	if (int error = check_flags(attr))
		return error;
	if (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		if (int error = check_send_ops(context, attr))
			return error;
	}
	if (int error = check_parts(attr))
		return error;
	return check_caps(context.limits, wanted_caps(attr));
}

std::uint32_t receive_stride(std::uint32_t max_sge)
{
	const auto length = static_cast<std::uint32_t>(sizeof(ohca_rq_wqe) + max_sge * sizeof(ohca_sge));
	return std::max<std::uint32_t>(std::bit_ceil(length), OHCA_RQ_STRIDE_MIN);
}

std::uint32_t receive_elements(std::uint32_t stride)
{
	return static_cast<std::uint32_t>((stride - sizeof(ohca_rq_wqe)) / sizeof(ohca_sge));
}

QueueLayout plan_qp(const ibv_qp_init_attr_ex &attr)
{
	QueueLayout layout;
	if (attr.qp_type == IBV_QPT_XRC_RECV)
		return layout;
	const ibv_qp_cap cap = wanted_caps(attr);
	std::size_t end = OHCA_RECORD_SIZE;
	if (cap.max_send_wr) {
		layout.sq_depth = std::bit_ceil(cap.max_send_wr);
		layout.sq_stride = send_stride(attr.qp_type, cap);
		end = round_up(end, layout.sq_stride);
		layout.sq_offset = static_cast<std::uint32_t>(end);
		end += std::size_t{layout.sq_depth} * layout.sq_stride;
	}
	if (cap.max_recv_wr) {
		layout.rq_depth = std::bit_ceil(cap.max_recv_wr);
		layout.rq_stride = receive_stride(cap.max_recv_sge);
		end = round_up(end, layout.rq_stride);
		layout.rq_offset = static_cast<std::uint32_t>(end);
		end += std::size_t{layout.rq_depth} * layout.rq_stride;
	}
	layout.size = end;
	return layout;
}

ibv_qp_cap granted_caps(const QueueLayout &layout, ibv_qp_type type, const ohca_alloc_ucontext_resp &limits)
{
	ibv_qp_cap cap{};
	if (layout.sq_depth) {
		const std::uint32_t payload = layout.sq_stride - send_header(type);
		cap.max_send_wr = layout.sq_depth;
		cap.max_send_sge = std::min<std::uint32_t>(limits.max_send_sge,
							   payload / static_cast<std::uint32_t>(sizeof(ohca_sge)));
		cap.max_inline_data = std::min<std::uint32_t>(limits.max_inline, payload);
	}
	if (layout.rq_depth) {
		cap.max_recv_wr = layout.rq_depth;
		cap.max_recv_sge = std::min<std::uint32_t>(limits.max_recv_sge, receive_elements(layout.rq_stride));
	}
	return cap;
}

} // namespace ohca
