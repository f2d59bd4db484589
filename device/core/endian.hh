// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Contract fields (__le*) <-> host integers.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace ohca::core {

// Its own inverse; the two names say which direction is meant.
template <std::unsigned_integral T>
constexpr T from_le(T value)
{
	if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1)
		return value;
	else if constexpr (sizeof(T) == 2)
		return __builtin_bswap16(value);
	else if constexpr (sizeof(T) == 4)
		return __builtin_bswap32(value);
	else
		return __builtin_bswap64(value);
}

template <std::unsigned_integral T>
constexpr T to_le(T value)
{
	return from_le(value);
}

} // namespace ohca::core
