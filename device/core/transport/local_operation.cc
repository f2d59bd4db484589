// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
#include "core/transport/local_operation.hh"

#include "core/mem/fast_registration.hh"
#include "core/mem/integrity.hh"
#include "core/mem/invalidate.hh"
#include "core/mem/memory_window.hh"

namespace ohca::core {

bool must_wait(const QpContext &qp, uint32_t index, const SendWindowEntry &entry)
{
	if (!(entry.flags & OHCA_WQE_FENCE))
		return false;
	// IBTA 10.8.3.3, local invalidate fence: behind everything, since what has been transmitted may
	// have to be read again with that key.
	if (entry.opcode == OHCA_WR_LOCAL_INV)
		return qp.requester.complete_index != index;
	return qp.requester.reads_outstanding > 0;
}

uint32_t carry_out(Function &function, QpContext &qp, SendWindowEntry &entry)
{
	switch (entry.opcode) {
	case OHCA_WR_BIND_MW:
		return bind_window(function, qp, entry.rkey, window_bind(entry));
	case OHCA_WR_REG_MR:
		return register_list(function, qp.pd, entry.rkey, window_registration(entry));
	case OHCA_WR_REG_MR_INTEGRITY:
		return register_integrity(function, qp.pd, entry.rkey, window_integrity(entry));
	case OHCA_WR_LOCAL_INV:
		return invalidate_key(function, qp, entry.immediate);
	default:
		return OHCA_VENDOR_ERROR_OPCODE;
	}
}

} // namespace ohca::core
