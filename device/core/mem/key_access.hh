// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Which access rights (OHCA_ACCESS_*) a key may be given.
#pragma once

#include <cstdint>

#include <rdma/ohca_hw.h>

namespace ohca::core {

// What the negotiated features have a meaning for.
constexpr uint32_t known_access(uint64_t features)
{
	uint32_t access = OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ;
	if (features & OHCA_FEATURE_ATOMIC)
		access |= OHCA_ACCESS_REMOTE_ATOMIC;
	if (features & OHCA_FEATURE_WINDOW)
		access |= OHCA_ACCESS_WINDOW_BIND;
	if (features & OHCA_FEATURE_ZERO_BASED)
		access |= OHCA_ACCESS_ZERO_BASED;
	// The device has no persistent memory behind any address, so it promises none.
	if (features & OHCA_FEATURE_FLUSH)
		access |= OHCA_ACCESS_FLUSH_GLOBAL;
	return access;
}

constexpr uint32_t kRemoteAccess = OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_REMOTE_ATOMIC |
				   OHCA_ACCESS_FLUSH_GLOBAL | OHCA_ACCESS_FLUSH_PERSISTENT;

// IBTA 10.6.3.1: who lets peers change memory must be allowed to change it.
constexpr bool needs_local_write(uint32_t access)
{
	return (access & (OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_ATOMIC)) != 0;
}

} // namespace ohca::core
