// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/multicast_routes.hh"

#include <cstring>

#include "core/function.hh"

namespace ohca::core {

void MulticastRoutes::add(Function &function)
{
	if (!function.running())
		return;
	ContextMemory &context = function.context();
	for (uint32_t index = 0; index < context.multicast_group_limit(); index++) {
		const MulticastGroupContext *group = context.multicast_group(index);
		if (!group)
			continue;
		Gid gid;
		std::memcpy(gid.data(), group->gid, gid.size());
		groups_[gid].push_back({function.index(), index});
	}
}

} // namespace ohca::core
