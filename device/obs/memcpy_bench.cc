// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "obs/memcpy_bench.hh"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/event_loop.hh"
#include "base/shared_memory.hh"

namespace ohca::obs {

namespace {

constexpr uint64_t kRunNs = 500'000'000;

void measure(uint64_t size, int socket)
{
	char text[256];
	if (size == 0 || size > kMemcpyBenchSizeMax) {
		snprintf(text, sizeof(text), "{\"error\":\"size must be 1 to %llu\"}\n",
			 static_cast<unsigned long long>(kMemcpyBenchSizeMax));
	} else {
		const SharedMemory memory("ohca-bench", 2 * size);
		std::byte *from = memory.bytes().data();
		std::byte *to = from + size;
		memset(from, 1, 2 * size);
		const uint64_t start_ns = monotonic_ns();
		uint64_t copies = 0;
		uint64_t elapsed_ns = 0;
		// The clock is read once per 64 KiB or more, not once per byte.
		const uint64_t batch = std::max<uint64_t>(1, 65536 / size);
		while (elapsed_ns < kRunNs) {
			for (uint64_t i = 0; i < batch; i++) {
				memcpy(to, from, size);
				asm volatile("" ::: "memory");
			}
			copies += batch;
			elapsed_ns = monotonic_ns() - start_ns;
		}
		const double seconds = static_cast<double>(elapsed_ns) * 1e-9;
		const double bytes = static_cast<double>(copies) * static_cast<double>(size);
		snprintf(text, sizeof(text),
			 "{\"size\":%llu,\"copies\":%llu,\"seconds\":%.6f,\"bytes_per_second\":%.0f}\n",
			 static_cast<unsigned long long>(size), static_cast<unsigned long long>(copies), seconds,
			 bytes / seconds);
	}
	[[maybe_unused]] const ssize_t sent = send(socket, text, strlen(text), MSG_NOSIGNAL);
}

} // namespace

void start_memcpy_bench(uint64_t size, int socket)
{
	// Twice, so that nobody has to wait for the one that measures.
	const pid_t child = fork();
	if (child == 0) {
		if (fork() == 0) {
			// No copy of a client's connection may outlive the broker's.
			if (socket > 3)
				close_range(3, static_cast<unsigned>(socket - 1), 0);
			close_range(static_cast<unsigned>(socket + 1), ~0u, 0);
			try {
				measure(size, socket);
			} catch (...) {
				_exit(1);
			}
		}
		_exit(0);
	}
	if (child > 0)
		waitpid(child, nullptr, 0);
}

} // namespace ohca::obs
