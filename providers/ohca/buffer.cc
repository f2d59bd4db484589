// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "buffer.hh"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "shim.h"

namespace ohca {

int Buffer::allocate(std::size_t size, BufferCache &cache, ProtectionDomain *domain, Resource resource)
{
	cache_ = &cache;
	const auto page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	size_ = (size + page_size - 1) / page_size * page_size;
	if (domain && domain->allocate) {
		if (int error = allocate_custom(*domain, resource, page_size))
			return error;
	}
	if (!data_) {
		data_ = cache.take(size_);
		if (data_) {
			std::memset(data_, 0, size_);
			return 0;
		}
		if (int error = map())
			return error;
	}
	// Copy on write after a fork() would part the application from the pages the
	// device knows.
	if (ohca_shim_dontfork(data_, size_)) {
		free_memory();
		return ENOMEM;
	}
	return 0;
}

int Buffer::map()
{
	void *address = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (address == MAP_FAILED)
		return ENOMEM;
	data_ = static_cast<std::byte *>(address);
	return 0;
}

// Leaves data_ null if the allocator has no wish of its own.
int Buffer::allocate_custom(ProtectionDomain &domain, Resource resource, std::size_t page_size)
{
	void *address = domain.allocate(&domain.pd, domain.allocator_context, size_, page_size,
					static_cast<std::uint64_t>(resource));
	if (address == IBV_ALLOCATOR_USE_DEFAULT)
		return 0;
	if (!address)
		return ENOMEM;
	data_ = static_cast<std::byte *>(address);
	allocator_ = &domain;
	resource_ = resource;
	if (reinterpret_cast<std::uintptr_t>(address) % page_size) {
		domain.free(&domain.pd, domain.allocator_context, address, static_cast<std::uint64_t>(resource));
		data_ = nullptr;
		allocator_ = nullptr;
		return EINVAL;
	}
	std::memset(address, 0, size_);
	return 0;
}

void Buffer::release()
{
	if (!data_)
		return;
	ohca_shim_dofork(data_, size_);
	free_memory();
}

void Buffer::recycle()
{
	if (data_ && !allocator_ && cache_->keep(data_, size_))
		data_ = nullptr;
	release();
}

void Buffer::swap(Buffer &other)
{
	std::swap(data_, other.data_);
	std::swap(size_, other.size_);
	std::swap(cache_, other.cache_);
	std::swap(allocator_, other.allocator_);
	std::swap(resource_, other.resource_);
}

void Buffer::free_memory()
{
	if (allocator_)
		allocator_->free(&allocator_->pd, allocator_->allocator_context, data_,
				 static_cast<std::uint64_t>(resource_));
	else
		munmap(data_, size_);
	data_ = nullptr;
	allocator_ = nullptr;
}

} // namespace ohca
