// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A completion queue.  Everything but creation happens under its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <rdma/ohca_hw_io.h>

#include "buffer.hh"
#include "lock.hh"
#include "number_table.hh"
#include "queue_pair.hh"
#include "ring.hh"
#include "shared_receive_queue.hh"
#include "shim.h"

namespace ohca {

struct CompletionQueue {
	ohca_verbs_cq verbs;

	ohca_cqe *ring;
	std::uint32_t mask;	// depth - 1
	std::uint32_t depth;
	Index consumer;
	ohca_cq_record *record;
	const ohca_uar *uar;	// for device_state
	const NumberTable<QueuePair> *queue_pairs;
	const NumberTable<SharedReceiveQueue> *shared_receive_queues; // XRC ones
	QueuePair *last_qp;	// of the last completion: most come in runs
	std::uint32_t last_qpn;	// 0, which no queue pair has, if there is none
	std::uint32_t arm;	// what record->arm holds; the record is writable by others
	SpinLock lock;

	// ibv_cq_ex: the completion that the read functions report.
	const ohca_cqe *current;
	ohca_cqe flushed;	// stands in for a CQE of a device that failed
	ohca_query_device_resp clocks; // to convert timestamps with

	// Control path, and polling after the device has failed.
	WorkQueue *attached;	// queues that complete here
	Buffer buffer;
	ProtectionDomain *domain; // null without a parent domain

	static CompletionQueue &of(ibv_cq *cq) { return *reinterpret_cast<CompletionQueue *>(cq); }
	static CompletionQueue &of(ibv_cq_ex *cq) { return *reinterpret_cast<CompletionQueue *>(cq); }

	// The CQE of `index`, or null if the device has not written it yet.  The acquire
	// pairs with the device's store release of owner: the rest is read after it.
	ohca_cqe *try_entry(Index index) const
	{
		ohca_cqe *entry = &ring[slot_of(index, mask)];
		const std::uint8_t owner = load_acquire(entry->owner);
		return (owner & OHCA_CQE_PHASE) == phase_of(index, depth) ? entry : nullptr;
	}

	QueuePair *find(std::uint32_t qpn)
	{
		if (qpn == last_qpn)
			return last_qp;
		QueuePair *qp = queue_pairs->find(qpn);
		if (qp) {
			last_qp = qp;
			last_qpn = qpn;
		}
		return qp;
	}

	// Gives the slots up to consumer back to the device, which reads the index
	// (acquire) before it writes a CQE.
	void publish_consumer() { store_release(record->consumer, consumer); }

	bool has_device_failed() const
	{
		return has_failed(*uar);
	}

	// flush.cc
	void attach(WorkQueue &queue);
	void detach(WorkQueue &queue);
	void discard(std::uint32_t qpn, SharedReceiveQueue *srq);
	void discard_srq(std::uint32_t srqn);
	bool try_flush(ohca_cqe &completion);

	// post_srq_recv.cc
	bool retire_shared(const ohca_cqe &cqe, std::uint64_t &wr_id);
};

static_assert(std::is_standard_layout_v<CompletionQueue>);

void set_poll_api(ibv_cq_ex &cq, std::uint64_t wc_flags); // poll_cq_ex.cc

} // namespace ohca
