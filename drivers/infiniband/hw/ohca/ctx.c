// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* User contexts: a UAR page of one's own, and the kick page. */

#include <rdma/uverbs_ioctl.h>

#include "ohca.h"

#define UVERBS_MODULE_NAME ohca
#include <rdma/uverbs_named_ioctl.h>

/*
 * Read a request by the rules of ohca-abi.h: @minimum bytes must be there, up
 * to @size are known, and a longer one must end in zeroes.  Kernel callers
 * have no udata and no request.
 */
int ohca_udata_request(struct ib_device *ibdev, struct ib_udata *udata, void *request,
		       size_t minimum, size_t size)
{
	if (!udata)
		return 0;
	if (udata->inlen < minimum) {
		ibdev_dbg(ibdev, "request of %zu bytes, at least %zu wanted\n", udata->inlen,
			  minimum);
		return -EINVAL;
	}
	if (udata->inlen > size && !ib_is_udata_cleared(udata, size, udata->inlen - size)) {
		ibdev_dbg(ibdev, "request of %zu bytes has unknown fields beyond %zu\n",
			  udata->inlen, size);
		return -EOPNOTSUPP;
	}
	if (!size)
		return 0;
	memset(request, 0, size);
	return ib_copy_from_udata(request, udata, min(size, udata->inlen));
}

static int ohca_create_mmap_entries(struct ohca_dev *dev, struct ohca_ucontext *ucontext)
{
	ucontext->uar_entry = ohca_mmap_uar(ucontext, ucontext->uar_index);
	if (IS_ERR(ucontext->uar_entry))
		return PTR_ERR(ucontext->uar_entry);
	ucontext->kick_entry = ohca_mmap_entry_insert(ucontext, dev->bus.kick_phys, PAGE_SIZE,
						      true);
	if (IS_ERR(ucontext->kick_entry)) {
		rdma_user_mmap_entry_remove(&ucontext->uar_entry->rdma_entry);
		return PTR_ERR(ucontext->kick_entry);
	}
	return 0;
}

static void ohca_remove_mmap_entries(struct ohca_ucontext *ucontext)
{
	rdma_user_mmap_entry_remove(&ucontext->kick_entry->rdma_entry);
	rdma_user_mmap_entry_remove(&ucontext->uar_entry->rdma_entry);
}

static void ohca_describe_ucontext(struct ohca_ucontext *ucontext,
				   struct ohca_alloc_ucontext_resp *resp)
{
	struct ohca_dev *dev = to_ohca_dev(ucontext->ibucontext.device);

	*resp = (struct ohca_alloc_ucontext_resp) {
		.uar_index = ucontext->uar_index,
		.uar_mmap_key = rdma_user_mmap_get_offset(&ucontext->uar_entry->rdma_entry),
		.kick_mmap_key = rdma_user_mmap_get_offset(&ucontext->kick_entry->rdma_entry),
		.device_features = dev->features,
		.max_qp = dev->caps.max_qp,
		.max_inline = dev->caps.max_inline,
		.log_max_sq_depth = dev->caps.log_max_sq_depth,
		.log_max_rq_depth = dev->caps.log_max_rq_depth,
		.log_max_cq_depth = dev->caps.log_max_cq_depth,
		.max_send_sge = dev->caps.max_send_sge,
		.max_recv_sge = dev->caps.max_recv_sge,
		.log_max_srq_depth = dev->caps.log_max_srq_depth,
		.max_srq_sge = dev->caps.max_srq_sge,
	};
}

static int ohca_alloc_ucontext_respond(struct ohca_ucontext *ucontext, struct ib_udata *udata)
{
	struct ohca_alloc_ucontext_resp resp;

	ohca_describe_ucontext(ucontext, &resp);
	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
}

/* For a process that was given the file of the context: it maps the same pages. */
int ohca_query_ucontext(struct ib_ucontext *ibucontext, struct uverbs_attr_bundle *attrs)
{
	struct ohca_alloc_ucontext_resp resp;

	ohca_describe_ucontext(to_ohca_ucontext(ibucontext), &resp);
	return uverbs_copy_to_struct_or_zero(attrs, OHCA_ATTR_QUERY_CONTEXT_RESPONSE, &resp,
					     sizeof(resp));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(ohca_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(OHCA_ATTR_QUERY_CONTEXT_RESPONSE,
						 UVERBS_ATTR_STRUCT(struct ohca_alloc_ucontext_resp,
								    reserved_178),
						 UA_MANDATORY));

const struct uapi_definition ohca_context_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &ohca_query_context),
	{},
};

int ohca_alloc_ucontext(struct ib_ucontext *ibucontext, struct ib_udata *udata)
{
	struct ohca_ucontext *ucontext = to_ohca_ucontext(ibucontext);
	struct ohca_dev *dev = to_ohca_dev(ibucontext->device);
	struct ohca_alloc_ucontext_req req;
	int ret;

	/* A larger page would show an application its neighbours' UARs. */
	BUILD_BUG_ON(PAGE_SIZE != OHCA_UAR_SIZE);

	ret = ohca_udata_request(&dev->ibdev, udata, &req, 0, sizeof(req));
	if (ret)
		return ret;
	if (req.comp_mask || req.reserved_20) {
		ibdev_dbg(&dev->ibdev, "comp_mask or reserved field set\n");
		return -EINVAL;
	}
	mutex_init(&ucontext->uar_lock);
	INIT_LIST_HEAD(&ucontext->uars);
	xa_init(&ucontext->unclaimed);
	ret = ohca_create_uar(dev, &ucontext->uar_index);
	if (ret)
		return ret;
	ret = ohca_create_mmap_entries(dev, ucontext);
	if (ret)
		goto err_uar;
	ret = ohca_alloc_ucontext_respond(ucontext, udata);
	if (ret)
		goto err_entries;
	return 0;

err_entries:
	ohca_remove_mmap_entries(ucontext);
err_uar:
	ohca_destroy_uar(dev, ucontext->uar_index);
	return ret;
}

void ohca_dealloc_ucontext(struct ib_ucontext *ibucontext)
{
	struct ohca_ucontext *ucontext = to_ohca_ucontext(ibucontext);

	WARN_ON(!xa_empty(&ucontext->unclaimed));
	ohca_remove_mmap_entries(ucontext);
	ohca_destroy_uar(to_ohca_dev(ibucontext->device), ucontext->uar_index);
}

/* ib_core zaps the mappings; that this is here tells it that it may. */
void ohca_disassociate_ucontext(struct ib_ucontext *ibucontext)
{
}
