// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The only source of chance in the simulator: a seed gives one sequence, everywhere.
#pragma once

#include <cstdint>
#include <span>

namespace ohca::sim {

class Prng {
public:
	explicit Prng(uint64_t seed) : state_(seed) {}

	// splitmix64: passes statistics with one addition and a mix, and any seed will do.
	uint64_t next()
	{
		uint64_t z = state_ += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		return z ^ (z >> 31);
	}
	// 0 .. limit - 1; limit is at least 1.
	uint64_t below(uint64_t limit) { return next() % limit; }
	// low .. high.
	uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
	bool chance(double probability)
	{
		return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability;
	}
	template <typename T, size_t N> T pick(const T (&choices)[N]) { return choices[below(N)]; }

	void fill(std::span<std::byte> bytes)
	{
		uint64_t value = 0;

		for (size_t i = 0; i < bytes.size(); i++, value >>= 8) {
			if (i % 8 == 0)
				value = next();
			bytes[i] = static_cast<std::byte>(value);
		}
	}

private:
	uint64_t state_;
};

} // namespace ohca::sim
