// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#pragma once

#include <string>
#include <sys/types.h>

#include "base/unique_fd.hh"

namespace ohca {

// A non-blocking listening stream socket. A path left over by a dead process is taken over; throws
// std::runtime_error, with the reason, if a live one listens there or the path cannot be used.
UniqueFd listen_unix(const std::string &path);

// Empty if nobody listens there (errno says why).
UniqueFd connect_unix(const std::string &path);

// 0 if unknown.
pid_t peer_pid(int socket);

} // namespace ohca
