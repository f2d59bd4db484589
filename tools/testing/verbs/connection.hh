// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Taking a queue pair of any type from RESET to RTS.
#pragma once

#include "device.hh"

namespace verbs_test {

// What both ends of a connection have to agree on, and what one end may want.
struct ConnectionOptions {
	unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	ibv_mtu mtu = IBV_MTU_1024;
	std::uint32_t sq_psn = 0x123456;
	std::uint32_t rq_psn = 0x123456;
	std::uint8_t read_atomic_initiator = 8;
	std::uint8_t read_atomic_responder = 8;
	std::uint8_t rnr_timer = 1;      // 10 us
	std::uint8_t ack_timeout = 18;   // 1 s: a busy machine must not look like a lost packet
	std::uint8_t retry_count = 7;
	std::uint8_t rnr_retry = 7;      // for ever
	std::uint32_t qkey = 0x1234567;  // UD
};

struct Peer {
	ibv_gid gid;
	std::uint32_t qpn;
};

// What a transition must be given (IBTA 11.2.5.2), IBV_QP_STATE among it.
int required_attributes(ibv_qp_type type, ibv_qp_state to);

// Each returns 0 or an errno.
int to_init(ibv_qp *qp, const ConnectionOptions &options);
int to_rtr(ibv_qp *qp, const Device &own, const Peer &peer, const ConnectionOptions &options);
int to_rts(ibv_qp *qp, const ConnectionOptions &options);
int to_state(ibv_qp *qp, ibv_qp_state state);
ibv_qp_state state_of(ibv_qp *qp);

// All of it, or fail().
void connect(ibv_qp *qp, const Device &own, const Peer &peer, const ConnectionOptions &options);

}  // namespace verbs_test
