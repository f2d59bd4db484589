// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "domain.hh"

#include <cerrno>

#include "memory.hh"
#include "shim.h"

using ohca::ProtectionDomain;
using ohca::ThreadDomain;

namespace {

// No pages left, or a kernel that has no such object.
bool is_scarcity(int error)
{
	return error == ENOMEM || error == ENOSPC || error == EOPNOTSUPP || error == EPROTONOSUPPORT;
}

// Queue pairs of a thread domain ring in a page that no other thread writes to.  Without
// one the domain works as well, only slower.
int take_uar(ThreadDomain &domain)
{
	void *page = nullptr;
	const int error = ohca_shim_create_uar(domain.td.context, &domain.uar_handle, &domain.uar_index, &page);
	if (error)
		return is_scarcity(error) ? 0 : error;
	domain.uar = static_cast<ohca_uar *>(page);
	return 0;
}

} // namespace

ibv_pd *ohca_alloc_pd(ibv_context *context)
{
	auto *domain = ohca::create<ProtectionDomain>();
	if (!domain)
		return nullptr;
	ohca_alloc_pd_resp response{};
	if (int error = ohca_shim_create_pd(context, &domain->pd, &response)) {
		ohca::destroy(domain);
		errno = error;
		return nullptr;
	}
	domain->number = response.pdn;
	return &domain->pd;
}

// Of another process that passed on its command file; it stays that process's to destroy.
ibv_pd *ohca_import_pd(ibv_context *context, uint32_t handle)
{
	auto *domain = ohca::create<ProtectionDomain>();
	if (!domain)
		return nullptr;
	domain->pd.context = context;
	domain->pd.handle = handle;
	return &domain->pd;
}

void ohca_unimport_pd(ibv_pd *pd)
{
	ohca::destroy(ProtectionDomain::of(pd));
}

int ohca_dealloc_pd(ibv_pd *pd)
{
	ProtectionDomain *domain = ProtectionDomain::of(pd);
	if (domain->is_used())
		return EBUSY;
	if (domain->contained) {
		// The kernel knows nothing of a parent domain.
		domain->contained->release();
		if (domain->thread_domain)
			__atomic_fetch_sub(&domain->thread_domain->users, 1, __ATOMIC_RELEASE);
	} else if (int error = ohca_shim_destroy_pd(pd)) {
		return error;
	}
	ohca::destroy(domain);
	return 0;
}

ibv_td *ohca_alloc_td(ibv_context *context, ibv_td_init_attr *attr)
{
	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	auto *domain = ohca::create<ThreadDomain>();
	if (!domain)
		return nullptr;
	domain->td.context = context;
	if (int error = take_uar(*domain)) {
		ohca::destroy(domain);
		errno = error;
		return nullptr;
	}
	return &domain->td;
}

int ohca_dealloc_td(ibv_td *td)
{
	ThreadDomain *domain = ThreadDomain::of(td);
	if (__atomic_load_n(&domain->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	if (domain->uar) {
		if (int error = ohca_shim_destroy_uar(td->context, domain->uar_handle, domain->uar))
			return error;
	}
	ohca::destroy(domain);
	return 0;
}

ibv_pd *ohca_alloc_parent_domain(ibv_context *context, ibv_parent_domain_init_attr *attr)
{
	constexpr std::uint32_t kSupported = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
					     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	const bool has_allocators = attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	if (!attr->pd || (has_allocators && (!attr->alloc || !attr->free))) {
		errno = EINVAL;
		return nullptr;
	}
	if (attr->comp_mask & ~kSupported) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	auto *domain = ohca::create<ProtectionDomain>();
	if (!domain)
		return nullptr;
	// To the core it is the protection domain that it contains.
	domain->pd.context = context;
	domain->pd.handle = attr->pd->handle;
	domain->number = ProtectionDomain::of(attr->pd)->number;
	domain->contained = ProtectionDomain::of(attr->pd);
	domain->contained->acquire();
	if (attr->td) {
		domain->thread_domain = ThreadDomain::of(attr->td);
		__atomic_fetch_add(&domain->thread_domain->users, 1, __ATOMIC_RELAXED);
	}
	if (has_allocators) {
		domain->allocate = attr->alloc;
		domain->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		domain->allocator_context = attr->pd_context;
	return &domain->pd;
}
