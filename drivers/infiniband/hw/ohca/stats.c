// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Hardware counters: the driver's own, then the device's, of which it knows the names. */

#include "ohca.h"

enum ohca_driver_counter {
	OHCA_DRIVER_COUNTER_LOST_INTERRUPTS,
	OHCA_DRIVER_COUNTER_COUNT
};

#define OHCA_DEVICE_COUNTER(name)	(OHCA_DRIVER_COUNTER_COUNT + OHCA_COUNTER_##name)

/* An older device has fewer: its own come last. */
static const struct rdma_stat_desc ohca_counter_descs[] = {
	[OHCA_DRIVER_COUNTER_LOST_INTERRUPTS].name = "lost_interrupts",
	[OHCA_DEVICE_COUNTER(TX_SEGMENTS)].name = "tx_segments",
	[OHCA_DEVICE_COUNTER(RX_SEGMENTS)].name = "rx_segments",
	[OHCA_DEVICE_COUNTER(TX_BYTES)].name = "tx_bytes",
	[OHCA_DEVICE_COUNTER(RX_BYTES)].name = "rx_bytes",
	[OHCA_DEVICE_COUNTER(SEND_WQES)].name = "send_wqes",
	[OHCA_DEVICE_COUNTER(RECEIVE_WQES)].name = "receive_wqes",
	[OHCA_DEVICE_COUNTER(CQES)].name = "cqes",
	[OHCA_DEVICE_COUNTER(COMPLETION_EVENTS)].name = "completion_events",
	[OHCA_DEVICE_COUNTER(DUPLICATE_REQUESTS)].name = "duplicate_requests",
	[OHCA_DEVICE_COUNTER(OUT_OF_SEQUENCE)].name = "out_of_sequence",
	[OHCA_DEVICE_COUNTER(SEQUENCE_NAKS_RECEIVED)].name = "sequence_naks_received",
	[OHCA_DEVICE_COUNTER(RNR_NAKS_SENT)].name = "rnr_naks_sent",
	[OHCA_DEVICE_COUNTER(RNR_NAKS_RECEIVED)].name = "rnr_naks_received",
	[OHCA_DEVICE_COUNTER(ACK_TIMEOUTS)].name = "ack_timeouts",
	[OHCA_DEVICE_COUNTER(RETRY_EXCEEDED)].name = "retry_exceeded",
	[OHCA_DEVICE_COUNTER(RNR_RETRY_EXCEEDED)].name = "rnr_retry_exceeded",
	[OHCA_DEVICE_COUNTER(LOCAL_PROTECTION_ERRORS)].name = "local_protection_errors",
	[OHCA_DEVICE_COUNTER(REMOTE_ACCESS_ERRORS)].name = "remote_access_errors",
	[OHCA_DEVICE_COUNTER(REMOTE_INVALID_REQUESTS)].name = "remote_invalid_requests",
	[OHCA_DEVICE_COUNTER(REMOTE_OPERATION_ERRORS)].name = "remote_operation_errors",
	[OHCA_DEVICE_COUNTER(PACKETS_DROPPED)].name = "packets_dropped",
	[OHCA_DEVICE_COUNTER(CQ_OVERRUNS)].name = "cq_overruns",
	[OHCA_DEVICE_COUNTER(DOORBELLS_BAD)].name = "doorbells_bad",
	[OHCA_DEVICE_COUNTER(COMMANDS)].name = "commands",
	[OHCA_DEVICE_COUNTER(COMMANDS_FAILED)].name = "commands_failed",
	[OHCA_DEVICE_COUNTER(DATAGRAMS_DROPPED)].name = "datagrams_dropped",
	[OHCA_DEVICE_COUNTER(QKEY_VIOLATIONS)].name = "qkey_violations",
	[OHCA_DEVICE_COUNTER(UC_MESSAGES_LOST)].name = "uc_messages_lost",
	[OHCA_DEVICE_COUNTER(MULTICAST_RECEIVED)].name = "multicast_received",
	[OHCA_DEVICE_COUNTER(REGISTRATIONS)].name = "registrations",
	[OHCA_DEVICE_COUNTER(INVALIDATIONS)].name = "invalidations",
};

static_assert(ARRAY_SIZE(ohca_counter_descs) ==
	      OHCA_DRIVER_COUNTER_COUNT + OHCA_COUNTER_COUNT);

u32 ohca_counter_count(struct ohca_dev *dev)
{
	return min_t(u32, dev->caps.counter_count, OHCA_COUNTER_COUNT);
}

struct rdma_hw_stats *ohca_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(ohca_counter_descs,
					  OHCA_DRIVER_COUNTER_COUNT +
					  ohca_counter_count(to_ohca_dev(ibdev)),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int ohca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
		      int index)
{
	__le64 counters[OHCA_CMDQ_OUTPUT_SIZE / sizeof(__le64)];
	struct ohca_dev *dev = to_ohca_dev(ibdev);
	u64 *of_device = stats->value + OHCA_DRIVER_COUNTER_COUNT;
	u32 i;
	int ret;

	if (port_num != OHCA_PORT)
		return -EINVAL;
	ret = ohca_cmd_query_counters(dev, counters, dev->caps.counter_count);
	if (ret)
		return ret;
	stats->value[OHCA_DRIVER_COUNTER_LOST_INTERRUPTS] = atomic64_read(&dev->lost_interrupts);
	for (i = 0; i < ohca_counter_count(dev); i++)
		of_device[i] = le64_to_cpu(counters[i]);
	return stats->num_counters;
}
