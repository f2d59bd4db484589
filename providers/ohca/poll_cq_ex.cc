// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_start_poll(), ibv_next_poll(), ibv_end_poll() and the ibv_wc_read_*() calls.
//
// Between start and end the lock is held and the consumer index is not
// published, so the current CQE stays where it is.
#include <cerrno>

#include "clock.hh"
#include "completion.hh"

namespace ohca {
namespace {

inline void set_current(CompletionQueue &cq, const ohca_cqe &cqe, std::uint64_t wr_id)
{
	cq.current = &cqe;
	cq.verbs.cq_ex.wr_id = wr_id;
	cq.verbs.cq_ex.status = wc_status(cqe.status);
}

[[gnu::cold, gnu::noinline]] int next_failed(CompletionQueue &cq)
{
	while (cq.try_flush(cq.flushed)) {
		std::uint64_t wr_id;
		// Somebody else may have flushed the same of a shared receive queue.
		if (retire(cq, cq.flushed, wr_id)) {
			set_current(cq, cq.flushed, wr_id);
			return 0;
		}
	}
	return ENOENT;
}

inline int next(CompletionQueue &cq)
{
	while (const ohca_cqe *cqe = cq.try_entry(cq.consumer)) {
		++cq.consumer;
		std::uint64_t wr_id;
		if (retire(cq, *cqe, wr_id)) [[likely]] {
			set_current(cq, *cqe, wr_id);
			return 0;
		}
	}
	return cq.has_device_failed() ? next_failed(cq) : ENOENT;
}

int start_poll(ibv_cq_ex *ibv_cq, ibv_poll_cq_attr *attr)
{
	if (attr->comp_mask) [[unlikely]]
		return EINVAL;
	CompletionQueue &cq = CompletionQueue::of(ibv_cq);
	cq.lock.lock();
	const Index first = cq.consumer;
	const int error = next(cq);
	if (error) {
		// No end_poll() follows; give back what was passed over.
		if (cq.consumer != first)
			cq.publish_consumer();
		cq.lock.unlock();
	}
	return error;
}

int next_poll(ibv_cq_ex *ibv_cq)
{
	return next(CompletionQueue::of(ibv_cq));
}

void end_poll(ibv_cq_ex *ibv_cq)
{
	CompletionQueue &cq = CompletionQueue::of(ibv_cq);
	cq.publish_consumer();
	cq.lock.unlock();
}

const ohca_cqe &current(ibv_cq_ex *cq)
{
	return *CompletionQueue::of(cq).current;
}

ibv_wc_opcode read_opcode(ibv_cq_ex *cq)
{
	const ohca_cqe &cqe = current(cq);
	return wc_opcode(cqe.opcode, cqe.flags);
}

std::uint32_t read_vendor_err(ibv_cq_ex *cq)
{
	return current(cq).vendor_error;
}

std::uint32_t read_byte_len(ibv_cq_ex *cq)
{
	return current(cq).byte_length;
}

// Also of an invalidated rkey: ibv_wc_read_invalidated_rkey() calls it.
__be32 read_imm_data(ibv_cq_ex *cq)
{
	return current(cq).immediate;
}

std::uint32_t read_qp_num(ibv_cq_ex *cq)
{
	return current(cq).qpn;
}

std::uint32_t read_src_qp(ibv_cq_ex *cq)
{
	return current(cq).src_qp;
}

unsigned int read_wc_flags(ibv_cq_ex *cq)
{
	return wc_flags(current(cq).flags);
}

// RoCE has no LIDs.
std::uint32_t read_slid(ibv_cq_ex *)
{
	return 0;
}

std::uint8_t read_sl(ibv_cq_ex *cq)
{
	return wc_sl(current(cq).network_header);
}

std::uint8_t read_dlid_path_bits(ibv_cq_ex *)
{
	return 0;
}

std::uint64_t read_completion_ts(ibv_cq_ex *cq)
{
	return current(cq).timestamp_ns;
}

std::uint64_t read_completion_wallclock_ns(ibv_cq_ex *ibv_cq)
{
	CompletionQueue &cq = CompletionQueue::of(ibv_cq);
	return to_real_time(ibv_cq->context, cq.clocks, cq.current->timestamp_ns);
}

} // namespace

void set_poll_api(ibv_cq_ex &cq, std::uint64_t wc_flags)
{
	cq.start_poll = start_poll;
	cq.next_poll = next_poll;
	cq.end_poll = end_poll;
	cq.read_opcode = read_opcode;
	cq.read_vendor_err = read_vendor_err;
	cq.read_wc_flags = read_wc_flags;
	// The others only if they were asked for, as the verbs say: an application that
	// forgot to ask finds out here and not on another vendor's hardware.
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq.read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cq.read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq.read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cq.read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cq.read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cq.read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cq.read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq.read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
}

} // namespace ohca
