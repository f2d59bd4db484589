// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory of queues that are gone, for those that come: to map pages, to hide them from children, to have each
// zeroed at its first use and to unmap them takes a third of what a connection costs an application.
#pragma once

#include <array>
#include <cstddef>
#include <pthread.h>
#include <sys/types.h>

namespace ohca {

// Of one open device.  Any thread.  What is in it is hidden from children, and does
// nothing in them: they do not have its pages.
class BufferCache {
public:
	BufferCache();
	BufferCache(const BufferCache &) = delete;
	BufferCache &operator=(const BufferCache &) = delete;
	~BufferCache();

	// Of whole pages, as they were left; null if there is none of this size.
	std::byte *take(std::size_t size);
	// False: it stays the caller's.
	bool keep(std::byte *data, std::size_t size);

private:
	struct Entry {
		std::byte *data;
		std::size_t size;
	};
	// 4 MiB at most
	static constexpr std::size_t kMaxEntries = 64;
	static constexpr std::size_t kMaxSize = 65536;

	bool is_usable(std::size_t size) const;

	pthread_mutex_t mutex_;
	pid_t owner_;
	std::size_t count_ = 0;
	std::array<Entry, kMaxEntries> entries_;
};

} // namespace ohca
