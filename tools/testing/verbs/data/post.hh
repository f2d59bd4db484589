// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Handing a planned round to a queue pair.
#pragma once

#include "data/endpoint.hh"

namespace verbs_test {

// In lists of random length, each through a random one of the two APIs.
void post_sends(const Endpoint &endpoint, const Round &round, Random &random);
void post_receives(const Endpoint &endpoint, const Round &round, Random &random);

}  // namespace verbs_test
