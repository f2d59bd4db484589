// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// epoll with callbacks and one-shot timers, for the control path. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

#include "base/unique_fd.hh"

namespace ohca {

uint64_t monotonic_ns();

class EventLoop {
public:
	using Callback = std::function<void(uint32_t events)>;
	using TimerCallback = std::function<void()>;
	using TimerId = uint64_t; // never 0

	EventLoop(); // throws std::system_error

	// The descriptor stays the caller's; remove() before closing it. A callback may add
	// and remove anything, itself included.
	void add(int fd, uint32_t events, Callback callback);
	void modify(int fd, uint32_t events);
	void remove(int fd);

	TimerId start_timer(uint64_t at_ns, TimerCallback callback);
	void cancel_timer(TimerId id);

	// Waits for events or the next timer, at most `timeout_ms` (-1: no limit), and handles them.
	void run_once(int timeout_ms = -1);

private:
	struct Watch {
		int fd;
		Callback callback;
	};
	struct Timer {
		TimerId id;
		TimerCallback callback;
	};
	int wait_ms(int timeout_ms) const;
	void run_timers();

	UniqueFd epoll_;
	std::unordered_map<uint64_t, Watch> watches_; // by id: a descriptor number may be reused
	std::unordered_map<int, uint64_t> ids_;
	std::multimap<uint64_t, Timer> timers_;
	uint64_t next_id_ = 1;
};

} // namespace ohca
