// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "case.hh"

#include "failure.hh"

#include <csignal>
#include <cstdio>
#include <string_view>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace verbs_test {

namespace {

constexpr unsigned kCaseSeconds = 90;
// KASAN and lockdep make system calls slow; guest/report.py gives its waits as much.
constexpr unsigned kSlowness = 5;

unsigned case_seconds()
{
	utsname kernel{};
	uname(&kernel);
	return std::string_view(kernel.release).ends_with("-ohca-debug") ? kCaseSeconds * kSlowness : kCaseSeconds;
}

}  // namespace

std::string run_case(const Case &one, const std::string &device)
{
	int messages[2];
	if (pipe(messages) != 0)
		fail_errno("pipe", last_error());
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(messages[1], STDERR_FILENO);
		close(messages[0]);
		close(messages[1]);
		alarm(case_seconds());
		one.function(device);
		_exit(0);
	}
	close(messages[1]);
	std::string output;
	char bytes[1024];
	ssize_t got;
	while ((got = read(messages[0], bytes, sizeof(bytes))) > 0)
		output.append(bytes, static_cast<std::size_t>(got));
	close(messages[0]);
	int status = 0;
	waitpid(pid, &status, 0);
	std::fputs(output.c_str(), stderr);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM ? "time limit; " + output
						   : "killed by signal " + std::to_string(WTERMSIG(status)) + "; " + output;
	return WEXITSTATUS(status) == 0 ? "" : output.empty() ? "status " + std::to_string(WEXITSTATUS(status)) : output;
}

void report(const std::string &name, std::string reason)
{
	if (reason.empty()) {
		std::printf("ok %s\n", name.c_str());
		return;
	}
	while (!reason.empty() && reason.back() == '\n')
		reason.pop_back();
	for (char &letter : reason) {
		if (letter == '\n')
			letter = ' ';
	}
	std::printf("not ok %s - %s\n", name.c_str(), reason.c_str());
}

bool is_wanted(const std::vector<std::string> &wanted, const std::string &name)
{
	if (wanted.empty())
		return true;
	for (const std::string &one : wanted) {
		if (one == name || (one.ends_with('*') && name.starts_with(one.substr(0, one.size() - 1))))
			return true;
	}
	return false;
}

int run_cases(const Cases &cases, const std::vector<std::string> &wanted, const std::string &device)
{
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	int failures = 0;
	int count = 0;
	for (const Case &one : cases) {
		if (!is_wanted(wanted, one.name) || (one.ohca_only && !device.starts_with("ohca")))
			continue;
		const std::string reason = run_case(one, device);
		report(one.name, reason);
		failures += reason.empty() ? 0 : 1;
		count++;
	}
	if (count == 0)
		fail("no case has one of these names");
	return failures == 0 ? 0 : 1;
}

}  // namespace verbs_test
