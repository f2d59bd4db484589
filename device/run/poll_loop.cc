// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The poll loop: run the core, look after the broker's messages, be idle well.
#include <algorithm>
#include <ctime>
#include <immintrin.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/event_loop.hh"
#include "run/engine_process.hh"

namespace ohca::run {

namespace {

constexpr uint64_t kSecondNs = 1000000000;
// Also an idle engine looks around now and then.
constexpr uint64_t kSleepMaxNs = 10 * kSecondNs;

timespec to_timespec(uint64_t ns)
{
	return {static_cast<time_t>(ns / kSecondNs), static_cast<long>(ns % kSecondNs)};
}

uint64_t time_left(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns > now_ns ? at_ns - now_ns : 0;
}

void count(std::atomic<uint64_t> &counter)
{
	// One writer: no need for a locked instruction in each pass.
	counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

} // namespace

bool EngineProcess::control_pending() const
{
	return shared_.messages.load(std::memory_order_relaxed) != processed_ || !deferred_.empty();
}

void EngineProcess::run()
{
	broker::EngineStatistics &statistics = shared_.statistics;
	while (!stop_) {
		if (control_pending()) [[unlikely]] {
			while (!stop_ && receive(false)) {
			}
			run_deferred();
			finish_pass();
			if (stop_)
				break;
		}
		const uint64_t now_ns = monotonic_ns();
		const uint64_t interrupts = statistics.interrupts.load(std::memory_order_relaxed);
		const bool busy = engine_.run(now_ns);
		finish_pass();
		count(statistics.passes);
		if (busy)
			count(statistics.busy_passes);
		report_failures();

		const bool contended = load_.contended(now_ns);
		const bool interrupted = statistics.interrupts.load(std::memory_order_relaxed) != interrupts;
		switch (policy_.next({now_ns, busy, contended, interrupted ? newly_announced() : 0})) {
		case IdlePolicy::Step::kSpin: _mm_pause(); break;
		case IdlePolicy::Step::kNap:
			statistics.contended.store(contended, std::memory_order_relaxed);
			nap(policy_.take_nap());
			break;
		case IdlePolicy::Step::kSleep: sleep(); break;
		}
	}
}

uint64_t EngineProcess::newly_announced()
{
	const uint64_t before = announced_;
	announced_ = engine_.completions();
	// an event of another kind is worth one, and so is the first after a reset
	return announced_ > before ? announced_ - before : 1;
}

void EngineProcess::nap(uint64_t duration_ns)
{
	const uint64_t timeout_ns = engine_.poll_timeout();
	if (timeout_ns != core::kNever)
		duration_ns = std::min(duration_ns, time_left(timeout_ns, monotonic_ns()));
	if (duration_ns == 0)
		return;
	count(shared_.statistics.naps);
	const timespec duration = to_timespec(duration_ns);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
}

void EngineProcess::sleep()
{
	if (!engine_.prepare_sleep()) {
		policy_.woken(monotonic_ns());
		return;
	}
	const uint64_t timeout_ns = engine_.poll_timeout();
	uint64_t duration_ns = kSleepMaxNs;
	if (timeout_ns != core::kNever)
		duration_ns = std::min(duration_ns, time_left(timeout_ns, monotonic_ns()));
	count(shared_.statistics.sleeps);
	shared_.statistics.sleeping.store(1, std::memory_order_relaxed);
	wait_for_events(duration_ns);
	shared_.statistics.sleeping.store(0, std::memory_order_relaxed);
	engine_.end_sleep();
}

void EngineProcess::wait_for_events(uint64_t timeout_ns)
{
	const timespec timeout = to_timespec(timeout_ns);
	epoll_event events[2];
	const int ready = epoll_pwait2(epoll_.get(), events, 2, &timeout, nullptr);
	for (int i = 0; i < ready; i++) {
		if (events[i].data.fd != kick_fd_)
			continue;
		uint64_t kicks;
		if (read(kick_fd_, &kicks, sizeof(kicks)) == sizeof(kicks))
			policy_.woken(monotonic_ns());
	}
	// A channel that can be read announces itself in EngineShared::messages, except when
	// the broker is gone.
	if (ready > 0 && !control_pending())
		receive(false);
}

} // namespace ohca::run
