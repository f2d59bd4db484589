// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Builds the WQE that binds a memory window.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

namespace ohca {

// `key` is the window's from now on; only its consumer part, the lowest byte, is the caller's
// to choose.  0, or an errno value if the request is not well formed.
int write_bind(std::byte *wqe, std::uint8_t flags, const ibv_mw &window, std::uint32_t key,
	       const ibv_mw_bind_info &info);

} // namespace ohca
