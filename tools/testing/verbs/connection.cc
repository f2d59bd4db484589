// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "connection.hh"

#include "failure.hh"

namespace verbs_test {

namespace {

int required_for_rtr(ibv_qp_type type)
{
	constexpr int kConnection = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	constexpr int kResponder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	switch (type) {
	case IBV_QPT_UD:
		return IBV_QP_STATE;
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
		return kConnection;
	default:
		return kConnection | kResponder;
	}
}

int required_for_rts(ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UD:
	case IBV_QPT_UC:
		return IBV_QP_STATE | IBV_QP_SQ_PSN;
	case IBV_QPT_XRC_RECV:
		return IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
	default:
		return IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	}
}

}  // namespace

int required_attributes(ibv_qp_type type, ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_RTR:
		return required_for_rtr(type);
	case IBV_QPS_RTS:
		return required_for_rts(type);
	default:
		return IBV_QP_STATE;
	}
}

int to_init(ibv_qp *qp, const ConnectionOptions &options)
{
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_INIT;
	attributes.port_num = kPort;
	attributes.qp_access_flags = options.access;
	attributes.qkey = options.qkey;
	return ibv_modify_qp(qp, &attributes, required_attributes(qp->qp_type, IBV_QPS_INIT));
}

int to_rtr(ibv_qp *qp, const Device &own, const Peer &peer, const ConnectionOptions &options)
{
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_RTR;
	attributes.path_mtu = options.mtu;
	attributes.dest_qp_num = peer.qpn;
	attributes.rq_psn = options.rq_psn;
	attributes.max_dest_rd_atomic = options.read_atomic_responder;
	attributes.min_rnr_timer = options.rnr_timer;
	attributes.ah_attr.is_global = 1;
	attributes.ah_attr.port_num = kPort;
	attributes.ah_attr.grh.dgid = peer.gid;
	attributes.ah_attr.grh.sgid_index = own.gid_index();
	attributes.ah_attr.grh.hop_limit = 64;
	return ibv_modify_qp(qp, &attributes, required_attributes(qp->qp_type, IBV_QPS_RTR));
}

int to_rts(ibv_qp *qp, const ConnectionOptions &options)
{
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_RTS;
	attributes.timeout = options.ack_timeout;
	attributes.retry_cnt = options.retry_count;
	attributes.rnr_retry = options.rnr_retry;
	attributes.sq_psn = options.sq_psn;
	attributes.max_rd_atomic = options.read_atomic_initiator;
	return ibv_modify_qp(qp, &attributes, required_attributes(qp->qp_type, IBV_QPS_RTS));
}

int to_state(ibv_qp *qp, ibv_qp_state state)
{
	ibv_qp_attr attributes{};
	attributes.qp_state = state;
	return ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
}

ibv_qp_state state_of(ibv_qp *qp)
{
	ibv_qp_attr attributes{};
	ibv_qp_init_attr created{};
	must_succeed(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &created), "ibv_query_qp");
	return attributes.qp_state;
}

void connect(ibv_qp *qp, const Device &own, const Peer &peer, const ConnectionOptions &options)
{
	must_succeed(to_init(qp, options), "ibv_modify_qp to INIT");
	must_succeed(to_rtr(qp, own, peer, options), "ibv_modify_qp to RTR");
	must_succeed(to_rts(qp, options), "ibv_modify_qp to RTS");
}

}  // namespace verbs_test
