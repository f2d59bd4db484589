// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ibv_poll_cq() and ibv_req_notify_cq().
#include <cstddef>
#include <cstring>

#include "completion.hh"

namespace ohca {
namespace {

[[gnu::always_inline]] inline void describe(const ohca_cqe &cqe, std::uint64_t wr_id, ibv_wc &wc)
{
	const std::uint8_t flags = cqe.flags;
	wc.wr_id = wr_id;
	wc.status = wc_status(cqe.status);
	wc.opcode = wc_opcode(cqe.opcode, flags);
	wc.vendor_err = cqe.vendor_error;
	wc.byte_len = cqe.byte_length;
	wc.imm_data = cqe.immediate; // or invalidated_rkey: a union in both structures
	wc.qp_num = cqe.qpn;
	wc.src_qp = cqe.src_qp;
	wc.wc_flags = wc_flags(flags);
	wc.pkey_index = 0;
	wc.slid = 0;
	// sl, and 0 to dlid_path_bits behind it: one store.
	static_assert(offsetof(ibv_wc, dlid_path_bits) == offsetof(ibv_wc, sl) + 1);
	const std::uint16_t sl = wc_sl(cqe.network_header);
	std::memcpy(&wc.sl, &sl, sizeof(sl));
}

// From cq.consumer on, whatever the CQEs are of.  Out of line, and reached when the loop of
// ohca_poll_cq() has ended: the call of retire_shared() would cost that loop registers.
[[gnu::noinline]] int poll_any(CompletionQueue &cq, int done, int count, ibv_wc *wc)
{
	while (done < count) {
		const ohca_cqe *cqe = cq.try_entry(cq.consumer);
		if (!cqe)
			break;
		++cq.consumer;
		std::uint64_t wr_id;
		if (retire(cq, *cqe, wr_id))
			describe(*cqe, wr_id, wc[done++]);
	}
	cq.publish_consumer();
	return done;
}

[[gnu::cold, gnu::noinline]] int poll_failed(CompletionQueue &cq, int count, ibv_wc *wc)
{
	int done = 0;
	for (ohca_cqe flushed; done < count && cq.try_flush(flushed);) {
		std::uint64_t wr_id;
		if (retire(cq, flushed, wr_id))
			describe(flushed, wr_id, wc[done++]);
	}
	return done;
}

} // namespace
} // namespace ohca

using namespace ohca;

int ohca_poll_cq(ibv_cq *ibv_cq, int count, ibv_wc *wc)
{
	CompletionQueue &cq = CompletionQueue::of(ibv_cq);
	LockGuard guard(cq.lock);
	const Index first = cq.consumer;
	Index next = first;
	int done = 0;
	while (done < count) {
		const ohca_cqe *cqe = cq.try_entry(next);
		if (!cqe)
			break;
		std::uint64_t wr_id;
		if (!retire_own(cq, *cqe, wr_id)) [[unlikely]] {
			cq.consumer = next;
			return poll_any(cq, done, count, wc);
		}
		++next;
		describe(*cqe, wr_id, wc[done++]);
	}
	if (next != first) {
		cq.consumer = next;
		cq.publish_consumer();
	} else if (cq.has_device_failed()) [[unlikely]] {
		done = poll_failed(cq, count, wc);
	}
	return done;
}

int ohca_req_notify_cq(ibv_cq *ibv_cq, int solicited_only)
{
	CompletionQueue &cq = CompletionQueue::of(ibv_cq);
	LockGuard guard(cq.lock);
	std::uint32_t type = solicited_only ? OHCA_CQ_ARM_SOLICITED : OHCA_CQ_ARM_NEXT;
	// A request for any completion is not weakened by a later one for solicited
	// completions only.  Should the device fire right now, the new value costs one
	// event too many; to leave the old one would cost one too few.
	const bool is_pending = cq.arm != load_acquire(cq.record->fired);
	if (is_pending && (cq.arm & OHCA_CQ_ARM_TYPE_MASK) == OHCA_CQ_ARM_NEXT)
		type = OHCA_CQ_ARM_NEXT;
	cq.arm = (((cq.arm >> OHCA_CQ_ARM_SEQUENCE_SHIFT) + 1) << OHCA_CQ_ARM_SEQUENCE_SHIFT) | type;
	store_release(cq.record->arm, cq.arm);
	// Pairs with the device's fence between writing a CQE and reading arm: either
	// the device sees this value or the poll that follows sees the CQE.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}
