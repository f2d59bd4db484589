/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef OHCA_CMD_H
#define OHCA_CMD_H

#include <linux/if_ether.h>
#include <linux/types.h>

#include <rdma/ohca_hw.h>

struct ohca_cmd;
struct ohca_dev;

/* QUERY_DEVICE, in host order and clamped to what the driver can handle. */
struct ohca_caps {
	u64 features;
	u64 max_mr_size;
	u64 page_size_mask;
	u64 firmware_version;
	u32 max_qp;
	u32 max_cq;
	u32 max_mkey;
	u32 max_pd;
	u32 max_eq;
	u32 max_uar;
	u32 max_gid;
	u32 max_message_size;
	u32 max_inline;
	u32 core_clock_khz;
	u32 counter_count;
	u32 max_srq;
	u32 max_xrcd;
	u32 max_multicast_groups;
	u32 max_multicast_qps;		/* per group */
	u32 max_list_entries;		/* of a fast registration */
	u8 log_max_sq_depth;
	u8 log_max_rq_depth;
	u8 log_max_cq_depth;
	u8 log_max_eq_depth;
	u8 log_max_srq_depth;
	u8 max_send_sge;
	u8 max_recv_sge;
	u8 max_srq_sge;
	u8 max_read_atomic_initiator;
	u8 max_read_atomic_responder;
};

/* Memory of a page list's own levels, to be freed after the command. */
struct ohca_page_memory {
	void *top;
	dma_addr_t top_dma;
	size_t top_size;
	struct ohca_page_block *blocks;
	u32 block_count;
};

struct ohca_create_eq_params {
	const struct ohca_page_list *pages;
	u8 log_depth;
	u8 type;
	u16 vector;
};

struct ohca_create_mkey_params {
	const struct ohca_page_list *pages;
	u64 start;
	u64 length;
	u32 pdn;
	u32 access;
	u32 list_entry_max;
	u8 flags;
	u8 type;
	u8 consumer_key;
};

struct ohca_create_cq_params {
	const struct ohca_page_list *pages;
	u32 eq;
	u8 log_depth;
	u8 flags;
};

struct ohca_create_srq_params {
	const struct ohca_page_list *pages;
	u32 pdn;
	u32 xrcdn;		/* XRC SRQs; 0: basic */
	u32 cqn;		/* likewise */
	u32 ring_offset;
	u32 limit;
	u8 log_depth;
	u8 log_stride;
};

struct ohca_resize_srq_params {
	const struct ohca_page_list *pages;
	u32 srqn;
	u32 ring_offset;
	u8 log_depth;
};

struct ohca_create_qp_params {
	const struct ohca_page_list *pages;
	u32 pdn;
	u32 send_cqn;
	u32 recv_cqn;
	u32 srqn;		/* 0: a receive queue of its own */
	u32 xrcdn;		/* XRC_TGT */
	u32 uar;
	u32 sq_offset;
	u32 rq_offset;
	u8 type;
	u8 flags;
	u8 log_sq_depth;
	u8 log_rq_depth;
	u8 log_sq_stride;
	u8 log_rq_stride;
};

struct ohca_set_gid_params {
	const u8 *gid;		/* NULL clears the entry */
	u32 index;
	u8 mac[ETH_ALEN];
	u16 vlan_id;
};

/*
 * All of these, save the asynchronous one, sleep (or poll, while interrupts are
 * not set up yet) and return an errno of ohca-abi.h.
 */
int ohca_cmd_query_device(struct ohca_dev *dev, struct ohca_caps *caps);
int ohca_cmd_query_clock(struct ohca_dev *dev, u64 *clock_ns);
int ohca_cmd_query_counters(struct ohca_dev *dev, __le64 *counters, u32 count);
int ohca_cmd_query_counters_async(struct ohca_dev *dev, struct ohca_cmd *cmd, __le64 *counters,
				  u32 count, void (*done)(struct ohca_cmd *cmd));
int ohca_cmd_set_port(struct ohca_dev *dev, bool active, u32 max_mtu);
int ohca_cmd_set_gid(struct ohca_dev *dev, const struct ohca_set_gid_params *params);
int ohca_cmd_create_eq(struct ohca_dev *dev, const struct ohca_create_eq_params *params,
		       u32 *handle);
int ohca_cmd_create_uar(struct ohca_dev *dev, u32 *index);
int ohca_cmd_create_pd(struct ohca_dev *dev, u32 *pdn);
int ohca_cmd_create_mkey(struct ohca_dev *dev, const struct ohca_create_mkey_params *params,
			 u32 *key);
int ohca_cmd_modify_mkey(struct ohca_dev *dev, const struct ohca_create_mkey_params *params,
			 u32 mask, u32 *key);
int ohca_cmd_create_xrcd(struct ohca_dev *dev, u32 *xrcdn);
int ohca_cmd_create_srq(struct ohca_dev *dev, const struct ohca_create_srq_params *params,
			u32 *srqn);
int ohca_cmd_modify_srq(struct ohca_dev *dev, u32 srqn, u32 limit);
int ohca_cmd_query_srq(struct ohca_dev *dev, u32 srqn, u32 *limit);
int ohca_cmd_resize_srq(struct ohca_dev *dev, const struct ohca_resize_srq_params *params);
int ohca_cmd_create_cq(struct ohca_dev *dev, const struct ohca_create_cq_params *params,
		       u32 *cqn);
int ohca_cmd_modify_cq(struct ohca_dev *dev, u32 cqn, u16 count, u16 period_us);
int ohca_cmd_resize_cq(struct ohca_dev *dev, u32 cqn, const struct ohca_page_list *pages,
		       u8 log_depth);
void ohca_fill_create_qp(const struct ohca_create_qp_params *params,
			 struct ohca_cmd_create_qp_in *in);
int ohca_cmd_create_qp(struct ohca_dev *dev, const struct ohca_cmd_create_qp_in *in,
		       struct ohca_cmd_create_qp_out *out);
int ohca_cmd_modify_qp(struct ohca_dev *dev, const struct ohca_cmd_modify_qp_in *in);
int ohca_cmd_query_qp(struct ohca_dev *dev, u32 qpn, struct ohca_cmd_query_qp_out *out);
int ohca_cmd_multicast(struct ohca_dev *dev, u16 opcode, u32 qpn, const u8 *gid);

/*
 * 0 means that the device no longer knows the object and cannot touch its
 * memory: also when the device has failed, since this waits until it is quiet.
 * The only error is -EBUSY, and then nothing has changed.
 */
int ohca_cmd_destroy(struct ohca_dev *dev, u16 opcode, u32 handle);
int ohca_cmd_destroyed(struct ohca_dev *dev, u16 opcode, u32 handle, int result);

#endif /* OHCA_CMD_H */
