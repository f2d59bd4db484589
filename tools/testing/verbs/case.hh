// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// A test program's list of cases.  A case runs in a process of its own, opens its own
// device, and ends with fail() or by returning.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace verbs_test {

struct Case {
	std::string name;
	std::function<void(const std::string &device)> function;
	bool ohca_only = false;  // goes below the verbs
};

using Cases = std::vector<Case>;

// Empty if the case passed, else what its process said last.
std::string run_case(const Case &one, const std::string &device);

// One line for tools/testing/check: "ok NAME", or "not ok NAME - REASON".
void report(const std::string &name, std::string reason);

// All names are if none is given; those given may end in '*'.
bool is_wanted(const std::vector<std::string> &wanted, const std::string &name);

// The main loop of a program without needs of its own. Returns its exit status.
int run_cases(const Cases &cases, const std::vector<std::string> &wanted, const std::string &device);

}  // namespace verbs_test
