// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory windows (IBTA 10.6.7.2): keys that give peers access to a part of a
// region. Type 1 belongs to a protection domain and may be bound anew at any
// time. Type 2B belongs to the queue pair that has bound it, and becomes free
// by invalidation, or with the queue pair.
#pragma once

#include <cstdint>

#include <rdma/ohca_hw.h>

#include "core/context.hh"

namespace ohca::core {

class ContextMemory;
class Function;

// BIND_MW: the window whose index is that of `key` covers the range, as `key`. Returns
// OHCA_VENDOR_ERROR_NONE, or why nothing has changed.
uint32_t bind_window(Function &function, QpContext &qp, uint32_t key, const struct ohca_wqe_bind &request);
// The window becomes free if it is not.
void unbind_window(ContextMemory &context, MkeyContext &window);
// All windows of type 2B that the queue pair has bound become free. Returns how many.
uint32_t release_windows(ContextMemory &context, QpContext &qp);

} // namespace ohca::core
