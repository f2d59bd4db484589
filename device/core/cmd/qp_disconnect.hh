// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The end of a DISCONNECT_QP that is in progress.
#pragma once

namespace ohca::core {

class Function;
struct QpContext;

// A step of flushing is over. Completes the command if nothing is left.
void check_disconnected(Function &function, QpContext &qp);

// The queue pair goes to RESET or is destroyed: no completion is going to be written any more.
void end_disconnect(Function &function, QpContext &qp);

} // namespace ohca::core
