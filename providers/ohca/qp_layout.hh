// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What a queue pair of a type can do, and how large its rings are.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>
#include <rdma/ohca-abi.h>

#include "context.hh"

namespace ohca {

// Sizes of the rings, from what the application asked for.
struct QueueLayout {
	std::uint32_t sq_depth = 0; // 0: none
	std::uint32_t rq_depth = 0;
	std::uint32_t sq_stride = 0;
	std::uint32_t rq_stride = 0;
	std::uint32_t sq_offset = 0;
	std::uint32_t rq_offset = 0;
	std::size_t size = 0;
};

// 0, EINVAL, or EOPNOTSUPP for what this kernel or device does not offer.
int check_qp(const Context &context, const ibv_qp_init_attr_ex &attr);

// 1 << ibv_wr_opcode of the operations that a queue pair of the type has.
std::uint32_t opcodes_of(const Context &context, ibv_qp_type type);

QueueLayout plan_qp(const ibv_qp_init_attr_ex &attr);
// What rings that were rounded up really hold.
ibv_qp_cap granted_caps(const QueueLayout &layout, ibv_qp_type type, const ohca_alloc_ucontext_resp &limits);

// Of a receive WQE with so many elements.
std::uint32_t receive_stride(std::uint32_t max_sge);
std::uint32_t receive_elements(std::uint32_t stride);

constexpr std::size_t round_up(std::size_t value, std::size_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

} // namespace ohca
