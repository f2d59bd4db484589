// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "buffer_cache.hh"

#include <sys/mman.h>
#include <unistd.h>

#include "lock.hh"
#include "shim.h"

namespace ohca {

BufferCache::BufferCache() : owner_(getpid())
{
	pthread_mutex_init(&mutex_, nullptr);
}

BufferCache::~BufferCache()
{
	// A child may have something else there by now.
	while (count_ && getpid() == owner_) {
		const Entry &entry = entries_[--count_];
		ohca_shim_dofork(entry.data, entry.size);
		munmap(entry.data, entry.size);
	}
	pthread_mutex_destroy(&mutex_);
}

bool BufferCache::is_usable(std::size_t size) const
{
	return size <= kMaxSize && getpid() == owner_;
}

std::byte *BufferCache::take(std::size_t size)
{
	if (!is_usable(size))
		return nullptr;
	const MutexGuard guard(mutex_);
	for (std::size_t i = count_; i-- > 0;) {
		if (entries_[i].size != size)
			continue;
		std::byte *data = entries_[i].data;
		entries_[i] = entries_[--count_];
		return data;
	}
	return nullptr;
}

bool BufferCache::keep(std::byte *data, std::size_t size)
{
	if (!is_usable(size))
		return false;
	const MutexGuard guard(mutex_);
	if (count_ == kMaxEntries)
		return false;
	entries_[count_++] = {data, size};
	return true;
}

} // namespace ohca
