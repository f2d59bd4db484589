// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Index arithmetic of the rings shared with the device, and the only ways to
// look at and store a word that the device reads or writes at the same time.
//
// An index runs freely modulo 2^32; depth is a power of two, so the slot of an
// index stays continuous when the index wraps.
#pragma once

#include <bit>
#include <cstdint>

namespace ohca {

// The contract is little endian (__le*) and so are all hosts QEMU puts the
// device into; a big-endian one needs conversions wherever a field is touched.
static_assert(std::endian::native == std::endian::little);

using Index = std::uint32_t;

constexpr std::uint32_t slot_of(Index index, std::uint32_t mask)
{
	return index & mask;
}

// Is `index` one of [first, end)?  Also right when the range wraps.
constexpr bool is_within(Index index, Index first, Index end)
{
	return index - first < end - first;
}

// Phase bit that the device writes in the entry of `index`: 1 in the first pass.
constexpr std::uint8_t phase_of(Index index, std::uint32_t depth)
{
	return (index & depth) == 0;
}

constexpr std::uint8_t log2_ceil(std::uint32_t value)
{
	return static_cast<std::uint8_t>(value <= 1 ? 0 : std::bit_width(value - 1));
}

template <class T> T load_acquire(const T &word)
{
	return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

template <class T> T load_relaxed(const T &word)
{
	return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

template <class T> void store_release(T &word, T value)
{
	__atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

template <class T> void store_relaxed(T &word, T value)
{
	__atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

} // namespace ohca
