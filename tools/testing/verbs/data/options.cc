// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/options.hh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <sstream>

namespace verbs_test {

namespace {

constexpr char kUsage[] =
	"usage: data_test [--device NAME] [--peer-device NAME] [--operations N] [--seed N] [--threads N] [--qps N]\n"
	"                 [--types LIST] [--message-max BYTES] [--stall SECONDS] [--progress FILE] [--quiet]\n"
	"Random operations over many queue pairs; every byte, every completion and its order is checked.\n"
	"LIST: some of rc,ud,xrc,uc,rc-srq,ud-srq,uc-srq (default rc), or all.  Each opcode must have been used.\n"
	"--operations 0 goes on until SIGTERM.  FILE gets a 64-bit count of operations while the test runs.\n";

[[noreturn]] void usage(int status)
{
	std::fputs(kUsage, status == 0 ? stdout : stderr);
	std::exit(status);
}

std::uint64_t number(const char *text)
{
	char *end = nullptr;
	const unsigned long long value = std::strtoull(text, &end, 0);
	if (end == text || *end != '\0') {
		std::fprintf(stderr, "data_test: '%s' is not a number\n", text);
		usage(2);
	}
	return value;
}

std::vector<PairKind> kinds(const std::string &list)
{
	if (list == "all")
		return {kPairKinds.begin(), kPairKinds.end()};
	std::vector<PairKind> result;
	std::stringstream stream(list);
	std::string name;
	while (std::getline(stream, name, ',')) {
		const auto found = std::find_if(kPairKinds.begin(), kPairKinds.end(),
						[&name](const PairKind &kind) { return name == kind.name; });
		if (found == kPairKinds.end()) {
			std::fprintf(stderr, "data_test: '%s' is no type of queue pair\n", name.c_str());
			usage(2);
		}
		result.push_back(*found);
	}
	return result;
}

}  // namespace

DataOptions parse_data_options(int argc, char **argv)
{
	static constexpr option kOptions[] = {
		{"device", required_argument, nullptr, 'd'},      {"peer-device", required_argument, nullptr, 'p'},
		{"operations", required_argument, nullptr, 'n'},  {"seed", required_argument, nullptr, 's'},
		{"threads", required_argument, nullptr, 't'},     {"qps", required_argument, nullptr, 'q'},
		{"message-max", required_argument, nullptr, 'm'}, {"stall", required_argument, nullptr, 'w'},
		{"progress", required_argument, nullptr, 'f'},    {"quiet", no_argument, nullptr, 'Q'},
		{"types", required_argument, nullptr, 'y'},
		{"help", no_argument, nullptr, 'h'},              {nullptr, 0, nullptr, 0},
	};
	DataOptions options;
	int letter;
	while ((letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
		switch (letter) {
		case 'd': options.device = optarg; break;
		case 'p': options.peer_device = optarg; break;
		case 'n': options.operations = number(optarg); break;
		case 's': options.seed = number(optarg); break;
		case 't': options.threads = static_cast<unsigned>(number(optarg)); break;
		case 'q': options.qps = static_cast<unsigned>(number(optarg)); break;
		case 'm': options.message_max = number(optarg); break;
		case 'w': options.stall_seconds = static_cast<double>(number(optarg)); break;
		case 'f': options.progress_file = optarg; break;
		case 'Q': options.quiet = true; break;
		case 'y': options.kinds = kinds(optarg); break;
		case 'h': usage(0);
		default: usage(2);
		}
	}
	if (optind != argc || options.threads == 0 || options.qps < options.threads || options.kinds.empty() ||
	    options.qps < options.kinds.size())
		usage(2);
	if (options.peer_device.empty())
		options.peer_device = options.device;
	return options;
}

}  // namespace verbs_test
