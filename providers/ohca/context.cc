// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "context.hh"

#include <cerrno>
#include <cstdio>
#include <new>
#include <sys/mman.h>

using ohca::Context;

namespace {

void *map_page(int cmd_fd, std::size_t size, int protection, std::uint64_t key)
{
	void *address = mmap(nullptr, size, protection, MAP_SHARED, cmd_fd, static_cast<off_t>(key));
	return address == MAP_FAILED ? nullptr : address;
}

// A provider computes with these; a kernel that sends others is not one of ours.
bool are_plausible(const ohca_alloc_ucontext_resp &limits)
{
	return limits.log_max_sq_depth < 31 && limits.log_max_rq_depth < 31 && limits.log_max_cq_depth < 31 &&
	       limits.log_max_srq_depth < 31 && limits.max_inline <= OHCA_SQ_STRIDE_MAX;
}

} // namespace

size_t ohca_context_size()
{
	return sizeof(Context);
}

int ohca_context_init(verbs_context *verbs, int cmd_fd, const ohca_alloc_ucontext_resp *response)
{
	auto &context = *reinterpret_cast<Context *>(verbs);
	if (!are_plausible(*response))
		return EINVAL;
	context.limits = *response;
	context.uar = static_cast<ohca_uar *>(
		map_page(cmd_fd, OHCA_UAR_SIZE, PROT_READ | PROT_WRITE, response->uar_mmap_key));
	if (!context.uar)
		return errno;
	context.kick = static_cast<std::uint32_t *>(
		map_page(cmd_fd, ohca::kKickPageSize, PROT_WRITE, response->kick_mmap_key));
	if (!context.kick) {
		const int error = errno;
		munmap(context.uar, OHCA_UAR_SIZE);
		return error;
	}
	pthread_mutex_init(&context.mutex, nullptr);
	new (&context.buffers) ohca::BufferCache;
	return 0;
}

void ohca_context_cleanup(verbs_context *verbs)
{
	auto &context = *reinterpret_cast<Context *>(verbs);
	context.buffers.~BufferCache();
	pthread_mutex_destroy(&context.mutex);
	context.queue_pairs.~NumberTable();
	context.shared_receive_queues.~NumberTable();
	munmap(context.kick, ohca::kKickPageSize);
	munmap(context.uar, OHCA_UAR_SIZE);
}

int ohca_query_device_ex(ibv_context *context, const ibv_query_device_ex_input *input,
			 ibv_device_attr_ex *attr, size_t attr_size)
{
	std::uint64_t version = 0;
	ohca_query_device_resp clocks;
	if (int error = ohca_shim_query_device(context, input, attr, attr_size, &version, &clocks))
		return error;
	// major << 32 | minor << 16 | patch
	std::snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u",
		      static_cast<unsigned int>(version >> 32),
		      static_cast<unsigned int>(version >> 16 & 0xffff),
		      static_cast<unsigned int>(version & 0xffff));
	return 0;
}
