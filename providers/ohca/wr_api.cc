// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_wr_*(): builders write the header, setters the payload, ibv_wr_complete()
// publishes the batch with one doorbell.
//
// A builder that finds no slot notes the error and builds into the scratch
// stride, so that setters need not ask.
#include <cerrno>

#include "memory_window.hh"
#include "queue_pair.hh"
#include "wqe.hh"

namespace ohca {
namespace {

inline void fail(Batch &batch, int error)
{
	if (!batch.error)
		batch.error = error;
}

inline std::byte *take_slot(QueuePair &qp)
{
	Batch &batch = qp.batch;
	WorkQueue &sq = qp.sq;
	if (sq.is_full(batch.cursor)) [[unlikely]] {
		fail(batch, sq.refusal);
		return batch.scratch;
	}
	sq.wr_ids[slot_of(batch.cursor, sq.mask)] = qp.verbs.qp_ex.wr_id;
	return sq.slot(batch.cursor++);
}

inline void begin(ibv_qp_ex *ibv_qp, std::uint8_t opcode, const Operands &operands)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	std::byte *wqe = take_slot(qp);
	qp.batch.wqe = wqe;
	qp.batch.payload = wqe + payload_offset(opcode);
	write_control(wqe, opcode, wqe_flags(ibv_qp->wr_flags), 0);
	write_operands(wqe, operands);
}

// The datagram that ibv_wr_set_ud_addr() writes comes between header and payload.
inline void begin_datagram(ibv_qp_ex *ibv_qp, std::uint8_t opcode, const Operands &operands)
{
	begin(ibv_qp, opcode, operands);
	Batch &batch = QueuePair::of(ibv_qp).batch;
	batch.payload = batch.wqe + kDatagramPayloadOffset;
}

inline std::byte *operation_of(ibv_qp_ex *ibv_qp)
{
	return QueuePair::of(ibv_qp).batch.wqe + sizeof(ohca_sq_wqe);
}

void wr_send(ibv_qp_ex *qp)
{
	begin(qp, OHCA_WR_SEND, {});
}

void wr_send_imm(ibv_qp_ex *qp, __be32 immediate)
{
	begin(qp, OHCA_WR_SEND_IMM, {.immediate = immediate});
}

void wr_send_inv(ibv_qp_ex *qp, std::uint32_t invalidate_rkey)
{
	begin(qp, OHCA_WR_SEND_INV, {.invalidate_key = invalidate_rkey});
}

void wr_rdma_write(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address)
{
	begin(qp, OHCA_WR_WRITE, {.remote_address = address, .rkey = rkey});
}

void wr_rdma_write_imm(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate)
{
	begin(qp, OHCA_WR_WRITE_IMM, {.immediate = immediate, .remote_address = address, .rkey = rkey});
}

void wr_rdma_read(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address)
{
	begin(qp, OHCA_WR_READ, {.remote_address = address, .rkey = rkey});
}

void wr_atomic_cmp_swp(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
		       std::uint64_t swap)
{
	begin(qp, OHCA_WR_CAS, {.remote_address = address, .rkey = rkey});
	write_compare_swap(operation_of(qp), compare, swap);
}

void wr_atomic_fetch_add(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t addend)
{
	begin(qp, OHCA_WR_FADD, {.remote_address = address, .rkey = rkey});
	write_fetch_add(operation_of(qp), addend);
}

void wr_atomic_write(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address, const void *value)
{
	begin(qp, OHCA_WR_ATOMIC_WRITE, {.remote_address = address, .rkey = rkey});
	Batch &batch = QueuePair::of(qp).batch;
	set_inline(batch.wqe, kAtomicWriteSize);
	std::memcpy(batch.payload, value, kAtomicWriteSize);
}

void wr_flush(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address, std::size_t length, std::uint8_t placement,
	      std::uint8_t selectivity)
{
	static_assert(IBV_FLUSH_GLOBAL == OHCA_FLUSH_GLOBAL && IBV_FLUSH_PERSISTENT == OHCA_FLUSH_PERSISTENT);
	static_assert(IBV_FLUSH_RANGE == OHCA_FLUSH_RANGE && IBV_FLUSH_MR == OHCA_FLUSH_REGION);
	begin(qp, OHCA_WR_FLUSH, {.remote_address = address, .rkey = rkey});
	if (selectivity == IBV_FLUSH_MR)
		length = 0;
	if (length > UINT32_MAX) [[unlikely]]
		return fail(QueuePair::of(qp).batch, EINVAL);
	write_flush(operation_of(qp), static_cast<std::uint32_t>(length), placement, selectivity);
}

void wr_local_inv(ibv_qp_ex *qp, std::uint32_t key)
{
	begin(qp, OHCA_WR_LOCAL_INV, {.invalidate_key = key});
}

void wr_bind_mw(ibv_qp_ex *qp, ibv_mw *window, std::uint32_t key, const ibv_mw_bind_info *info)
{
	begin(qp, OHCA_WR_BIND_MW, {});
	Batch &batch = QueuePair::of(qp).batch;
	const int error = window->type == IBV_MW_TYPE_2 ?
				  write_bind(batch.wqe, wqe_flags(qp->wr_flags), *window, key, *info) :
				  EINVAL;
	if (error) [[unlikely]]
		fail(batch, error);
}

void wr_send_datagram(ibv_qp_ex *qp)
{
	begin_datagram(qp, OHCA_WR_SEND, {});
}

void wr_send_imm_datagram(ibv_qp_ex *qp, __be32 immediate)
{
	begin_datagram(qp, OHCA_WR_SEND_IMM, {.immediate = immediate});
}

void wr_set_ud_addr(ibv_qp_ex *qp, ibv_ah *ah, std::uint32_t remote_qpn, std::uint32_t remote_qkey)
{
	write_datagram(QueuePair::of(qp).batch.wqe, AddressHandle::of(ah), remote_qpn, remote_qkey);
}

void wr_set_xrc_srqn(ibv_qp_ex *qp, std::uint32_t remote_srqn)
{
	set_remote_srqn(QueuePair::of(qp).batch.wqe, remote_srqn);
}

void wr_set_sge(ibv_qp_ex *ibv_qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length)
{
	const Batch &batch = QueuePair::of(ibv_qp).batch;
	set_num_sge(batch.wqe, 1);
	write_sge(batch.payload, address, length, lkey);
}

std::uint8_t current_opcode(const Batch &batch)
{
	return static_cast<std::uint8_t>(batch.wqe[offsetof(ohca_sq_wqe, opcode)]);
}

void wr_set_sge_list(ibv_qp_ex *ibv_qp, std::size_t count, const ibv_sge *list)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	Batch &batch = qp.batch;
	if (count > qp.sq.max_sge || (is_atomic(current_opcode(batch)) && count != 1)) [[unlikely]]
		return fail(batch, EINVAL);
	set_num_sge(batch.wqe, static_cast<std::uint8_t>(count));
	write_sge_list(batch.payload, list, static_cast<std::uint32_t>(count));
}

void wr_set_inline_data(ibv_qp_ex *ibv_qp, void *data, std::size_t length)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	Batch &batch = qp.batch;
	if (length > qp.max_inline || !can_be_inline(current_opcode(batch))) [[unlikely]]
		return fail(batch, EINVAL);
	set_inline(batch.wqe, static_cast<std::uint32_t>(length));
	std::memcpy(batch.payload, data, length);
}

void wr_set_inline_data_list(ibv_qp_ex *ibv_qp, std::size_t count, const ibv_data_buf *list)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	Batch &batch = qp.batch;
	if (!can_be_inline(current_opcode(batch))) [[unlikely]]
		return fail(batch, EINVAL);
	std::uint32_t length = 0;
	for (std::size_t i = 0; i < count; ++i) {
		if (list[i].length > qp.max_inline - length) [[unlikely]]
			return fail(batch, EINVAL);
		std::memcpy(batch.payload + length, list[i].addr, list[i].length);
		length += static_cast<std::uint32_t>(list[i].length);
	}
	set_inline(batch.wqe, length);
}

void wr_start(ibv_qp_ex *ibv_qp)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	qp.sq.lock.lock();
	qp.batch.cursor = qp.sq.producer;
	qp.batch.error = qp.doorbell.has_device_failed() ? EIO : 0;
	// A setter without a builder before it does no harm.
	qp.batch.wqe = qp.batch.payload = qp.batch.scratch;
}

int wr_complete(ibv_qp_ex *ibv_qp)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	WorkQueue &sq = qp.sq;
	const Index next = qp.batch.cursor;
	const int error = qp.batch.error;
	if (!error && next != sq.producer) [[likely]] {
		store_release(sq.producer, next);
		qp.doorbell.ring(qp.record->sq_producer, next);
	}
	sq.lock.unlock();
	return error;
}

void wr_abort(ibv_qp_ex *ibv_qp)
{
	QueuePair::of(ibv_qp).sq.lock.unlock();
}

} // namespace

namespace {

// Those that are not for the type stay null: see check_send_ops().
void set_builders(ibv_qp_ex &qp, ibv_qp_type type)
{
	if (type == IBV_QPT_UD) {
		qp.wr_send = wr_send_datagram;
		qp.wr_send_imm = wr_send_imm_datagram;
		qp.wr_set_ud_addr = wr_set_ud_addr;
		return;
	}
	qp.wr_send = wr_send;
	qp.wr_send_imm = wr_send_imm;
	qp.wr_rdma_write = wr_rdma_write;
	qp.wr_rdma_write_imm = wr_rdma_write_imm;
	qp.wr_bind_mw = wr_bind_mw;
	qp.wr_local_inv = wr_local_inv;
	if (type == IBV_QPT_UC)
		return;
	qp.wr_send_inv = wr_send_inv;
	qp.wr_rdma_read = wr_rdma_read;
	qp.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp.wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp.wr_atomic_write = wr_atomic_write;
	qp.wr_flush = wr_flush;
	if (type == IBV_QPT_XRC_SEND)
		qp.wr_set_xrc_srqn = wr_set_xrc_srqn;
}

} // namespace

void set_wr_api(ibv_qp_ex &qp, ibv_qp_type type)
{
	set_builders(qp, type);
	qp.wr_set_sge = wr_set_sge;
	qp.wr_set_sge_list = wr_set_sge_list;
	qp.wr_set_inline_data = wr_set_inline_data;
	qp.wr_set_inline_data_list = wr_set_inline_data_list;
	qp.wr_start = wr_start;
	qp.wr_complete = wr_complete;
	qp.wr_abort = wr_abort;
}

} // namespace ohca
