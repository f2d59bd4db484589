// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Binding memory windows: ibv_bind_mw() for those of type 1, and what ibv_post_send()
// and ibv_wr_bind_mw() share for those of type 2.  That window, region and queue pair
// fit each other is for the device to check.
#include "memory_window.hh"

#include <cerrno>

#include <rdma/ohca_hw_cmd.h>

#include "queue_pair.hh"
#include "wqe.hh"

namespace ohca {
namespace {

constexpr std::uint32_t kConsumerKeyMask = 0xff;
// What a window can allow.  IBV_ACCESS_LOCAL_WRITE, which other providers take too, says
// nothing here: there is no local access through a window.
constexpr unsigned int kAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT;
static_assert(IBV_ACCESS_REMOTE_WRITE == OHCA_ACCESS_REMOTE_WRITE && IBV_ACCESS_REMOTE_READ == OHCA_ACCESS_REMOTE_READ &&
	      IBV_ACCESS_REMOTE_ATOMIC == OHCA_ACCESS_REMOTE_ATOMIC && IBV_ACCESS_ZERO_BASED == OHCA_ACCESS_ZERO_BASED &&
	      IBV_ACCESS_FLUSH_GLOBAL == OHCA_ACCESS_FLUSH_GLOBAL &&
	      IBV_ACCESS_FLUSH_PERSISTENT == OHCA_ACCESS_FLUSH_PERSISTENT);

} // namespace

int write_bind(std::byte *wqe, std::uint8_t flags, const ibv_mw &window, std::uint32_t key,
	       const ibv_mw_bind_info &info)
{
	if (info.mw_access_flags & ~(kAccess | IBV_ACCESS_LOCAL_WRITE) || (info.length && !info.mr))
		return EINVAL;
	ohca_wqe_bind bind{};
	bind.address = info.addr;
	bind.length = info.length;
	bind.lkey = info.mr ? info.mr->lkey : 0;
	bind.access = info.mw_access_flags & kAccess;
	write_operands(wqe, {.rkey = (window.rkey & ~kConsumerKeyMask) | (key & kConsumerKeyMask)});
	store_at(wqe + sizeof(ohca_sq_wqe), bind);
	write_control(wqe, OHCA_WR_BIND_MW, flags, 0);
	return 0;
}

} // namespace ohca

using namespace ohca;

int ohca_bind_mw(ibv_qp *ibv_qp, ibv_mw *window, ibv_mw_bind *bind)
{
	QueuePair &qp = QueuePair::of(ibv_qp);
	WorkQueue &sq = qp.sq;
	// Only windows of type 2 can be zero based.
	if (window->type != IBV_MW_TYPE_1 || !qp.may_post(IBV_WR_BIND_MW) ||
	    bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;
	LockGuard guard(sq.lock);
	if (qp.doorbell.has_device_failed())
		return EIO;
	const Index index = sq.producer;
	if (sq.is_full(index))
		return sq.refusal;
	const std::uint32_t key = ibv_inc_rkey(window->rkey);
	if (int error = write_bind(sq.slot(index), wqe_flags(bind->send_flags), *window, key, bind->bind_info))
		return error;
	sq.wr_ids[slot_of(index, sq.mask)] = bind->wr_id;
	store_release(sq.producer, index + 1);
	qp.doorbell.ring(qp.record->sq_producer, index + 1);
	window->rkey = key;
	return 0;
}
