// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Guards of protection information: CRC of T10-DIF (SBC-3 4.22.4: polynomial
// 0x8bb7, most significant bit first, neither inverted nor reflected) and the IP
// checksum (RFC 1071).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ohca::core {

// The CRC of what has given `crc` and `bytes` behind it.
uint16_t update_crc_t10dif(uint16_t crc, std::span<const std::byte> bytes);

// The ones' complement sum of 16-bit words, most significant byte first; the checksum is its
// complement. `odd`: `bytes` begins in the middle of a word.
uint16_t update_ip_sum(uint16_t sum, std::span<const std::byte> bytes, bool odd);

} // namespace ohca::core
