// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory of a queue: pinned by the driver, read and written by the device.
#pragma once

#include <cstddef>

#include "buffer_cache.hh"
#include "domain.hh"

namespace ohca {

class Buffer {
public:
	Buffer() = default;
	Buffer(const Buffer &) = delete;
	Buffer &operator=(const Buffer &) = delete;
	~Buffer() { release(); }

	// Zeroed and page aligned, rounded up to whole pages.  From the domain's own
	// allocator if it has one (`domain` may be null); `cache` outlives the buffer.
	// Returns 0 or an errno value.
	int allocate(std::size_t size, BufferCache &cache, ProtectionDomain *domain, Resource resource);
	void release();
	// Likewise; it may become that of another queue.  Only once the kernel has said that its object is destroyed:
	// a device that has not answered may still write to it.
	void recycle();
	void swap(Buffer &other);

	std::byte *data() const { return data_; }
	std::size_t size() const { return size_; }

private:
	void free_memory();
	int allocate_custom(ProtectionDomain &domain, Resource resource, std::size_t page_size);
	int map();

	std::byte *data_ = nullptr;
	std::size_t size_ = 0;
	BufferCache *cache_ = nullptr;
	ProtectionDomain *allocator_ = nullptr; // null: mmap
	Resource resource_{};
};

} // namespace ohca
