// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Protection domains, thread domains and parent domains.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>
#include <rdma/ohca_hw_io.h>

namespace ohca {

struct ThreadDomain {
	ibv_td td;
	std::uint32_t users; // parent domains
	std::uint32_t uar_handle;
	std::uint32_t uar_index;
	ohca_uar *uar;	// of its own; null: it shares the context's

	static ThreadDomain *of(ibv_td *td) { return reinterpret_cast<ThreadDomain *>(td); }
};

// What ibv_parent_domain_init_attr.alloc/free are told they allocate.
enum class Resource : std::uint64_t {
	kQueuePairBuffer = 1,
	kCompletionQueueBuffer = 2,
	kSharedReceiveQueueBuffer = 3,
};

// Both an ibv_pd of ibv_alloc_pd() and one of ibv_alloc_parent_domain().
struct ProtectionDomain {
	ibv_pd pd;
	std::uint32_t number; // the device's; 0: not known
	std::uint32_t users; // objects that only this library knows to depend on it
	ProtectionDomain *contained; // of a parent domain; else null
	ThreadDomain *thread_domain; // may be null
	void *(*allocate)(ibv_pd *, void *context, std::size_t size, std::size_t alignment, std::uint64_t type);
	void (*free)(ibv_pd *, void *context, void *address, std::uint64_t type);
	void *allocator_context;

	static ProtectionDomain *of(ibv_pd *pd) { return reinterpret_cast<ProtectionDomain *>(pd); }

	bool has_number() const { return number != 0; }
	bool is_single_threaded() const { return thread_domain != nullptr; }
	void acquire() { __atomic_fetch_add(&users, 1, __ATOMIC_RELAXED); }
	void release() { __atomic_fetch_sub(&users, 1, __ATOMIC_RELEASE); }
	bool is_used() const { return __atomic_load_n(&users, __ATOMIC_ACQUIRE) != 0; }
};

} // namespace ohca
