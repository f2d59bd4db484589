// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Which functions of the engine have queue pairs in a multicast group.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/gid.hh"

namespace ohca::core {

class Function;

class MulticastRoutes {
public:
	// One group of one function.
	struct Entry {
		uint32_t function;
		uint32_t group; // index in its context memory
	};

	void invalidate() { stale_ = true; }
	bool stale() const { return stale_; }
	// Takes the groups of all functions that run.
	template <typename Functions> void rebuild(Functions &&functions)
	{
		groups_.clear();
		for (Function *function : functions)
			add(*function);
		stale_ = false;
	}
	// In the order of the functions.
	std::span<const Entry> find(const Gid &gid) const
	{
		auto found = groups_.find(gid);
		return found == groups_.end() ? std::span<const Entry>() : found->second;
	}

private:
	void add(Function &function);

	std::unordered_map<Gid, std::vector<Entry>, GidHash> groups_;
	bool stale_ = true;
};

} // namespace ohca::core
