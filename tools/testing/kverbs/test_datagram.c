// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services other than RC: UC and UD queue pairs, multicast, and what is built
 * on them, as a ULP uses them.
 */

#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>

#include <net/ipv6.h>

#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "kverbs.h"

#define KV_GRH		sizeof(struct ib_grh)

static int kv_send_ud(struct kv_pair *pair, struct ib_ah *ah, u32 qpn, u32 qkey, u32 length)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, length);
	struct ib_ud_wr wr = {
		.wr = {
			.wr_id = 11, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_SEND_WITH_IMM, .send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(0x11223344),
		},
		.ah = ah,
		.remote_qpn = qpn,
		.remote_qkey = qkey,
	};
	struct ib_wc wc;

	KV_CHECK(!ib_post_send(pair->qp[0], &wr.wr, NULL));
	KV_CHECK(!kv_poll(pair->cq[0], &wc));
	KV_CHECK(wc.wr_id == 11 && wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_SEND);
	return 0;
}

/* Nothing comes, and nothing has come. */
static int kv_expect_silence(struct ib_cq *cq)
{
	struct ib_wc wc;

	usleep_range(20000, 30000);
	KV_CHECK(!ib_poll_cq(cq, 1, &wc));
	return 0;
}

static int kv_check_l2(struct kv_pair *pair, const struct ib_wc *wc, int gid_index)
{
	u8 mac[ETH_ALEN];
	u16 vlan_id;

	KV_CHECK(!kv_l2_address(pair->device, gid_index, &vlan_id, mac));
	KV_CHECK(wc->wc_flags & IB_WC_WITH_SMAC && ether_addr_equal(wc->smac, mac));
	KV_CHECK(!(wc->wc_flags & IB_WC_WITH_VLAN) == (vlan_id >= VLAN_N_VID));
	KV_CHECK(vlan_id >= VLAN_N_VID || wc->vlan_id == vlan_id);
	return 0;
}

static int kv_check_datagram(struct kv_pair *pair, const struct ib_wc *wc, bool ipv4, u32 length)
{
	const u8 *grh = pair->buffer[1];

	KV_CHECK(wc->status == IB_WC_SUCCESS && wc->opcode == IB_WC_RECV);
	KV_CHECK(wc->byte_len == KV_GRH + length && wc->src_qp == pair->qp[0]->qp_num);
	KV_CHECK(wc->wc_flags & IB_WC_WITH_IMM && wc->ex.imm_data == cpu_to_be32(0x11223344));
	KV_CHECK(wc->wc_flags & IB_WC_GRH && wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE);
	KV_CHECK(wc->network_hdr_type == (ipv4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6));
	/* The version field of the IP header, which for IPv4 is in the last 20 bytes. */
	KV_CHECK(ipv4 ? grh[20] >> 4 == 4 : grh[0] >> 4 == 6);
	KV_CHECK(!memcmp(pair->buffer[1] + KV_GRH, pair->buffer[0], length));
	return 0;
}

/* To every address of one's own, of IPv4 and IPv6. */
static int kv_test_ud(struct kv_pair *pair)
{
	struct rdma_ah_attr attr;
	int index, seen[2] = {};
	struct ib_wc wc;

	kv_pattern(pair->buffer[0], 1000, 5);
	for (index = 0; index < 16; index++) {
		struct ib_ah *ah;
		bool ipv4;
		int ret;

		if (kv_fill_ah(pair->device, index, &attr))
			continue;
		ipv4 = ipv6_addr_v4mapped((struct in6_addr *)attr.grh.dgid.raw);
		seen[ipv4]++;
		KV_CHECK(!kv_post_recv(pair, 1, 22, 0, 2000));
		ah = rdma_create_ah(pair->pd, &attr, 0);
		KV_CHECK(!IS_ERR(ah));
		ret = kv_send_ud(pair, ah, pair->qp[1]->qp_num, KV_QKEY, 1000) ?:
		      kv_poll(pair->cq[1], &wc) ?: kv_check_datagram(pair, &wc, ipv4, 1000) ?:
		      kv_check_l2(pair, &wc, index);
		rdma_destroy_ah(ah, 0);
		KV_CHECK(!ret && wc.wr_id == 22);
	}
	KV_CHECK(seen[0] && seen[1]);
	return 0;
}

/* What does not match is lost, and the sender hears nothing of it. */
static int kv_test_ud_dropped(struct kv_pair *pair)
{
	u32 qpn = pair->qp[1]->qp_num;
	struct rdma_ah_attr attr;
	struct ib_ah *ah;
	struct ib_wc wc;
	int ret;

	KV_CHECK(!kv_fill_ah(pair->device, 0, &attr));
	ah = rdma_create_ah(pair->pd, &attr, 0);
	KV_CHECK(!IS_ERR(ah));
	ret = kv_send_ud(pair, ah, qpn, KV_QKEY, 100) ?:	/* no receive */
	      kv_post_recv(pair, 1, 1, 0, 1000) ?:
	      kv_send_ud(pair, ah, qpn, KV_QKEY + 1, 100) ?:
	      kv_send_ud(pair, ah, 0xfffff0, KV_QKEY, 100) ?:
	      kv_expect_silence(pair->cq[1]) ?:
	      kv_send_ud(pair, ah, qpn, KV_QKEY, 100) ?:
	      kv_poll(pair->cq[1], &wc) ?: kv_check_datagram(pair, &wc, false, 100);
	rdma_destroy_ah(ah, 0);
	return ret;
}

/* The driver, not the device, says no. */
static int kv_test_ud_refused(struct kv_pair *pair)
{
	struct ib_ud_wr wr = { .wr = { .opcode = IB_WR_SEND }, .remote_qkey = KV_QKEY };
	struct ib_qp_attr qp_attr = { .qp_state = IB_QPS_RTS, .path_mtu = IB_MTU_1024 };
	struct rdma_ah_attr attr;
	struct ib_ah *ah;

	KV_CHECK(ib_post_send(pair->qp[0], &wr.wr, NULL) == -EINVAL);
	KV_CHECK(!kv_fill_ah(pair->device, 0, &attr));
	ah = rdma_create_ah(pair->pd, &attr, 0);
	KV_CHECK(!IS_ERR(ah));
	wr.ah = ah;
	wr.wr.opcode = IB_WR_RDMA_WRITE;
	if (ib_post_send(pair->qp[0], &wr.wr, NULL) != -EINVAL)
		wr.ah = NULL;
	wr.wr.opcode = IB_WR_SEND;
	wr.remote_qpn = 0x1000000;
	if (ib_post_send(pair->qp[0], &wr.wr, NULL) != -EINVAL)
		wr.ah = NULL;
	rdma_destroy_ah(ah, 0);
	KV_CHECK(wr.ah);
	/* An attribute that only connections have. */
	KV_CHECK(ib_modify_qp(pair->qp[0], &qp_attr, IB_QP_STATE | IB_QP_PATH_MTU) == -EINVAL);
	return 0;
}

/* As rdma_cm joins: the group's MAC is made of its address. */
static void kv_fill_group(struct rdma_ah_attr *attr)
{
	static const u8 group[16] = { 0xff, 0x02, [13] = 0x12, 0x34, 0x56 };

	memcpy(attr->grh.dgid.raw, group, sizeof(group));
	ipv6_eth_mc_map((struct in6_addr *)group, attr->roce.dmac);
}

static int kv_multicast(struct kv_pair *pair, struct rdma_ah_attr *attr)
{
	struct ib_ah *ah = rdma_create_ah(pair->pd, attr, 0);
	struct ib_wc wc;
	int ret;

	KV_CHECK(!IS_ERR(ah));
	ret = kv_send_ud(pair, ah, IB_MULTICAST_QPN, KV_QKEY, 500) ?:
	      kv_poll(pair->cq[1], &wc) ?: kv_check_datagram(pair, &wc, false, 500);
	rdma_destroy_ah(ah, 0);
	return ret;
}

static int kv_test_multicast(struct kv_pair *pair)
{
	struct rdma_ah_attr attr;
	union ib_gid unicast;
	struct ib_ah *ah;
	int ret;

	KV_CHECK(!kv_fill_ah(pair->device, 0, &attr));
	unicast = attr.grh.dgid;
	kv_fill_group(&attr);
	kv_pattern(pair->buffer[0], 500, 7);
	ret = ib_attach_mcast(pair->qp[1], &attr.grh.dgid, 0);
	if (ret)
		return ret;
	KV_CHECK(ib_attach_mcast(pair->qp[1], &unicast, 0) == -EINVAL);
	KV_CHECK(!kv_post_recv(pair, 1, 1, 0, 2000));
	ret = kv_multicast(pair, &attr);
	KV_CHECK(!ib_detach_mcast(pair->qp[1], &attr.grh.dgid, 0) && !ret);

	KV_CHECK(!kv_post_recv(pair, 1, 1, 0, 2000));
	ah = rdma_create_ah(pair->pd, &attr, 0);
	KV_CHECK(!IS_ERR(ah));
	ret = kv_send_ud(pair, ah, IB_MULTICAST_QPN, KV_QKEY, 500);
	rdma_destroy_ah(ah, 0);
	return ret ?: kv_expect_silence(pair->cq[1]);
}

static int kv_send_uc(struct kv_pair *pair, enum ib_wr_opcode opcode, u32 length)
{
	struct ib_sge sge = kv_sge(pair, 0, 0, length);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = opcode, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED, .ex.imm_data = cpu_to_be32(9),
		},
		.remote_addr = pair->dma[1],
		.rkey = pair->mr->rkey,
	};
	struct ib_wc wc;
	int ret;

	ret = ib_post_send(pair->qp[0], &wr.wr, NULL);
	if (ret)
		return ret;
	KV_CHECK(!kv_poll(pair->cq[0], &wc));
	KV_CHECK(wc.wr_id == opcode && wc.status == IB_WC_SUCCESS);
	return 0;
}

static int kv_test_uc(struct kv_pair *pair)
{
	struct ib_wc wc;

	kv_pattern(pair->buffer[0], 60000, 4);
	KV_CHECK(!kv_post_recv(pair, 1, 3, 0, 60000));
	KV_CHECK(!kv_send_uc(pair, IB_WR_SEND_WITH_IMM, 60000));
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(wc.wr_id == 3 && wc.byte_len == 60000 && wc.wc_flags & IB_WC_WITH_IMM);
	KV_CHECK(!memcmp(pair->buffer[1], pair->buffer[0], 60000));

	memset(pair->buffer[1], 0, 60000);
	KV_CHECK(!kv_post_recv(pair, 1, 4, 0, 0));
	KV_CHECK(!kv_send_uc(pair, IB_WR_RDMA_WRITE, 60000));
	KV_CHECK(!kv_send_uc(pair, IB_WR_RDMA_WRITE_WITH_IMM, 8));
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.opcode == IB_WC_RECV_RDMA_WITH_IMM);
	KV_CHECK(!memcmp(pair->buffer[1], pair->buffer[0], 60000));
	KV_CHECK(kv_send_uc(pair, IB_WR_RDMA_READ, 8) == -EINVAL);

	/* Without a receive the message is lost, and the next one is not. */
	KV_CHECK(!kv_send_uc(pair, IB_WR_SEND, 8));
	KV_CHECK(!kv_expect_silence(pair->cq[1]));
	KV_CHECK(!kv_post_recv(pair, 1, 5, 0, 100));
	KV_CHECK(!kv_send_uc(pair, IB_WR_SEND, 16));
	KV_CHECK(!kv_poll(pair->cq[1], &wc) && wc.wr_id == 5 && wc.byte_len == 16);
	return 0;
}

const struct kv_test kv_service_tests[] = {
	{ "UC send and write", kv_test_uc, IB_QPT_UC },
	{ "UD to addresses of IPv4 and IPv6", kv_test_ud, IB_QPT_UD },
	{ "UD datagrams that are dropped", kv_test_ud_dropped, IB_QPT_UD },
	{ "what UD refuses", kv_test_ud_refused, IB_QPT_UD },
	{ "multicast", kv_test_multicast, IB_QPT_UD },
	{ "performance management datagrams", kv_test_mads },
	{ "connections made by rdma_cm", kv_test_cm },
};

const int kv_service_test_count = ARRAY_SIZE(kv_service_tests);
