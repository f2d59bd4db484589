/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Command interface and event queues (driver <-> device).
 *
 * The command queue is a submission ring and a completion ring of the same
 * depth in host memory.  The driver fills a free slot's mailboxes, writes an
 * entry, advances ohca_cmdq_record.producer (store release) and sets slot
 * OHCA_UAR_CMDQ_SLOT of UAR 0.  The device may complete commands in any order;
 * each accepted entry gets exactly one completion, unless RESET comes first.
 * An entry whose slot is still in progress is completed with
 * OHCA_CMD_STATUS_BUSY_SLOT and the first one goes on.
 *
 * All objects are named by handles that the device chooses.  DESTROY of an
 * object that others refer to returns OHCA_CMD_STATUS_IN_USE and changes nothing.
 */
#ifndef OHCA_HW_CMD_H
#define OHCA_HW_CMD_H

#include <linux/types.h>

#define OHCA_CMDQ_LOG_DEPTH_MIN		4
#define OHCA_CMDQ_LOG_DEPTH_MAX		12
#define OHCA_CMD_MAILBOX_SIZE_MAX	4096	/* bytes, each of input and output */
#define OHCA_CMD_VECTOR			0	/* MSI-X: command completions, async events, STATUS.FAILED */

/* Doorbell record of the command queue, in host memory, 64-byte aligned. */
struct ohca_cmdq_record {
	__le32 producer;		/* index after the last submitted entry. Host writes */
	__le32 completion_consumer;	/* index of the next completion the host will look at. Host writes */
	__le32 interrupt_arm;		/* 1: raise OHCA_CMD_VECTOR on the next completion. Host sets, device clears */
	__u8   reserved_60[52];
};

struct ohca_cmd_entry {
	__le16 opcode;			/* OHCA_CMD_* */
	__le16 slot;			/* 0..depth-1, unique among commands in progress */
	__le32 generation;		/* echoed; tells a late completion from a fresh one */
	__le64 input_address;		/* DMA address of the input mailbox */
	__le64 output_address;		/* DMA address of the output mailbox */
	__le32 input_length;		/* bytes, must be the size of the command's input structure */
	__le32 output_length;		/* bytes available, at least the size of its output structure */
	__u8   reserved_100[32];
};

struct ohca_cmd_completion {
	__le16 slot;
	__u8   status;			/* OHCA_CMD_STATUS_* */
	__u8   reserved_18;
	__le32 generation;
	__le32 detail;			/* OHCA_CMD_DETAIL_*: which check failed. Diagnosis only */
	__u8   reserved_60[3];
	__u8   owner;			/* bit 0: phase, 1 in the first pass, then toggling. Written last */
};

#define OHCA_CMD_COMPLETION_PHASE	0x01

/* ohca_cmd_completion.status and the errno the driver returns for it. */
#define OHCA_CMD_STATUS_OK		0
#define OHCA_CMD_STATUS_BAD_OPCODE	1	/* -EOPNOTSUPP */
#define OHCA_CMD_STATUS_BAD_LENGTH	2	/* -EINVAL: mailbox length */
#define OHCA_CMD_STATUS_BAD_PARAMETER	3	/* -EINVAL */
#define OHCA_CMD_STATUS_BAD_HANDLE	4	/* -EINVAL: no such object */
#define OHCA_CMD_STATUS_BAD_STATE	5	/* -EINVAL: transition not legal */
#define OHCA_CMD_STATUS_IN_USE		6	/* -EBUSY */
#define OHCA_CMD_STATUS_NO_RESOURCES	7	/* -ENOMEM */
#define OHCA_CMD_STATUS_DMA_FAULT	8	/* -EFAULT: page list or mailbox not reachable */
#define OHCA_CMD_STATUS_BUSY_SLOT	9	/* -EINVAL: slot in progress or out of range */
#define OHCA_CMD_STATUS_UNSUPPORTED	10	/* -EOPNOTSUPP: flag or feature not negotiated */

/* ohca_cmd_completion.detail */
#define OHCA_CMD_DETAIL_NONE		0
#define OHCA_CMD_DETAIL_RESERVED	1	/* a reserved field or bit is set */
#define OHCA_CMD_DETAIL_DEPTH		2
#define OHCA_CMD_DETAIL_STRIDE		3
#define OHCA_CMD_DETAIL_OFFSET		4
#define OHCA_CMD_DETAIL_PAGE_LIST	5
#define OHCA_CMD_DETAIL_ACCESS		6
#define OHCA_CMD_DETAIL_LENGTH		7
#define OHCA_CMD_DETAIL_PD		8
#define OHCA_CMD_DETAIL_CQ		9
#define OHCA_CMD_DETAIL_EQ		10
#define OHCA_CMD_DETAIL_UAR		11
#define OHCA_CMD_DETAIL_QP		12
#define OHCA_CMD_DETAIL_KEY		13
#define OHCA_CMD_DETAIL_GID		14
#define OHCA_CMD_DETAIL_ATTRIBUTE	15	/* attribute missing, not allowed or out of range */
#define OHCA_CMD_DETAIL_TYPE		16
#define OHCA_CMD_DETAIL_SRQ		17
#define OHCA_CMD_DETAIL_XRCD		18
#define OHCA_CMD_DETAIL_FEATURE		19	/* not negotiated */
#define OHCA_CMD_DETAIL_WINDOWS		20	/* memory windows are bound */
#define OHCA_CMD_DETAIL_MASK		0xff
/* CONNECT_QP: above the detail, the OHCA_QP_STATE_* that could not be entered; 0 if none was tried. */
#define OHCA_CMD_DETAIL_PHASE_SHIFT	8

/* Opcodes. */
#define OHCA_CMD_NOP			0x0001
#define OHCA_CMD_QUERY_DEVICE		0x0002
#define OHCA_CMD_SET_PORT		0x0003
#define OHCA_CMD_SET_GID		0x0004
#define OHCA_CMD_QUERY_COUNTERS		0x0005
#define OHCA_CMD_CREATE_EQ		0x0010
#define OHCA_CMD_DESTROY_EQ		0x0011
#define OHCA_CMD_CREATE_UAR		0x0012
#define OHCA_CMD_DESTROY_UAR		0x0013
#define OHCA_CMD_CREATE_PD		0x0014
#define OHCA_CMD_DESTROY_PD		0x0015
#define OHCA_CMD_CREATE_MKEY		0x0016
#define OHCA_CMD_DESTROY_MKEY		0x0017
#define OHCA_CMD_CREATE_CQ		0x0018
#define OHCA_CMD_DESTROY_CQ		0x0019
#define OHCA_CMD_CREATE_QP		0x0020
#define OHCA_CMD_MODIFY_QP		0x0021
#define OHCA_CMD_QUERY_QP		0x0022
#define OHCA_CMD_DESTROY_QP		0x0023
#define OHCA_CMD_CREATE_SRQ		0x0024
#define OHCA_CMD_MODIFY_SRQ		0x0025
#define OHCA_CMD_QUERY_SRQ		0x0026
#define OHCA_CMD_RESIZE_SRQ		0x0027
#define OHCA_CMD_DESTROY_SRQ		0x0028
#define OHCA_CMD_CREATE_XRCD		0x0029
#define OHCA_CMD_DESTROY_XRCD		0x002a
#define OHCA_CMD_MODIFY_CQ		0x002b
#define OHCA_CMD_RESIZE_CQ		0x002c
#define OHCA_CMD_ATTACH_MULTICAST	0x002d
#define OHCA_CMD_DETACH_MULTICAST	0x002e
#define OHCA_CMD_MODIFY_MKEY		0x002f
#define OHCA_CMD_CONNECT_QP		0x0030
#define OHCA_CMD_DISCONNECT_QP		0x0031
#define OHCA_CMD_RESET_SRQ		0x0032
#define OHCA_CMD_INVALIDATE_MKEY	0x0033

/*
 * A list of host pages.  Page i of the range is
 *   levels 0: address + (i << log_page_size)               (contiguous)
 *   levels 1: ((__le64 *)address)[i]                       (one contiguous array)
 *   levels 2: ((__le64 *)chunk[i / 512])[i % 512], where chunk = (__le64 *)address
 *             and each chunk is one aligned 4 KiB page
 * The device copies the list before the command completes.
 */
struct ohca_page_list {
	__le64 address;
	__le64 first_page_offset;	/* bytes into page 0 at which the range starts; < page size */
	__le32 page_count;
	__u8   log_page_size;		/* 12..63 */
	__u8   levels;			/* 0..2 */
	__le16 reserved_b0;
};

#define OHCA_PAGE_LIST_CHUNK_ENTRIES	512

/* An output that is nothing but a handle, and an input that is nothing but one. */
struct ohca_cmd_handle {
	__le32 handle;
	__le32 reserved_20;
};

/* QUERY_DEVICE: no input; output: */
struct ohca_cmd_query_device_out {
	__le64 features;		/* those negotiated */
	__le64 max_mr_size;		/* bytes */
	__le64 page_size_mask;		/* bit n: pages of 2^n bytes */
	__le64 device_clock_ns;		/* now */
	__le32 max_qp;
	__le32 max_cq;
	__le32 max_mkey;
	__le32 max_pd;
	__le32 max_eq;
	__le32 max_uar;
	__le32 max_gid;
	__le32 max_message_size;	/* bytes */
	__u8   log_max_sq_depth;
	__u8   log_max_rq_depth;
	__u8   log_max_cq_depth;
	__u8   log_max_eq_depth;
	__u8   max_send_sge;
	__u8   max_recv_sge;
	__u8   max_read_atomic_initiator;	/* per QP, outstanding as requester */
	__u8   max_read_atomic_responder;	/* per QP, responder resources */
	__le32 max_inline;		/* bytes */
	__le32 core_clock_khz;		/* of CQE timestamps: 1000000 */
	__le64 firmware_version;	/* major << 32 | minor << 16 | patch */
	__le32 max_srq;
	__le32 max_xrcd;
	__le32 max_multicast_groups;
	__le32 max_multicast_qps;	/* per group */
	__le32 max_list_entries;	/* of a fast registration */
	__u8   log_max_srq_depth;
	__u8   max_srq_sge;
	__u8   reserved_370[6];
	__le32 counter_count;		/* OHCA_COUNTER_COUNT of the device */
};

/* SET_PORT: no output. */
struct ohca_cmd_set_port_in {
	__u8   active;			/* 1: link up */
	__u8   reserved_8[3];
	__le32 max_mtu;			/* bytes: 256, 512, 1024, 2048 or 4096 */
};

/* SET_GID: no output. An all-zero gid clears the entry. */
struct ohca_cmd_set_gid_in {
	__u8   gid[16];
	__le32 index;			/* 0..max_gid-1 */
	__u8   mac[6];
	__le16 vlan_id;			/* OHCA_VLAN_NONE or 0..4095 */
	__le32 reserved_e0;
};

/* QUERY_COUNTERS: no input; output: __le64[OHCA_COUNTER_COUNT], monotonic since RESET. */
enum ohca_counter {
	OHCA_COUNTER_TX_SEGMENTS,
	OHCA_COUNTER_RX_SEGMENTS,
	OHCA_COUNTER_TX_BYTES,			/* payload */
	OHCA_COUNTER_RX_BYTES,
	OHCA_COUNTER_SEND_WQES,			/* work requests fetched */
	OHCA_COUNTER_RECEIVE_WQES,
	OHCA_COUNTER_CQES,
	OHCA_COUNTER_COMPLETION_EVENTS,
	OHCA_COUNTER_DUPLICATE_REQUESTS,
	OHCA_COUNTER_OUT_OF_SEQUENCE,		/* requests whose PSN is ahead */
	OHCA_COUNTER_SEQUENCE_NAKS_RECEIVED,
	OHCA_COUNTER_RNR_NAKS_SENT,
	OHCA_COUNTER_RNR_NAKS_RECEIVED,
	OHCA_COUNTER_ACK_TIMEOUTS,
	OHCA_COUNTER_RETRY_EXCEEDED,
	OHCA_COUNTER_RNR_RETRY_EXCEEDED,
	OHCA_COUNTER_LOCAL_PROTECTION_ERRORS,
	OHCA_COUNTER_REMOTE_ACCESS_ERRORS,	/* NAKs sent */
	OHCA_COUNTER_REMOTE_INVALID_REQUESTS,	/* NAKs sent */
	OHCA_COUNTER_REMOTE_OPERATION_ERRORS,	/* NAKs sent */
	OHCA_COUNTER_PACKETS_DROPPED,		/* no such QP, wrong state, malformed */
	OHCA_COUNTER_CQ_OVERRUNS,
	OHCA_COUNTER_DOORBELLS_BAD,		/* producer index beyond the ring, or no queue behind the slot */
	OHCA_COUNTER_COMMANDS,
	OHCA_COUNTER_COMMANDS_FAILED,
	OHCA_COUNTER_DATAGRAMS_DROPPED,		/* UD: no receive WQE, or too small */
	OHCA_COUNTER_QKEY_VIOLATIONS,		/* UD: dropped */
	OHCA_COUNTER_UC_MESSAGES_LOST,		/* UC: dropped for a gap in the PSNs or no receive WQE */
	OHCA_COUNTER_MULTICAST_RECEIVED,	/* one for each queue pair that got a copy */
	OHCA_COUNTER_REGISTRATIONS,		/* REG_MR and BIND_MW carried out */
	OHCA_COUNTER_INVALIDATIONS,		/* local and remote */
	OHCA_COUNTER_COUNT
};

/* CREATE_EQ: output struct ohca_cmd_handle. */
struct ohca_cmd_create_eq_in {
	struct ohca_page_list pages;	/* struct ohca_eq_record, then at OHCA_EQ_RING_OFFSET the ring */
	__u8   log_depth;
	__u8   type;			/* OHCA_EQ_* */
	__le16 vector;			/* MSI-X vector */
	__le32 reserved_e0;
};

#define OHCA_EQ_ASYNC			0	/* exactly one; must exist before any other object but EQs */
#define OHCA_EQ_COMPLETION		1
#define OHCA_EQ_RING_OFFSET		64

/* DESTROY_*: input struct ohca_cmd_handle, no output. */

/* CREATE_UAR: no input; output handle = index of the page in BAR2, zeroed. UAR 0 always exists. */
/* CREATE_PD: no input; output handle. */

/* CREATE_MKEY. */
struct ohca_cmd_create_mkey_in {
	struct ohca_page_list pages;	/* unused with OHCA_MKEY_LINEAR */
	__le64 start;			/* first address in the key's address space */
	__le64 length;			/* bytes; 0 .. max_mr_size */
	__le32 pd;
	__le32 access;			/* OHCA_ACCESS_* */
	__u8   flags;			/* OHCA_MKEY_* */
	__u8   consumer_key;		/* low 8 bits of the key */
	__u8   type;			/* OHCA_MKEY_TYPE_* */
	__u8   reserved_198;
	__le32 list_entry_max;		/* FAST_REGION, INTEGRITY: of the longest list it will be given; else 0 */
};

/*
 * REGION is valid from its creation on.  The others are created free: pages, start,
 * length and access are 0.  A FAST_REGION becomes valid by REG_MR, an INTEGRITY key by
 * REG_MR_INTEGRITY, a window by BIND_MW.
 */
#define OHCA_MKEY_TYPE_REGION		0
#define OHCA_MKEY_TYPE_FAST_REGION	1
#define OHCA_MKEY_TYPE_WINDOW_1		2
#define OHCA_MKEY_TYPE_WINDOW_2B	3
#define OHCA_MKEY_TYPE_INTEGRITY	4

struct ohca_cmd_create_mkey_out {
	__le32 key;			/* index << 8 | consumer_key; lkey and rkey */
	__le32 reserved_20;
};

#define OHCA_MKEY_LINEAR		0x01	/* address space is DMA addresses, all of them */
#define OHCA_MKEY_FLAGS_ALL		0x01

/* Same values as IB_ACCESS_*; local read is implied. */
#define OHCA_ACCESS_LOCAL_WRITE		0x01
#define OHCA_ACCESS_REMOTE_WRITE	0x02
#define OHCA_ACCESS_REMOTE_READ		0x04
#define OHCA_ACCESS_REMOTE_ATOMIC	0x08
#define OHCA_ACCESS_WINDOW_BIND		0x10	/* of a region: windows may be bound to it */
#define OHCA_ACCESS_ZERO_BASED		0x20	/* REG_MR, BIND_MW: addresses count from 0 */
#define OHCA_ACCESS_FLUSH_GLOBAL	0x100
#define OHCA_ACCESS_FLUSH_PERSISTENT	0x200
#define OHCA_ACCESS_ALL			0x33f
#define OHCA_REGION_ACCESS_ALL		0x31f	/* CREATE_MKEY, MODIFY_MKEY */
#define OHCA_QP_ACCESS_ALL		0x30e	/* ohca_qp_attributes.access: REMOTE and FLUSH */

/*
 * MODIFY_MKEY: a REGION gets another translation (pages, start, length, flags), PD or
 * access; what the mask does not name stays.  The index stays, the consumer key is the
 * one given.  IN_USE while windows are bound.  Output struct ohca_cmd_create_mkey_out.
 */
struct ohca_cmd_modify_mkey_in {
	struct ohca_cmd_create_mkey_in region;
	__le32 key;			/* as it is now */
	__le32 mask;			/* OHCA_MKEY_MODIFY_* */
};

#define OHCA_MKEY_MODIFY_TRANSLATION	0x01	/* same values as IB_MR_REREG_* */
#define OHCA_MKEY_MODIFY_PD		0x02
#define OHCA_MKEY_MODIFY_ACCESS		0x04
#define OHCA_MKEY_MODIFY_ALL		0x07

/* CREATE_CQ: output struct ohca_cmd_handle (cqn). */
struct ohca_cmd_create_cq_in {
	struct ohca_page_list pages;
	__le32 eq;			/* handle of a completion EQ */
	__u8   log_depth;		/* 0..log_max_cq_depth */
	__u8   flags;			/* OHCA_CQ_* */
	__le16 reserved_f0;
};

#define OHCA_CQ_IGNORE_OVERRUN		0x01
#define OHCA_CQ_FLAGS_ALL		0x01

/*
 * MODIFY_CQ: no output.  An armed CQ raises its event when moderation_count CQEs have
 * been written since the last event, or moderation_period_us after the first of them.
 * 0 in either: at once.
 */
struct ohca_cmd_modify_cq_in {
	__le32 cqn;
	__le16 moderation_count;
	__le16 moderation_period_us;
};

/*
 * RESIZE_CQ: no output.  The host neither polls nor arms while the command runs.  The device
 * copies the CQEs from consumer on into the new ring, at the same indices with the
 * phase of the new depth, and `fired` into the new record; the host has put consumer
 * and arm there.  BAD_PARAMETER, and no change, if they do not fit.
 */
struct ohca_cmd_resize_cq_in {
	struct ohca_page_list pages;
	__le32 cqn;
	__u8   log_depth;
	__u8   reserved_e8[3];
};

/* CREATE_SRQ: output struct ohca_cmd_handle (srqn). */
struct ohca_cmd_create_srq_in {
	struct ohca_page_list pages;
	__le32 pd;
	__le32 xrcd;			/* XRC SRQ: its domain; 0: basic */
	__le32 cq;			/* XRC SRQ: where it completes; 0: basic */
	__le32 ring_offset;		/* bytes into the buffer */
	__u8   log_depth;
	__u8   log_stride;
	__u8   reserved_150[2];
	__le32 limit;			/* 0, or as in MODIFY_SRQ */
};

/*
 * MODIFY_SRQ: no output.  When fewer than limit WQEs are left, the device posts
 * OHCA_EVENT_SRQ_LIMIT once and sets limit to 0.
 */
struct ohca_cmd_modify_srq_in {
	__le32 srqn;
	__le32 limit;			/* 0..depth */
};

/* QUERY_SRQ: input struct ohca_cmd_handle. */
struct ohca_cmd_query_srq_out {
	__le32 limit;
	__le32 consumer;		/* index of the next WQE to be taken */
};

/*
 * RESIZE_SRQ: no output.  The host does not post while the command runs.  The device
 * copies the WQEs it has not taken into the new ring, at the same indices; the host has put
 * producer into the new record.  BAD_PARAMETER, and no change, if they do not fit.
 */
struct ohca_cmd_resize_srq_in {
	struct ohca_page_list pages;
	__le32 srqn;
	__le32 ring_offset;
	__u8   log_depth;
	__u8   reserved_108[7];
};

/*
 * RESET_SRQ: input struct ohca_cmd_handle, no output.  A basic SRQ without queue pairs is as
 * after its creation, with limit 0; the host has zeroed the record.  WQEs in it are forgotten.
 *
 * INVALIDATE_MKEY: input struct ohca_cmd_handle, no output.  A FAST_REGION or a window becomes
 * free, if it is not; the consumer key of the handle does not matter.
 */

/* CREATE_XRCD: no input; output handle. */

/* ATTACH_MULTICAST, DETACH_MULTICAST: no output. UD only. Attaching twice counts once. */
struct ohca_cmd_multicast_in {
	__le32 qpn;
	__le32 reserved_20;
	__u8   gid[16];
};

/* CREATE_QP. */
struct ohca_cmd_create_qp_in {
	struct ohca_page_list pages;
	__le32 pd;
	__le32 send_cq;
	__le32 recv_cq;
	__le32 uar;			/* whose notify words announce the send queue */
	__le32 sq_offset;		/* bytes into the buffer */
	__le32 rq_offset;
	__u8   type;			/* OHCA_QP_TYPE_* */
	__u8   flags;			/* OHCA_QP_* */
	__u8   log_sq_depth;
	__u8   log_rq_depth;
	__u8   log_sq_stride;
	__u8   log_rq_stride;
	__le16 reserved_1b0;
	__le32 srq;			/* where it receives; 0: its own queue, if any */
	__le32 xrcd;			/* XRC_TGT; 0 otherwise */
};

struct ohca_cmd_create_qp_out {
	__le32 qpn;			/* 24 bits, never 0; OHCA_QPN_GSI for GSI only */
	__le32 uar_slot;		/* slot of the send queue in its UAR */
};

#define OHCA_QP_TYPE_RC			1
#define OHCA_QP_TYPE_UC			2
#define OHCA_QP_TYPE_UD			3
#define OHCA_QP_TYPE_GSI		4	/* one per function */
#define OHCA_QP_TYPE_XRC_INI		5	/* no receive queue; recv_cq 0 */
#define OHCA_QP_TYPE_XRC_TGT		6	/* no queues: page list empty, pd, CQs and uar 0 */
#define OHCA_QPN_GSI			1

#define OHCA_QP_SIGNAL_ALL		0x01	/* every send WQE completes with a CQE */
#define OHCA_QP_NO_SQ			0x02	/* sq_* fields are 0 */
#define OHCA_QP_NO_RQ			0x04
#define OHCA_QP_BLOCK_MULTICAST_LOOPBACK 0x08	/* UD: no copies of what was sent from this function */
#define OHCA_QP_FLAGS_ALL		0x0f

/* Queue pair states; as in the verbs. */
#define OHCA_QP_STATE_RESET		0
#define OHCA_QP_STATE_INIT		1
#define OHCA_QP_STATE_RTR		2
#define OHCA_QP_STATE_RTS		3
#define OHCA_QP_STATE_SQD		4
#define OHCA_QP_STATE_SQE		5
#define OHCA_QP_STATE_ERR		6

/* Attributes of a queue pair: input of MODIFY_QP, output of QUERY_QP. */
struct ohca_qp_attributes {
	__u8   state;			/* OHCA_QP_STATE_* */
	__u8   path_mtu;		/* log2 bytes: 8..12 */
	__u8   reserved_10;
	__u8   max_read_atomic;		/* as requester, outstanding */
	__u8   max_dest_read_atomic;	/* as responder */
	__u8   min_rnr_timer;		/* IBTA encoding 0..31 */
	__u8   ack_timeout;		/* IBTA encoding: 4.096 us * 2^n, 0 is infinite */
	__u8   retry_count;		/* 0..7 */
	__u8   rnr_retry;		/* 0..7, 7 is infinite */
	__u8   sq_drained_event;	/* SQD: notify when drained. QUERY_QP: 1 while draining */
	__le16 pkey_index;		/* 0 */
	__le32 dest_qpn;
	__le32 sq_psn;
	__le32 rq_psn;
	__le32 qkey;			/* datagram types; 0 otherwise */
	__u8   dgid[16];
	__u8   dmac[6];
	__u8   sgid_index;
	__u8   hop_limit;
	__u8   traffic_class;
	__u8   service_level;
	__le16 source_udp_port;		/* RoCEv2; 0 lets the device choose */
	__le32 flow_label;
	__le32 access;			/* OHCA_ACCESS_REMOTE_*, OHCA_ACCESS_FLUSH_* */
};

/* ohca_cmd_modify_qp_in.mask: which attributes are given. */
#define OHCA_QP_ATTR_STATE		0x00000001
#define OHCA_QP_ATTR_PATH_MTU		0x00000002
#define OHCA_QP_ATTR_ACCESS		0x00000004
#define OHCA_QP_ATTR_MAX_READ_ATOMIC	0x00000008
#define OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC 0x00000010
#define OHCA_QP_ATTR_MIN_RNR_TIMER	0x00000020
#define OHCA_QP_ATTR_ACK_TIMEOUT	0x00000040
#define OHCA_QP_ATTR_RETRY_COUNT	0x00000080
#define OHCA_QP_ATTR_RNR_RETRY		0x00000100
#define OHCA_QP_ATTR_SQ_DRAINED_EVENT	0x00000200
#define OHCA_QP_ATTR_PKEY_INDEX		0x00000400
#define OHCA_QP_ATTR_DEST_QPN		0x00000800
#define OHCA_QP_ATTR_SQ_PSN		0x00001000
#define OHCA_QP_ATTR_RQ_PSN		0x00002000
#define OHCA_QP_ATTR_QKEY		0x00004000
#define OHCA_QP_ATTR_PATH		0x00008000	/* dgid .. flow_label */
#define OHCA_QP_ATTR_ALL		0x0000ffff

/* MODIFY_QP: no output. A refused change changes nothing. */
struct ohca_cmd_modify_qp_in {
	__le32 qpn;
	__le32 mask;			/* OHCA_QP_ATTR_* */
	__u8   current_state;		/* what the driver believes; refused with BAD_STATE if wrong */
	__u8   check_current_state;	/* 1: current_state is given */
	__u8   reserved_50[6];
	struct ohca_qp_attributes attributes;
};

/*
 * CONNECT_QP: input struct ohca_cmd_modify_qp_in, no output.  The queue pair goes from RESET,
 * INIT or RTR through every state in between to attributes.state (RTR or RTS); each
 * transition takes the attributes that it requires or allows.  A refused command changes nothing.
 *
 * DISCONNECT_QP: input struct ohca_cmd_handle, no output.  The queue pair goes to ERR; the
 * command completes when nothing is left to be flushed.  Other commands do not wait for it.
 */

/* QUERY_QP: input struct ohca_cmd_handle. */
struct ohca_cmd_query_qp_out {
	struct ohca_qp_attributes attributes;
	__le32 sq_consumer;		/* SQ index of the oldest WQE not completed */
	__le32 rq_consumer;		/* RQ index of the next WQE to be used */
};

/*
 * Event queues.  The device writes an entry, owner last, and raises the EQ's
 * vector if it finds interrupt_arm set (and clears it).  The driver drains,
 * writes consumer, sets interrupt_arm, fences and looks once more.
 */
struct ohca_eq_record {
	__le32 consumer;		/* index of the next entry the host will look at. Host writes */
	__le32 interrupt_arm;		/* 1: interrupt wanted. Host sets, device clears */
	__u8   reserved_40[56];
};

struct ohca_eqe {
	__u8   type;			/* OHCA_EVENT_* */
	__u8   reserved_8[3];
	__le32 number;			/* cqn, qpn ... by type */
	__le32 detail;			/* OHCA_VENDOR_ERROR_* for errors */
	__u8   reserved_60[3];
	__u8   owner;			/* bit 0: phase, 1 in the first pass, then toggling. Written last */
};

#define OHCA_EQE_PHASE			0x01

#define OHCA_EVENT_COMPLETION		1	/* completion EQ: number is the cqn */
#define OHCA_EVENT_CQ_ERROR		2	/* async from here on: cqn */
#define OHCA_EVENT_QP_FATAL		3	/* qpn: the device lost the QP's memory or rings are garbage */
#define OHCA_EVENT_QP_REQUEST_ERROR	4	/* qpn: responder saw an invalid request */
#define OHCA_EVENT_QP_ACCESS_ERROR	5	/* qpn: responder saw an access violation */
#define OHCA_EVENT_COMM_ESTABLISHED	6	/* qpn: first message in RTR */
#define OHCA_EVENT_SQ_DRAINED		7	/* qpn */
#define OHCA_EVENT_QP_LAST_WQE		8	/* qpn in ERR: it takes no further WQE from its SRQ */
#define OHCA_EVENT_SRQ_LIMIT		10	/* srqn */
#define OHCA_EVENT_SRQ_ERROR		11	/* srqn: its memory or ring is garbage */
#define OHCA_EVENT_EQ_OVERRUN		9	/* number is the async EQ's handle; async events were lost */

#endif /* OHCA_HW_CMD_H */
