// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#pragma once

#include <cstdint>

namespace ohca::obs {

constexpr uint64_t kMemcpyBenchSizeMax = uint64_t{256} << 20;

// Measures plain memcpy() between two buffers of `size` bytes in shared memory, as guest RAM
// is, in a process of its own, which writes the result to `socket` and ends.
void start_memcpy_bench(uint64_t size, int socket);

} // namespace ohca::obs
