// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/memory_window.hh"

#include "core/endian.hh"
#include "core/function.hh"
#include "core/mem/key_access.hh"

namespace ohca::core {

namespace {

uint32_t check_window(const QpContext &qp, const MkeyContext *window)
{
	if (!window)
		return OHCA_VENDOR_ERROR_KEY_INDEX;
	if (window->type != OHCA_MKEY_TYPE_WINDOW_1 && window->type != OHCA_MKEY_TYPE_WINDOW_2B)
		return OHCA_VENDOR_ERROR_KEY_TYPE;
	if (window->pd != qp.pd)
		return OHCA_VENDOR_ERROR_KEY_PD;
	// IBTA 10.6.7.2.2: type 2 must have been invalidated before it is bound again.
	if (window->type == OHCA_MKEY_TYPE_WINDOW_2B && !(window->flags & kMkeyFlagFree))
		return OHCA_VENDOR_ERROR_KEY_STATE;
	return OHCA_VENDOR_ERROR_NONE;
}

// The range of the region, and what the region permits (IBTA 10.6.7.2.1). The region's key is
// checked like an lkey.
uint32_t check_region(Function &function, const QpContext &qp, const struct ohca_wqe_bind &request, uint32_t access)
{
	// IBTA 10.6.7.2.1: remote write and atomic access need a region with local write access.
	const uint32_t needed = OHCA_ACCESS_WINDOW_BIND | (needs_local_write(access) ? OHCA_ACCESS_LOCAL_WRITE : 0);
	const KeyCheck check = function.memory().check_key(from_le(request.lkey), qp.pd, from_le(request.address),
							   from_le(request.length), needed);

	if (!check.mkey)
		return check.vendor_error;
	// It stands for no memory in particular.
	if (check.mkey->flags & OHCA_MKEY_LINEAR)
		return OHCA_VENDOR_ERROR_KEY_TYPE;
	return OHCA_VENDOR_ERROR_NONE;
}

void link(ContextMemory &context, QpContext &qp, MkeyContext &window, uint32_t index)
{
	window.binding.qpn = qp.qpn;
	window.binding.previous = 0;
	window.binding.next = qp.window_head;
	if (qp.window_head)
		context.mkey(qp.window_head)->binding.previous = index;
	qp.window_head = index;
}

void unlink(ContextMemory &context, const WindowBinding &binding)
{
	if (binding.previous)
		context.mkey(binding.previous)->binding.next = binding.next;
	else
		context.qp(binding.qpn)->window_head = binding.next;
	if (binding.next)
		context.mkey(binding.next)->binding.previous = binding.previous;
}

} // namespace

uint32_t bind_window(Function &function, QpContext &qp, uint32_t key, const struct ohca_wqe_bind &request)
{
	ContextMemory &context = function.context();
	MkeyContext *window = context.mkey(key >> 8);
	const uint32_t access = from_le(request.access);
	const uint64_t address = from_le(request.address);
	const uint64_t length = from_le(request.length);

	uint32_t error = check_window(qp, window);
	if (error)
		return error;
	if (access & ~(known_access(function.state().features) & (kRemoteAccess | OHCA_ACCESS_ZERO_BASED)))
		return OHCA_VENDOR_ERROR_KEY_ACCESS;
	if (length == 0) {
		if (window->type != OHCA_MKEY_TYPE_WINDOW_1)
			return OHCA_VENDOR_ERROR_KEY_RANGE;
		unbind_window(context, *window);
		window->consumer_key = static_cast<uint8_t>(key);
		function.count(OHCA_COUNTER_REGISTRATIONS);
		return OHCA_VENDOR_ERROR_NONE;
	}
	error = check_region(function, qp, request, access);
	if (error)
		return error;

	const uint32_t region_index = from_le(request.lkey) >> 8;
	MkeyContext *region = context.mkey(region_index);
	unbind_window(context, *window);
	region->window_count++;
	window->binding = {};
	window->binding.region = region_index;
	window->binding.region_offset = address - region->start;
	if (window->type == OHCA_MKEY_TYPE_WINDOW_2B)
		link(context, qp, *window, key >> 8);
	window->access = access;
	window->start = access & OHCA_ACCESS_ZERO_BASED ? 0 : address;
	window->length = length;
	window->consumer_key = static_cast<uint8_t>(key);
	window->flags = kMkeyFlagWindow;
	function.count(OHCA_COUNTER_REGISTRATIONS);
	return OHCA_VENDOR_ERROR_NONE;
}

void unbind_window(ContextMemory &context, MkeyContext &window)
{
	if (window.flags & kMkeyFlagFree)
		return;
	context.mkey(window.binding.region)->window_count--;
	if (window.type == OHCA_MKEY_TYPE_WINDOW_2B)
		unlink(context, window.binding);
	window.binding = {};
	window.access = 0;
	window.start = 0;
	window.length = 0;
	window.flags = kMkeyFlagWindow | kMkeyFlagFree;
}

uint32_t release_windows(ContextMemory &context, QpContext &qp)
{
	uint32_t count = 0;

	for (; qp.window_head; count++)
		unbind_window(context, *context.mkey(qp.window_head));
	return count;
}

} // namespace ohca::core
