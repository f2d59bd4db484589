// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A connection made by the kernel's rdma_cm, over each of the device's addresses. */

#include <linux/slab.h>

#include <net/ipv6.h>

#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "kverbs.h"

#define KV_CM_PORT	7471
#define KV_CM_WAIT	(20 * HZ)
#define KV_CM_BACKLOG	4
#define KV_CM_RESOLVE_MS 5000

struct kv_cm_side {
	struct rdma_cm_id *id;
	struct completion event;
	enum rdma_cm_event_type type;
	char data[8];
};

/* The listener makes the server's id; the client makes its own. */
struct kv_cm {
	struct kv_pair *pair;
	struct kv_cm_side client, server;
	struct rdma_cm_id *listener;
};

static int kv_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kv_cm *cm = id->context;
	struct kv_cm_side *side = id == cm->client.id ? &cm->client : &cm->server;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		cm->server.id = id;
	if (event->param.conn.private_data_len >= sizeof(side->data))
		memcpy(side->data, event->param.conn.private_data, sizeof(side->data));
	side->type = event->event;
	complete(&side->event);
	return 0;
}

static int kv_cm_wait(struct kv_cm_side *side, enum rdma_cm_event_type type)
{
	KV_CHECK(wait_for_completion_timeout(&side->event, KV_CM_WAIT));
	if (side->type != type)
		pr_err("kverbs: %s instead of %s\n", rdma_event_msg(side->type),
		       rdma_event_msg(type));
	KV_CHECK(side->type == type);
	return 0;
}

static int kv_cm_create_qp(struct kv_cm *cm, int side)
{
	struct rdma_cm_id *id = side ? cm->server.id : cm->client.id;
	struct ib_qp_init_attr attr = {
		.send_cq = cm->pair->cq[side],
		.recv_cq = cm->pair->cq[side],
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	return rdma_create_qp(id, cm->pair->pd, &attr);
}

static int kv_cm_establish(struct kv_cm *cm)
{
	struct rdma_conn_param param = {
		.private_data = "hello  ", .private_data_len = 8, .retry_count = 7,
		.rnr_retry_count = 7, .initiator_depth = 1, .responder_resources = 1,
	};

	KV_CHECK(!kv_cm_wait(&cm->client, RDMA_CM_EVENT_ADDR_RESOLVED));
	KV_CHECK(cm->client.id->device == cm->pair->device);
	KV_CHECK(!rdma_resolve_route(cm->client.id, KV_CM_RESOLVE_MS));
	KV_CHECK(!kv_cm_wait(&cm->client, RDMA_CM_EVENT_ROUTE_RESOLVED));
	KV_CHECK(!kv_cm_create_qp(cm, 0));
	KV_CHECK(!rdma_connect(cm->client.id, &param));
	KV_CHECK(!kv_cm_wait(&cm->server, RDMA_CM_EVENT_CONNECT_REQUEST));
	KV_CHECK(!memcmp(cm->server.data, "hello  ", 8));
	KV_CHECK(!kv_cm_create_qp(cm, 1));
	param.private_data = "welcome";
	KV_CHECK(!rdma_accept(cm->server.id, &param));
	KV_CHECK(!kv_cm_wait(&cm->client, RDMA_CM_EVENT_ESTABLISHED));
	KV_CHECK(!memcmp(cm->client.data, "welcome", 8));
	KV_CHECK(!kv_cm_wait(&cm->server, RDMA_CM_EVENT_ESTABLISHED));
	return 0;
}

static int kv_cm_talk(struct kv_cm *cm)
{
	struct ib_sge from = kv_sge(cm->pair, 0, 0, 4096), to = kv_sge(cm->pair, 1, 0, 4096);
	struct ib_send_wr send = { .sg_list = &from, .num_sge = 1, .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = { .sg_list = &to, .num_sge = 1 };
	struct ib_wc wc;

	kv_pattern(cm->pair->buffer[0], 4096, 8);
	memset(cm->pair->buffer[1], 0, 4096);
	KV_CHECK(!ib_post_recv(cm->server.id->qp, &recv, NULL));
	KV_CHECK(!ib_post_send(cm->client.id->qp, &send, NULL));
	KV_CHECK(!kv_poll(cm->pair->cq[1], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!kv_poll(cm->pair->cq[0], &wc) && wc.status == IB_WC_SUCCESS);
	KV_CHECK(!memcmp(cm->pair->buffer[1], cm->pair->buffer[0], 4096));

	KV_CHECK(!rdma_disconnect(cm->client.id));
	KV_CHECK(!kv_cm_wait(&cm->server, RDMA_CM_EVENT_DISCONNECTED));
	KV_CHECK(!rdma_disconnect(cm->server.id));
	KV_CHECK(!kv_cm_wait(&cm->client, RDMA_CM_EVENT_DISCONNECTED));
	return 0;
}

static void kv_cm_destroy(struct rdma_cm_id *id)
{
	if (IS_ERR_OR_NULL(id))
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static int kv_cm_connect(struct kv_cm *cm, struct sockaddr *address)
{
	cm->listener = rdma_create_id(&init_net, kv_cm_handler, cm, RDMA_PS_TCP, IB_QPT_RC);
	KV_CHECK(!IS_ERR(cm->listener));
	KV_CHECK(!rdma_bind_addr(cm->listener, address));
	KV_CHECK(!rdma_listen(cm->listener, KV_CM_BACKLOG));
	cm->client.id = rdma_create_id(&init_net, kv_cm_handler, cm, RDMA_PS_TCP, IB_QPT_RC);
	KV_CHECK(!IS_ERR(cm->client.id));
	KV_CHECK(!rdma_resolve_addr(cm->client.id, NULL, address, KV_CM_RESOLVE_MS));
	return kv_cm_establish(cm) ?: kv_cm_talk(cm);
}

static int kv_cm_over(struct kv_pair *pair, const struct ib_gid_attr *gid)
{
	struct sockaddr_storage address = {};
	struct kv_cm *cm = kzalloc(sizeof(*cm), GFP_KERNEL);
	int ret;

	if (!cm)
		return -ENOMEM;
	cm->pair = pair;
	init_completion(&cm->client.event);
	init_completion(&cm->server.event);
	rdma_gid2ip((struct sockaddr *)&address, &gid->gid);
	if (address.ss_family == AF_INET)
		((struct sockaddr_in *)&address)->sin_port = cpu_to_be16(KV_CM_PORT);
	else
		((struct sockaddr_in6 *)&address)->sin6_port = cpu_to_be16(KV_CM_PORT);
	if (ipv6_addr_type((struct in6_addr *)gid->gid.raw) & IPV6_ADDR_LINKLOCAL)
		((struct sockaddr_in6 *)&address)->sin6_scope_id = kv_ifindex(gid);
	ret = kv_cm_connect(cm, (struct sockaddr *)&address);
	kv_cm_destroy(cm->client.id);
	kv_cm_destroy(cm->server.id);
	kv_cm_destroy(cm->listener);
	kfree(cm);
	return ret;
}

int kv_test_cm(struct kv_pair *pair)
{
	int index, ret, seen[2] = {};

	for (index = 0; index < 16; index++) {
		const struct ib_gid_attr *gid = rdma_get_gid_attr(pair->device, 1, index);

		if (IS_ERR(gid))
			continue;
		seen[ipv6_addr_v4mapped((struct in6_addr *)gid->gid.raw)]++;
		ret = kv_cm_over(pair, gid);
		rdma_put_gid_attr(gid);
		KV_CHECK(!ret);
	}
	KV_CHECK(seen[0] && seen[1]);
	return 0;
}
