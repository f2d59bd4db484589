// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// error_test - what an application can do wrong, one case each.  Every case has
// a process of its own; after each, a bystander that runs checked traffic on
// the same device must get on.
#include "deadline.hh"
#include "error/bystander.hh"
#include "error/cases.hh"
#include "failure.hh"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <libgen.h>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace verbs_test;

constexpr char kUsage[] =
	"usage: error_test [--device NAME] [--case NAME]... [--no-bystander] [--list]\n"
	"Prints 'ok NAME' or 'not ok NAME - REASON' for each case; names may end in '*'.\n";
constexpr double kCaseSeconds = 90;
constexpr double kBystanderSeconds = 20;

struct Options {
	std::string device = "ohca0";
	std::vector<std::string> wanted;
	bool bystander = true;
	bool list = false;
};

Options parse(int argc, char **argv)
{
	static constexpr option kOptions[] = {
		{"device", required_argument, nullptr, 'd'}, {"case", required_argument, nullptr, 'c'},
		{"no-bystander", no_argument, nullptr, 'n'}, {"list", no_argument, nullptr, 'l'},
		{"help", no_argument, nullptr, 'h'},         {nullptr, 0, nullptr, 0},
	};
	Options options;
	int letter;
	while ((letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
		switch (letter) {
		case 'd': options.device = optarg; break;
		case 'c': options.wanted.emplace_back(optarg); break;
		case 'n': options.bystander = false; break;
		case 'l': options.list = true; break;
		default:
			std::fputs(kUsage, letter == 'h' ? stdout : stderr);
			std::exit(letter == 'h' ? 0 : 2);
		}
	}
	return options;
}

Cases all_cases()
{
	Cases cases;
	add_key_cases(cases);
	add_queue_cases(cases);
	add_connection_cases(cases);
	add_control_cases(cases);
	add_limit_cases(cases);
	add_garbage_cases(cases);
	add_udata_cases(cases);
	return cases;
}

bool is_wanted(const Options &options, const std::string &name)
{
	if (options.wanted.empty())
		return true;
	for (const std::string &wanted : options.wanted) {
		if (wanted == name || (wanted.ends_with('*') && name.starts_with(wanted.substr(0, wanted.size() - 1))))
			return true;
	}
	return false;
}

// Empty if the case passed, else what its process said last.
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
		alarm(static_cast<unsigned>(kCaseSeconds));
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

}  // namespace

int main(int argc, char **argv)
{
	const Options options = parse(argc, argv);
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	const Cases cases = all_cases();
	if (options.list) {
		for (const Case &one : cases)
			std::printf("%s\n", one.name.c_str());
		return 0;
	}
	std::unique_ptr<Bystander> bystander;
	char own[4096] = "";
	if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
		fail_errno("/proc/self/exe", last_error());
	if (options.bystander)
		bystander = std::make_unique<Bystander>(std::string(dirname(own)) + "/data_test", options.device);
	int failures = 0;
	int count = 0;
	for (const Case &one : cases) {
		if (!is_wanted(options, one.name) || (one.ohca_only && !options.device.starts_with("ohca")))
			continue;
		const double start = seconds_now();
		std::string reason = run_case(one, options.device);
		if (bystander && !bystander->gets_on(kBystanderSeconds))
			reason += " the bystander does not get on";
		report(one.name, reason);
		std::fprintf(stderr, "%s: %.1f s\n", one.name.c_str(), seconds_now() - start);
		failures += reason.empty() ? 0 : 1;
		count++;
	}
	if (count == 0)
		fail("no case has one of these names");
	if (bystander) {
		const bool fine = bystander->stop();
		report("bystander of all cases", fine ? "" : "it found something wrong or does not end");
		failures += fine ? 0 : 1;
	}
	return failures == 0 ? 0 : 1;
}
