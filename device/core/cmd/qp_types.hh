// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// What a queue pair of each type is made of (IBTA 10.2.4, 14.2.2 of the XRC annex), and which
// attributes MODIFY_QP takes with it.
#pragma once

#include <cstdint>

#include <rdma/ohca_hw.h>

namespace ohca::core {

struct QpType {
	uint64_t feature = 0;      // that must have been negotiated
	bool valid = false;
	bool has_sq = false;       // may have a send queue; if not, NO_SQ is given and send_cq and uar are 0
	bool has_rq = false;       // may receive; if not, NO_RQ is given and recv_cq is 0
	bool may_share_rq = false; // `srq` may be given
	bool has_pd = false;       // pd is given; if not, xrcd is
	uint8_t flags = 0;         // OHCA_QP_* that may be given
};

// `valid` is false for a number that is no type.
const QpType &qp_type(uint8_t type);

struct QpTransition {
	uint32_t required = 0;     // OHCA_QP_ATTR_*
	uint32_t optional = 0;
};

// Null: not legal for a queue pair of that type.
const QpTransition *find_qp_transition(uint8_t type, uint8_t from, uint8_t to);

} // namespace ohca::core
