// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_post_send().
#include <cerrno>

#include "memory_window.hh"
#include "queue_pair.hh"
#include "wqe.hh"

namespace ohca {
namespace {

// Those of write_operation() are the lowest, but for two behind a gap.
constexpr std::uint32_t kFastOpcodes = IBV_WR_ATOMIC_FETCH_AND_ADD + 1;

// As a number: a C application can store any, a C++ enum may hold only some.
inline std::uint32_t opcode_of(const ibv_send_wr &wr)
{
	std::uint32_t opcode;
	static_assert(sizeof(opcode) == sizeof(wr.opcode));
	std::memcpy(&opcode, &wr.opcode, sizeof(opcode));
	return opcode;
}

std::uint8_t write_rare_operation(std::byte *wqe, const ibv_send_wr &wr, std::uint32_t opcode, std::uint32_t srqn)
{
	switch (opcode) {
	case IBV_WR_SEND_WITH_INV:
		write_operands(wqe, {.invalidate_key = wr.invalidate_rkey, .remote_srqn = srqn});
		return OHCA_WR_SEND_INV;
	case IBV_WR_ATOMIC_WRITE:
		write_operands(wqe, {.remote_address = wr.wr.rdma.remote_addr, .rkey = wr.wr.rdma.rkey, .remote_srqn = srqn});
		return OHCA_WR_ATOMIC_WRITE;
	default:
		return 0;
	}
}

// Writes what the opcode decides on.  0, which is no opcode, for one that is not known here.
template <bool kIsFast>
[[gnu::always_inline]] inline std::uint8_t write_operation(std::byte *wqe, const ibv_send_wr &wr,
							   std::uint32_t opcode, std::uint32_t srqn)
{
	std::byte *atomic = wqe + sizeof(ohca_sq_wqe);
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		write_operands(wqe, {.remote_address = wr.wr.rdma.remote_addr, .rkey = wr.wr.rdma.rkey, .remote_srqn = srqn});
		return OHCA_WR_WRITE;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		write_operands(wqe, {.immediate = wr.imm_data, .remote_address = wr.wr.rdma.remote_addr,
				     .rkey = wr.wr.rdma.rkey, .remote_srqn = srqn});
		return OHCA_WR_WRITE_IMM;
	case IBV_WR_RDMA_READ:
		write_operands(wqe, {.remote_address = wr.wr.rdma.remote_addr, .rkey = wr.wr.rdma.rkey, .remote_srqn = srqn});
		return OHCA_WR_READ;
	case IBV_WR_SEND:
		write_operands(wqe, {.remote_srqn = srqn});
		return OHCA_WR_SEND;
	case IBV_WR_SEND_WITH_IMM:
		write_operands(wqe, {.immediate = wr.imm_data, .remote_srqn = srqn});
		return OHCA_WR_SEND_IMM;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		write_operands(wqe, {.remote_address = wr.wr.atomic.remote_addr, .rkey = wr.wr.atomic.rkey, .remote_srqn = srqn});
		write_compare_swap(atomic, wr.wr.atomic.compare_add, wr.wr.atomic.swap);
		return OHCA_WR_CAS;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		write_operands(wqe, {.remote_address = wr.wr.atomic.remote_addr, .rkey = wr.wr.atomic.rkey, .remote_srqn = srqn});
		write_fetch_add(atomic, wr.wr.atomic.compare_add);
		return OHCA_WR_FADD;
	default:
		// Spares the switch a comparison.
		if constexpr (kIsFast)
			__builtin_unreachable();
		return write_rare_operation(wqe, wr, opcode, srqn);
	}
}

// Out of line: its memcpy() calls would cost the path without them registers.
[[gnu::noinline]] int write_inline(std::byte *wqe, std::byte *payload, std::uint8_t opcode, const ibv_send_wr &wr,
				   std::uint32_t max_inline)
{
	if (!can_be_inline(opcode))
		return EINVAL;
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

// What follows the operation: elements or inline data, from `payload` on.
[[gnu::always_inline]] inline int write_data(const QueuePair &qp, std::byte *wqe, std::byte *payload,
					     std::uint8_t opcode, const ibv_send_wr &wr, std::uint32_t num_sge)
{
	if (wr.send_flags & IBV_SEND_INLINE)
		return write_inline(wqe, payload, opcode, wr, qp.max_inline);
	if (is_atomic(opcode)) {
		if (num_sge != 1) [[unlikely]]
			return EINVAL;
		payload += sizeof(ohca_wqe_atomic);
	}
	write_sge_list(payload, wr.sg_list, num_sge);
	write_control(wqe, opcode, wqe_flags(wr.send_flags), num_sge);
	return 0;
}

int write_datagram_wqe(const QueuePair &qp, std::byte *wqe, const ibv_send_wr &wr, std::uint32_t opcode)
{
	if (!wr.wr.ud.ah)
		return EINVAL;
	write_datagram(wqe, AddressHandle::of(wr.wr.ud.ah), wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
	return write_data(qp, wqe, wqe + kDatagramPayloadOffset, write_operation<false>(wqe, wr, opcode, 0), wr,
			  static_cast<std::uint32_t>(wr.num_sge));
}

// The types other than RC and UC, and opcodes that are rare.
[[gnu::noinline]] int write_special(const QueuePair &qp, std::byte *wqe, const ibv_send_wr &wr, std::uint32_t opcode)
{
	if (!qp.may_post(opcode))
		return EINVAL;
	const ibv_qp_type type = qp.verbs.qp.qp_type;
	if (type == IBV_QPT_UD)
		return write_datagram_wqe(qp, wqe, wr, opcode);
	if (opcode == IBV_WR_LOCAL_INV) {
		write_operands(wqe, {.invalidate_key = wr.invalidate_rkey});
		write_control(wqe, OHCA_WR_LOCAL_INV, wqe_flags(wr.send_flags), 0);
		return 0;
	}
	if (opcode == IBV_WR_BIND_MW) {
		if (!wr.bind_mw.mw || wr.bind_mw.mw->type != IBV_MW_TYPE_2)
			return EINVAL;
		return write_bind(wqe, wqe_flags(wr.send_flags), *wr.bind_mw.mw, wr.bind_mw.rkey,
				  wr.bind_mw.bind_info);
	}
	const std::uint32_t srqn = type == IBV_QPT_XRC_SEND ? wr.qp_type.xrc.remote_srqn : 0;
	const std::uint8_t operation = write_operation<false>(wqe, wr, opcode, srqn);
	return operation ? write_data(qp, wqe, wqe + sizeof(ohca_sq_wqe), operation, wr,
					static_cast<std::uint32_t>(wr.num_sge)) :
			     EINVAL;
}

// 0, or an errno value if the request is not well formed.
inline int write_wqe(const QueuePair &qp, std::byte *wqe, const ibv_send_wr &wr)
{
	const auto num_sge = static_cast<std::uint32_t>(wr.num_sge);
	if (num_sge > qp.sq.max_sge) [[unlikely]]
		return EINVAL;
	const std::uint32_t opcode = opcode_of(wr);
	if (opcode >= qp.fast_opcodes) [[unlikely]]
		return write_special(qp, wqe, wr, opcode);
	return write_data(qp, wqe, wqe + sizeof(ohca_sq_wqe), write_operation<true>(wqe, wr, opcode, 0), wr, num_sge);
}

} // namespace

void set_fast_opcodes(QueuePair &qp, ibv_qp_type type)
{
	qp.fast_opcodes = 0;
	if (type != IBV_QPT_RC && type != IBV_QPT_UC)
		return;
	while (qp.fast_opcodes < kFastOpcodes && qp.may_post(qp.fast_opcodes))
		++qp.fast_opcodes;
}

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
