// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/shared_memory.hh"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>

namespace ohca {

namespace {

[[noreturn]] void fail(const char *what, const char *name)
{
	throw std::system_error(errno, std::generic_category(), std::string(what) + " for " + name);
}

} // namespace

SharedMemory::SharedMemory(const char *name, size_t size) : size_(size)
{
	fd_.reset(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (!fd_)
		fail("memfd_create", name);
	if (ftruncate(fd_.get(), static_cast<off_t>(size)) != 0)
		fail("ftruncate", name);
	if (fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		fail("sealing", name);
	void *base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
	if (base == MAP_FAILED)
		fail("mmap", name);
	base_ = static_cast<std::byte *>(base);
}

SharedMemory::SharedMemory(SharedMemory &&other) noexcept
	: fd_(std::move(other.fd_)), base_(std::exchange(other.base_, nullptr)),
	  size_(std::exchange(other.size_, 0))
{
}

SharedMemory &SharedMemory::operator=(SharedMemory &&other) noexcept
{
	std::swap(fd_, other.fd_);
	std::swap(base_, other.base_);
	std::swap(size_, other.size_);
	return *this;
}

SharedMemory::~SharedMemory()
{
	if (base_)
		munmap(base_, size_);
}

size_t SharedMemory::resident_bytes() const
{
	constexpr size_t kStatBlockSize = 512; // stat(2), whatever the file system's is
	struct stat status;
	return fstat(fd_.get(), &status) == 0 ? static_cast<size_t>(status.st_blocks) * kStatBlockSize : 0;
}

void SharedMemory::clear()
{
	const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	if (fallocate(fd_.get(), mode, 0, static_cast<off_t>(size_)) != 0)
		memset(base_, 0, size_);
}

} // namespace ohca
