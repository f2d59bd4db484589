// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Hardware counters: all the driver does is to know their names. */

#include "ohca.h"

static const struct rdma_stat_desc ohca_counter_descs[] = {
	[OHCA_COUNTER_TX_SEGMENTS].name = "tx_segments",
	[OHCA_COUNTER_RX_SEGMENTS].name = "rx_segments",
	[OHCA_COUNTER_TX_BYTES].name = "tx_bytes",
	[OHCA_COUNTER_RX_BYTES].name = "rx_bytes",
	[OHCA_COUNTER_SEND_WQES].name = "send_wqes",
	[OHCA_COUNTER_RECEIVE_WQES].name = "receive_wqes",
	[OHCA_COUNTER_CQES].name = "cqes",
	[OHCA_COUNTER_COMPLETION_EVENTS].name = "completion_events",
	[OHCA_COUNTER_DUPLICATE_REQUESTS].name = "duplicate_requests",
	[OHCA_COUNTER_OUT_OF_SEQUENCE].name = "out_of_sequence",
	[OHCA_COUNTER_SEQUENCE_NAKS_RECEIVED].name = "sequence_naks_received",
	[OHCA_COUNTER_RNR_NAKS_SENT].name = "rnr_naks_sent",
	[OHCA_COUNTER_RNR_NAKS_RECEIVED].name = "rnr_naks_received",
	[OHCA_COUNTER_ACK_TIMEOUTS].name = "ack_timeouts",
	[OHCA_COUNTER_RETRY_EXCEEDED].name = "retry_exceeded",
	[OHCA_COUNTER_RNR_RETRY_EXCEEDED].name = "rnr_retry_exceeded",
	[OHCA_COUNTER_LOCAL_PROTECTION_ERRORS].name = "local_protection_errors",
	[OHCA_COUNTER_REMOTE_ACCESS_ERRORS].name = "remote_access_errors",
	[OHCA_COUNTER_REMOTE_INVALID_REQUESTS].name = "remote_invalid_requests",
	[OHCA_COUNTER_REMOTE_OPERATION_ERRORS].name = "remote_operation_errors",
	[OHCA_COUNTER_PACKETS_DROPPED].name = "packets_dropped",
	[OHCA_COUNTER_CQ_OVERRUNS].name = "cq_overruns",
	[OHCA_COUNTER_DOORBELLS_BAD].name = "doorbells_bad",
	[OHCA_COUNTER_COMMANDS].name = "commands",
	[OHCA_COUNTER_COMMANDS_FAILED].name = "commands_failed",
	[OHCA_COUNTER_DATAGRAMS_DROPPED].name = "datagrams_dropped",
	[OHCA_COUNTER_QKEY_VIOLATIONS].name = "qkey_violations",
	[OHCA_COUNTER_UC_MESSAGES_LOST].name = "uc_messages_lost",
	[OHCA_COUNTER_MULTICAST_RECEIVED].name = "multicast_received",
	[OHCA_COUNTER_REGISTRATIONS].name = "registrations",
	[OHCA_COUNTER_INVALIDATIONS].name = "invalidations",
};

static_assert(ARRAY_SIZE(ohca_counter_descs) == OHCA_COUNTER_COUNT);

/* An older device has fewer. */
u32 ohca_counter_count(struct ohca_dev *dev)
{
	return min_t(u32, dev->caps.counter_count, OHCA_COUNTER_COUNT);
}

struct rdma_hw_stats *ohca_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(ohca_counter_descs,
					  ohca_counter_count(to_ohca_dev(ibdev)),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int ohca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
		      int index)
{
	__le64 counters[OHCA_CMDQ_OUTPUT_SIZE / sizeof(__le64)];
	struct ohca_dev *dev = to_ohca_dev(ibdev);
	int i, ret;

	if (port_num != OHCA_PORT)
		return -EINVAL;
	ret = ohca_cmd_query_counters(dev, counters, dev->caps.counter_count);
	if (ret)
		return ret;
	for (i = 0; i < stats->num_counters; i++)
		stats->value[i] = le64_to_cpu(counters[i]);
	return stats->num_counters;
}
