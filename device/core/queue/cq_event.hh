// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// When a CQ raises its completion event (ohca_hw_io.h, "CQ arming"), and
// moderation (ohca_hw_cmd.h, MODIFY_CQ).
//
// A CQE that matches the arm value wants an event. Without moderation it is
// raised at once. With it, the request is remembered (event_held, held_arm) and
// raised by the CQE with which moderation_count is reached or by a timer, so
// nothing is lost if no further CQE comes. If the host arms anew before that, the
// event is raised all the same, and the CQ stays armed with the new value.
#pragma once

#include "core/context.hh"
#include "core/engine.hh"

namespace ohca::core {

// A CQE has been written.
void announce_cqe(Function &function, uint32_t cqn, CqContext &cq, const struct ohca_cqe &cqe);
// 0 in either: none.
void set_moderation(Function &function, uint32_t cqn, CqContext &cq, uint16_t count, uint16_t period_us);
// When handle_event_timeout() wants to be called; kNever if no event is held back.
TimeNs event_timeout(const CqContext &cq);
void handle_event_timeout(Function &function, uint32_t cqn, CqContext &cq);

} // namespace ohca::core
