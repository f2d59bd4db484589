/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Direct verbs of ohca devices: what the verbs cannot say or do.  Link with -lohca.
 * ohcadv(7).
 */
#ifndef OHCADV_H
#define OHCADV_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Can ohcadv_*() be used on the device?  Any device of any provider may be asked about.
 */
bool ohcadv_is_supported(struct ibv_device *device);

/*
 * What driver and device have agreed upon.  A capability that is not set is refused: by an
 * errno where there is a call, by the status of its completion where there is only a work
 * request.
 */
enum ohcadv_capability {
	OHCADV_CAP_RC			= 1 << 0,
	OHCADV_CAP_ATOMIC		= 1 << 1,	/* compare and swap, fetch and add */
	OHCADV_CAP_SEND_INV		= 1 << 2,
	OHCADV_CAP_UC			= 1 << 3,
	OHCADV_CAP_UD			= 1 << 4,
	OHCADV_CAP_SRQ			= 1 << 5,
	OHCADV_CAP_XRC			= 1 << 6,
	OHCADV_CAP_MULTICAST		= 1 << 7,
	OHCADV_CAP_RESIZE		= 1 << 8,	/* of CQs and SRQs */
	OHCADV_CAP_MODERATION		= 1 << 9,	/* of completion events */
	OHCADV_CAP_WINDOW		= 1 << 10,	/* type 1 and 2B, with LOCAL_INV */
	OHCADV_CAP_FAST_REG		= 1 << 11,	/* kernel: REG_MR */
	OHCADV_CAP_ZERO_BASED		= 1 << 12,	/* regions and windows whose addresses start at 0 */
	OHCADV_CAP_READ_INV		= 1 << 13,	/* kernel: READ_WITH_INV */
	OHCADV_CAP_MASKED_ATOMIC	= 1 << 14,	/* kernel */
	OHCADV_CAP_ATOMIC_WRITE		= 1 << 15,
	OHCADV_CAP_FLUSH		= 1 << 16,	/* to global visibility */
	OHCADV_CAP_SG_GAPS		= 1 << 17,	/* kernel: regions of blocks of any length */
	OHCADV_CAP_COMPOUND		= 1 << 18,	/* connect, disconnect and flush by one command */
	OHCADV_CAP_RECYCLE		= 1 << 19,	/* kernel: SRQs and regions are used anew */
	OHCADV_CAP_INTEGRITY		= 1 << 20,	/* kernel: T10-DIF signatures */
};

struct ohcadv_device_attr {
	uint64_t comp_mask;		/* 0 */
	uint64_t capabilities;		/* enum ohcadv_capability */
	uint32_t max_inline_data;	/* bytes, of one work request */
	uint8_t  reserved[4];
};

/*
 * Fills the first attr_size bytes of *attr, of which those that this library does not know
 * become 0.  attr_size: sizeof(*attr) of the program.
 * 0; EOPNOTSUPP: not an ohca device; EINVAL: attr_size does not reach behind capabilities.
 */
int ohcadv_query_device(struct ibv_context *context, struct ohcadv_device_attr *attr, uint32_t attr_size);

/*
 * Operations on queue pairs that nobody waits for: submitted to a queue, whose file says
 * when completions can be read.  Of each operation that was submitted there is exactly one.
 * The functions may be called by any number of threads.
 */
struct ohcadv_async_queue {
	struct ibv_context *context;
	int fd;			/* for poll(), epoll, io_uring; readable: there are completions */
};

/*
 * depth: operations whose completions have not been read, at most;
 * 1..OHCADV_ASYNC_DEPTH_MAX.  NULL and errno on failure.
 */
struct ohcadv_async_queue *ohcadv_create_async_queue(struct ibv_context *context, uint32_t depth);

/* EBUSY while there are operations whose completions have not been read. */
int ohcadv_destroy_async_queue(struct ohcadv_async_queue *queue);

#define OHCADV_ASYNC_DEPTH_MAX	65536
#define OHCADV_ASYNC_BATCH_MAX	512

enum ohcadv_async_opcode {
	OHCADV_ASYNC_MODIFY_QP		= 1,	/* ibv_modify_qp() */
	OHCADV_ASYNC_CONNECT_QP		= 2,	/* from RESET, INIT or RTR to attr->qp_state, RTR or RTS, at once */
	OHCADV_ASYNC_DISCONNECT_QP	= 3,	/* to ERR, and until everything is flushed; no attr */
	OHCADV_ASYNC_DESTROY_QP		= 4,	/* ibv_destroy_qp(); no attr */
	OHCADV_ASYNC_CREATE_QP		= 5,	/* in completions only: ohcadv_create_qps_async() */
};

struct ohcadv_async_operation {
	uint64_t wr_id;			/* comes back in the completion */
	enum ohcadv_async_opcode opcode;
	struct ibv_qp *qp;
	const struct ibv_qp_attr *attr;	/* read before the call returns */
	int attr_mask;			/* enum ibv_qp_attr_mask */
};

struct ohcadv_async_completion {
	uint64_t wr_id;
	struct ibv_qp *qp;		/* CREATE_QP: the new one, or NULL; DESTROY_QP: NULL once it is gone */
	enum ohcadv_async_opcode opcode;
	int error;			/* 0, or an errno as of the verb */
	uint32_t vendor_error;
	uint32_t reserved;
};

/*
 * Starts 1..OHCADV_ASYNC_BATCH_MAX operations, all or none.  EAGAIN: the queue's depth;
 * EIO: the device has gone.  What is wrong with a single operation is in its completion.
 * Operations on one queue pair are carried out in their order; it cannot be destroyed
 * (EBUSY), neither asynchronously, until their completions have been read.  Nothing can be
 * started (EBUSY) on a queue pair that is being destroyed.
 */
int ohcadv_submit_async(struct ohcadv_async_queue *queue, const struct ohcadv_async_operation *operations,
			uint32_t count);

/* The same for one operation. */
int ohcadv_modify_qp_async(struct ohcadv_async_queue *queue, struct ibv_qp *qp, const struct ibv_qp_attr *attr,
			   int attr_mask, uint64_t wr_id);
int ohcadv_connect_qp_async(struct ohcadv_async_queue *queue, struct ibv_qp *qp, const struct ibv_qp_attr *attr,
			    int attr_mask, uint64_t wr_id);
int ohcadv_disconnect_qp_async(struct ohcadv_async_queue *queue, struct ibv_qp *qp, uint64_t wr_id);

/*
 * Of any type but XRC_RECV.  From the call on the queue pair must not be used, save that its
 * completions may be polled; when the completion has been read it is gone.
 */
int ohcadv_destroy_qp_async(struct ohcadv_async_queue *queue, struct ibv_qp *qp, uint64_t wr_id);

/*
 * Creates 1..OHCADV_ASYNC_BATCH_MAX queue pairs that are alike, of any type but XRC_RECV; all or
 * none are started.  attr is as for ibv_create_qp_ex(), with a PD, and its cap becomes what
 * the queue pairs can do.  Each has a completion with its own one of the wr_ids and the queue
 * pair, which is one of ibv_create_qp_ex() then.  Errors: as ohcadv_submit_async(), and those
 * of ibv_create_qp_ex().  PD, CQs and SRQ cannot be destroyed (EBUSY) meanwhile.
 */
int ohcadv_create_qps_async(struct ohcadv_async_queue *queue, struct ibv_qp_init_attr_ex *attr,
			    const uint64_t *wr_ids, uint32_t count);

/* The same for one. */
int ohcadv_create_qp_async(struct ohcadv_async_queue *queue, struct ibv_qp_init_attr_ex *attr, uint64_t wr_id);

/*
 * Reads at most count completions.  Waits for the first one unless the file is O_NONBLOCK.
 * Returns their number, 0 if there are none, or a negative errno (-EINTR).
 */
int ohcadv_read_async(struct ohcadv_async_queue *queue, struct ohcadv_async_completion *completions, int count);

#ifdef __cplusplus
}
#endif

#endif /* OHCADV_H */
