// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// post_poll_cost DEVICE OPERATIONS: one ibv_post_send() call per 8-byte WRITE and one ibv_poll_cq()
// call per completion, for counting instructions (valgrind --tool=callgrind).  The difference between
// two runs, divided by the difference of OPERATIONS, is the cost of an operation at both ends: the
// target of a WRITE executes nothing.
//
// Between posting a window and polling it there is a pause that is long enough for the device, so
// that no poll finds an empty queue and the count does not depend on the machine's speed.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "write_pair.hh"

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::fprintf(stderr, "usage: post_poll_cost DEVICE OPERATIONS\n");
		return 2;
	}
	const verbs_test::Device device(argv[1]);
	bench::Resources resources(device);
	bench::WritePair pair(resources);
	for (unsigned long left = std::strtoul(argv[2], nullptr, 10); left >= bench::kWindow;
	     left -= bench::kWindow) {
		for (std::uint32_t i = 0; i < bench::kWindow; ++i)
			pair.post();
		const timespec pause = {0, 50'000'000};
		nanosleep(&pause, nullptr);
		bench::take_completions(resources.cq, bench::kWindow, 1);
	}
	return 0;
}
