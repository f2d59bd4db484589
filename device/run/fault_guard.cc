// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run/fault_guard.hh"

#include <array>
#include <csignal>
#include <cstring>
#include <sys/mman.h>

namespace ohca::run::fault_guard {

namespace {

struct Region {
	std::atomic<uintptr_t> base;
	std::atomic<size_t> size;
};

// A signal handler has no other way to its data. Fixed, so that it can be read at any moment.
std::array<Region, 1024> g_regions;
std::atomic<uint64_t> *g_counter;

// Memory of huge pages can only be replaced by whole ones.
constexpr std::array<uintptr_t, 3> kPageSizes = {4096, 2u << 20, 1u << 30};

bool replace_page(uintptr_t address)
{
	for (const uintptr_t page : kPageSizes) {
		void *base = reinterpret_cast<void *>(address & ~(page - 1));
		if (mmap(base, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == base)
			return true;
	}
	return false;
}

void handle_bus_error(int, siginfo_t *info, void *)
{
	const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
	for (const Region &region : g_regions) {
		const uintptr_t base = region.base.load(std::memory_order_relaxed);
		if (base == 0 || address - base >= region.size.load(std::memory_order_relaxed))
			continue;
		if (!replace_page(address))
			break;
		g_counter->fetch_add(1);
		return;
	}
	signal(SIGBUS, SIG_DFL); // the access is repeated, now fatally
}

} // namespace

void install(std::atomic<uint64_t> &counter)
{
	g_counter = &counter;
	struct sigaction action{};
	action.sa_sigaction = handle_bus_error;
	action.sa_flags = SA_SIGINFO;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, nullptr);
}

bool add(void *base, size_t size)
{
	for (Region &region : g_regions) {
		if (region.base.load(std::memory_order_relaxed) != 0)
			continue;
		region.size.store(size, std::memory_order_relaxed);
		region.base.store(reinterpret_cast<uintptr_t>(base), std::memory_order_release);
		return true;
	}
	return false;
}

void remove(void *base)
{
	for (Region &region : g_regions) {
		if (region.base.load(std::memory_order_relaxed) == reinterpret_cast<uintptr_t>(base))
			region.base.store(0, std::memory_order_relaxed);
	}
}

} // namespace ohca::run::fault_guard
