// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Everything that needs rdma-core's private headers: registration, the table of
 * operations and the calls into the kernel.  No decisions are taken here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <config.h>
#include <infiniband/driver.h>
#include <rdma/ohca_hw_io.h>
#include <rdma/ohca_hw_regs.h>

#include "shim.h"

static_assert(sizeof(struct ohca_verbs_qp) == sizeof(struct verbs_qp), "shim.h");
static_assert(offsetof(struct ohca_verbs_qp, opaque) == offsetof(struct verbs_qp, comp_mask), "shim.h");
static_assert(sizeof(struct ohca_verbs_cq) == sizeof(struct verbs_cq), "shim.h");
static_assert(sizeof(struct ohca_verbs_srq) == sizeof(struct verbs_srq), "shim.h");
static_assert(offsetof(struct ohca_verbs_srq, srq_num) == offsetof(struct verbs_srq, srq_num), "shim.h");

/*
 * A command as the kernel takes it is the core's part with the driver's part
 * behind it.
 */
#define COMMAND(name, core_request, core_response, driver_request, driver_response)	\
	struct name##_command {								\
		struct core_request core;						\
		struct driver_request driver;						\
	};										\
	struct name##_answer {								\
		struct core_response core;						\
		struct driver_response driver;						\
	};										\
	static_assert(sizeof(struct name##_command) == sizeof(struct core_request) +	\
		      sizeof(struct driver_request), "padding in a command");		\
	static_assert(sizeof(struct name##_answer) == sizeof(struct core_response) +	\
		      sizeof(struct driver_response), "padding in an answer")

COMMAND(get_context, ibv_get_context, ib_uverbs_get_context_resp,
	ohca_alloc_ucontext_req, ohca_alloc_ucontext_resp);
COMMAND(create_cq, ibv_create_cq_ex, ib_uverbs_ex_create_cq_resp,
	ohca_create_cq_req, ohca_create_cq_resp);
COMMAND(create_qp, ibv_create_qp, ib_uverbs_create_qp_resp,
	ohca_create_qp_req, ohca_create_qp_resp);

COMMAND(create_qp_ex, ibv_create_qp_ex, ib_uverbs_ex_create_qp_resp,
	ohca_create_qp_req, ohca_create_qp_resp);
COMMAND(create_xsrq, ibv_create_xsrq, ib_uverbs_create_srq_resp,
	ohca_create_srq_req, ohca_create_srq_resp);

struct alloc_pd_answer {
	struct ib_uverbs_alloc_pd_resp core;
	struct ohca_alloc_pd_resp driver;
};

struct create_ah_answer {
	struct ib_uverbs_create_ah_resp core;
	struct ohca_create_ah_resp driver;
};

struct query_device_answer {
	struct ib_uverbs_ex_query_device_resp core;
	struct ohca_query_device_resp driver;
};

struct resize_cq_command {
	struct ibv_resize_cq core;
	struct ohca_create_cq_req driver;
};

struct modify_srq_command {
	struct ibv_modify_srq core;
	struct ohca_create_srq_req driver;
};

int ohca_shim_create_pd(struct ibv_context *context, struct ibv_pd *pd,
			struct ohca_alloc_pd_resp *response)
{
	struct ibv_alloc_pd command = {};
	struct alloc_pd_answer answer = {};
	int error;

	error = ibv_cmd_alloc_pd(context, pd, &command, sizeof(command), &answer.core, sizeof(answer));
	*response = answer.driver;
	return error;
}

int ohca_shim_destroy_pd(struct ibv_pd *pd)
{
	return ibv_cmd_dealloc_pd(pd);
}

int ohca_shim_create_cq(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
			struct ohca_verbs_cq *cq, const struct ohca_create_cq_req *request,
			struct ohca_create_cq_resp *response)
{
	struct create_cq_command command = { .driver = *request };
	struct create_cq_answer answer = {};
	int error;

	error = ibv_cmd_create_cq_ex(context, attr, (struct verbs_cq *)cq, &command.core,
				     sizeof(command), &answer.core, sizeof(answer), 0);
	*response = answer.driver;
	return error;
}

int ohca_shim_resize_cq(struct ibv_cq *cq, int cqe, const struct ohca_create_cq_req *request)
{
	struct resize_cq_command command = { .driver = *request };
	struct ib_uverbs_resize_cq_resp answer = {};

	return ibv_cmd_resize_cq(cq, cqe, &command.core, sizeof(command), &answer, sizeof(answer));
}

int ohca_shim_destroy_cq(struct ibv_cq *cq)
{
	return ibv_cmd_destroy_cq(cq);
}

int ohca_shim_create_srq(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr,
			 struct ohca_verbs_srq *srq, const struct ohca_create_srq_req *request,
			 struct ohca_create_srq_resp *response)
{
	struct create_xsrq_command command = { .driver = *request };
	struct create_xsrq_answer answer = {};
	int error;

	error = ibv_cmd_create_srq_ex(context, (struct verbs_srq *)srq, attr, &command.core,
				      sizeof(command), &answer.core, sizeof(answer));
	*response = answer.driver;
	return error;
}

int ohca_shim_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
			 const struct ohca_create_srq_req *request)
{
	struct modify_srq_command command = {};

	if (!request)
		return ibv_cmd_modify_srq(srq, attr, mask, &command.core, sizeof(command.core));
	command.driver = *request;
	return ibv_cmd_modify_srq(srq, attr, mask, &command.core, sizeof(command));
}

int ohca_shim_destroy_srq(struct ibv_srq *srq)
{
	return ibv_cmd_destroy_srq(srq);
}

int ohca_shim_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
			struct ohca_create_ah_resp *response)
{
	struct create_ah_answer answer = {};
	int error;

	error = ibv_cmd_create_ah(pd, ah, attr, &answer.core, sizeof(answer));
	*response = answer.driver;
	return error;
}

int ohca_shim_destroy_ah(struct ibv_ah *ah)
{
	return ibv_cmd_destroy_ah(ah);
}

int ohca_shim_create_uar(struct ibv_context *context, uint32_t *handle, uint32_t *index, void **page)
{
	DECLARE_COMMAND_BUFFER(command, OHCA_OBJECT_UAR, OHCA_METHOD_UAR_ALLOC, 3);
	struct ib_uverbs_attr *object = fill_attr_out_obj(command, OHCA_ATTR_UAR_ALLOC_HANDLE);
	uint64_t key = 0;
	int error;

	fill_attr_out_ptr(command, OHCA_ATTR_UAR_ALLOC_INDEX, index);
	fill_attr_out_ptr(command, OHCA_ATTR_UAR_ALLOC_MMAP_KEY, &key);
	error = execute_ioctl(context, command);
	if (error)
		return error;
	*handle = read_attr_obj(OHCA_ATTR_UAR_ALLOC_HANDLE, object);
	*page = mmap(NULL, OHCA_UAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd, (off_t)key);
	if (*page != MAP_FAILED)
		return 0;
	error = errno;
	ohca_shim_destroy_uar(context, *handle, NULL);
	return error;
}

int ohca_shim_destroy_uar(struct ibv_context *context, uint32_t handle, void *page)
{
	DECLARE_COMMAND_BUFFER(command, OHCA_OBJECT_UAR, OHCA_METHOD_UAR_DESTROY, 1);
	int error;

	fill_attr_in_obj(command, OHCA_ATTR_UAR_DESTROY_HANDLE, handle);
	error = execute_ioctl(context, command);
	if (error && error != EIO)
		return error;
	if (page)
		munmap(page, OHCA_UAR_SIZE);
	return 0;
}

int ohca_shim_create_async_queue(struct ibv_context *context, uint32_t depth, int *fd)
{
	DECLARE_COMMAND_BUFFER(command, OHCA_OBJECT_ASYNC_QUEUE, OHCA_METHOD_ASYNC_QUEUE_ALLOC, 2);
	struct ib_uverbs_attr *file = fill_attr_out_fd(command, OHCA_ATTR_ASYNC_QUEUE_ALLOC_FD, 0);
	int error;

	fill_attr_in_ptr(command, OHCA_ATTR_ASYNC_QUEUE_ALLOC_DEPTH, &depth);
	error = execute_ioctl(context, command);
	if (!error)
		*fd = read_attr_fd(OHCA_ATTR_ASYNC_QUEUE_ALLOC_FD, file);
	return error;
}

int ohca_shim_submit_async(struct ibv_context *context, int fd, const uint32_t *qps,
			   const struct ohca_async_operation *operations, uint32_t count)
{
	DECLARE_COMMAND_BUFFER(command, OHCA_OBJECT_ASYNC_QUEUE, OHCA_METHOD_ASYNC_QUEUE_SUBMIT, 3);

	fill_attr_in_fd(command, OHCA_ATTR_ASYNC_QUEUE_SUBMIT_FD, fd);
	fill_attr_in_objs_arr(command, OHCA_ATTR_ASYNC_QUEUE_SUBMIT_QPS, qps, count);
	fill_attr_in(command, OHCA_ATTR_ASYNC_QUEUE_SUBMIT_OPERATIONS, operations, count * sizeof(*operations));
	return execute_ioctl(context, command);
}

int ohca_shim_create_qps_async(const struct ibv_qp_init_attr_ex *attr, int fd,
			       const struct ohca_async_create_qp *creations, uint32_t count)
{
	DECLARE_COMMAND_BUFFER(command, OHCA_OBJECT_ASYNC_QUEUE, OHCA_METHOD_ASYNC_QUEUE_CREATE_QPS, 7);
	const struct ohca_async_qp_init init = {
		.qp_type = attr->qp_type,
		.create_flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0,
		.sq_sig_all = !!attr->sq_sig_all,
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->cap.max_recv_wr,
		.max_send_sge = attr->cap.max_send_sge,
		.max_recv_sge = attr->cap.max_recv_sge,
		.max_inline_data = attr->cap.max_inline_data,
	};

	fill_attr_in_fd(command, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_FD, fd);
	fill_attr_in_obj(command, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_PD, attr->pd->handle);
	fill_attr_in_obj(command, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SEND_CQ, attr->send_cq->handle);
	if (attr->qp_type != IBV_QPT_XRC_SEND)
		fill_attr_in_obj(command, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_RECV_CQ, attr->recv_cq->handle);
	if (attr->srq)
		fill_attr_in_obj(command, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_SRQ, attr->srq->handle);
	fill_attr_in_ptr(command, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_INIT, &init);
	fill_attr_in(command, OHCA_ATTR_ASYNC_QUEUE_CREATE_QPS_REQUESTS, creations, count * sizeof(*creations));
	return execute_ioctl(attr->pd->context, command);
}

static int create_qp_with_flags(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				struct ohca_verbs_qp *qp, const struct ohca_create_qp_req *request,
				struct ohca_create_qp_resp *response)
{
	struct create_qp_ex_command command = { .driver = *request };
	struct create_qp_ex_answer answer = {};
	int error;

	error = ibv_cmd_create_qp_ex2(context, (struct verbs_qp *)qp, attr, &command.core,
				      sizeof(command), &answer.core, sizeof(answer));
	*response = answer.driver;
	return error;
}

int ohca_shim_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
			struct ohca_verbs_qp *qp, const struct ohca_create_qp_req *request,
			struct ohca_create_qp_resp *response)
{
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS)
		return create_qp_with_flags(context, attr, qp, request, response);

	struct create_qp_command command = { .driver = *request };
	struct create_qp_answer answer = {};
	int error;

	error = ibv_cmd_create_qp_ex(context, (struct verbs_qp *)qp, attr, &command.core,
				     sizeof(command), &answer.core, sizeof(answer));
	*response = answer.driver;
	return error;
}

int ohca_shim_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr,
		      struct ohca_verbs_qp *qp)
{
	struct ibv_open_qp command = {};
	struct ib_uverbs_create_qp_resp answer = {};

	return ibv_cmd_open_qp(context, (struct verbs_qp *)qp, sizeof(struct verbs_qp), attr, &command,
			       sizeof(command), &answer, sizeof(answer));
}

int ohca_shim_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp command = {};

	return ibv_cmd_modify_qp(qp, attr, mask, &command, sizeof(command));
}

int ohca_shim_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		       struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp command = {};

	return ibv_cmd_query_qp(qp, attr, mask, init_attr, &command, sizeof(command));
}

int ohca_shim_destroy_qp(struct ibv_qp *qp)
{
	return ibv_cmd_destroy_qp(qp);
}

void ohca_shim_enable_qp_ex(struct ohca_verbs_qp *qp)
{
	((struct verbs_qp *)qp)->comp_mask |= VERBS_QP_EX;
}

int ohca_shim_query_device(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size,
			   uint64_t *firmware_version, struct ohca_query_device_resp *clocks)
{
	struct query_device_answer answer = {};
	size_t size = sizeof(answer);
	int error;

	error = ibv_cmd_query_device_any(context, input, attr, attr_size, &answer.core, &size);
	*firmware_version = answer.core.base.fw_ver;
	*clocks = answer.driver;
	return error;
}

int ohca_shim_dontfork(void *address, size_t length)
{
	return ibv_dontfork_range(address, length);
}

int ohca_shim_dofork(void *address, size_t length)
{
	return ibv_dofork_range(address, length);
}

/* What follows has nothing for the C++ side to decide. */

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct ibv_query_port command = {};

	return ibv_cmd_query_port(context, port, attr, &command, sizeof(command));
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
	struct ibv_reg_mr command = {};
	struct ib_uverbs_reg_mr_resp answer = {};
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int error;

	if (!mr)
		return NULL;
	error = ibv_cmd_reg_mr(pd, address, length, iova, access, mr, &command, sizeof(command),
			       &answer, sizeof(answer));
	if (error) {
		free(mr);
		errno = error;
		return NULL;
	}
	return &mr->ibv_mr;
}

static int dereg_mr(struct verbs_mr *mr)
{
	int error = ibv_cmd_dereg_mr(mr);

	if (!error)
		free(mr);
	return error;
}

static int rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct ibv_rereg_mr command = {};
	struct ib_uverbs_rereg_mr_resp answer = {};

	return ibv_cmd_rereg_mr(mr, (uint32_t)flags, address, length, (uintptr_t)address, access, pd, &command,
				sizeof(command), &answer, sizeof(answer));
}

static struct ibv_mr *import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int error;

	if (!mr)
		return NULL;
	error = ibv_cmd_query_mr(pd, mr, handle);
	if (error) {
		free(mr);
		errno = error;
		return NULL;
	}
	return &mr->ibv_mr;
}

static void unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_alloc_mw command = {};
	struct ib_uverbs_alloc_mw_resp answer = {};
	struct ibv_mw *mw = calloc(1, sizeof(*mw));
	int error;

	if (!mw)
		return NULL;
	error = ibv_cmd_alloc_mw(pd, type, mw, &command, sizeof(command), &answer, sizeof(answer));
	if (error) {
		free(mw);
		errno = error;
		return NULL;
	}
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	int error = ibv_cmd_dealloc_mw(mw);

	if (!error)
		free(mw);
	return error;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct ibv_open_xrcd command = {};
	struct ib_uverbs_open_xrcd_resp answer = {};
	struct verbs_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	int error;

	if (!xrcd)
		return NULL;
	error = ibv_cmd_open_xrcd(context, xrcd, sizeof(*xrcd), attr, &command, sizeof(command),
				  &answer, sizeof(answer));
	if (error) {
		free(xrcd);
		errno = error;
		return NULL;
	}
	return &xrcd->xrcd;
}

static int close_xrcd(struct ibv_xrcd *ibv_xrcd)
{
	struct verbs_xrcd *xrcd = container_of(ibv_xrcd, struct verbs_xrcd, xrcd);
	int error = ibv_cmd_close_xrcd(xrcd);

	if (!error)
		free(xrcd);
	return error;
}

static int query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq command = {};

	return ibv_cmd_query_srq(srq, attr, &command, sizeof(command));
}

static int modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq command = {};

	return ibv_cmd_modify_cq(cq, attr, &command, sizeof(command));
}

static void async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	/*
	 * Nothing to keep up to date: a QP in error is seen by its completions,
	 * a dead device by ohca_uar.device_state.
	 */
	(void)context;
	(void)event;
}

static void free_context(struct ibv_context *ibv_context)
{
	struct verbs_context *context = verbs_get_ctx(ibv_context);

	ohca_context_cleanup(context);
	verbs_uninit_context(context);
	/* verbs_context is the first member of ours, see ohca_context_size() */
	free(context);
}

static const struct verbs_context_ops context_ops = {
	.alloc_mw = alloc_mw,
	.alloc_parent_domain = ohca_alloc_parent_domain,
	.alloc_pd = ohca_alloc_pd,
	.alloc_td = ohca_alloc_td,
	.async_event = async_event,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = ohca_bind_mw,
	.close_xrcd = close_xrcd,
	.create_ah = ohca_create_ah,
	.create_cq = ohca_create_cq,
	.create_cq_ex = ohca_create_cq_ex,
	.create_qp = ohca_create_qp,
	.create_qp_ex = ohca_create_qp_ex,
	.create_srq = ohca_create_srq,
	.create_srq_ex = ohca_create_srq_ex,
	.dealloc_mw = dealloc_mw,
	.dealloc_pd = ohca_dealloc_pd,
	.dealloc_td = ohca_dealloc_td,
	.dereg_mr = dereg_mr,
	.destroy_ah = ohca_destroy_ah,
	.destroy_cq = ohca_destroy_cq,
	.destroy_qp = ohca_destroy_qp,
	.destroy_srq = ohca_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = free_context,
	.get_srq_num = ohca_get_srq_num,
	.import_mr = import_mr,
	.import_pd = ohca_import_pd,
	.modify_cq = modify_cq,
	.modify_qp = ohca_modify_qp,
	.modify_srq = ohca_modify_srq,
	.open_qp = ohca_open_qp,
	.open_xrcd = open_xrcd,
	.poll_cq = ohca_poll_cq,
	.post_recv = ohca_post_recv,
	.post_send = ohca_post_send,
	.post_srq_recv = ohca_post_srq_recv,
	.query_device_ex = ohca_query_device_ex,
	.query_port = query_port,
	.query_qp = ohca_query_qp,
	.query_rt_values = ohca_query_rt_values,
	.query_srq = query_srq,
	.reg_mr = reg_mr,
	.req_notify_cq = ohca_req_notify_cq,
	.rereg_mr = rereg_mr,
	.resize_cq = ohca_resize_cq,
	.unimport_mr = unimport_mr,
	.unimport_pd = ohca_unimport_pd,
};

static struct verbs_context *create_context(struct ibv_device *device, int cmd_fd)
{
	return _verbs_init_and_alloc_context(device, cmd_fd, ohca_context_size(), NULL, RDMA_DRIVER_UNKNOWN);
}

/* Destroys the context if it cannot be used, or if there is an error already. */
static struct verbs_context *start_context(struct verbs_context *context, int cmd_fd, int error,
					   const struct ohca_alloc_ucontext_resp *response)
{
	if (!error)
		error = ohca_context_init(context, cmd_fd, response);
	if (error) {
		verbs_uninit_context(context);
		free(context);
		errno = error;
		return NULL;
	}
	verbs_set_ops(context, &context_ops);
	return context;
}

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd, void *private_data)
{
	struct get_context_command command = {};
	struct get_context_answer answer = {};
	struct verbs_context *context = create_context(device, cmd_fd);
	int error;

	(void)private_data;
	if (!context)
		return NULL;
	error = ibv_cmd_get_context(context, &command.core, sizeof(command), &answer.core, sizeof(answer));
	return start_context(context, cmd_fd, error, &answer.driver);
}

static struct verbs_context *import_context(struct ibv_device *device, int cmd_fd)
{
	DECLARE_COMMAND_BUFFER(attributes, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, 1);
	struct ohca_alloc_ucontext_resp response = {};
	struct verbs_context *context = create_context(device, cmd_fd);
	int error;

	if (!context)
		return NULL;
	fill_attr_out_ptr(attributes, OHCA_ATTR_QUERY_CONTEXT_RESPONSE, &response);
	error = ibv_cmd_query_context(&context->context, attributes);
	return start_context(context, cmd_fd, error, &response);
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_device)
{
	(void)sysfs_device;
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

static const struct verbs_match_ent match_table[] = {
	VERBS_PCI_MATCH(OHCA_PCI_VENDOR_ID, OHCA_PCI_DEVICE_ID, NULL),
	{},
};

static const struct verbs_device_ops device_ops = {
	.name = "ohca",
	.match_min_abi_version = OHCA_ABI_VERSION,
	.match_max_abi_version = OHCA_ABI_VERSION,
	.match_table = match_table,
	.alloc_context = alloc_context,
	.alloc_device = alloc_device,
	.import_context = import_context,
	.uninit_device = uninit_device,
};

bool ohca_shim_is_ohca(const struct ibv_device *device)
{
	return container_of(device, const struct verbs_device, device)->ops == &device_ops;
}

/*
 * Structures of driver.h change between releases that have the same PABI number
 * (44 and 56 both say 34), so the symbol version does not keep this provider out
 * of a libibverbs with another layout.  The file name of the library does:
 * libibverbs.so.1.<symbol minor>.<release>.
 */
static bool release_matches(void)
{
	unsigned int minor, release, built_for;
	bool matches = false;
	Dl_info info;
	char *path;

	if (!dladdr((void *)&verbs_register_driver, &info) || !info.dli_fname)
		return false;
	path = realpath(info.dli_fname, NULL);
	if (!path)
		return false;
	matches = sscanf(basename(path), "libibverbs.so.1.%u.%u", &minor, &release) == 2 &&
		  sscanf(PACKAGE_VERSION, "%u", &built_for) == 1 && release == built_for;
	free(path);
	return matches;
}

static __attribute__((constructor)) void register_driver(void)
{
	if (!release_matches()) {
		fprintf(stderr, "libohca: built for rdma-core " PACKAGE_VERSION
			", refusing to work with the libibverbs of another release\n");
		return;
	}
	verbs_register_driver(&device_ops);
}
