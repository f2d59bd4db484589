// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// CONNECT_QP: the way from RESET to RTR or RTS in one command.  All its steps are checked
// before the first is made, so that a refused command has changed nothing, as with any other.
#include "core/cmd/commands.hh"
#include "core/cmd/qp_transition.hh"
#include "core/cmd/qp_types.hh"
#include "core/endian.hh"
#include "core/function.hh"

namespace ohca::core {

namespace {

CommandResult in_phase(CommandResult result, uint8_t state)
{
	result.detail |= uint32_t{state} << OHCA_CMD_DETAIL_PHASE_SHIFT;
	return result;
}

// Of the attributes given, those that the step into a state takes.
uint32_t phase_mask(const QpContext &qp, uint8_t to, uint32_t mask)
{
	const QpTransition *transition = find_qp_transition(qp.type, to - 1, to);

	return transition ? mask & (transition->required | transition->optional) : 0;
}

} // namespace

CommandResult connect_qp(Function &function, const struct ohca_cmd_modify_qp_in &in, NoData &)
{
	static_assert(OHCA_QP_STATE_RESET + 1 == OHCA_QP_STATE_INIT && OHCA_QP_STATE_INIT + 1 == OHCA_QP_STATE_RTR &&
		      OHCA_QP_STATE_RTR + 1 == OHCA_QP_STATE_RTS);
	if (!function.has_feature(OHCA_FEATURE_COMPOUND))
		return unsupported(OHCA_CMD_DETAIL_FEATURE);
	if (has_reserved_bits(in))
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	QpContext *qp = function.context().qp(from_le(in.qpn));
	if (!qp)
		return bad_handle(OHCA_CMD_DETAIL_QP);
	const uint8_t target = in.attributes.state;
	const uint32_t mask = from_le(in.mask);
	if (!(mask & OHCA_QP_ATTR_STATE) || (target != OHCA_QP_STATE_RTR && target != OHCA_QP_STATE_RTS))
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	if (qp->state >= target || (in.check_current_state && in.current_state != qp->state))
		return bad_state(OHCA_CMD_DETAIL_QP);

	uint32_t unused = mask & ~uint32_t{OHCA_QP_ATTR_STATE};
	for (uint8_t from = qp->state; from < target; from++) {
		const uint8_t to = from + 1;
		const uint32_t taken = phase_mask(*qp, to, mask);
		CommandResult result = check_transition(function, *qp, from, to, taken, in.attributes);
		if (!result.ok())
			return in_phase(result, to);
		unused &= ~taken;
	}
	if (unused)
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	while (qp->state < target) {
		const uint8_t to = qp->state + 1;
		make_transition(function, *qp, to, phase_mask(*qp, to, mask), in.attributes);
	}
	return kAccepted;
}

} // namespace ohca::core
