// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Deterministic simulation of the transport: one seed decides everything.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "unreliable_world.hh"
#include "world.hh"

namespace {

using namespace ohca::sim;

constexpr uint64_t kUnreliableShare = 8; // one of so many seeds

struct CommandLine {
	uint64_t first = 1;
	uint64_t last = 1000;
	uint32_t jobs = std::max(1u, std::thread::hardware_concurrency());
	Canary canary = Canary::kNone;
	bool verbose = false;
};

void print_usage(FILE *to)
{
	std::fputs("usage: ohca-sim [--seed N | --seeds A..B] [--jobs N] [--canary NAME] [--verbose]\n"
		   "\n"
		   "Simulates connections over a network with faults and checks every byte and completion.\n"
		   "  --seed N        one run, with its options\n"
		   "  --seeds A..B    all of them (default 1..1000); the first failing one is reported\n"
		   "  --jobs N        threads (default: one per processor)\n"
		   "  --canary NAME   break a rule on purpose: duplicates, fence, acks, keys or corruption.\n"
		   "                  Succeeds if the oracle notices.\n"
		   "  --verbose       options and counts of every run\n",
		   to);
}

bool parse_number(std::string_view text, uint64_t &value)
{
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

	return error == std::errc() && end == text.data() + text.size();
}

bool parse_canary(std::string_view name, Canary &canary)
{
	if (name == "duplicates")
		canary = Canary::kDuplicates;
	else if (name == "fence")
		canary = Canary::kFence;
	else if (name == "acks")
		canary = Canary::kAcks;
	else if (name == "keys")
		canary = Canary::kKeys;
	else if (name == "corruption")
		canary = Canary::kCorruption;
	else
		return false;
	return true;
}

bool parse_option(std::string_view option, std::string_view value, CommandLine &line)
{
	if (option == "--seed") {
		line.verbose = true;
		return parse_number(value, line.first) && parse_number(value, line.last);
	}
	if (option == "--seeds") {
		const size_t dots = value.find("..");
		return dots != std::string_view::npos && parse_number(value.substr(0, dots), line.first) &&
		       parse_number(value.substr(dots + 2), line.last) && line.first <= line.last;
	}
	if (option == "--jobs") {
		uint64_t jobs = 0;
		if (!parse_number(value, jobs) || jobs == 0 || jobs > 1024)
			return false;
		line.jobs = static_cast<uint32_t>(jobs);
		return true;
	}
	return option == "--canary" && parse_canary(value, line.canary);
}

bool parse(int argc, char **argv, CommandLine &line)
{
	for (int i = 1; i < argc; i++) {
		const std::string_view option = argv[i];

		if (option == "--verbose") {
			line.verbose = true;
			continue;
		}
		if (i + 1 == argc || !parse_option(option, argv[i + 1], line)) {
			std::fprintf(stderr, "ohca-sim: bad option or value: %s\n", argv[i]);
			return false;
		}
		i++;
	}
	return true;
}

// What all threads have found together.
struct Summary {
	std::mutex mutex;
	uint64_t runs = 0;
	uint64_t operations = 0;
	uint64_t segments = 0;
	uint64_t retries = 0;
	uint64_t rnr_naks = 0;
	uint64_t failed_seed = UINT64_MAX; // the lowest
	std::string failure;
	std::atomic<bool> stop = false;
};

void run_seed(const CommandLine &line, uint64_t seed, Summary &summary)
{
	const Options options = draw_options(seed, line.canary);
	Outcome outcome;
	if (line.canary != Canary::kCorruption)
		outcome = World(options).run();
	// UC and UD are simpler: fewer runs find what there is to find.
	if (outcome.failure.empty() && (seed % kUnreliableShare == 0 || line.canary == Canary::kCorruption)) {
		const Outcome unreliable = UnreliableWorld(options).run();
		outcome.operations += unreliable.operations;
		outcome.segments += unreliable.segments;
		outcome.failure = unreliable.failure;
	}
	const std::lock_guard lock(summary.mutex);

	if (line.verbose)
		std::printf("%s\n  %llu operations, %llu segments, %llu retries, %llu RNR NAKs, status %u: %s\n",
			    describe(options).c_str(), static_cast<unsigned long long>(outcome.operations),
			    static_cast<unsigned long long>(outcome.segments),
			    static_cast<unsigned long long>(outcome.retries),
			    static_cast<unsigned long long>(outcome.rnr_naks), unsigned{outcome.status},
			    outcome.failure.empty() ? "ok" : outcome.failure.c_str());
	summary.runs++;
	summary.operations += outcome.operations;
	summary.segments += outcome.segments;
	summary.retries += outcome.retries;
	summary.rnr_naks += outcome.rnr_naks;
	if (!outcome.failure.empty() && seed < summary.failed_seed) {
		summary.failed_seed = seed;
		summary.failure = outcome.failure;
		summary.stop = true;
	}
}

void run_all(const CommandLine &line, Summary &summary)
{
	std::atomic<uint64_t> next = line.first;
	std::vector<std::thread> threads;
	const auto work = [&] {
		for (uint64_t seed = next++; seed <= line.last && !summary.stop; seed = next++)
			run_seed(line, seed, summary);
	};

	for (uint32_t i = 1; i < line.jobs; i++)
		threads.emplace_back(work);
	work();
	for (std::thread &thread : threads)
		thread.join();
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line;

	for (int i = 1; i < argc; i++) {
		if (std::strcmp(argv[i], "--help") == 0) {
			print_usage(stdout);
			return 0;
		}
	}
	if (!parse(argc, argv, line)) {
		print_usage(stderr);
		return 2;
	}
	Summary summary;
	run_all(line, summary);
	std::printf("%llu runs, %llu operations, %llu segments delivered, %llu retries, %llu RNR NAKs\n",
		    static_cast<unsigned long long>(summary.runs), static_cast<unsigned long long>(summary.operations),
		    static_cast<unsigned long long>(summary.segments), static_cast<unsigned long long>(summary.retries),
		    static_cast<unsigned long long>(summary.rnr_naks));
	const bool found = summary.failed_seed != UINT64_MAX;
	if (found)
		std::printf("seed %llu failed: %s\n%s\n", static_cast<unsigned long long>(summary.failed_seed),
			    summary.failure.c_str(), describe(draw_options(summary.failed_seed, line.canary)).c_str());
	if (line.canary != Canary::kNone) {
		std::printf("the canary was %s\n", found ? "found" : "NOT found");
		return found ? 0 : 1;
	}
	return found ? 1 : 0;
}
