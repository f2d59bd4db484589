/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The border between the C++ of this provider and rdma-core's private C API.
 *
 * infiniband/driver.h is not C++ (empty structures, designators out of order,
 * atomic_int).  Only shim.c includes it; everything else sees the public
 * verbs.h and this file.
 */
#ifndef OHCA_SHIM_H
#define OHCA_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/ohca-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* struct verbs_qp and verbs_cq of driver.h; shim.c asserts the sizes. */
struct ohca_verbs_qp {
	union {
		struct ibv_qp_ex qp_ex;	/* first: C++ zeroes only this one */
		struct ibv_qp qp;
	};
	uint64_t opaque[2];
};

struct ohca_verbs_cq {
	union {
		struct ibv_cq_ex cq_ex;
		struct ibv_cq cq;
	};
};

struct ohca_verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	void *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

/* shim.c, called by C++. All return 0 or an errno value. */
int ohca_shim_create_pd(struct ibv_context *context, struct ibv_pd *pd,
			struct ohca_alloc_pd_resp *response);
int ohca_shim_destroy_pd(struct ibv_pd *pd);
int ohca_shim_create_cq(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
			struct ohca_verbs_cq *cq, const struct ohca_create_cq_req *request,
			struct ohca_create_cq_resp *response);
int ohca_shim_resize_cq(struct ibv_cq *cq, int cqe, const struct ohca_create_cq_req *request);
int ohca_shim_destroy_cq(struct ibv_cq *cq);
int ohca_shim_create_srq(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr,
			 struct ohca_verbs_srq *srq, const struct ohca_create_srq_req *request,
			 struct ohca_create_srq_resp *response);
int ohca_shim_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
			 const struct ohca_create_srq_req *request);
int ohca_shim_destroy_srq(struct ibv_srq *srq);
int ohca_shim_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
			struct ohca_create_ah_resp *response);
int ohca_shim_destroy_ah(struct ibv_ah *ah);
/* A UAR page and its mapping. */
int ohca_shim_create_uar(struct ibv_context *context, uint32_t *handle, uint32_t *index, void **page);
int ohca_shim_destroy_uar(struct ibv_context *context, uint32_t handle, void *page);
int ohca_shim_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
			struct ohca_verbs_qp *qp, const struct ohca_create_qp_req *request,
			struct ohca_create_qp_resp *response);
int ohca_shim_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr,
		      struct ohca_verbs_qp *qp);
int ohca_shim_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int ohca_shim_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		       struct ibv_qp_init_attr *init_attr);
int ohca_shim_destroy_qp(struct ibv_qp *qp);
/* Tells ibv_qp_to_qp_ex() that the ibv_wr_* calls are there. */
void ohca_shim_enable_qp_ex(struct ohca_verbs_qp *qp);
int ohca_shim_query_device(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size,
			   uint64_t *firmware_version, struct ohca_query_device_resp *clocks);
/* An OHCA_OBJECT_ASYNC_QUEUE: its file, closed by close(). */
int ohca_shim_create_async_queue(struct ibv_context *context, uint32_t depth, int *fd);
int ohca_shim_submit_async(struct ibv_context *context, int fd, const uint32_t *qps,
			   const struct ohca_async_operation *operations, uint32_t count);
int ohca_shim_create_qps_async(const struct ibv_qp_init_attr_ex *attr, int fd,
			       const struct ohca_async_create_qp *creations, uint32_t count);
/* Is it one of this provider's? */
bool ohca_shim_is_ohca(const struct ibv_device *device);
/* Keep a range that the device writes out of children (ibv_fork_init). */
int ohca_shim_dontfork(void *address, size_t length);
int ohca_shim_dofork(void *address, size_t length);

/* C++, called by shim.c. */
size_t ohca_context_size(void);
int ohca_context_init(struct verbs_context *context, int cmd_fd,
		      const struct ohca_alloc_ucontext_resp *response);
void ohca_context_cleanup(struct verbs_context *context);

/* C++: entries of struct verbs_context_ops. */
struct ibv_pd *ohca_alloc_pd(struct ibv_context *context);
int ohca_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *ohca_import_pd(struct ibv_context *context, uint32_t handle);
void ohca_unimport_pd(struct ibv_pd *pd);
struct ibv_td *ohca_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int ohca_dealloc_td(struct ibv_td *td);
struct ibv_pd *ohca_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr);
struct ibv_cq *ohca_create_cq(struct ibv_context *context, int cqe,
			      struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq_ex *ohca_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int ohca_resize_cq(struct ibv_cq *cq, int cqe);
int ohca_destroy_cq(struct ibv_cq *cq);
int ohca_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int ohca_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_qp *ohca_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *ohca_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *ohca_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
int ohca_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int ohca_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		  struct ibv_qp_init_attr *init_attr);
int ohca_destroy_qp(struct ibv_qp *qp);
int ohca_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int ohca_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
struct ibv_srq *ohca_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *ohca_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int ohca_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int ohca_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int ohca_destroy_srq(struct ibv_srq *srq);
int ohca_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
struct ibv_ah *ohca_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int ohca_destroy_ah(struct ibv_ah *ah);
int ohca_bind_mw(struct ibv_qp *qp, struct ibv_mw *window, struct ibv_mw_bind *bind);
int ohca_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
int ohca_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size);

#ifdef __cplusplus
}
#endif

#endif /* OHCA_SHIM_H */
