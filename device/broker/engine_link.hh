// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The broker's end of an engine: starts the process, talks to it, watches over
// it.  A request that is not answered in time is the end of the engine: it is
// killed, and everything that waited for it is told, but only once the process
// is really gone and can write nowhere any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <sys/types.h>

#include "base/event_loop.hh"
#include "base/unique_fd.hh"
#include "broker/channel.hh"

namespace ohca::broker {

class EngineLink {
public:
	// The answer's value, or nothing if the engine died first.
	using Completion = std::function<void(std::optional<uint32_t>)>;
	struct Callbacks {
		// Runs in the child and never returns. Only `channel` of the link is valid there.
		std::function<void(Channel channel)> child;
		// A message that is no answer.
		std::function<void(const ChannelMessage &)> message;
		// The engine is gone for the reason OHCA_FAIL_*; called before pending completions.
		std::function<void(uint32_t reason)> gone;
	};

	EngineLink(EventLoop &loop, EngineShared &shared, Callbacks callbacks, std::chrono::milliseconds deadline);
	~EngineLink();

	// False, with errno, if no process can be made.
	bool start();
	bool running() const { return pid_ > 0; }
	pid_t pid() const { return pid_; }
	uint64_t start_count() const { return start_count_; }

	// No answer expected. Ignored while no engine runs.
	void send(const ChannelMessage &message, int fd = -1);
	// `completion` is called at once if no engine runs.
	uint64_t request(ChannelMessage message, Completion completion);
	// Asks the engine to end and waits a moment, then kills it.
	void stop();

private:
	struct Pending {
		Completion completion;
		EventLoop::TimerId timer;
	};
	struct Queued {
		ChannelMessage message;
		UniqueFd fd;
	};
	void handle_channel(uint32_t events);
	void flush();
	void handle_deadline();
	void handle_exit();

	EventLoop &loop_;
	EngineShared &shared_;
	Callbacks callbacks_;
	std::chrono::milliseconds deadline_;
	Channel channel_;
	UniqueFd process_;
	pid_t pid_ = 0;
	bool stuck_ = false;
	bool stopping_ = false;
	bool writable_watched_ = false;
	std::deque<Queued> queue_; // what the socket did not take
	std::map<uint64_t, Pending> pending_;
	uint64_t next_sequence_ = 1;
	uint64_t start_count_ = 0;
};

} // namespace ohca::broker
