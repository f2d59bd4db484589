// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Queue pairs that are created and destroyed asynchronously.
#pragma once

#include "case.hh"

namespace verbs_test {

Cases create_destroy_cases();

}  // namespace verbs_test
