// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "broker/engine_link.hh"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ohca_hw_regs.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace ohca::broker {

namespace {

constexpr int kStopGraceMs = 500;

std::string describe_exit(int status)
{
	if (WIFSIGNALED(status))
		return std::string("killed by signal ") + strsignal(WTERMSIG(status));
	return "exited with status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

EngineLink::EngineLink(EventLoop &loop, EngineShared &shared, Callbacks callbacks,
		       std::chrono::milliseconds deadline)
	: loop_(loop), shared_(shared), callbacks_(std::move(callbacks)), deadline_(deadline)
{
}

EngineLink::~EngineLink()
{
	stop();
}

bool EngineLink::start()
{
	Channel engine_end;
	Channel::make_pair(channel_, engine_end);
	shared_.messages.store(0);
	const pid_t broker = getpid();
	const pid_t pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != broker)
			_exit(1); // it died before the line above
		callbacks_.child(std::move(engine_end));
		_exit(0);
	}
	process_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
	if (!process_) {
		const int error = errno;
		kill(pid, SIGKILL);
		waitpid(pid, nullptr, 0);
		errno = error;
		return false;
	}
	pid_ = pid;
	stuck_ = false;
	stopping_ = false;
	writable_watched_ = false;
	start_count_++;
	loop_.add(process_.get(), EPOLLIN, [this](uint32_t) { handle_exit(); });
	loop_.add(channel_.fd(), EPOLLIN, [this](uint32_t events) { handle_channel(events); });
	spdlog::info("engine started (pid {})", pid_);
	return true;
}

void EngineLink::send(const ChannelMessage &message, int fd)
{
	if (!running())
		return;
	shared_.messages.fetch_add(1);
	queue_.push_back({message, UniqueFd(fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1)});
	flush();
}

void EngineLink::flush()
{
	while (!queue_.empty()) {
		const Channel::Result result = channel_.send(queue_.front().message, queue_.front().fd.get());
		if (result == Channel::Result::kAgain)
			break;
		queue_.pop_front(); // if it is closed, the process is ending and handle_exit() comes
	}
	if (writable_watched_ == queue_.empty()) {
		writable_watched_ = !queue_.empty();
		loop_.modify(channel_.fd(), writable_watched_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
	}
}

uint64_t EngineLink::request(ChannelMessage message, Completion completion)
{
	message.sequence = next_sequence_++;
	if (!running()) {
		completion(std::nullopt);
		return message.sequence;
	}
	const uint64_t at = monotonic_ns() + static_cast<uint64_t>(deadline_.count()) * 1000000u;
	const EventLoop::TimerId timer = loop_.start_timer(at, [this] { handle_deadline(); });
	pending_.emplace(message.sequence, Pending{std::move(completion), timer});
	send(message);
	return message.sequence;
}

void EngineLink::handle_channel(uint32_t events)
{
	if (events & EPOLLOUT)
		flush();
	ChannelMessage message;
	UniqueFd fd;
	for (;;) {
		const Channel::Result result = channel_.receive(message, fd);
		if (result == Channel::Result::kClosed)
			loop_.remove(channel_.fd()); // handle_exit() follows
		if (result != Channel::Result::kOk)
			return;
		if (message.type != ChannelType::kDone) {
			callbacks_.message(message);
			continue;
		}
		const auto found = pending_.find(message.sequence);
		if (found == pending_.end())
			continue;
		const Pending pending = std::move(found->second);
		pending_.erase(found);
		loop_.cancel_timer(pending.timer);
		pending.completion(message.value);
	}
}

void EngineLink::handle_deadline()
{
	if (!running() || stuck_)
		return;
	spdlog::error("engine (pid {}) did not answer within {} ms: killing it", pid_, deadline_.count());
	stuck_ = true;
	kill(pid_, SIGKILL);
}

void EngineLink::handle_exit()
{
	int status = 0;
	if (waitpid(pid_, &status, 0) != pid_)
		status = 0;
	if (!stopping_)
		spdlog::error("engine (pid {}) {}", pid_, describe_exit(status));
	loop_.remove(channel_.fd());
	loop_.remove(process_.get());
	channel_ = Channel();
	process_.reset();
	pid_ = 0;
	queue_.clear();
	std::map<uint64_t, Pending> pending;
	pending.swap(pending_);
	for (const auto &[sequence, entry] : pending)
		loop_.cancel_timer(entry.timer);
	if (!stopping_)
		callbacks_.gone(stuck_ ? OHCA_FAIL_ENGINE_STUCK : OHCA_FAIL_ENGINE_DIED);
	for (const auto &[sequence, entry] : pending)
		entry.completion(std::nullopt);
}

void EngineLink::stop()
{
	if (!running())
		return;
	stopping_ = true;
	send({.type = ChannelType::kStop});
	pollfd wait{process_.get(), POLLIN, 0};
	if (poll(&wait, 1, kStopGraceMs) <= 0)
		kill(pid_, SIGKILL);
	handle_exit();
}

} // namespace ohca::broker
