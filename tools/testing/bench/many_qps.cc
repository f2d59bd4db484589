// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// many_qps DEVICE [PAIRS [ROUNDS]]: message rate of one active queue pair, alone and among PAIRS
// connected pairs that are idle.  One line: "alone RATE among RATE", messages a second, the best of
// the rounds each.  The two alternate, so that a busy machine harms both alike.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "deadline.hh"
#include "write_pair.hh"

namespace {

constexpr double kSecondsPerRound = 0.5;

double rate(bench::Resources &resources, bench::WritePair &active)
{
	const double start = verbs_test::seconds_now();
	double now = start;
	std::uint64_t messages = 0;
	for (; now - start < kSecondsPerRound; now = verbs_test::seconds_now()) {
		for (int burst = 0; burst < 64; ++burst) {
			for (std::uint32_t i = 0; i < bench::kWindow; ++i)
				active.post();
			bench::take_completions(resources.cq, bench::kWindow, 16);
			messages += bench::kWindow;
		}
	}
	return static_cast<double>(messages) / (now - start);
}

}  // namespace

int main(int argc, char **argv)
{
	if (argc < 2) {
		std::fprintf(stderr, "usage: many_qps DEVICE [PAIRS [ROUNDS]]\n");
		return 2;
	}
	const unsigned long pairs = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
	const unsigned long rounds = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 3;
	const verbs_test::Device device(argv[1]);
	bench::Resources resources(device);
	bench::WritePair active(resources);
	double alone = 0;
	double among = 0;
	for (unsigned long round = 0; round < rounds; ++round) {
		alone = std::max(alone, rate(resources, active));
		std::vector<std::unique_ptr<bench::WritePair>> idle;
		for (unsigned long i = 1; i < pairs; ++i)
			idle.push_back(std::make_unique<bench::WritePair>(resources));
		among = std::max(among, rate(resources, active));
	}
	std::printf("alone %.0f among %.0f\n", alone, among);
	return 0;
}
