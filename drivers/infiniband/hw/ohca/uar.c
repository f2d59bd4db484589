// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UAR pages: the one that every user context has, and those it asks for, the
 * objects OHCA_OBJECT_UAR.
 *
 * An object's page outlives the object as long as it is mapped: only when the
 * mapping is gone, too, is the device told (ohca_mmap_free()), lest the next
 * owner of the page shares it with the last.
 */

#include <linux/slab.h>

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#include "ohca.h"

#define UVERBS_MODULE_NAME ohca
#include <rdma/uverbs_named_ioctl.h>

/* A page that an application has asked for. */
struct ohca_uar_object {
	struct list_head node;		/* in ohca_ucontext.uars */
	struct ohca_ucontext *ucontext;
	struct ohca_mmap_entry *entry;
	u32 index;
	u32 users;			/* queue pairs; under ohca_ucontext.uar_lock */
};

int ohca_create_uar(struct ohca_dev *dev, u32 *index)
{
	struct ohca_uar *uar;
	int ret;

	ret = ohca_cmd_create_uar(dev, index);
	if (ret)
		return ret;
	/* 0 is the kernel's, and an application must get only what is its own. */
	if (!*index || *index >= dev->bus.uar_count) {
		dev_err_ratelimited(ohca_device(dev), "device handed out UAR %u of %u\n", *index,
				    dev->bus.uar_count);
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_UAR, *index);
		return -EIO;
	}
	uar = &dev->bus.uars[*index];
	WRITE_ONCE(uar->device_state, cpu_to_le32(OHCA_UAR_DEVICE_RUNNING));
	ret = xa_insert_irq(&dev->uars, *index, uar, GFP_KERNEL);
	if (ret == -EBUSY) {
		dev_err_ratelimited(ohca_device(dev), "device handed out UAR %u twice\n", *index);
		return -EIO;
	}
	if (ret)
		ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_UAR, *index);
	else if (ohca_failed(dev)) /* perhaps before the page was in the list */
		ohca_mark_uars_failed(dev);
	return ret;
}

void ohca_destroy_uar(struct ohca_dev *dev, u32 index)
{
	xa_erase_irq(&dev->uars, index);
	ohca_cmd_destroy(dev, OHCA_CMD_DESTROY_UAR, index);
}

/* Tell those who poll without system calls. */
void ohca_mark_uars_failed(struct ohca_dev *dev)
{
	struct ohca_uar *uar;
	unsigned long index, flags;

	WRITE_ONCE(dev->bus.uars[0].device_state, cpu_to_le32(OHCA_UAR_DEVICE_FAILED));
	xa_lock_irqsave(&dev->uars, flags);
	xa_for_each(&dev->uars, index, uar)
		WRITE_ONCE(uar->device_state, cpu_to_le32(OHCA_UAR_DEVICE_FAILED));
	xa_unlock_irqrestore(&dev->uars, flags);
}

struct ohca_mmap_entry *ohca_mmap_uar(struct ohca_ucontext *ucontext, u32 index)
{
	struct ohca_dev *dev = to_ohca_dev(ucontext->ibucontext.device);
	phys_addr_t phys = dev->bus.uar_phys + (phys_addr_t)index * OHCA_UAR_SIZE;

	return ohca_mmap_entry_insert(ucontext, phys, OHCA_UAR_SIZE, false);
}

/* A queue pair is about to use page @index: an object of this very context. */
int ohca_use_uar(struct ohca_ucontext *ucontext, u32 index, struct ohca_uar_object **uar)
{
	struct ohca_uar_object *object;
	int ret = -EINVAL;

	mutex_lock(&ucontext->uar_lock);
	list_for_each_entry(object, &ucontext->uars, node) {
		if (object->index != index)
			continue;
		object->users++;
		*uar = object;
		ret = 0;
		break;
	}
	mutex_unlock(&ucontext->uar_lock);
	return ret;
}

void ohca_unuse_uar(struct ohca_uar_object *object)
{
	if (!object)
		return;
	mutex_lock(&object->ucontext->uar_lock);
	object->users--;
	mutex_unlock(&object->ucontext->uar_lock);
}

static int ohca_uar_cleanup(struct ib_uobject *uobject, enum rdma_remove_reason why,
			    struct uverbs_attr_bundle *attrs)
{
	struct ohca_uar_object *object = uobject->object;
	struct ohca_ucontext *ucontext = object->ucontext;
	bool used;

	mutex_lock(&ucontext->uar_lock);
	used = object->users;
	if (!used)
		list_del(&object->node);
	mutex_unlock(&ucontext->uar_lock);
	if (used)
		return -EBUSY;
	rdma_user_mmap_entry_remove(&object->entry->rdma_entry);
	kfree(object);
	return 0;
}

static struct ohca_uar_object *ohca_alloc_uar_object(struct ohca_dev *dev,
						     struct ohca_ucontext *ucontext)
{
	struct ohca_uar_object *object = kzalloc(sizeof(*object), GFP_KERNEL);
	int ret;

	if (!object)
		return ERR_PTR(-ENOMEM);
	object->ucontext = ucontext;
	ret = ohca_create_uar(dev, &object->index);
	if (ret)
		goto err_free;
	object->entry = ohca_mmap_uar(ucontext, object->index);
	if (IS_ERR(object->entry)) {
		ret = PTR_ERR(object->entry);
		goto err_uar;
	}
	object->entry->owned_uar = object->index;
	return object;

err_uar:
	ohca_destroy_uar(dev, object->index);
err_free:
	kfree(object);
	return ERR_PTR(ret);
}

static int UVERBS_HANDLER(OHCA_METHOD_UAR_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(attrs, OHCA_ATTR_UAR_ALLOC_HANDLE);
	struct ib_ucontext *ibucontext = ib_uverbs_get_ucontext(attrs);
	struct ohca_uar_object *object;
	struct ohca_ucontext *ucontext;
	u64 key;
	int ret;

	if (IS_ERR(ibucontext))
		return PTR_ERR(ibucontext);
	ucontext = to_ohca_ucontext(ibucontext);
	object = ohca_alloc_uar_object(to_ohca_dev(ibucontext->device), ucontext);
	if (IS_ERR(object))
		return PTR_ERR(object);
	mutex_lock(&ucontext->uar_lock);
	list_add(&object->node, &ucontext->uars);
	mutex_unlock(&ucontext->uar_lock);

	/* From here on a failure makes ib_core call ohca_uar_cleanup(). */
	uobject->object = object;
	uverbs_finalize_uobj_create(attrs, OHCA_ATTR_UAR_ALLOC_HANDLE);
	key = rdma_user_mmap_get_offset(&object->entry->rdma_entry);
	ret = uverbs_copy_to(attrs, OHCA_ATTR_UAR_ALLOC_INDEX, &object->index,
			     sizeof(object->index));
	if (ret)
		return ret;
	return uverbs_copy_to(attrs, OHCA_ATTR_UAR_ALLOC_MMAP_KEY, &key, sizeof(key));
}

DECLARE_UVERBS_NAMED_METHOD(OHCA_METHOD_UAR_ALLOC,
			    UVERBS_ATTR_IDR(OHCA_ATTR_UAR_ALLOC_HANDLE, OHCA_OBJECT_UAR,
					    UVERBS_ACCESS_NEW, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(OHCA_ATTR_UAR_ALLOC_INDEX, UVERBS_ATTR_TYPE(u32),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(OHCA_ATTR_UAR_ALLOC_MMAP_KEY,
						UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(OHCA_METHOD_UAR_DESTROY,
				    UVERBS_ATTR_IDR(OHCA_ATTR_UAR_DESTROY_HANDLE, OHCA_OBJECT_UAR,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(OHCA_OBJECT_UAR, UVERBS_TYPE_ALLOC_IDR(ohca_uar_cleanup),
			    &UVERBS_METHOD(OHCA_METHOD_UAR_ALLOC),
			    &UVERBS_METHOD(OHCA_METHOD_UAR_DESTROY));

const struct uapi_definition ohca_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(OHCA_OBJECT_UAR),
	UAPI_DEF_CHAIN(ohca_context_defs),
	UAPI_DEF_CHAIN(ohca_async_queue_defs),
	{},
};
