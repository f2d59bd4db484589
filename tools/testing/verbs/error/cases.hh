// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What error_test consists of.
#pragma once

#include "case.hh"

namespace verbs_test {

void add_key_cases(Cases &cases);
void add_queue_cases(Cases &cases);
void add_connection_cases(Cases &cases);
void add_control_cases(Cases &cases);
void add_limit_cases(Cases &cases);
void add_garbage_cases(Cases &cases);
void add_udata_cases(Cases &cases);
void add_transition_cases(Cases &cases);
void add_datagram_cases(Cases &cases);
void add_shared_receive_cases(Cases &cases);
void add_window_cases(Cases &cases);
void add_completion_cases(Cases &cases);

}  // namespace verbs_test
