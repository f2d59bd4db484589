// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#pragma once

#include "data/service.hh"

#include <cstdint>
#include <string>
#include <vector>

namespace verbs_test {

struct DataOptions {
	std::string device = "ohca0";
	std::string peer_device;              // empty: the same device
	std::uint64_t operations = 1'000'000; // 0: until SIGTERM
	std::uint64_t seed = 1;
	unsigned threads = 2;
	unsigned qps = 32;                    // connected pairs, over all threads
	std::vector<PairKind> kinds = {kPairKinds[0]};  // taken in turns
	std::size_t message_max = std::size_t{4} << 20;
	double stall_seconds = 30;            // without any completion: failure
	std::string progress_file;            // a 64-bit count of checked operations, kept current
	bool quiet = false;
};

// Prints the usage and ends the process when they make no sense.
DataOptions parse_data_options(int argc, char **argv);

}  // namespace verbs_test
