// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/guard.hh"

#include <array>
#include <cstring>

#include "core/endian.hh"

namespace ohca::core {

namespace {

constexpr uint16_t kPolynomial = 0x8bb7;
constexpr size_t kSlice = 16; // bytes at a time

constexpr uint16_t shift_zero_byte(uint16_t crc)
{
	uint32_t value = crc;
	for (int bit = 0; bit < 8; bit++)
		value = value & 0x8000 ? value << 1 ^ kPolynomial : value << 1;
	return static_cast<uint16_t>(value);
}

using Tables = std::array<std::array<uint16_t, 256>, kSlice>;

// kTables[n][b]: the CRC of byte b and n zero bytes. The CRC of a slice is the sum over its bytes.
constexpr Tables kTables = [] {
	Tables tables{};
	for (unsigned byte = 0; byte < 256; byte++) {
		uint16_t crc = shift_zero_byte(static_cast<uint16_t>(byte << 8));
		for (auto &table : tables) {
			table[byte] = crc;
			crc = shift_zero_byte(crc);
		}
	}
	return tables;
}();

uint16_t slice_crc(uint16_t crc, const std::byte *bytes)
{
	uint16_t next = kTables[kSlice - 1][std::to_integer<uint8_t>(bytes[0]) ^ (crc >> 8)] ^
			kTables[kSlice - 2][std::to_integer<uint8_t>(bytes[1]) ^ (crc & 0xff)];
	for (size_t i = 2; i < kSlice; i++)
		next ^= kTables[kSlice - 1 - i][std::to_integer<uint8_t>(bytes[i])];
	return next;
}

uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(sum);
}

} // namespace

uint16_t update_crc_t10dif(uint16_t crc, std::span<const std::byte> bytes)
{
	for (; bytes.size() >= kSlice; bytes = bytes.subspan(kSlice))
		crc = slice_crc(crc, bytes.data());
	for (std::byte byte : bytes)
		crc = static_cast<uint16_t>(crc << 8 ^ kTables[0][(crc >> 8) ^ std::to_integer<uint8_t>(byte)]);
	return crc;
}

uint16_t update_ip_sum(uint16_t sum, std::span<const std::byte> bytes, bool odd)
{
	uint64_t total = sum;
	if (odd && !bytes.empty()) {
		total += std::to_integer<uint8_t>(bytes[0]);
		bytes = bytes.subspan(1);
	}
	// The sum does not depend on the byte order but for the order of its own bytes (RFC 1071 2.B), so
	// that words may be added as the host loads them. 2^32 words do not overflow.
	uint64_t words = 0;
	for (; bytes.size() >= sizeof(uint32_t); bytes = bytes.subspan(sizeof(uint32_t))) {
		uint32_t two;
		std::memcpy(&two, bytes.data(), sizeof(two));
		words += two;
	}
	if (bytes.size() >= sizeof(uint16_t)) {
		uint16_t one;
		std::memcpy(&one, bytes.data(), sizeof(one));
		words += one;
		bytes = bytes.subspan(sizeof(uint16_t));
	}
	total += from_be(fold(words));
	if (!bytes.empty())
		total += uint64_t{std::to_integer<uint8_t>(bytes[0])} << 8;
	return fold(total);
}

} // namespace ohca::core
