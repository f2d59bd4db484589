// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Which function of the engine holds a GID.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/gid.hh"

namespace ohca::core {

class Function;

class Routes {
public:
	static constexpr uint32_t kNone = UINT32_MAX;

	// Changes with every rebuild; never 0. Whoever caches find() caches it beside.
	uint32_t generation() const { return generation_; }
	void invalidate();

	bool stale() const { return stale_; }
	// Takes the GID tables of all functions that run and whose port is active.
	template <typename Functions> void rebuild(Functions &&functions)
	{
		holders_.clear();
		vlans_.clear();
		for (Function *function : functions)
			add(*function);
		std::ranges::sort(vlans_);
		stale_ = false;
	}

	// The function that holds `gid` in that VLAN. If several do: the one that was given `mac` by the operator
	// (a driver may write any GID and MAC into its table, but not take traffic away with it),
	// else one whose GID entry has `mac`, else `own` (the sender is its own peer), else any.
	// kNone if nobody does.
	uint32_t find(const Gid &gid, const Mac &mac, uint16_t vlan_id, uint32_t own) const;
	// Whether the function has an address in that VLAN, and so hears multicasts in it.
	bool is_in_vlan(uint32_t function, uint16_t vlan_id) const
	{
		return std::ranges::binary_search(vlans_, membership(function, vlan_id));
	}

private:
	struct Holder {
		uint32_t function;
		uint16_t vlan_id;
		Mac mac;      // of the GID entry
		Mac port_mac; // of the function
	};
	static uint64_t membership(uint32_t function, uint16_t vlan_id)
	{
		return uint64_t{function} << 16 | vlan_id;
	}
	void add(Function &function);

	std::unordered_map<Gid, std::vector<Holder>, GidHash> holders_;
	std::vector<uint64_t> vlans_; // sorted
	uint32_t generation_ = 1;
	bool stale_ = true;
};

} // namespace ohca::core
