// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run/scheduling.hh"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace ohca::run {

namespace {

constexpr uint64_t kSampleIntervalNs = 20'000'000;
constexpr unsigned kScoreMax = 16;
constexpr unsigned kScoreStep = 4;

unsigned usable_processors()
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	const int count = CPU_COUNT(&set);
	return count > 0 ? static_cast<unsigned>(count) : 1;
}

} // namespace

bool enter_realtime()
{
	sched_param parameter{};
	parameter.sched_priority = sched_get_priority_min(SCHED_FIFO);
	return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) == 0;
}

void use_precise_timers()
{
	prctl(PR_SET_TIMERSLACK, 1UL);
}

LoadMeter::LoadMeter() : loadavg_(open("/proc/loadavg", O_RDONLY | O_CLOEXEC)), processors_(usable_processors())
{
}

bool LoadMeter::contended(uint64_t now_ns)
{
	if (now_ns >= next_sample_ns_) {
		next_sample_ns_ = now_ns + kSampleIntervalNs;
		sample();
	}
	return contended_;
}

void LoadMeter::sample()
{
	// "0.07 0.28 0.27 3/123 4567": 3 threads are running or want to, we are one of them.
	char text[80];
	const ssize_t length = pread(loadavg_.get(), text, sizeof(text) - 1, 0);
	if (length <= 0)
		return;
	text[length] = '\0';
	const char *at = text;
	for (int i = 0; i < 3 && at; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : nullptr;
	}
	if (!at)
		return;
	const unsigned long running = strtoul(at, nullptr, 10);
	if (running > processors_)
		score_ = score_ + kScoreStep > kScoreMax ? kScoreMax : score_ + kScoreStep;
	else
		score_ -= score_ == 0 ? 0 : 1;
	contended_ = score_ >= kScoreMax / 2;
}

} // namespace ohca::run
