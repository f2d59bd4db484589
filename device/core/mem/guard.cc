// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/guard.hh"

#include <array>
#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

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

uint16_t table_crc(uint16_t crc, std::span<const std::byte> bytes)
{
	for (; bytes.size() >= kSlice; bytes = bytes.subspan(kSlice))
		crc = slice_crc(crc, bytes.data());
	for (std::byte byte : bytes)
		crc = static_cast<uint16_t>(crc << 8 ^ kTables[0][(crc >> 8) ^ std::to_integer<uint8_t>(byte)]);
	return crc;
}

#ifdef __x86_64__

constexpr size_t kBlock = 16; // bytes of a register

// x^exponent modulo the polynomial.
constexpr uint16_t power_of_x(unsigned exponent)
{
	uint32_t value = 1;
	for (; exponent; exponent--)
		value = value & 0x8000 ? (value << 1 ^ kPolynomial) & 0xffff : value << 1;
	return static_cast<uint16_t>(value);
}

bool has_carryless_multiply()
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3");
}

// At least one block. With the bytes as one polynomial, the block in hand is H x^64 + L, and in front
// of the next one as good as H (x^192 mod P) + L (x^128 mod P), which is short enough to be added to it.
[[gnu::target("pclmul,ssse3")]] uint16_t fold_crc(uint16_t crc, std::span<const std::byte> bytes)
{
	const __m128i most_significant_first = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m128i powers = _mm_set_epi64x(power_of_x(192), power_of_x(128));
	__m128i sum = _mm_set_epi64x(static_cast<int64_t>(uint64_t{crc} << 48), 0);

	for (;;) {
		const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes.data()));
		sum = _mm_xor_si128(sum, _mm_shuffle_epi8(block, most_significant_first));
		bytes = bytes.subspan(kBlock);
		if (bytes.size() < kBlock)
			break;
		sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, powers, 0x11), _mm_clmulepi64_si128(sum, powers, 0x00));
	}
	std::array<std::byte, kBlock> folded;
	_mm_storeu_si128(reinterpret_cast<__m128i *>(folded.data()), _mm_shuffle_epi8(sum, most_significant_first));
	return table_crc(table_crc(0, folded), bytes);
}

#endif

uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(sum);
}

} // namespace

uint16_t update_crc_t10dif(uint16_t crc, std::span<const std::byte> bytes)
{
#ifdef __x86_64__
	if (bytes.size() >= kBlock && has_carryless_multiply())
		return fold_crc(crc, bytes);
#endif
	return table_crc(crc, bytes);
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
