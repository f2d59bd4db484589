// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The list of cases.  A case runs in a process of its own, opens its own
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

void add_key_cases(Cases &cases);
void add_queue_cases(Cases &cases);
void add_connection_cases(Cases &cases);
void add_control_cases(Cases &cases);
void add_limit_cases(Cases &cases);
void add_garbage_cases(Cases &cases);
void add_udata_cases(Cases &cases);

}  // namespace verbs_test
