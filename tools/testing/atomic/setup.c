// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pools and the other objects of a test, made where sleeping is allowed. */

#include <linux/dma-mapping.h>

#include <rdma/ib_cache.h>

#include "atomic.h"

#define AT_GID_INDEX	0
#define AT_OTHERS	4	/* members of the other pools */

struct ib_qp_init_attr at_qp_init_attr(const struct at_setup *setup)
{
	return (struct ib_qp_init_attr) {
		.send_cq = setup->cq,
		.recv_cq = setup->cq,
		.cap = {
			.max_send_wr = AT_DEPTH,
			.max_recv_wr = AT_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
}

static int at_open_qps(struct at_setup *setup, u32 count)
{
	struct ib_qp_init_attr attr = at_qp_init_attr(setup);

	setup->qps = ohca_qp_pool_create(setup->async, setup->pd, &attr, count);
	if (IS_ERR(setup->qps))
		return PTR_ERR(setup->qps);
	attr.qp_type = IB_QPT_UD;
	setup->ud_qps = ohca_qp_pool_create(setup->async, setup->pd, &attr, AT_OTHERS);
	return PTR_ERR_OR_ZERO(setup->ud_qps);
}

static int at_open_others(struct at_setup *setup)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 4 * AT_DEPTH };
	struct ib_srq_init_attr srq_attr = {
		.attr = { .max_wr = AT_DEPTH, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};

	setup->cqs = ohca_cq_pool_create(setup->async, &cq_attr, AT_OTHERS);
	if (IS_ERR(setup->cqs))
		return PTR_ERR(setup->cqs);
	setup->srqs = ohca_srq_pool_create(setup->async, setup->pd, &srq_attr, AT_OTHERS);
	if (IS_ERR(setup->srqs))
		return PTR_ERR(setup->srqs);
	setup->mrs = ohca_mr_pool_create(setup->async, setup->pd, IB_MR_TYPE_MEM_REG, 4,
					 AT_OTHERS);
	return PTR_ERR_OR_ZERO(setup->mrs);
}

static int at_open_memory(struct at_setup *setup)
{
	struct ib_mr *mr;

	setup->buffer = dma_alloc_coherent(setup->device->dma_device, AT_BUFFER_SIZE, &setup->dma,
					   GFP_KERNEL);
	if (!setup->buffer)
		return -ENOMEM;
	mr = setup->device->ops.get_dma_mr(setup->pd, IB_ACCESS_LOCAL_WRITE |
					   IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->device = setup->device;
	mr->pd = setup->pd;
	setup->memory = mr;
	return 0;
}

static int at_open_all(struct at_setup *setup, u32 qps)
{
	struct ib_cq_init_attr attr = { .cqe = min_t(u32, 4 * AT_DEPTH * qps, 65536) };
	int ret;

	setup->gid = rdma_get_gid_attr(setup->device, AT_PORT, AT_GID_INDEX);
	if (IS_ERR(setup->gid))
		return PTR_ERR(setup->gid);
	setup->pd = ib_alloc_pd(setup->device, 0);
	if (IS_ERR(setup->pd))
		return PTR_ERR(setup->pd);
	setup->cq = ib_create_cq(setup->device, NULL, NULL, NULL, &attr);
	if (IS_ERR(setup->cq))
		return PTR_ERR(setup->cq);
	ret = at_open_memory(setup);
	if (!ret)
		ret = at_open_qps(setup, qps);
	return ret ?: at_open_others(setup);
}

int at_open(struct at_setup *setup, struct ib_device *device, u32 qps)
{
	int ret;

	memset(setup, 0, sizeof(*setup));
	setup->device = device;
	setup->async = ohca_async_open(device);
	if (IS_ERR(setup->async))
		return PTR_ERR(setup->async);
	ret = at_open_all(setup, qps);
	if (ret)
		at_close(setup);
	return ret;
}

static void at_close_pool(struct ohca_pool *pool)
{
	if (!IS_ERR_OR_NULL(pool))
		WARN_ON(ohca_pool_destroy(pool));
}

void at_close(struct at_setup *setup)
{
	at_close_pool(setup->qps);
	at_close_pool(setup->ud_qps);
	at_close_pool(setup->cqs);
	at_close_pool(setup->srqs);
	at_close_pool(setup->mrs);
	if (setup->memory)
		setup->device->ops.dereg_mr(setup->memory, NULL);
	if (setup->buffer)
		dma_free_coherent(setup->device->dma_device, AT_BUFFER_SIZE, setup->buffer,
				  setup->dma);
	if (!IS_ERR_OR_NULL(setup->cq))
		ib_destroy_cq(setup->cq);
	if (!IS_ERR_OR_NULL(setup->pd))
		ib_dealloc_pd(setup->pd);
	if (!IS_ERR_OR_NULL(setup->gid))
		rdma_put_gid_attr(setup->gid);
	ohca_async_close(setup->async);
}

/* From RESET to RTS, to a queue pair of the same port.  Any context. */
void at_connect_attr(struct at_setup *setup, u32 peer, struct ib_qp_attr *attr)
{
	*attr = (struct ib_qp_attr) {
		.qp_state = IB_QPS_RTS,
		.port_num = AT_PORT,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(&attr->ah_attr, (union ib_gid *)&setup->gid->gid, 0, setup->gid->index, 64,
			0);
	attr->ah_attr.grh.sgid_attr = setup->gid;
	rdma_ah_set_port_num(&attr->ah_attr, AT_PORT);
	rdma_read_gid_l2_fields(setup->gid, NULL, attr->ah_attr.roce.dmac);
}
