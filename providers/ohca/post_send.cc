// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_post_send().
#include <cerrno>

#include "queue_pair.hh"
#include "wqe.hh"

namespace ohca {
namespace {

// Copies the payload behind the header.  False if it is longer than max_inline.
inline bool copy_inline(std::byte *at, const ibv_sge *list, std::uint32_t count,
			std::uint32_t max_inline, std::uint32_t &length)
{
	length = 0;
	for (std::uint32_t i = 0; i < count; ++i) {
		if (list[i].length > max_inline - length)
			return false;
		std::memcpy(at + length, reinterpret_cast<const void *>(list[i].addr), list[i].length);
		length += list[i].length;
	}
	return true;
}

inline void set_remote(SendHeader &header, std::uint8_t opcode, std::uint64_t address, std::uint32_t rkey)
{
	header.opcode = opcode;
	header.remote_address = address;
	header.rkey = rkey;
}

// The part of the header that the opcode decides on.  False for an opcode that
// RC queue pairs do not have.
inline bool set_operation(SendHeader &header, std::byte *wqe, const ibv_send_wr &wr)
{
	std::byte *atomic = wqe + sizeof(ohca_sq_wqe);
	// As a number: a C application can store any, a C++ enum may hold only some.
	std::uint32_t opcode;
	static_assert(sizeof(opcode) == sizeof(wr.opcode));
	std::memcpy(&opcode, &wr.opcode, sizeof(opcode));
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		set_remote(header, OHCA_WR_WRITE, wr.wr.rdma.remote_addr, wr.wr.rdma.rkey);
		return true;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		set_remote(header, OHCA_WR_WRITE_IMM, wr.wr.rdma.remote_addr, wr.wr.rdma.rkey);
		header.immediate = wr.imm_data;
		return true;
	case IBV_WR_RDMA_READ:
		set_remote(header, OHCA_WR_READ, wr.wr.rdma.remote_addr, wr.wr.rdma.rkey);
		return true;
	case IBV_WR_SEND:
		header.opcode = OHCA_WR_SEND;
		return true;
	case IBV_WR_SEND_WITH_IMM:
		header.opcode = OHCA_WR_SEND_IMM;
		header.immediate = wr.imm_data;
		return true;
	case IBV_WR_SEND_WITH_INV:
		header.opcode = OHCA_WR_SEND_INV;
		header.invalidate_rkey = wr.invalidate_rkey;
		return true;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		set_remote(header, OHCA_WR_CAS, wr.wr.atomic.remote_addr, wr.wr.atomic.rkey);
		write_compare_swap(atomic, wr.wr.atomic.compare_add, wr.wr.atomic.swap);
		return true;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		set_remote(header, OHCA_WR_FADD, wr.wr.atomic.remote_addr, wr.wr.atomic.rkey);
		write_fetch_add(atomic, wr.wr.atomic.compare_add);
		return true;
	default:
		return false;
	}
}

inline int build(const QueuePair &qp, std::byte *wqe, const ibv_send_wr &wr)
{
	SendHeader header;
	header.flags = wqe_flags(wr.send_flags);
	const auto num_sge = static_cast<std::uint32_t>(wr.num_sge);
	if (!set_operation(header, wqe, wr) || num_sge > qp.sq.max_sge) [[unlikely]]
		return EINVAL;
	std::byte *payload = wqe + payload_offset(header.opcode);
	if (wr.send_flags & IBV_SEND_INLINE) {
		if (!can_be_inline(header.opcode) ||
		    !copy_inline(payload, wr.sg_list, num_sge, qp.max_inline, header.inline_length))
			return EINVAL;
		header.flags |= OHCA_WQE_INLINE;
	} else {
		if (is_atomic(header.opcode) && num_sge != 1) [[unlikely]]
			return EINVAL;
		header.num_sge = static_cast<std::uint8_t>(num_sge);
		write_sge_list(payload, wr.sg_list, num_sge);
	}
	write_send_header(wqe, header);
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
		error = build(qp, sq.slot(next), *wr);
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
