// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// data_test - random operations of all opcodes over many RC, UC, UD and XRC
// queue pairs, with receive queues of their own and shared ones, and threads;
// every byte of targets and guards, every completion and its order is checked.
// Within one ohcad nothing is lost as long as there is a receive for it: this
// demands delivery of unreliable services, too.
// OHCA-SQ-D1 OHCA-SQ-D7 OHCA-RQ-D1 OHCA-RQ-D3 OHCA-CQ-D7 OHCA-MEM-D5 OHCA-MEM-D10 OHCA-RC-D1
// OHCA-UC-D1 OHCA-UC-D2 OHCA-UD-D1 OHCA-UD-D2 OHCA-UD-D6 OHCA-SRQ-D1 OHCA-XRC-D1 OHCA-XRC-D2
#include "data/worker.hh"
#include "deadline.hh"
#include "failure.hh"

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace verbs_test;

// Of the operations of a kind of pair, one in so many has the rarest opcode, at least.
constexpr std::uint64_t kRarest = 5000;

std::atomic<bool> *stop_flag;

void handle_terminate(int)
{
	stop_flag->store(true);
}

// The counter is in a file that others map, or in memory of our own.
std::atomic<std::uint64_t> *map_progress(const std::string &path)
{
	void *memory;
	if (path.empty()) {
		memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else {
		const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (file < 0 || ftruncate(file, 4096) != 0)
			fail_errno(path.c_str(), last_error());
		memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		close(file);
	}
	if (memory == MAP_FAILED)
		fail_errno("mmap", last_error());
	return static_cast<std::atomic<std::uint64_t> *>(memory);
}

void run_threads(Shared &shared)
{
	const DataOptions &options = shared.options;
	std::vector<std::thread> threads;
	unsigned first_pair = 0;
	for (unsigned i = 0; i < options.threads; i++) {
		const unsigned pairs = options.qps / options.threads + (i < options.qps % options.threads ? 1 : 0);
		const std::uint64_t operations = options.operations / options.threads + 1;
		threads.emplace_back([&shared, i, first_pair, pairs, operations] {
			Worker(shared, i, first_pair, pairs, operations).run();
		});
		first_pair += pairs;
	}
	for (std::thread &thread : threads)
		thread.join();
}

}  // namespace

int main(int argc, char **argv)
{
	const DataOptions options = parse_data_options(argc, argv);
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	const Device device(options.device);
	const Device peer(options.peer_device);
	Shared shared{options, device, peer, *map_progress(options.progress_file)};
	stop_flag = &shared.stop;
	std::signal(SIGTERM, handle_terminate);
	if (!options.quiet)
		std::printf("data_test: %s -> %s, seed %" PRIu64 ", %u connected pairs, %u threads\n", options.device.c_str(),
			    options.peer_device.c_str(), options.seed, options.qps, options.threads);
	const double start = seconds_now();
	run_threads(shared);
	const double seconds = seconds_now() - start;
	const std::uint64_t operations = shared.operations;
	std::printf("data_test: %" PRIu64 " operations, %.1f MB in %.1f s, all right: %.0f operations/s, seed %" PRIu64 "\n",
		    operations, static_cast<double>(shared.bytes) / 1e6, seconds,
		    static_cast<double>(operations) / seconds, options.seed);
	if (!options.quiet)
		shared.coverage.print();
	if (options.operations > 0)
		shared.coverage.require(operations / (options.kinds.size() * kRarest), options.kinds);
	return 0;
}
