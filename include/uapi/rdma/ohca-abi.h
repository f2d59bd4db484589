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
	__u8  reserved_168[3];
};

struct ohca_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved_20;
};

/* The CQ buffer (ohca_hw_io.h) is the application's memory; the driver pins it. */
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

struct ohca_create_qp_req {
	__aligned_u64 buffer_address;	/* page aligned */
	__aligned_u64 buffer_length;	/* bytes */
	__u32 sq_offset;		/* bytes */
	__u32 rq_offset;
	__u8  log_sq_depth;
	__u8  log_rq_depth;
	__u8  log_sq_stride;
	__u8  log_rq_stride;
	__u32 comp_mask;
};

struct ohca_create_qp_resp {
	__u32 qpn;
	__u32 uar_slot;
	__u32 comp_mask;
	__u32 reserved_60;
};

#endif /* OHCA_ABI_H */
