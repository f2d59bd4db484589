// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// An open device: limits, the UAR page, and the numbers of its queue pairs.
#pragma once

#include <cstdint>
#include <pthread.h>
#include <type_traits>

#include <rdma/ohca_hw_io.h>

#include "buffer_cache.hh"
#include "number_table.hh"
#include "shim.h"

namespace ohca {

struct QueuePair;
struct SharedReceiveQueue;

// calloc'ed by libibverbs, which finds verbs_context at its start.
struct Context {
	verbs_context verbs;

	ohca_uar *uar;
	std::uint32_t *kick;
	ohca_alloc_ucontext_resp limits;
	NumberTable<QueuePair> queue_pairs;
	NumberTable<SharedReceiveQueue> shared_receive_queues; // XRC ones
	pthread_mutex_t mutex; // changes of the two
	BufferCache buffers;

	static Context &of(ibv_context *context)
	{
		return *reinterpret_cast<Context *>(verbs_get_ctx(context));
	}

	bool has_feature(std::uint64_t feature) const { return limits.device_features & feature; }
};

static_assert(std::is_standard_layout_v<Context>);

constexpr std::size_t kKickPageSize = 4096;

} // namespace ohca
