// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// UAR pages (ohca_hw_io.h): which queues have work, and the sleep handshake.
#pragma once

#include "core/engine.hh"

namespace ohca::core {

class Function;

// Takes all bits that are set in the function's live UAR pages and hands the queues behind them
// to the transport or the command processor. True if there were any.
bool scan_doorbells(Function &function, TimeNs now);

// Whether a scan would find something.
bool doorbells_rung(Function &function);

// need_wakeup of every live UAR page. The caller fences between setting and looking once more.
void set_need_wakeup(Function &function, bool asleep);

} // namespace ohca::core
