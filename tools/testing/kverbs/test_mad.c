// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Performance management: the answers, and that nobody has to be able to sleep for them. */

#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "kverbs.h"

#define KV_PORT		1

struct kv_mads {
	struct ib_pma_mad in;
	struct ib_pma_mad out;
};

/* With interrupts off, as the strictest caller would. */
static int kv_ask(struct kv_pair *pair, struct kv_mads *mads, u8 method, __be16 attribute)
{
	size_t size = sizeof(mads->out);
	DEFINE_SPINLOCK(lock);
	unsigned long flags;
	u16 pkey_index = 0;
	int ret;

	mads->in.mad_hdr = (struct ib_mad_hdr) {
		.base_version = IB_MGMT_BASE_VERSION, .mgmt_class = IB_MGMT_CLASS_PERF_MGMT,
		.class_version = 1, .method = method, .attr_id = attribute,
		.tid = cpu_to_be64(0x1234),
	};
	spin_lock_irqsave(&lock, flags);
	ret = pair->device->ops.process_mad(pair->device, 0, KV_PORT, NULL, NULL,
					    (struct ib_mad *)&mads->in,
					    (struct ib_mad *)&mads->out, &size, &pkey_index);
	spin_unlock_irqrestore(&lock, flags);
	KV_CHECK(ret == (IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY));
	KV_CHECK(mads->out.mad_hdr.method == IB_MGMT_METHOD_GET_RESP);
	KV_CHECK(mads->out.mad_hdr.tid == cpu_to_be64(0x1234));
	return be16_to_cpu(mads->out.mad_hdr.status);
}

/* The copy that the answer was made from may be older than the traffic; it is renewed meanwhile. */
static int kv_ask_twice(struct kv_pair *pair, struct kv_mads *mads, __be16 attribute)
{
	int ret;

	msleep(50);
	ret = kv_ask(pair, mads, IB_MGMT_METHOD_GET, attribute);
	if (ret)
		return ret;
	msleep(50);
	return kv_ask(pair, mads, IB_MGMT_METHOD_GET, attribute);
}

static int kv_check_counters(struct kv_pair *pair, struct kv_mads *mads)
{
	const struct ib_pma_portcounters *narrow = (void *)mads->out.data;
	const struct ib_pma_portcounters_ext *wide = (void *)mads->out.data;
	struct ib_pma_portcounters *set = (void *)mads->in.data;
	u64 before;

	set->port_select = KV_PORT;
	KV_CHECK(!kv_ask_twice(pair, mads, IB_PMA_PORT_COUNTERS_EXT));
	before = be64_to_cpu(wide->port_xmit_packets);
	KV_CHECK(before && be64_to_cpu(wide->port_xmit_data));

	/* Setting the narrow ones leaves the wide ones as they are. */
	set->counter_select = IB_PMA_SEL_PORT_XMIT_PACKETS | IB_PMA_SEL_PORT_XMIT_DATA;
	set->port_xmit_packets = cpu_to_be32(1000);
	KV_CHECK(!kv_ask(pair, mads, IB_MGMT_METHOD_SET, IB_PMA_PORT_COUNTERS));
	KV_CHECK(!kv_ask_twice(pair, mads, IB_PMA_PORT_COUNTERS));
	KV_CHECK(narrow->port_xmit_packets == cpu_to_be32(1000) && !narrow->port_xmit_data);
	KV_CHECK(narrow->port_rcv_packets);
	KV_CHECK(!kv_ask(pair, mads, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS_EXT));
	KV_CHECK(be64_to_cpu(wide->port_xmit_packets) >= before);
	return 0;
}

static int kv_check_mads(struct kv_pair *pair, struct kv_mads *mads)
{
	struct ib_class_port_info *info = (void *)mads->out.data;
	struct ib_pma_portcounters *in = (void *)mads->in.data;

	KV_CHECK(!kv_ask(pair, mads, IB_MGMT_METHOD_GET, IB_PMA_CLASS_PORT_INFO));
	KV_CHECK(info->base_version == IB_MGMT_BASE_VERSION && info->class_version == 1);
	KV_CHECK(info->capability_mask == IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF);
	KV_CHECK(kv_ask(pair, mads, IB_MGMT_METHOD_GET, IB_PMA_PORT_SAMPLES_CONTROL) ==
		 IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	KV_CHECK(kv_ask(pair, mads, IB_MGMT_METHOD_TRAP, IB_PMA_PORT_COUNTERS) ==
		 IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD);
	in->port_select = KV_PORT + 1;
	KV_CHECK(kv_ask(pair, mads, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS) ==
		 IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	return kv_check_counters(pair, mads);
}

int kv_test_mads(struct kv_pair *pair)
{
	struct kv_mads *mads;
	int ret;

	if (!pair->device->ops.process_mad)
		return -EOPNOTSUPP;
	mads = kzalloc(sizeof(*mads), GFP_KERNEL);
	if (!mads)
		return -ENOMEM;
	ret = kv_check_mads(pair, mads);
	kfree(mads);
	return ret;
}
