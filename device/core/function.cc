// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/function.hh"

#include <atomic>

#include "core/endian.hh"

namespace ohca::core {

Function::Function(uint32_t index, const FunctionResources &resources, FunctionOwner *owner)
	: index_(index), resources_(resources), context_(resources.context_memory),
	  memory_(context_, *resources.dma), owner_(owner)
{
}

void Function::fail(uint32_t reason)
{
	if (state().failure)
		return;
	state().failure = reason;
	for (uint32_t index : live_uars_) {
		std::atomic_ref<uint32_t> device_state(uar_page(index)->device_state);
		device_state.store(to_le<uint32_t>(OHCA_UAR_DEVICE_FAILED), std::memory_order_release);
	}
	request_interrupt(OHCA_CMD_VECTOR);
}

} // namespace ohca::core
