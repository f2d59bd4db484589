// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// INTEGRITY keys: data with protection information (T10-DIF, SBC-3 4.22) that is
// generated, checked and removed on its way between memory and the wire.
//
// REG_MR_INTEGRITY makes such a key valid. What goes on then is in
// mem/protected_stream.hh.
#pragma once

#include <cstdint>

#include <rdma/ohca_hw.h>

#include "core/context.hh"
#include "core/mem/context_memory.hh"

namespace ohca::core {

class Function;

constexpr uint32_t kTupleSize = sizeof(struct ohca_t10_tuple);

// Of an INTEGRITY key; its content has a meaning with kMkeyFlagIntegrity.
inline IntegrityContext &integrity_context(ContextMemory &context, const MkeyContext &mkey)
{
	return *reinterpret_cast<IntegrityContext *>(
		context.block(mkey.list + mkey.list_entry_max * uint64_t{sizeof(BusBlock)}));
}

inline bool is_protected(const SignatureDomain &domain)
{
	return domain.type != OHCA_SIGNATURE_NONE;
}

// REG_MR_INTEGRITY: the free key whose index is that of `key` becomes valid, as `key`. Returns
// OHCA_VENDOR_ERROR_NONE, or why nothing has happened.
uint32_t register_integrity(Function &function, uint32_t pd, uint32_t key,
			    const struct ohca_wqe_register_integrity &request);

} // namespace ohca::core
