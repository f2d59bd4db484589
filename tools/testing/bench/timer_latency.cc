// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// timer_latency MILLISECONDS: how late the timers of a task are that has nothing to do with RDMA, on each
// processor, at real-time priority (as cyclictest measures it).  Prints the number of wake-ups, and
// the median, 99th percentile and maximum of their lateness, in nanoseconds.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::int64_t kPeriodNs = 1'000'000;
constexpr int kPriority = 80;

std::int64_t to_ns(const timespec &time)
{
	return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t now_ns()
{
	timespec time{};
	clock_gettime(CLOCK_MONOTONIC, &time);
	return to_ns(time);
}

bool become_realtime(unsigned processor)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	sched_param parameters{};
	parameters.sched_priority = kPriority;
	return sched_setaffinity(0, sizeof(set), &set) == 0 && sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

// One processor's timers.
struct Samples {
	std::vector<std::int64_t> lateness;
	bool realtime = false;
};

// lateness has room for as many periods as there are until the end.
void sample(unsigned processor, std::int64_t end, Samples &samples)
{
	samples.realtime = become_realtime(processor);
	std::int64_t due = now_ns();
	while (due < end) {
		due += kPeriodNs;
		const timespec wanted = {due / 1'000'000'000, due % 1'000'000'000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wanted, nullptr);
		const std::int64_t now = now_ns();
		samples.lateness.push_back(now - due);
		// what has been missed altogether is one late timer, not many
		if (now - due > kPeriodNs)
			due = now;
	}
}

} // namespace

int main(int argc, char **argv)
{
	const long milliseconds = argc == 2 ? std::strtol(argv[1], nullptr, 10) : 0;
	if (milliseconds <= 0) {
		std::fprintf(stderr, "usage: timer_latency MILLISECONDS\n");
		return 2;
	}
	const auto processors = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
	std::vector<Samples> samples(processors);
	for (Samples &each : samples)
		each.lateness.reserve(static_cast<std::size_t>(milliseconds) + 1);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
		std::perror("mlockall");
		return 1;
	}
	const std::int64_t end = now_ns() + milliseconds * kPeriodNs;
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < processors; ++i)
		threads.emplace_back(sample, i, end, std::ref(samples[i]));
	std::vector<std::int64_t> all;
	for (unsigned i = 0; i < processors; ++i) {
		threads[i].join();
		if (!samples[i].realtime) {
			std::fprintf(stderr, "timer_latency: no real-time priority on processor %u\n", i);
			return 1;
		}
		all.insert(all.end(), samples[i].lateness.begin(), samples[i].lateness.end());
	}
	std::sort(all.begin(), all.end());
	std::printf("%zu %lld %lld %lld\n", all.size(), static_cast<long long>(all[all.size() / 2]),
		    static_cast<long long>(all[all.size() * 99 / 100]), static_cast<long long>(all.back()));
	return 0;
}
