// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What applications may map: UAR pages of their own and the kick page. */

#include <linux/slab.h>

#include "ohca.h"

struct ohca_mmap_entry *ohca_mmap_entry_insert(struct ohca_ucontext *ucontext, phys_addr_t phys,
					       size_t size, bool kick)
{
	struct ohca_mmap_entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	int ret;

	if (!entry)
		return ERR_PTR(-ENOMEM);
	entry->phys = phys;
	entry->kick = kick;
	ret = rdma_user_mmap_entry_insert(&ucontext->ibucontext, &entry->rdma_entry, size);
	if (ret) {
		kfree(entry);
		return ERR_PTR(ret);
	}
	return entry;
}

int ohca_mmap(struct ib_ucontext *ibucontext, struct vm_area_struct *vma)
{
	struct ohca_dev *dev = to_ohca_dev(ibucontext->device);
	struct rdma_user_mmap_entry *rdma_entry;
	struct ohca_mmap_entry *entry;
	pgprot_t prot;
	int ret;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYEXEC);

	rdma_entry = rdma_user_mmap_entry_get(ibucontext, vma);
	if (!rdma_entry) {
		ibdev_dbg(&dev->ibdev, "no mapping of this size at page offset %#lx\n",
			  vma->vm_pgoff);
		return -EINVAL;
	}
	entry = container_of(rdma_entry, struct ohca_mmap_entry, rdma_entry);
	prot = entry->kick ? pgprot_noncached(vma->vm_page_prot) :
			     dev->bus.uar_pgprot(vma->vm_page_prot);
	ret = rdma_user_mmap_io(ibucontext, vma, PHYS_PFN(entry->phys),
				rdma_entry->npages * PAGE_SIZE, prot, rdma_entry);
	rdma_user_mmap_entry_put(rdma_entry);
	return ret;
}

/* Nobody has the page mapped any more. */
void ohca_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	struct ohca_mmap_entry *entry = container_of(rdma_entry, struct ohca_mmap_entry,
						     rdma_entry);

	if (entry->owned_uar)
		ohca_destroy_uar(to_ohca_dev(rdma_entry->ucontext->device), entry->owned_uar);
	kfree(entry);
}
