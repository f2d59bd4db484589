// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A pair of kernel queue pairs that talk to each other. */

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include <rdma/ib_cache.h>

#include "kverbs.h"

#define KV_PORT		1
#define KV_GID_INDEX	0
#define KV_POLL_MS	10000
#define KV_TIMEOUT	14

static void kv_completion_event(struct ib_cq *cq, void *context)
{
	atomic_inc(context);
}

static void kv_qp_event(struct ib_event *event, void *context)
{
	struct kv_pair *pair = context;

	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		atomic_inc(&pair->last_wqes);
}

static int kv_open_mr(struct kv_pair *pair)
{
	int atomic = pair->device->attrs.atomic_cap == IB_ATOMIC_NONE ? 0 : IB_ACCESS_REMOTE_ATOMIC;

	pair->mr = pair->device->ops.get_dma_mr(pair->pd, IB_ACCESS_LOCAL_WRITE |
						IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
						atomic);
	if (IS_ERR(pair->mr))
		return PTR_ERR(pair->mr);
	pair->mr->device = pair->device;
	pair->mr->pd = pair->pd;
	return 0;
}

/* Software devices have no DMA: what they are given are addresses of the kernel. */
static u8 *kv_alloc_buffer(struct ib_device *device, dma_addr_t *dma)
{
	u8 *buffer;

	if (!ib_uses_virt_dma(device))
		return dma_alloc_coherent(device->dma_device, KV_BUFFER_SIZE, dma, GFP_KERNEL);
	buffer = kzalloc(KV_BUFFER_SIZE, GFP_KERNEL);
	*dma = (uintptr_t)buffer;
	return buffer;
}

static void kv_free_buffer(struct ib_device *device, u8 *buffer, dma_addr_t dma)
{
	if (!buffer)
		return;
	if (ib_uses_virt_dma(device))
		kfree(buffer);
	else
		dma_free_coherent(device->dma_device, KV_BUFFER_SIZE, buffer, dma);
}

static int kv_open_side(struct kv_pair *pair, int side)
{
	struct ib_cq_init_attr attr = { .cqe = 2 * KV_DEPTH, .comp_vector = side };

	pair->buffer[side] = kv_alloc_buffer(pair->device, &pair->dma[side]);
	if (!pair->buffer[side])
		return -ENOMEM;
	attr.comp_vector %= pair->device->num_comp_vectors;
	pair->cq[side] = ib_create_cq(pair->device, kv_completion_event, NULL,
				      &pair->events[side], &attr);
	return PTR_ERR_OR_ZERO(pair->cq[side]);
}

int kv_pair_open(struct kv_pair *pair, struct ib_device *device, enum ib_qp_type type)
{
	int side, ret;

	memset(pair, 0, sizeof(*pair));
	pair->device = device;
	pair->type = type;
	pair->timeout = KV_TIMEOUT;
	pair->cap = (struct ib_qp_cap) {
		.max_send_wr = KV_DEPTH,
		.max_recv_wr = KV_DEPTH,
		.max_send_sge = KV_SGE,
		.max_recv_sge = KV_SGE,
		.max_inline_data = KV_INLINE,
	};
	pair->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pair->pd))
		return PTR_ERR(pair->pd);
	ret = kv_open_mr(pair);
	for (side = 0; !ret && side < 2; side++)
		ret = kv_open_side(pair, side);
	if (!ret)
		ret = kv_pair_create_qps(pair);
	if (ret)
		kv_pair_close(pair);
	return ret;
}

void kv_pair_close(struct kv_pair *pair)
{
	int side;

	kv_pair_destroy_qps(pair);
	for (side = 0; side < 2; side++) {
		if (!IS_ERR_OR_NULL(pair->cq[side]))
			ib_destroy_cq(pair->cq[side]);
		kv_free_buffer(pair->device, pair->buffer[side], pair->dma[side]);
	}
	if (!IS_ERR_OR_NULL(pair->mr))
		pair->device->ops.dereg_mr(pair->mr, NULL);
	ib_dealloc_pd(pair->pd);
}

int kv_pair_create_qps(struct kv_pair *pair)
{
	int side;

	for (side = 0; side < 2; side++) {
		struct ib_qp_init_attr attr = {
			.send_cq = pair->cq[side],
			.recv_cq = pair->cq[side],
			.srq = side ? pair->srq : NULL,
			.event_handler = kv_qp_event,
			.qp_context = pair,
			.cap = pair->cap,
			.create_flags = pair->create_flags,
			.sq_sig_type = IB_SIGNAL_REQ_WR,
			.qp_type = pair->type,
			.port_num = KV_PORT,	/* for rdma_rw */
		};

		pair->qp[side] = ib_create_qp(pair->pd, &attr);
		if (IS_ERR(pair->qp[side])) {
			int ret = PTR_ERR(pair->qp[side]);

			pair->qp[side] = NULL;
			return ret;
		}
	}
	return 0;
}

void kv_pair_destroy_qps(struct kv_pair *pair)
{
	int side;

	for (side = 0; side < 2; side++) {
		if (pair->qp[side])
			ib_destroy_qp(pair->qp[side]);
		pair->qp[side] = NULL;
	}
}

/* One of the device's own addresses. */
int kv_fill_ah(struct ib_device *device, int gid_index, struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid = rdma_get_gid_attr(device, KV_PORT, gid_index);
	int ret;

	if (IS_ERR(gid))
		return PTR_ERR(gid);
	memset(ah, 0, sizeof(*ah));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(ah, (union ib_gid *)&gid->gid, 0, gid_index, 64, 0);
	rdma_ah_set_port_num(ah, KV_PORT);
	ret = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
	rdma_put_gid_attr(gid);
	return ret;
}

/* What a datagram from this address comes with. */
int kv_l2_address(struct ib_device *device, int gid_index, u16 *vlan_id, u8 *mac)
{
	const struct ib_gid_attr *gid = rdma_get_gid_attr(device, KV_PORT, gid_index);
	int ret;

	if (IS_ERR(gid))
		return PTR_ERR(gid);
	ret = rdma_read_gid_l2_fields(gid, vlan_id, mac);
	rdma_put_gid_attr(gid);
	return ret;
}

/* Of the netdev that has the address. */
int kv_ifindex(const struct ib_gid_attr *gid)
{
	struct net_device *ndev;
	int index;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(gid);
	index = IS_ERR(ndev) ? 0 : ndev->ifindex;
	rcu_read_unlock();
	return index;
}

/* UD and UC have fewer attributes than RC. */
static int kv_connect_ud(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = KV_PORT, .qkey = KV_QKEY,
	};
	int ret;

	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_QKEY);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTR;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static int kv_mask(const struct kv_pair *pair, int connected, int reliable)
{
	return connected | (pair->type == IB_QPT_RC ? reliable : 0);
}

int kv_pair_connect_side(struct kv_pair *pair, int side)
{
	struct ib_qp *qp = pair->qp[side];
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = KV_PORT,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_ATOMIC,
	};
	int ret;

	if (pair->type == IB_QPT_UD)
		return kv_connect_ud(qp);
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_1024;
	attr.dest_qp_num = pair->qp[!side]->qp_num;
	attr.rq_psn = 0xfffff0 + !side;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	ret = kv_fill_ah(pair->device, KV_GID_INDEX, &attr.ah_attr);
	if (ret)
		return ret;
	ret = ib_modify_qp(qp, &attr, kv_mask(pair, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
					      IB_QP_DEST_QPN | IB_QP_RQ_PSN,
					      IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER));
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = 0xfffff0 + side;
	attr.timeout = pair->timeout;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	return ib_modify_qp(qp, &attr, kv_mask(pair, IB_QP_STATE | IB_QP_SQ_PSN,
					       IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
					       IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC));
}

int kv_pair_connect(struct kv_pair *pair)
{
	return kv_pair_connect_side(pair, 0) ?: kv_pair_connect_side(pair, 1);
}

struct ib_sge kv_sge(struct kv_pair *pair, int side, u32 offset, u32 length)
{
	return (struct ib_sge) {
		.addr = pair->dma[side] + offset,
		.length = length,
		.lkey = pair->pd->local_dma_lkey,
	};
}

/* The next completion, or -ETIMEDOUT. */
int kv_poll(struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(KV_POLL_MS);
	int ret;

	for (;;) {
		ret = ib_poll_cq(cq, 1, wc);
		if (ret)
			return ret == 1 ? 0 : ret;
		if (time_after(jiffies, deadline)) {
			pr_err("kverbs: no completion within %u ms\n", KV_POLL_MS);
			return -ETIMEDOUT;
		}
		usleep_range(20, 100);
	}
}
