// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/invalidate.hh"

#include "core/function.hh"
#include "core/mem/memory_window.hh"

namespace ohca::core {

namespace {

bool may_be_invalidated(const MkeyContext &mkey)
{
	return mkey.type == OHCA_MKEY_TYPE_FAST_REGION || mkey.type == OHCA_MKEY_TYPE_INTEGRITY ||
	       mkey.type == OHCA_MKEY_TYPE_WINDOW_2B;
}

uint32_t check(const QpContext &qp, const MkeyContext &mkey)
{
	if (!may_be_invalidated(mkey))
		return OHCA_VENDOR_ERROR_KEY_TYPE;
	if (mkey.pd != qp.pd)
		return OHCA_VENDOR_ERROR_KEY_PD;
	if (mkey.flags & kMkeyFlagFree)
		return OHCA_VENDOR_ERROR_KEY_STATE;
	if (mkey.type == OHCA_MKEY_TYPE_WINDOW_2B && mkey.binding.qpn != qp.qpn)
		return OHCA_VENDOR_ERROR_KEY_QP;
	// IBTA 10.6.7.2.7: not while windows are bound to the region.
	if (mkey.window_count)
		return OHCA_VENDOR_ERROR_KEY_BOUND;
	return OHCA_VENDOR_ERROR_NONE;
}

} // namespace

void free_region(MkeyContext &mkey)
{
	mkey.flags = kMkeyFlagFree;
	mkey.pages = {};
	mkey.access = 0;
	mkey.start = 0;
	mkey.length = 0;
}

uint32_t invalidate_key(Function &function, QpContext &qp, uint32_t key)
{
	ContextMemory &context = function.context();

	if (key >> 8 >= context.mkey_limit())
		return OHCA_VENDOR_ERROR_KEY_INDEX;
	MkeyContext *mkey = context.mkey(key >> 8);
	if (!mkey || mkey->consumer_key != (key & 0xff))
		return OHCA_VENDOR_ERROR_KEY_STALE;
	const uint32_t error = check(qp, *mkey);
	if (error)
		return error;
	if (mkey->type == OHCA_MKEY_TYPE_WINDOW_2B)
		unbind_window(context, *mkey);
	else
		free_region(*mkey);
	function.count(OHCA_COUNTER_INVALIDATIONS);
	return OHCA_VENDOR_ERROR_NONE;
}

} // namespace ohca::core
