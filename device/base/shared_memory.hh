// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory with a file descriptor: shared with QEMU, with the engine, and kept
// when the engine is gone.
#pragma once

#include <cstddef>
#include <span>

#include "base/unique_fd.hh"

namespace ohca {

class SharedMemory {
public:
	SharedMemory() = default;
	// Sparse and zero; sealed against any change of its size, so that a process that is
	// given the descriptor cannot make our accesses fault. Throws std::system_error.
	SharedMemory(const char *name, size_t size);
	SharedMemory(SharedMemory &&other) noexcept;
	SharedMemory &operator=(SharedMemory &&other) noexcept;
	~SharedMemory();

	int fd() const { return fd_.get(); }
	std::span<std::byte> bytes() const { return {base_, size_}; }
	// What of it the kernel has given pages to.
	size_t resident_bytes() const;
	// Back to zero, and the pages to the kernel.
	void clear();

private:
	UniqueFd fd_;
	std::byte *base_ = nullptr;
	size_t size_ = 0;
};

} // namespace ohca
