// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/routes.hh"

#include <cstring>

#include "core/function.hh"

namespace ohca::core {

void Routes::invalidate()
{
	stale_ = true;
	if (++generation_ == 0)
		generation_ = 1;
}

void Routes::add(Function &function)
{
	if (!function.running() || !function.state().port_active)
		return;
	for (uint32_t index = 0; index < kGidCountMax; index++) {
		const GidContext &entry = *function.context().gid(index);
		if (!entry.live)
			continue;
		Gid gid;
		Holder holder{function.index(), entry.vlan_id, {}, {}};
		for (size_t byte = 0; byte < holder.port_mac.size(); byte++)
			holder.port_mac[byte] = static_cast<uint8_t>(function.resources().mac >> (8 * byte));
		std::memcpy(gid.data(), entry.gid, gid.size());
		std::memcpy(holder.mac.data(), entry.mac, holder.mac.size());
		holders_[gid].push_back(holder);
		vlans_.push_back(membership(function.index(), entry.vlan_id));
	}
}

uint32_t Routes::find(const Gid &gid, const Mac &mac, uint16_t vlan_id, uint32_t own) const
{
	auto found = holders_.find(gid);
	if (found == holders_.end())
		return kNone;
	uint32_t by_entry = kNone;
	uint32_t any = kNone;
	bool own_holds = false;
	for (const Holder &holder : found->second) {
		if (holder.vlan_id != vlan_id)
			continue;
		if (holder.port_mac == mac)
			return holder.function;
		if (holder.mac == mac && by_entry == kNone)
			by_entry = holder.function;
		if (any == kNone)
			any = holder.function;
		own_holds |= holder.function == own;
	}
	if (by_entry != kNone)
		return by_entry;
	return own_holds ? own : any;
}

} // namespace ohca::core
