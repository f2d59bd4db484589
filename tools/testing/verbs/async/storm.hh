// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Many queue pairs that are created, connected, disconnected and destroyed all the time.
#pragma once

#include "device.hh"

#include <string>

namespace verbs_test {

// Of ibv_qp_attr: all that RESET to RTS takes.
inline constexpr int kConnectMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_AV |
				    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

// To RTS, to a queue pair of the same device.
ibv_qp_attr connect_attributes(const Device &device, std::uint32_t peer_qpn);

// What of them ibv_modify_qp() takes on the way to `state`: INIT, RTR or RTS.
int transition_mask(ibv_qp_state state);

// Until the device goes: then 0, once each operation has had its completion.
int run_storm(const std::string &device);

}  // namespace verbs_test
