// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// error_test - what an application can do wrong, one case each.  Every case has
// a process of its own; after each, a bystander that runs checked traffic on
// the same device must get on.
#include "deadline.hh"
#include "error/bystander.hh"
#include "error/cases.hh"
#include "failure.hh"

#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <libgen.h>
#include <memory>
#include <unistd.h>

namespace {

using namespace verbs_test;

constexpr char kUsage[] =
	"usage: error_test [--device NAME] [--case NAME]... [--no-bystander] [--list]\n"
	"Prints 'ok NAME' or 'not ok NAME - REASON' for each case; names may end in '*'.\n";
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
	add_transition_cases(cases);
	add_datagram_cases(cases);
	add_shared_receive_cases(cases);
	add_window_cases(cases);
	add_completion_cases(cases);
	return cases;
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
		if (!is_wanted(options.wanted, one.name) || (one.ohca_only && !options.device.starts_with("ohca")))
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
