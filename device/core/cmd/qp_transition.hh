// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One step between two states of a queue pair: MODIFY_QP makes one, CONNECT_QP several.
#pragma once

#include <cstdint>

#include "core/cmd/commands.hh"

namespace ohca::core {

bool has_reserved_bits(const struct ohca_cmd_modify_qp_in &in);

// Whether a queue pair of this type may go from `from` to `to` with these attributes. Changes nothing.
CommandResult check_transition(Function &function, const QpContext &qp, uint8_t from, uint8_t to, uint32_t mask,
			       const struct ohca_qp_attributes &attributes);

// The step from qp.state, which has been checked: cannot fail.
void make_transition(Function &function, QpContext &qp, uint8_t to, uint32_t mask,
		     const struct ohca_qp_attributes &attributes);

} // namespace ohca::core
