// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Hardware counters: all the driver does is to know their names. */

#include "ohca.h"

/* X(the contract's enumerator after OHCA_COUNTER_, name for users) */
#define OHCA_COUNTERS(X)						\
	X(TX_SEGMENTS, "tx_segments")					\
	X(RX_SEGMENTS, "rx_segments")					\
	X(TX_BYTES, "tx_bytes")						\
	X(RX_BYTES, "rx_bytes")						\
	X(SEND_WQES, "send_wqes")					\
	X(RECEIVE_WQES, "receive_wqes")					\
	X(CQES, "cqes")							\
	X(COMPLETION_EVENTS, "completion_events")			\
	X(DUPLICATE_REQUESTS, "duplicate_requests")			\
	X(OUT_OF_SEQUENCE, "out_of_sequence")				\
	X(SEQUENCE_NAKS_RECEIVED, "sequence_naks_received")		\
	X(RNR_NAKS_SENT, "rnr_naks_sent")				\
	X(RNR_NAKS_RECEIVED, "rnr_naks_received")			\
	X(ACK_TIMEOUTS, "ack_timeouts")					\
	X(RETRY_EXCEEDED, "retry_exceeded")				\
	X(RNR_RETRY_EXCEEDED, "rnr_retry_exceeded")			\
	X(LOCAL_PROTECTION_ERRORS, "local_protection_errors")		\
	X(REMOTE_ACCESS_ERRORS, "remote_access_errors")			\
	X(REMOTE_INVALID_REQUESTS, "remote_invalid_requests")		\
	X(REMOTE_OPERATION_ERRORS, "remote_operation_errors")		\
	X(PACKETS_DROPPED, "packets_dropped")				\
	X(CQ_OVERRUNS, "cq_overruns")					\
	X(DOORBELLS_BAD, "doorbells_bad")				\
	X(COMMANDS, "commands")						\
	X(COMMANDS_FAILED, "commands_failed")

#define OHCA_COUNTER_DESC(id, text)	[OHCA_COUNTER_##id].name = text,

static const struct rdma_stat_desc ohca_counter_descs[OHCA_COUNTER_COUNT] = {
	OHCA_COUNTERS(OHCA_COUNTER_DESC)
};

/* An older device has fewer. */
static u32 ohca_counter_count(struct ohca_dev *dev)
{
	return min_t(u32, dev->caps.counter_count, OHCA_COUNTER_COUNT);
}

struct rdma_hw_stats *ohca_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num)
{
#define OHCA_COUNTER_ONE(id, text)	+ 1
	BUILD_BUG_ON(0 OHCA_COUNTERS(OHCA_COUNTER_ONE) != OHCA_COUNTER_COUNT);

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
