// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Checked ranges of host memory and the one copy between two of them.
#pragma once

#include <cstdint>
#include <span>

#include "core/context.hh"
#include "core/mem/dma_space.hh"

namespace ohca::core {

class FunctionMemory;

// A piece of a key's address space that passed every check (index, consumer
// key, PD, access, range), or plain bytes (inline data, a received packet).
struct SgRange {
	FunctionMemory *memory = nullptr; // null: `bytes`
	const MkeyContext *mkey = nullptr;
	uint64_t address = 0;             // in the key's address space
	std::byte *bytes = nullptr;
	uint64_t length = 0;
};

// A position in a list of ranges. The list outlives the cursor.
struct SgCursor {
	const SgRange *ranges = nullptr;
	uint32_t count = 0;
	uint32_t index = 0;
	uint64_t offset = 0; // in ranges[index]

	void skip(uint64_t bytes);
};

enum class CopyResult : uint8_t {
	kOk,
	kSourceFault,      // source memory not reachable (unmapped, SIGBUS)
	kDestinationFault,
};

// Copies `length` bytes and advances both cursors. One pass, source to
// destination, through the page lists of both; uses in-band DMA where a range
// has no shared memory, and mem/protected_stream.hh where a key is one of
// INTEGRITY. Never reads or writes outside the ranges.
CopyResult copy(SgCursor &destination, SgCursor &source, uint64_t length);

} // namespace ohca::core
