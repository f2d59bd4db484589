// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Which function of the engine holds a GID.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace ohca::core {

class Function;

class Routes {
public:
	static constexpr uint32_t kNone = UINT32_MAX;

	using Gid = std::array<uint8_t, 16>;
	using Mac = std::array<uint8_t, 6>;

	// Changes with every rebuild; never 0. Whoever caches find() caches it beside.
	uint32_t generation() const { return generation_; }
	void invalidate();

	bool stale() const { return stale_; }
	// Takes the GID tables of all functions that run and whose port is active.
	template <typename Functions> void rebuild(Functions &&functions)
	{
		holders_.clear();
		for (Function *function : functions)
			add(*function);
		stale_ = false;
	}

	// The function that holds `gid`. If several do: the one that was given `mac` by the operator
	// (a driver may write any GID and MAC into its table, but not take traffic away with it),
	// else one whose GID entry has `mac`, else `own` (the sender is its own peer), else any.
	// kNone if nobody does.
	uint32_t find(const Gid &gid, const Mac &mac, uint32_t own) const;

private:
	struct Holder {
		uint32_t function;
		Mac mac;      // of the GID entry
		Mac port_mac; // of the function
	};
	struct Hash {
		size_t operator()(const Gid &gid) const
		{
			uint64_t words[2];
			std::memcpy(words, gid.data(), sizeof(words));
			return static_cast<size_t>((words[0] * 31 + words[1]) * 0x9e3779b97f4a7c15);
		}
	};
	void add(Function &function);

	std::unordered_map<Gid, std::vector<Holder>, Hash> holders_;
	uint32_t generation_ = 1;
	bool stale_ = true;
};

} // namespace ohca::core
