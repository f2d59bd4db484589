// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_post_send().
#include <cerrno>

#include "queue_pair.hh"
#include "wqe.hh"

namespace ohca {
namespace {

constexpr std::uint8_t kBadOpcode = 0;

// Writes what the opcode decides on.  kBadOpcode if RC queue pairs do not have it.
inline std::uint8_t write_operation(std::byte *wqe, const ibv_send_wr &wr)
{
	std::byte *atomic = wqe + sizeof(ohca_sq_wqe);
	// As a number: a C application can store any, a C++ enum may hold only some.
	std::uint32_t opcode;
	static_assert(sizeof(opcode) == sizeof(wr.opcode));
	std::memcpy(&opcode, &wr.opcode, sizeof(opcode));
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		write_operands(wqe, {.remote_address = wr.wr.rdma.remote_addr, .rkey = wr.wr.rdma.rkey});
		return OHCA_WR_WRITE;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		write_operands(wqe, {.immediate = wr.imm_data, .remote_address = wr.wr.rdma.remote_addr,
				     .rkey = wr.wr.rdma.rkey});
		return OHCA_WR_WRITE_IMM;
	case IBV_WR_RDMA_READ:
		write_operands(wqe, {.remote_address = wr.wr.rdma.remote_addr, .rkey = wr.wr.rdma.rkey});
		return OHCA_WR_READ;
	case IBV_WR_SEND:
		write_operands(wqe, {});
		return OHCA_WR_SEND;
	case IBV_WR_SEND_WITH_IMM:
		write_operands(wqe, {.immediate = wr.imm_data});
		return OHCA_WR_SEND_IMM;
	case IBV_WR_SEND_WITH_INV:
		write_operands(wqe, {.invalidate_key = wr.invalidate_rkey});
		return OHCA_WR_SEND_INV;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		write_operands(wqe, {.remote_address = wr.wr.atomic.remote_addr, .rkey = wr.wr.atomic.rkey});
		write_compare_swap(atomic, wr.wr.atomic.compare_add, wr.wr.atomic.swap);
		return OHCA_WR_CAS;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		write_operands(wqe, {.remote_address = wr.wr.atomic.remote_addr, .rkey = wr.wr.atomic.rkey});
		write_fetch_add(atomic, wr.wr.atomic.compare_add);
		return OHCA_WR_FADD;
	default:
		return kBadOpcode;
	}
}

// Out of line: its memcpy() calls would cost the path without them registers.
[[gnu::noinline]] int write_inline(std::byte *wqe, std::uint8_t opcode, const ibv_send_wr &wr,
				   std::uint32_t max_inline)
{
	if (!can_be_inline(opcode))
		return EINVAL;
	std::byte *payload = wqe + sizeof(ohca_sq_wqe);
	std::uint32_t length = 0;
	for (int i = 0; i < wr.num_sge; ++i) {
		const ibv_sge &element = wr.sg_list[i];
		if (element.length > max_inline - length)
			return EINVAL;
		std::memcpy(payload + length, reinterpret_cast<const void *>(element.addr), element.length);
		length += element.length;
	}
	write_control(wqe, opcode, wqe_flags(wr.send_flags) | OHCA_WQE_INLINE, 0, length);
	return 0;
}

// 0, or an errno value if the request is not well formed.
inline int write_wqe(const QueuePair &qp, std::byte *wqe, const ibv_send_wr &wr)
{
	const auto num_sge = static_cast<std::uint32_t>(wr.num_sge);
	if (num_sge > qp.sq.max_sge) [[unlikely]]
		return EINVAL;
	const std::uint8_t opcode = write_operation(wqe, wr);
	if (opcode == kBadOpcode) [[unlikely]]
		return EINVAL;
	if (wr.send_flags & IBV_SEND_INLINE)
		return write_inline(wqe, opcode, wr, qp.max_inline);
	std::byte *payload = wqe + sizeof(ohca_sq_wqe);
	if (is_atomic(opcode)) {
		if (num_sge != 1) [[unlikely]]
			return EINVAL;
		payload += sizeof(ohca_wqe_atomic);
	}
	write_sge_list(payload, wr.sg_list, num_sge);
	write_control(wqe, opcode, wqe_flags(wr.send_flags), num_sge);
	return 0;
}

} // namespace
} // namespace ohca

using namespace ohca;

int ohca_post_send(ibv_qp *ibv_qp, ibv_send_wr *wr, ibv_send_wr **bad_wr)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	WorkQueue &sq = qp.sq;
	LockGuard guard(sq.lock);
	const Index first = sq.producer;
	Index next = first;
	int error = qp.doorbell.has_device_failed() ? EIO : 0;
	for (; wr && !error; wr = wr->next) {
		if (sq.is_full(next)) [[unlikely]] {
			error = sq.refusal;
			break;
		}
		error = write_wqe(qp, sq.slot(next), *wr);
		if (error) [[unlikely]]
			break;
		sq.wr_ids[slot_of(next, sq.mask)] = wr->wr_id;
		++next;
	}
	if (next != first) {
		store_release(sq.producer, next);
		qp.doorbell.ring(qp.record->sq_producer, next);
	}
	if (error) [[unlikely]]
		*bad_wr = wr;
	return error;
}
