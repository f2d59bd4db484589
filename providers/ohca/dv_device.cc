// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// ohcadv_is_supported() and ohcadv_query_device().
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <rdma/ohca_hw_regs.h>

#include "context.hh"
#include "direct_verbs.hh"

using namespace ohca;

// Programs know the values of the library, the kernel those of the contract.
static_assert(OHCADV_CAP_RC == OHCA_FEATURE_RC && OHCADV_CAP_ATOMIC == OHCA_FEATURE_ATOMIC &&
	      OHCADV_CAP_SEND_INV == OHCA_FEATURE_SEND_INV && OHCADV_CAP_UC == OHCA_FEATURE_UC &&
	      OHCADV_CAP_UD == OHCA_FEATURE_UD && OHCADV_CAP_SRQ == OHCA_FEATURE_SRQ &&
	      OHCADV_CAP_XRC == OHCA_FEATURE_XRC && OHCADV_CAP_MULTICAST == OHCA_FEATURE_MULTICAST &&
	      OHCADV_CAP_RESIZE == OHCA_FEATURE_RESIZE && OHCADV_CAP_MODERATION == OHCA_FEATURE_MODERATION &&
	      OHCADV_CAP_WINDOW == OHCA_FEATURE_WINDOW && OHCADV_CAP_FAST_REG == OHCA_FEATURE_FAST_REG &&
	      OHCADV_CAP_ZERO_BASED == OHCA_FEATURE_ZERO_BASED && OHCADV_CAP_READ_INV == OHCA_FEATURE_READ_INV &&
	      OHCADV_CAP_MASKED_ATOMIC == OHCA_FEATURE_MASKED_ATOMIC &&
	      OHCADV_CAP_ATOMIC_WRITE == OHCA_FEATURE_ATOMIC_WRITE && OHCADV_CAP_FLUSH == OHCA_FEATURE_FLUSH &&
	      OHCADV_CAP_SG_GAPS == OHCA_FEATURE_SG_GAPS && OHCADV_CAP_COMPOUND == OHCA_FEATURE_COMPOUND &&
	      OHCADV_CAP_RECYCLE == OHCA_FEATURE_RECYCLE && OHCADV_CAP_INTEGRITY == OHCA_FEATURE_INTEGRITY);

OHCADV_API bool ohcadv_is_supported(ibv_device *device)
{
	return ohca_shim_is_ohca(device);
}

OHCADV_API int ohcadv_query_device(ibv_context *context, ohcadv_device_attr *attr, uint32_t attr_size)
{
	constexpr std::size_t kSizeMin = offsetof(ohcadv_device_attr, capabilities) + sizeof(attr->capabilities);
	if (!ohca_shim_is_ohca(context->device))
		return EOPNOTSUPP;
	if (attr_size < kSizeMin)
		return EINVAL;
	const ohca_alloc_ucontext_resp &limits = Context::of(context).limits;
	ohcadv_device_attr known{};
	known.capabilities = limits.device_features;
	known.max_inline_data = limits.max_inline;
	std::memset(attr, 0, attr_size);
	std::memcpy(attr, &known, std::min<std::size_t>(attr_size, sizeof(known)));
	return 0;
}
