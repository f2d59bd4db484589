// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The only file that stores to a UAR page or to the kick page.
//
// ring() is the host's half of the protocol in rdma/ohca_hw_io.h.  Partners in
// the device (device/core/doorbell/):
//   producer, store release      its load acquire, before it reads WQEs
//   notify/summary OR, seq_cst   its exchange of summary and notify by 0: of
//                                producer and exchange it misses at most one
//   need_wakeup, load seq_cst    its store of need_wakeup, fence, scan once more:
//                                either it sees our bit or we see need_wakeup
#pragma once

#include <cstdint>

#include <rdma/ohca_hw_io.h>
#include <rdma/ohca_hw_regs.h>

#include "ring.hh"

namespace ohca {

// A revoked mapping reads as zeroes: anything but RUNNING is the end.
inline bool has_failed(const ohca_uar &uar)
{
	return load_relaxed(uar.device_state) != OHCA_UAR_DEVICE_RUNNING;
}

class Doorbell {
public:
	Doorbell() = default;
	Doorbell(ohca_uar *uar, std::uint32_t *kick, std::uint32_t slot)
		: uar_(uar), kick_(kick), notify_(&uar->notify[slot / 64 % OHCA_UAR_NOTIFY_WORDS]),
		  bit_(slot % 64), summary_bit_(slot / 64 % OHCA_UAR_NOTIFY_WORDS)
	{
	}

	void ring(__le32 &record, Index producer) const
	{
		store_release(record, producer);
		// The summary is set even if the notify bit was set already: QEMU with one
		// emulated processor does not make read-modify-writes atomic towards the
		// device.  The first OR can put back a bit that the device has just taken, and
		// without its summary nobody would look at it again.
		__atomic_fetch_or(notify_, std::uint64_t{1} << bit_, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(&uar_->summary, std::uint64_t{1} << summary_bit_, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&uar_->need_wakeup, __ATOMIC_SEQ_CST)) [[unlikely]]
			kick();
	}

	bool has_device_failed() const
	{
		return has_failed(*uar_);
	}

private:
	// Traps: microseconds.  Any value does, and several threads may write it at once.
	[[gnu::cold, gnu::noinline]] void kick() const
	{
		volatile std::uint32_t *const kick = kick_ + OHCA_KICK_OFF / sizeof(*kick_);
		__atomic_store_n(kick, 1, __ATOMIC_RELAXED);
	}

	ohca_uar *uar_ = nullptr;
	std::uint32_t *kick_ = nullptr;
	__le64 *notify_ = nullptr;
	std::uint32_t bit_ = 0;
	std::uint32_t summary_bit_ = 0;
};

} // namespace ohca
