// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#pragma once

#include <stdexcept>
#include <string>

#include "broker/broker.hh"

namespace ohca {

struct Options {
	broker::BrokerOptions broker;
	std::string run_dir = "/run/ohca";
	std::string log_file; // empty: standard error
	std::string log_level = "info";
};

// The text for the user is in what().
struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// Fills `options`. Returns false if there is nothing more to do (--help, --version; printed).
// Throws UsageError.
bool parse_options(int argc, char **argv, Options &options);

// "socket=PATH[,mac=MAC][,name=NAME][,mask=FEATURE+...]"; `index` gives the defaults, and `features` is all
// but the masked ones. Throws UsageError.
broker::FunctionOptions parse_function(const std::string &text, uint32_t index);

} // namespace ohca
