// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* `rdma resource show -dd`: what the driver adds about its objects. */

#include <net/netlink.h>

#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "ohca.h"

/* The driver's table of an entry is whole, or not there. */
static int ohca_end_entry(struct sk_buff *msg, struct nlattr *table, bool full)
{
	if (full) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

static int ohca_put_ring(struct sk_buff *msg, const char *depth, const char *stride,
			 const struct ohca_ring *ring)
{
	return rdma_nl_put_driver_u32(msg, depth, ring->depth) ?:
	       rdma_nl_put_driver_u32(msg, stride, ring->depth ? 1U << ring->log_stride : 0);
}

int ohca_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct ohca_qp *qp = to_ohca_qp(ibqp);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	bool full;

	if (!table)
		return -EMSGSIZE;
	full = ohca_put_ring(msg, "sq_depth", "sq_stride", &qp->sq) ||
	       ohca_put_ring(msg, "rq_depth", "rq_stride", &qp->rq) ||
	       rdma_nl_put_driver_u32_hex(msg, "create_flags", qp->create_flags) ||
	       rdma_nl_put_driver_u32(msg, "uar", qp->uar_index) ||
	       rdma_nl_put_driver_u32(msg, "uar_slot", qp->uar_slot);
	/* An application's rings are its own secret. */
	full = full ||
	       (!qp->user &&
		(rdma_nl_put_driver_u32(msg, "sq_head", READ_ONCE(qp->sq.head)) ||
		 rdma_nl_put_driver_u32(msg, "sq_tail", READ_ONCE(qp->sq.tail)) ||
		 rdma_nl_put_driver_u32(msg, "rq_head", READ_ONCE(qp->rq.head)) ||
		 rdma_nl_put_driver_u32(msg, "rq_tail", READ_ONCE(qp->rq.tail))));
	return ohca_end_entry(msg, table, full);
}

int ohca_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct ohca_cq *cq = to_ohca_cq(ibcq);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	bool full;

	if (!table)
		return -EMSGSIZE;
	full = rdma_nl_put_driver_u32_hex(msg, "cqn", cq->cqn) ||
	       rdma_nl_put_driver_u32(msg, "depth", 1U << cq->log_depth) ||
	       rdma_nl_put_driver_u32(msg, "eq", cq->eq_index);
	full = full ||
	       (!cq->umem &&
		(rdma_nl_put_driver_u32(msg, "consumer", READ_ONCE(cq->consumer)) ||
		 rdma_nl_put_driver_u32_hex(msg, "arm", READ_ONCE(cq->arm_value))));
	return ohca_end_entry(msg, table, full);
}

int ohca_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct ohca_srq *srq = to_ohca_srq(ibsrq);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	bool full;

	if (!table)
		return -EMSGSIZE;
	full = rdma_nl_put_driver_u32_hex(msg, "srqn", srq->srqn) ||
	       rdma_nl_put_driver_u32(msg, "depth", READ_ONCE(srq->depth)) ||
	       rdma_nl_put_driver_u32(msg, "stride", 1U << srq->log_stride);
	full = full ||
	       (!srq->user &&
		(rdma_nl_put_driver_u32(msg, "producer", READ_ONCE(srq->producer)) ||
		 rdma_nl_put_driver_u32(msg, "outstanding", READ_ONCE(srq->outstanding))));
	return ohca_end_entry(msg, table, full);
}

static const char *ohca_mr_memory(const struct ohca_mr *mr)
{
	if (mr->status)
		return "integrity";
	if (mr->list)
		return mr->gaps ? "blocks" : "pages";
	return mr->umem ? "user" : "dma";
}

int ohca_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct ohca_mr *mr = to_ohca_mr(ibmr);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	bool full;

	if (!table)
		return -EMSGSIZE;
	full = rdma_nl_put_driver_u32_hex(msg, "key", ibmr->lkey) ||
	       rdma_nl_put_driver_u32(msg, "page_size", ibmr->page_size) ||
	       rdma_nl_put_driver_string(msg, "memory", ohca_mr_memory(mr));
	full = full ||
	       (mr->list &&
		(rdma_nl_put_driver_u32(msg, "list_max", mr->list_max) ||
		 rdma_nl_put_driver_u32(msg, "list_count", READ_ONCE(mr->list_count))));
	return ohca_end_entry(msg, table, full);
}
