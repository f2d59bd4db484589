// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Responder resources: the last READs and atomics (IBTA 9.7.4.1, 9.7.5.1.3).
//
// A ring of max_dest_read_atomic entries in the order of their PSNs. A requester
// keeps no more outstanding than that, so an entry that is displaced will not be
// asked for again - unless it has not been answered at all, and then the
// requester has broken the rule.
#pragma once

#include <cstdint>

#include "core/function.hh"

namespace ohca::core {

// A new entry after the newest one, pending. Null: the requester has too many outstanding, or
// there is no memory.
ResponderResource *allocate_resource(Function &function, QpContext &qp);
// The entry whose PSNs contain `psn`, or null.
ResponderResource *find_resource(Function &function, QpContext &qp, uint32_t psn);
// The oldest pending entry; there must be one.
ResponderResource &first_pending_resource(Function &function, QpContext &qp);
void set_pending(QpContext &qp, ResponderResource &resource);
void clear_pending(QpContext &qp, ResponderResource &resource);

} // namespace ohca::core
