// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// xoshiro256**: one seed decides everything a test does.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace verbs_test {

class Random {
 public:
	explicit Random(std::uint64_t seed)
	{
		for (auto &word : state_) {
			seed += 0x9e3779b97f4a7c15U;
			std::uint64_t z = seed;
			z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
			z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
			word = z ^ (z >> 31);
		}
	}

	std::uint64_t next()
	{
		const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
		const std::uint64_t t = state_[1] << 17;
		state_[2] ^= state_[0];
		state_[3] ^= state_[1];
		state_[1] ^= state_[2];
		state_[0] ^= state_[3];
		state_[2] ^= t;
		state_[3] = std::rotl(state_[3], 45);
		return result;
	}

	// 0 .. bound - 1; the bias of the multiplication does not matter here.
	std::uint64_t below(std::uint64_t bound)
	{
		return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
	}

	// Both ends included.
	template <typename T>
	T between(T low, T high)
	{
		return static_cast<T>(low + static_cast<T>(below(static_cast<std::uint64_t>(high - low) + 1)));
	}

	bool chance(unsigned percent) { return below(100) < percent; }

	void fill(void *bytes, std::size_t length)
	{
		auto *at = static_cast<unsigned char *>(bytes);
		for (; length >= 8; at += 8, length -= 8) {
			const std::uint64_t word = next();
			std::memcpy(at, &word, 8);
		}
		const std::uint64_t word = next();
		std::memcpy(at, &word, length);
	}

 private:
	std::uint64_t state_[4];
};

}  // namespace verbs_test
