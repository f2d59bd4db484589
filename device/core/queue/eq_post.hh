// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Event queues. A full ring loses nothing of a completion EQ: the CQ waits in
// the EQ's list until the host has made room.  Async events that find no room
// are lost, which is reported by OHCA_EVENT_EQ_OVERRUN as soon as there is.
#pragma once

#include <cstdint>

#include "core/context.hh"

namespace ohca::core {

class Function;

// One completion event for the CQ, now or when its EQ has room.
void post_completion_event(Function &function, uint32_t cqn, CqContext &cq);

// The CQ is about to be destroyed.
void forget_completion_event(Function &function, uint32_t cqn, CqContext &cq);

// Tries again what did not fit (FunctionContext.eq_pending). True if anything was posted.
bool retry_events(Function &function);

// The host frees room in an EQ without ringing a doorbell: how often to look while events wait.
constexpr uint64_t kEventRetryNs = 100'000;

} // namespace ohca::core
