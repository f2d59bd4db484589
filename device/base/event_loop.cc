// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/event_loop.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <limits>
#include <sys/epoll.h>
#include <system_error>

namespace ohca {

uint64_t monotonic_ns()
{
	timespec time{};
	clock_gettime(CLOCK_MONOTONIC, &time);
	return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC))
{
	if (!epoll_)
		throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

void EventLoop::add(int fd, uint32_t events, Callback callback)
{
	const uint64_t id = next_id_++;
	epoll_event event{};
	event.events = events;
	event.data.u64 = id;
	if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
		throw std::system_error(errno, std::generic_category(), "epoll_ctl");
	watches_.emplace(id, Watch{fd, std::move(callback)});
	ids_[fd] = id;
}

void EventLoop::modify(int fd, uint32_t events)
{
	const auto found = ids_.find(fd);
	if (found == ids_.end())
		return;
	epoll_event event{};
	event.events = events;
	event.data.u64 = found->second;
	epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::remove(int fd)
{
	const auto found = ids_.find(fd);
	if (found == ids_.end())
		return;
	epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
	watches_.erase(found->second);
	ids_.erase(found);
}

EventLoop::TimerId EventLoop::start_timer(uint64_t at_ns, TimerCallback callback)
{
	const TimerId id = next_id_++;
	timers_.emplace(at_ns, Timer{id, std::move(callback)});
	return id;
}

void EventLoop::cancel_timer(TimerId id)
{
	std::erase_if(timers_, [id](const auto &entry) { return entry.second.id == id; });
}

int EventLoop::wait_ms(int timeout_ms) const
{
	if (timers_.empty())
		return timeout_ms;
	const uint64_t now = monotonic_ns();
	const uint64_t at = timers_.begin()->first;
	const uint64_t left = at <= now ? 0 : (at - now) / 1000000 + 1;
	const int bounded = static_cast<int>(std::min<uint64_t>(left, std::numeric_limits<int>::max()));
	return timeout_ms < 0 ? bounded : std::min(bounded, timeout_ms);
}

void EventLoop::run_timers()
{
	const uint64_t now = monotonic_ns();
	while (!timers_.empty() && timers_.begin()->first <= now) {
		const TimerCallback callback = std::move(timers_.begin()->second.callback);
		timers_.erase(timers_.begin());
		callback();
	}
}

void EventLoop::run_once(int timeout_ms)
{
	std::array<epoll_event, 32> events;
	const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms(timeout_ms));
	for (int i = 0; i < count; i++) {
		const auto found = watches_.find(events[static_cast<size_t>(i)].data.u64);
		if (found == watches_.end())
			continue; // removed by an earlier callback of this round
		const Callback callback = found->second.callback;
		callback(events[static_cast<size_t>(i)].events);
	}
	run_timers();
}

} // namespace ohca
