// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Handing planned work to queues, in lists of random length.
#pragma once

#include "data/plan.hh"

#include <span>

namespace verbs_test {

class Endpoint;

// Each list through a random one of the two APIs.
void post_sends(const Endpoint &endpoint, const Round &round, Random &random);
void post_receives(const Endpoint &endpoint, const Round &round, Random &random);
void post_shared_receives(ibv_srq *srq, std::span<const ReceiveBuffer *const> buffers, Random &random);

}  // namespace verbs_test
