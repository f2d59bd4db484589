// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/block_list.hh"

#include <cstddef>
#include <cstring>
#include <span>

#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

static_assert(sizeof(struct ohca_block) == sizeof(BusBlock) && offsetof(struct ohca_block, address) == 0 &&
	      offsetof(BusBlock, address) == 0);

uint32_t copy_block_list(Function &function, uint64_t list_address, BlockOffset to, uint32_t count, PageRange &range)
{
	uint64_t end = 0;

	std::span blocks(reinterpret_cast<BusBlock *>(function.context().block(to)), count);
	if (!function.memory().dma().read(list_address, std::as_writable_bytes(blocks)))
		return OHCA_VENDOR_ERROR_DMA;
	for (BusBlock &block : blocks) {
		struct ohca_block given;
		std::memcpy(&given, &block, sizeof(given));
		const uint64_t length = from_le(given.length);
		block.address = from_le(given.address);
		block.end = end + length;
		if (length == 0 || block.end < end || block.address + (length - 1) < block.address)
			return OHCA_VENDOR_ERROR_KEY_RANGE;
		end = block.end;
	}
	range = {};
	range.page_count = count;
	range.addresses = to;
	range.length = end;
	range.contiguous = count <= 1;
	if (count == 1)
		range.contiguous_address = blocks[0].address;
	return OHCA_VENDOR_ERROR_NONE;
}

} // namespace ohca::core
