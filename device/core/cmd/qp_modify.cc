// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Queue pair states and attributes (IBTA 10.3.1); qp_types.cc has what is legal for which type.
#include <bit>
#include <cstring>

#include "core/cmd/qp_disconnect.hh"
#include "core/cmd/qp_transition.hh"
#include "core/cmd/qp_types.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/transport/transport.hh"

namespace ohca::core {

namespace {

constexpr uint32_t kPsnMax = 0xffffff;
constexpr uint32_t kQpnMax = 0xffffff;
constexpr uint32_t kFlowLabelMax = 0xfffff;
constexpr uint8_t kTimerMax = 31;      // encoded RNR timer and ACK timeout
constexpr uint8_t kRetryMax = 7;
constexpr uint8_t kServiceLevelMax = 15;
constexpr uint8_t kLogMtuMin = 8;
constexpr uint8_t kLogMtuMax = 12;

CommandResult check_path(Function &function, const struct ohca_qp_attributes &a)
{
	if (from_le(a.flow_label) > kFlowLabelMax || a.service_level > kServiceLevelMax)
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	static_assert(kGidCountMax == 256, "sgid_index is 8 bits");
	if (!function.context().gid(a.sgid_index)->live)
		return bad_parameter(OHCA_CMD_DETAIL_GID);
	return kAccepted;
}

bool path_mtu_fits(Function &function, uint8_t log_mtu)
{
	uint32_t port_mtu = function.state().port_max_mtu; // 0: not set yet
	return log_mtu >= kLogMtuMin && log_mtu <= kLogMtuMax && (!port_mtu || uint32_t{1} << log_mtu <= port_mtu);
}

// The values of the attributes that are given.
CommandResult check_values(Function &function, uint32_t mask, const struct ohca_qp_attributes &a)
{
	struct Bound {
		uint32_t attribute;
		uint32_t value;
		uint32_t max;
	};
	const Bound bounds[] = {
		{OHCA_QP_ATTR_MAX_READ_ATOMIC, a.max_read_atomic, kReadAtomicMax},
		{OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC, a.max_dest_read_atomic, kReadAtomicMax},
		{OHCA_QP_ATTR_MIN_RNR_TIMER, a.min_rnr_timer, kTimerMax},
		{OHCA_QP_ATTR_ACK_TIMEOUT, a.ack_timeout, kTimerMax},
		{OHCA_QP_ATTR_RETRY_COUNT, a.retry_count, kRetryMax},
		{OHCA_QP_ATTR_RNR_RETRY, a.rnr_retry, kRetryMax},
		{OHCA_QP_ATTR_SQ_DRAINED_EVENT, a.sq_drained_event, 1},
		{OHCA_QP_ATTR_PKEY_INDEX, from_le(a.pkey_index), 0},
		{OHCA_QP_ATTR_DEST_QPN, from_le(a.dest_qpn), kQpnMax},
		{OHCA_QP_ATTR_SQ_PSN, from_le(a.sq_psn), kPsnMax},
		{OHCA_QP_ATTR_RQ_PSN, from_le(a.rq_psn), kPsnMax},
	};
	for (const Bound &bound : bounds)
		if ((mask & bound.attribute) && bound.value > bound.max)
			return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	if ((mask & OHCA_QP_ATTR_PATH_MTU) && !path_mtu_fits(function, a.path_mtu))
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	if ((mask & OHCA_QP_ATTR_ACCESS) && (from_le(a.access) & ~uint32_t{OHCA_QP_ACCESS_ALL}))
		return bad_parameter(OHCA_CMD_DETAIL_ACCESS);
	if (mask & OHCA_QP_ATTR_PATH)
		return check_path(function, a);
	return kAccepted;
}

void take_path(struct ohca_qp_attributes &to, const struct ohca_qp_attributes &from)
{
	std::memcpy(to.dgid, from.dgid, sizeof(to.dgid));
	std::memcpy(to.dmac, from.dmac, sizeof(to.dmac));
	to.sgid_index = from.sgid_index;
	to.hop_limit = from.hop_limit;
	to.traffic_class = from.traffic_class;
	to.service_level = from.service_level;
	to.source_udp_port = from.source_udp_port;
	to.flow_label = from.flow_label;
}

void take_values(struct ohca_qp_attributes &to, uint32_t mask, const struct ohca_qp_attributes &from)
{
	auto take = [mask](uint32_t attribute, auto &field, auto value) {
		if (mask & attribute)
			field = value;
	};
	take(OHCA_QP_ATTR_PATH_MTU, to.path_mtu, from.path_mtu);
	take(OHCA_QP_ATTR_ACCESS, to.access, from.access);
	take(OHCA_QP_ATTR_MAX_READ_ATOMIC, to.max_read_atomic, from.max_read_atomic);
	take(OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC, to.max_dest_read_atomic, from.max_dest_read_atomic);
	take(OHCA_QP_ATTR_MIN_RNR_TIMER, to.min_rnr_timer, from.min_rnr_timer);
	take(OHCA_QP_ATTR_ACK_TIMEOUT, to.ack_timeout, from.ack_timeout);
	take(OHCA_QP_ATTR_RETRY_COUNT, to.retry_count, from.retry_count);
	take(OHCA_QP_ATTR_RNR_RETRY, to.rnr_retry, from.rnr_retry);
	take(OHCA_QP_ATTR_SQ_DRAINED_EVENT, to.sq_drained_event, from.sq_drained_event);
	take(OHCA_QP_ATTR_PKEY_INDEX, to.pkey_index, from.pkey_index);
	take(OHCA_QP_ATTR_DEST_QPN, to.dest_qpn, from.dest_qpn);
	take(OHCA_QP_ATTR_SQ_PSN, to.sq_psn, from.sq_psn);
	take(OHCA_QP_ATTR_RQ_PSN, to.rq_psn, from.rq_psn);
	take(OHCA_QP_ATTR_QKEY, to.qkey, from.qkey);
	if (mask & OHCA_QP_ATTR_PATH)
		take_path(to, from);
}

} // namespace

bool has_reserved_bits(const struct ohca_cmd_modify_qp_in &in)
{
	uint8_t any = 0;
	for (uint8_t byte : in.reserved_50)
		any |= byte;
	return any || in.attributes.reserved_10 || in.check_current_state > 1;
}

CommandResult check_transition(Function &function, const QpContext &qp, uint8_t from, uint8_t to, uint32_t mask,
			       const struct ohca_qp_attributes &attributes)
{
	const QpTransition *transition = find_qp_transition(qp.type, from, to);
	if (!transition)
		return bad_state(OHCA_CMD_DETAIL_QP);
	uint32_t allowed = transition->required | transition->optional | OHCA_QP_ATTR_STATE;
	if ((mask & transition->required) != transition->required || (mask & ~allowed))
		return bad_parameter(OHCA_CMD_DETAIL_ATTRIBUTE);
	return check_values(function, mask, attributes);
}

void make_transition(Function &function, QpContext &qp, uint8_t to, uint32_t mask,
		     const struct ohca_qp_attributes &attributes)
{
	uint8_t from = qp.state;

	if (to == OHCA_QP_STATE_RESET) {
		qp.attributes = {};
		qp.sq_producer_seen = 0;
		qp.rq_producer_seen = 0;
		end_disconnect(function, qp);
	}
	if (to == OHCA_QP_STATE_SQD && from != OHCA_QP_STATE_SQD)
		qp.attributes.sq_drained_event = 0; // wanted only if given this time
	take_values(qp.attributes, mask, attributes);
	qp.attributes.state = to;
	qp.state = to;
	qp.route_generation = 0;
	handle_state_change(function, qp, from, function.now());
	function.activate(qp);
}

CommandResult modify_qp(Function &function, const struct ohca_cmd_modify_qp_in &in, NoData &)
{
	if (has_reserved_bits(in))
		return bad_parameter(OHCA_CMD_DETAIL_RESERVED);
	QpContext *qp = function.context().qp(from_le(in.qpn));
	if (!qp)
		return bad_handle(OHCA_CMD_DETAIL_QP);
	if (in.check_current_state && in.current_state != qp->state)
		return bad_state(OHCA_CMD_DETAIL_QP);

	uint32_t mask = from_le(in.mask);
	uint8_t to = mask & OHCA_QP_ATTR_STATE ? in.attributes.state : qp->state;
	CommandResult result = check_transition(function, *qp, qp->state, to, mask, in.attributes);
	if (result.ok())
		make_transition(function, *qp, to, mask, in.attributes);
	return result;
}

} // namespace ohca::core
