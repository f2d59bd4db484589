// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Contract fields (__le*, __be*) <-> host integers.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace ohca::core {

template <std::unsigned_integral T>
constexpr T swap_bytes(T value)
{
	if constexpr (sizeof(T) == 1)
		return value;
	else if constexpr (sizeof(T) == 2)
		return __builtin_bswap16(value);
	else if constexpr (sizeof(T) == 4)
		return __builtin_bswap32(value);
	else
		return __builtin_bswap64(value);
}

// Its own inverse; the two names say which direction is meant.
template <std::unsigned_integral T>
constexpr T from_le(T value)
{
	return std::endian::native == std::endian::little ? value : swap_bytes(value);
}

template <std::unsigned_integral T>
constexpr T to_le(T value)
{
	return from_le(value);
}

template <std::unsigned_integral T>
constexpr T from_be(T value)
{
	return std::endian::native == std::endian::little ? swap_bytes(value) : value;
}

template <std::unsigned_integral T>
constexpr T to_be(T value)
{
	return from_be(value);
}

} // namespace ohca::core
