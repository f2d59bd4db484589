// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The command ring: fetch, check, execute, complete.
#pragma once

#include <cstdint>

#include "core/engine.hh"

namespace ohca::core {

class Function;
struct CommandResult;
struct DeferredCommand;

// Bounds the time that the commands of one function take from the queues of the others.
constexpr uint32_t kCommandsPerPass = 16;
// No further command is taken in a pass that has copied more page list entries (1 ms or less).
constexpr uint64_t kPageEntriesPerPass = 1 << 16;

// Host makes room in the completion ring without a doorbell: how often to look if it was full.
constexpr uint64_t kCommandRetryNs = 1'000'000;

// OHCA_FAIL_NONE, or why the function refuses to run. On success it runs.
uint32_t enable_function(Function &function, const EnableRequest &request);

// Executes at most kCommandsPerPass commands, if some may be waiting. True if there were any.
bool process_commands(Function &function);

// Completes a command that was deferred and is pending. It has a place in the completion ring.
void complete_deferred(Function &function, DeferredCommand &command, CommandResult result);

} // namespace ohca::core
