// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The table of transitions of each type of queue pair (IBTA 11.2.5.2): what is
// not in it, lacks an attribute or has one too many is refused and changes nothing.
#include "error/cases.hh"
#include "error/parts.hh"
#include "failure.hh"

#include <cerrno>
#include <cstring>

namespace verbs_test {

namespace {

constexpr ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
				    IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
// Those an application takes a queue pair to, in an order in which it can go.
constexpr ibv_qp_state kReachable[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
				       IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};

bool is_legal(ibv_qp_state from, ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_RESET:
		return true;
	case IBV_QPS_ERR:
		return from != IBV_QPS_RESET;
	case IBV_QPS_INIT:
		return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	case IBV_QPS_RTR:
		return from == IBV_QPS_INIT;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	case IBV_QPS_SQD:
		return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	default:
		return false;
	}
}

struct Attribute {
	int bit;
	const char *name;
};

constexpr Attribute kAttributes[] = {
	{IBV_QP_PKEY_INDEX, "pkey_index"},
	{IBV_QP_PORT, "port_num"},
	{IBV_QP_QKEY, "qkey"},
	{IBV_QP_ACCESS_FLAGS, "qp_access_flags"},
	{IBV_QP_AV, "ah_attr"},
	{IBV_QP_PATH_MTU, "path_mtu"},
	{IBV_QP_DEST_QPN, "dest_qp_num"},
	{IBV_QP_RQ_PSN, "rq_psn"},
	{IBV_QP_SQ_PSN, "sq_psn"},
	{IBV_QP_TIMEOUT, "timeout"},
	{IBV_QP_RETRY_CNT, "retry_cnt"},
	{IBV_QP_RNR_RETRY, "rnr_retry"},
	{IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic"},
	{IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic"},
	{IBV_QP_MIN_RNR_TIMER, "min_rnr_timer"},
};

// What the type has no use for in any state.
int alien_attributes(ibv_qp_type type)
{
	constexpr int kConnected = IBV_QP_ACCESS_FLAGS | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	constexpr int kResponder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	constexpr int kRequester = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	switch (type) {
	case IBV_QPT_UD:
		return kConnected | kResponder | kRequester | IBV_QP_TIMEOUT;
	case IBV_QPT_UC:
		return IBV_QP_QKEY | kResponder | kRequester | IBV_QP_TIMEOUT;
	default:
		return IBV_QP_QKEY;
	}
}

// The kernel's verbs take these away before a driver sees them: half of XRC is not in either type.
int ignored_attributes(ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_XRC_SEND:
		return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPT_XRC_RECV:
		return IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	default:
		return 0;
	}
}

// What no type may change on the way to a state.
int late_attributes(ibv_qp_state to)
{
	constexpr int kPath = IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	constexpr int kNotInReset = kPath | IBV_QP_AV | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER;
	switch (to) {
	case IBV_QPS_RESET:
	case IBV_QPS_ERR:
		return kNotInReset | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_INIT:
		return kNotInReset;
	case IBV_QPS_RTR:
		return IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
		       IBV_QP_PORT;
	case IBV_QPS_RTS:
		return kPath | IBV_QP_AV | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_MAX_DEST_RD_ATOMIC;
	default:
		return kPath | IBV_QP_SQ_PSN;
	}
}

class Subject {
 public:
	Subject(const Device &device, Parts &parts, ibv_qp_type type) : device_(device), qp_(parts.create(type)), type_(type) {}

	ibv_qp *qp() const { return qp_; }
	// 0 or an errno; each attribute that the mask names has a value that is fine
	int modify(ibv_qp_state to, int mask)
	{
		ibv_qp_attr attributes{};
		attributes.qp_state = to;
		attributes.port_num = kPort;
		attributes.qkey = 0x111;
		attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ;
		attributes.path_mtu = IBV_MTU_512;
		attributes.dest_qp_num = 0x123;
		attributes.rq_psn = attributes.sq_psn = 0x4321;
		attributes.timeout = 13;
		attributes.retry_cnt = attributes.rnr_retry = 5;
		attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 3;
		attributes.min_rnr_timer = 9;
		attributes.ah_attr.is_global = 1;
		attributes.ah_attr.port_num = kPort;
		attributes.ah_attr.grh.dgid = device_.gid();
		attributes.ah_attr.grh.sgid_index = device_.gid_index();
		attributes.ah_attr.grh.hop_limit = 9;
		return ibv_modify_qp(qp_, &attributes, mask);
	}
	void bring_to(ibv_qp_state state)
	{
		ConnectionOptions options;
		const Peer peer = {device_.gid(), qp_->qp_num};
		if (state == IBV_QPS_INIT)
			must_succeed(to_init(qp_, options), "to INIT");
		else if (state == IBV_QPS_RTR)
			must_succeed(to_rtr(qp_, device_, peer, options), "to RTR");
		else if (state == IBV_QPS_RTS)
			must_succeed(to_rts(qp_, options), "to RTS");
		else if (state != IBV_QPS_RESET)
			must_succeed(to_state(qp_, state), "to SQD or ERR");
	}
	void expect_refused(ibv_qp_state to, int mask, const char *why)
	{
		const ibv_qp_attr before = query();
		const int error = modify(to, mask);
		if (error != EINVAL)
			fail("type %d, state %d to %d, attributes 0x%x, %s: errno %d instead of EINVAL", type_, before.qp_state, to,
			     static_cast<unsigned>(mask), why, error);
		const ibv_qp_attr after = query();
		if (std::memcmp(&before, &after, sizeof(before)) != 0)
			fail("type %d, state %d to %d, attributes 0x%x, %s: refused, but something has changed (state %d)", type_,
			     before.qp_state, to, static_cast<unsigned>(mask), why, after.qp_state);
	}

 private:
	ibv_qp_attr query() const
	{
		ibv_qp_attr attributes;
		ibv_qp_init_attr created{};
		std::memset(&attributes, 0, sizeof(attributes));
		must_succeed(ibv_query_qp(qp_, &attributes, IBV_QP_STATE | IBV_QP_CAP | IBV_QP_ACCESS_FLAGS, &created),
			     "ibv_query_qp");
		return attributes;
	}

	const Device &device_;
	ibv_qp *qp_;
	ibv_qp_type type_;
};

void try_all_from(Subject &subject, ibv_qp_type type, ibv_qp_state from)
{
	for (const ibv_qp_state to : kStates) {
		// one that stays where it is, or begins to send again, needs no attributes
		const bool needs_none = from == to || (from == IBV_QPS_SQD && to == IBV_QPS_RTS);
		const int required = needs_none ? int{IBV_QP_STATE} : required_attributes(type, to);
		if (!is_legal(from, to)) {
			subject.expect_refused(to, required_attributes(type, to), "not a legal transition");
			subject.expect_refused(to, IBV_QP_STATE, "not a legal transition");
			continue;
		}
		const int forbidden = (alien_attributes(type) | late_attributes(to)) & ~ignored_attributes(type);
		for (const Attribute &attribute : kAttributes) {
			if ((required & attribute.bit) != 0)
				subject.expect_refused(to, required & ~attribute.bit, attribute.name);
			else if ((forbidden & attribute.bit) != 0)
				subject.expect_refused(to, required | attribute.bit, attribute.name);
		}
	}
}

// OHCA-QP-D1
void transitions(const std::string &name, ibv_qp_type type)
{
	const Device device(name);
	Parts parts(device);
	Subject subject(device, parts, type);
	for (const ibv_qp_state state : kReachable) {
		subject.bring_to(state);
		if (state_of(subject.qp()) != state)
			fail("type %d is in state %d instead of %d", type, state_of(subject.qp()), state);
		try_all_from(subject, type, state);
	}
	// and nothing of it is in the way of a new beginning
	must_succeed(to_state(subject.qp(), IBV_QPS_RESET), "ERR to RESET");
	for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
		subject.bring_to(state);
}

// Values out of range with otherwise legal transitions.
// OHCA-QP-D1
void bad_values(const std::string &name, ibv_qp_type type)
{
	const Device device(name);
	Parts parts(device);
	ibv_qp *qp = parts.create(type);
	const int mask = required_attributes(type, IBV_QPS_INIT);
	ibv_qp_attr init{};
	init.qp_state = IBV_QPS_INIT;
	init.port_num = kPort;
	init.pkey_index = static_cast<std::uint16_t>(device.attributes().max_pkeys);
	expect_errno(ibv_modify_qp(qp, &init, mask), EINVAL, "P_Key index max_pkeys");
	init.pkey_index = 0xffff;
	expect_errno(ibv_modify_qp(qp, &init, mask), EINVAL, "P_Key index 0xffff");
	init.pkey_index = 0;
	for (const int port : {0, 2, 255}) {
		init.port_num = static_cast<std::uint8_t>(port);
		expect_errno(ibv_modify_qp(qp, &init, mask), EINVAL, "a port that is not there");
	}
	init.port_num = kPort;
	if ((mask & IBV_QP_ACCESS_FLAGS) != 0) {
		init.qp_access_flags = 1U << 30;
		expect_errno(ibv_modify_qp(qp, &init, mask), EINVAL, "unknown access flags");
		init.qp_access_flags = 0;
	}
	if (state_of(qp) != IBV_QPS_RESET)
		fail("refused values took a queue pair of type %d to state %d", type, state_of(qp));
	must_succeed(ibv_modify_qp(qp, &init, mask), "RESET to INIT");
	must_succeed(ibv_modify_qp(qp, &init, mask), "INIT to INIT");
}

const char *name_of(ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return "rc";
	case IBV_QPT_UC:
		return "uc";
	case IBV_QPT_UD:
		return "ud";
	case IBV_QPT_XRC_SEND:
		return "xrc-initiator";
	default:
		return "xrc-target";
	}
}

}  // namespace

void add_transition_cases(Cases &cases)
{
	for (const ibv_qp_type type : kQpTypes) {
		cases.push_back({std::string("transitions-") + name_of(type),
				 [type](const std::string &device) { transitions(device, type); }});
		cases.push_back({std::string("bad-values-") + name_of(type),
				 [type](const std::string &device) { bad_values(device, type); }});
	}
}

}  // namespace verbs_test
