// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/guard.hh"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string_view>

#include "core/tests/protection_model.hh"

namespace ohca::core::test {
namespace {

uint16_t crc(const std::vector<uint8_t> &bytes)
{
	return update_crc_t10dif(0, std::as_bytes(std::span(bytes)));
}

std::vector<uint8_t> bytes_of(std::string_view text)
{
	return {text.begin(), text.end()};
}

// OHCA-INTEGRITY-D3: the examples of SBC-3, table "Sample T10 CRC values", and the usual check value.
TEST(Guard, KnownCrcs)
{
	EXPECT_EQ(crc(bytes_of("123456789")), 0xd0db);
	EXPECT_EQ(crc(std::vector<uint8_t>(32, 0x00)), 0x0000);
	EXPECT_EQ(crc(std::vector<uint8_t>(32, 0xff)), 0xa293);
	std::vector<uint8_t> counting(32);
	std::iota(counting.begin(), counting.end(), uint8_t{0});
	EXPECT_EQ(crc(counting), 0x0224);
}

// OHCA-INTEGRITY-D3: RFC 1071, section 3.
TEST(Guard, KnownChecksum)
{
	const std::vector<uint8_t> example = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	EXPECT_EQ(update_ip_sum(0, std::as_bytes(std::span(example)), false), 0xddf2);
	const std::vector<uint8_t> zero(512);
	EXPECT_EQ(update_ip_sum(0, std::as_bytes(std::span(zero)), false), 0);
}

// OHCA-INTEGRITY-D3
TEST(Guard, DoesNotDependOnTheCuts)
{
	std::mt19937_64 random(5);
	for (int round = 0; round < 500; round++) {
		std::vector<uint8_t> bytes(random() % 600);
		for (uint8_t &byte : bytes)
			byte = static_cast<uint8_t>(random() % 3 ? random() : 0xff);
		const auto seed = static_cast<uint16_t>(random());
		uint16_t crc = seed, sum = seed;
		for (size_t at = 0; at < bytes.size();) {
			const size_t length = std::min<size_t>(random() % 40, bytes.size() - at);
			const auto piece = std::as_bytes(std::span(bytes)).subspan(at, length);
			crc = update_crc_t10dif(crc, piece);
			sum = update_ip_sum(sum, piece, at % 2 != 0);
			at += length;
		}
		EXPECT_EQ(crc, model_crc(seed, bytes));
		EXPECT_EQ(sum, model_sum(seed, bytes));
	}
}

} // namespace
} // namespace ohca::core::test
