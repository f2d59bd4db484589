// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// DISCONNECT_QP: to ERR, and done when the queues are empty.  Flushing takes several steps
// (transport/flush.cc), between which everything else goes on; the command waits meanwhile.
#include "core/cmd/qp_disconnect.hh"

#include "core/cmd/commands.hh"
#include "core/cmd/processor.hh"
#include "core/cmd/qp_transition.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/transport/responder.hh"

namespace ohca::core {

CommandResult disconnect_qp(Function &function, const struct ohca_cmd_handle &in, NoData &)
{
	if (!function.has_feature(OHCA_FEATURE_COMPOUND))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (in.reserved_20)
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	QpContext *qp = function.context().qp(from_le(in.handle));
	if (!qp)
		return bad_handle(OHCA_CMD_DETAIL_QP);
	if (qp->disconnect.pending)
		return in_use(OHCA_CMD_DETAIL_QP);
	// Also if it is there already: what has been posted since rings no doorbell.
	if (qp->state == OHCA_QP_STATE_ERR)
		flush_queues(function, *qp, function.now());
	else
		make_transition(function, *qp, OHCA_QP_STATE_ERR, OHCA_QP_ATTR_STATE, {});
	if (!qp->flushing)
		return kAccepted;
	qp->disconnect = function.current_command();
	return kDeferred;
}

void check_disconnected(Function &function, QpContext &qp)
{
	if (!qp.flushing)
		end_disconnect(function, qp);
}

void end_disconnect(Function &function, QpContext &qp)
{
	if (qp.disconnect.pending)
		complete_deferred(function, qp.disconnect, kAccepted);
}

} // namespace ohca::core
