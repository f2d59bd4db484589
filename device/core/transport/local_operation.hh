// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Requester: work requests about keys of this HCA, BIND_MW, REG_MR,
// REG_MR_INTEGRITY and LOCAL_INV (IBTA 10.6.5, 10.6.7.2, 10.6.4.4).
//
// They have no PSN. Each takes effect when its turn has come, once: a
// retransmission skips it. It completes when all before it are complete.
#pragma once

#include "core/transport/send_window.hh"

namespace ohca::core {

// Whether it has to wait for what is outstanding (OHCA_WQE_FENCE).
bool must_wait(const QpContext &qp, uint32_t index, const SendWindowEntry &entry);
// OHCA_VENDOR_ERROR_NONE, or why it has failed; then nothing has changed. All failures have the
// status MW_BIND, "memory management operation error" (IBTA 11.6.2).
uint32_t carry_out(Function &function, QpContext &qp, SendWindowEntry &entry);

} // namespace ohca::core
