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

#include <config.h>
#include <infiniband/driver.h>
#include <rdma/ohca_hw_regs.h>

#include "shim.h"

static_assert(sizeof(struct ohca_verbs_qp) == sizeof(struct verbs_qp), "shim.h");
static_assert(offsetof(struct ohca_verbs_qp, opaque) == offsetof(struct verbs_qp, comp_mask), "shim.h");
static_assert(sizeof(struct ohca_verbs_cq) == sizeof(struct verbs_cq), "shim.h");

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

struct alloc_pd_answer {
	struct ib_uverbs_alloc_pd_resp core;
	struct ohca_alloc_pd_resp driver;
};

int ohca_shim_create_pd(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_alloc_pd command = {};
	struct alloc_pd_answer answer = {};

	return ibv_cmd_alloc_pd(context, pd, &command, sizeof(command), &answer.core, sizeof(answer));
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

int ohca_shim_destroy_cq(struct ibv_cq *cq)
{
	return ibv_cmd_destroy_cq(cq);
}

int ohca_shim_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
			struct ohca_verbs_qp *qp, const struct ohca_create_qp_req *request,
			struct ohca_create_qp_resp *response)
{
	struct create_qp_command command = { .driver = *request };
	struct create_qp_answer answer = {};
	int error;

	error = ibv_cmd_create_qp_ex(context, (struct verbs_qp *)qp, attr, &command.core,
				     sizeof(command), &answer.core, sizeof(answer));
	*response = answer.driver;
	return error;
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
			   uint64_t *firmware_version)
{
	struct ib_uverbs_ex_query_device_resp answer = {};
	size_t size = sizeof(answer);
	int error;

	error = ibv_cmd_query_device_any(context, input, attr, attr_size, &answer, &size);
	*firmware_version = answer.base.fw_ver;
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

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ib_uverbs_create_ah_resp answer = {};
	struct ibv_ah *ah = calloc(1, sizeof(*ah));
	int error;

	if (!ah)
		return NULL;
	error = ibv_cmd_create_ah(pd, ah, attr, &answer, sizeof(answer));
	if (error) {
		free(ah);
		errno = error;
		return NULL;
	}
	return ah;
}

static int destroy_ah(struct ibv_ah *ah)
{
	int error = ibv_cmd_destroy_ah(ah);

	if (!error)
		free(ah);
	return error;
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
	.alloc_parent_domain = ohca_alloc_parent_domain,
	.alloc_pd = ohca_alloc_pd,
	.alloc_td = ohca_alloc_td,
	.async_event = async_event,
	.create_ah = create_ah,
	.create_cq = ohca_create_cq,
	.create_cq_ex = ohca_create_cq_ex,
	.create_qp = ohca_create_qp,
	.create_qp_ex = ohca_create_qp_ex,
	.dealloc_pd = ohca_dealloc_pd,
	.dealloc_td = ohca_dealloc_td,
	.dereg_mr = dereg_mr,
	.destroy_ah = destroy_ah,
	.destroy_cq = ohca_destroy_cq,
	.destroy_qp = ohca_destroy_qp,
	.free_context = free_context,
	.modify_qp = ohca_modify_qp,
	.poll_cq = ohca_poll_cq,
	.post_recv = ohca_post_recv,
	.post_send = ohca_post_send,
	.query_device_ex = ohca_query_device_ex,
	.query_port = query_port,
	.query_qp = ohca_query_qp,
	.reg_mr = reg_mr,
	.req_notify_cq = ohca_req_notify_cq,
};

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd, void *private_data)
{
	struct get_context_command command = {};
	struct get_context_answer answer = {};
	struct verbs_context *context;
	int error;

	(void)private_data;
	context = _verbs_init_and_alloc_context(device, cmd_fd, ohca_context_size(), NULL,
						RDMA_DRIVER_UNKNOWN);
	if (!context)
		return NULL;
	error = ibv_cmd_get_context(context, &command.core, sizeof(command), &answer.core, sizeof(answer));
	if (!error)
		error = ohca_context_init(context, cmd_fd, &answer.driver);
	if (error) {
		verbs_uninit_context(context);
		free(context);
		errno = error;
		return NULL;
	}
	verbs_set_ops(context, &context_ops);
	return context;
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
	.uninit_device = uninit_device,
};

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
