/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Kernel driver <-> provider: the driver-private parts (udata) of the uverbs
 * calls, and what the mmap offsets they return stand for.
 *
 * Rules for every request: a shorter one is padded with zeroes if the missing
 * part is optional, refused with EINVAL if not; a longer one is accepted if
 * its tail is zero, else EOPNOTSUPP; a reserved field or comp_mask bit that is
 * set gives EINVAL; a flag this kernel or device does not know, EOPNOTSUPP.
 *
 * errno: EINVAL bad argument, EOPNOTSUPP not offered here, ENOMEM out of
 * memory or of a device resource, EBUSY still referenced, EFAULT memory not
 * accessible, EIO device failed or gone.
 */
#ifndef OHCA_ABI_H
#define OHCA_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define OHCA_ABI_VERSION 1

struct ohca_alloc_ucontext_req {
	__u32 comp_mask;
	__u32 reserved_20;
};

struct ohca_alloc_ucontext_resp {
	__u32 comp_mask;
	__u32 uar_index;
	__aligned_u64 uar_mmap_key;	/* mmap(OHCA_UAR_SIZE, PROT_READ | PROT_WRITE, key): struct ohca_uar */
	__aligned_u64 kick_mmap_key;	/* mmap(4096, PROT_WRITE, key): the kick page */
	__aligned_u64 device_features;	/* OHCA_FEATURE_* negotiated */
	__u32 max_qp;
	__u32 max_inline;		/* bytes */
	__u8  log_max_sq_depth;
	__u8  log_max_rq_depth;
	__u8  log_max_cq_depth;
	__u8  max_send_sge;
	__u8  max_recv_sge;
	__u8  log_max_srq_depth;
	__u8  max_srq_sge;
	__u8  reserved_178;
};

/* query_device: two clocks read at the same moment. */
struct ohca_query_device_resp {
	__u32 comp_mask;
	__u32 reserved_20;
	__aligned_u64 device_clock_ns;	/* of ohca_cqe.timestamp_ns */
	__aligned_u64 real_clock_ns;	/* CLOCK_REALTIME */
};

struct ohca_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved_20;
};

/*
 * The CQ buffer (ohca_hw_io.h) is the application's memory; the driver pins it.  Also of
 * resize_cq: the new buffer; the library holds its CQ lock meanwhile (RESIZE_CQ).
 */
struct ohca_create_cq_req {
	__aligned_u64 buffer_address;	/* page aligned */
	__aligned_u64 buffer_length;	/* bytes */
	__u32 comp_mask;
	__u8  log_depth;
	__u8  reserved_a8[3];
};

struct ohca_create_cq_resp {
	__u32 cqn;
	__u32 comp_mask;
};

/* The SRQ buffer (ohca_hw_io.h). Also of modify_srq with IB_SRQ_MAX_WR (RESIZE_SRQ). */
struct ohca_create_srq_req {
	__aligned_u64 buffer_address;	/* page aligned */
	__aligned_u64 buffer_length;
	__u32 ring_offset;		/* bytes */
	__u8  log_depth;
	__u8  log_stride;		/* modify_srq: as it was */
	__u8  reserved_b0[2];
	__u32 comp_mask;
	__u32 reserved_e0;
};

struct ohca_create_srq_resp {
	__u32 srqn;
	__u32 comp_mask;
};

/* What the kernel has resolved for an address vector. */
struct ohca_create_ah_resp {
	__u8  dmac[6];
	__u8  sgid_index;
	__u8  hop_limit;
	__u32 comp_mask;
};

/* XRC_TGT: all zero. */
struct ohca_create_qp_req {
	__aligned_u64 buffer_address;	/* page aligned */
	__aligned_u64 buffer_length;	/* bytes */
	__u32 sq_offset;		/* bytes */
	__u32 rq_offset;
	__u8  log_sq_depth;
	__u8  log_rq_depth;
	__u8  log_sq_stride;
	__u8  log_rq_stride;
	__u32 comp_mask;		/* OHCA_CREATE_QP_* */
	__u32 uar_index;		/* OHCA_CREATE_QP_UAR: of an OHCA_OBJECT_UAR of this context */
	__u32 qpn;			/* OHCA_CREATE_QP_CLAIM */
};

#define OHCA_CREATE_QP_UAR	0x1
/* Claims what ASYNC_QUEUE_CREATE_QPS has created in this context: all else is to be the same. */
#define OHCA_CREATE_QP_CLAIM	0x2

struct ohca_create_qp_resp {
	__u32 qpn;
	__u32 uar_slot;
	__u32 comp_mask;
	__u32 reserved_60;
};

/*
 * An attribute of UVERBS_METHOD_QUERY_CONTEXT: what alloc_ucontext has answered, for a
 * process that was given the file of the context (ibv_import_device()).
 */
enum ohca_query_context_attributes {
	OHCA_ATTR_QUERY_CONTEXT_RESPONSE = (1U << UVERBS_ID_NS_SHIFT), /* out, struct ohca_alloc_ucontext_resp */
};

/* Ioctl objects of the driver's name space. */
enum ohca_objects {
	/* A further UAR page of the context, for the queue pairs of a thread domain. */
	OHCA_OBJECT_UAR = (1U << UVERBS_ID_NS_SHIFT),
	/* A file: operations are submitted to it, and their ends are read from it. */
	OHCA_OBJECT_ASYNC_QUEUE,
};

enum ohca_uar_methods {
	OHCA_METHOD_UAR_ALLOC = (1U << UVERBS_ID_NS_SHIFT),
	OHCA_METHOD_UAR_DESTROY,
};

enum ohca_uar_alloc_attributes {
	OHCA_ATTR_UAR_ALLOC_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	OHCA_ATTR_UAR_ALLOC_INDEX,	/* out, __u32: for ohca_create_qp_req.uar_index */
	OHCA_ATTR_UAR_ALLOC_MMAP_KEY,	/* out, __u64: as ohca_alloc_ucontext_resp.uar_mmap_key */
};

enum ohca_uar_destroy_attributes {
	OHCA_ATTR_UAR_DESTROY_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
};

/*
 * ASYNC_QUEUE: operations on queue pairs that nobody waits for.  SUBMIT starts them and
 * returns; whichever way each of them ends, one struct ohca_async_completion can be read
 * from the file then.  poll() tells when; read() returns whole completions, at most as many
 * as fit: EAGAIN if there are none and the file is O_NONBLOCK, EIO if the device has gone,
 * and then nothing else will ever come.  close() waits until what is in flight has ended,
 * which does not take longer than the driver waits for the answer to a command.
 *
 * SUBMIT: all operations or none.  EAGAIN: more than the queue's depth would be in flight or
 * not yet read.  What is wrong with one operation (EINVAL, EOPNOTSUPP, ...) is in its
 * completion.  Those on one queue pair are carried out in their order; its destruction
 * waits for them.
 *
 * CREATE_QPS: queue pairs of the device, for which there are no handles yet.  Each ends by a
 * completion, likewise, which has its number; create_qp with OHCA_CREATE_QP_CLAIM then makes
 * the object without a command.  What nobody has claimed is destroyed with the file.  There
 * are at most as many as the file is deep (EAGAIN).  The buffers are pinned, and PD, CQs and
 * SRQ in use (EBUSY), from the call on.
 *
 * OHCA_ASYNC_DESTROY_QP takes the device's queue pair away and unpins its buffer.  The handle
 * is left: destroy_qp frees it without a command, any operation gives EINVAL.  Until it has
 * ended other operations give ENODEV or EAGAIN, another destruction EBUSY.
 */
enum ohca_async_queue_methods {
	OHCA_METHOD_ASYNC_QUEUE_ALLOC = (1U << UVERBS_ID_NS_SHIFT),
	OHCA_METHOD_ASYNC_QUEUE_SUBMIT,
	OHCA_METHOD_ASYNC_QUEUE_CREATE_QPS,
};

enum ohca_async_queue_alloc_attributes {
	OHCA_ATTR_ASYNC_QUEUE_ALLOC_FD = (1U << UVERBS_ID_NS_SHIFT),
	OHCA_ATTR_ASYNC_QUEUE_ALLOC_DEPTH,	/* in, __u32: 1..OHCA_ASYNC_DEPTH_MAX */
};

enum ohca_async_queue_submit_attributes {
	OHCA_ATTR_ASYNC_QUEUE_SUBMIT_FD = (1U << UVERBS_ID_NS_SHIFT),
	OHCA_ATTR_ASYNC_QUEUE_SUBMIT_QPS,	/* in, handles: one for each operation */
	OHCA_ATTR_ASYNC_QUEUE_SUBMIT_OPERATIONS, /* in, struct ohca_async_operation[1..OHCA_ASYNC_BATCH_MAX] */
};

enum ohca_async_queue_create_qps_attributes {
	OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_FD = (1U << UVERBS_ID_NS_SHIFT),
	OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_PD,
	OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SEND_CQ,
	OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_RECV_CQ, /* not of XRC_INI */
	OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SRQ,	/* optional */
	OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_INIT,	/* in, struct ohca_async_qp_init: of all of them */
	OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_REQUESTS, /* in, struct ohca_async_create_qp[1..OHCA_ASYNC_BATCH_MAX] */
};

#define OHCA_ASYNC_DEPTH_MAX	65536
#define OHCA_ASYNC_BATCH_MAX	512

/* The attributes of a queue pair that mask (IB_QP_*) names, as in ibv_modify_qp(). */
struct ohca_async_qp_attr {
	__u32 mask;
	__u32 qkey;
	__u32 rq_psn;
	__u32 sq_psn;
	__u32 dest_qp_num;
	__u32 access_flags;
	__u32 flow_label;
	__u8  dgid[16];
	__u8  qp_state;
	__u8  cur_qp_state;
	__u8  path_mtu;			/* enum ib_mtu */
	__u8  path_mig_state;
	__u16 pkey_index;
	__u8  port_num;
	__u8  en_sqd_async_notify;
	__u8  max_rd_atomic;
	__u8  max_dest_rd_atomic;
	__u8  min_rnr_timer;
	__u8  timeout;
	__u8  retry_cnt;
	__u8  rnr_retry;
	__u8  ah_port_num;
	__u8  is_global;
	__u8  sgid_index;
	__u8  hop_limit;
	__u8  traffic_class;
	__u8  sl;
};

#define OHCA_ASYNC_MODIFY_QP		1
#define OHCA_ASYNC_CONNECT_QP		2	/* through every state up to attr.qp_state */
#define OHCA_ASYNC_DISCONNECT_QP	3	/* to ERR, and until all is flushed; no attr */
#define OHCA_ASYNC_DESTROY_QP		4	/* not XRC_TGT; no attr */

struct ohca_async_operation {
	__aligned_u64 user_data;	/* comes back in the completion */
	__u32 opcode;			/* OHCA_ASYNC_* */
	__u32 reserved_60;
	struct ohca_async_qp_attr attr;
	__u32 reserved_280[2];
};

/* As in create_qp. */
struct ohca_async_qp_init {
	__u32 qp_type;			/* enum ib_uverbs_qp_type: RC, UC, UD, XRC_INI */
	__u32 create_flags;		/* enum ib_uverbs_qp_create_flags: BLOCK_MULTICAST_LOOPBACK */
	__u32 sq_sig_all;		/* 0 or 1 */
	__u32 max_send_wr;
	__u32 max_recv_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline_data;		/* bytes */
};

struct ohca_async_create_qp {
	__aligned_u64 user_data;	/* comes back in the completion */
	struct ohca_create_qp_req request;
};

struct ohca_async_completion {
	__aligned_u64 user_data;
	__u32 error;			/* 0 or an errno */
	__u32 detail;			/* OHCA_CMD_DETAIL_*, for diagnosis; CREATE_QPS without error: the number */
};

#endif /* OHCA_ABI_H */
