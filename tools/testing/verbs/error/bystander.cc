// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error/bystander.hh"

#include "deadline.hh"
#include "failure.hh"

#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace verbs_test {

Bystander::Bystander(const std::string &program, const std::string &device)
	: file_("/dev/shm/error_test." + std::to_string(getpid()))
{
	const int file = open(file_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, 4096) != 0)
		fail_errno(file_.c_str(), last_error());
	void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (memory == MAP_FAILED)
		fail_errno("mmap", last_error());
	progress_ = static_cast<std::atomic<std::uint64_t> *>(memory);
	pid_ = fork();
	if (pid_ == 0) {
		execl(program.c_str(), "data_test", "--device", device.c_str(), "--operations", "0", "--threads", "1", "--qps",
		      "2", "--types", "rc,ud-srq", "--message-max", "70000", "--quiet", "--progress", file_.c_str(), nullptr);
		_exit(127);
	}
	if (!gets_on(60))
		fail("%s does not get on", program.c_str());
}

bool Bystander::ended()
{
	if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_)
		pid_ = -1;
	return pid_ < 0;
}

bool Bystander::gets_on(double seconds)
{
	const Deadline deadline(seconds);
	const std::uint64_t before = *progress_;
	while (!ended()) {
		if (*progress_ > before)
			return true;
		if (deadline.passed())
			return false;
		usleep(1000);
	}
	return false;
}

bool Bystander::stop()
{
	const Deadline deadline(60);
	if (pid_ > 0)
		kill(pid_, SIGTERM);
	while (!ended()) {
		if (deadline.passed())
			return false;
		usleep(10000);
	}
	return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

Bystander::~Bystander()
{
	if (pid_ > 0) {
		kill(pid_, SIGKILL);
		waitpid(pid_, &status_, 0);
	}
	munmap(progress_, 4096);
	unlink(file_.c_str());
}

}  // namespace verbs_test
