// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Protection information as the standards describe it, bit by bit: what the
// device's is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rdma/ohca_hw.h>

namespace ohca::core::test {

inline uint16_t model_crc(uint16_t crc, std::span<const uint8_t> bytes)
{
	for (uint8_t byte : bytes) {
		for (int bit = 7; bit >= 0; bit--) {
			const bool carry = (crc >> 15 ^ byte >> bit) & 1;
			crc = static_cast<uint16_t>(crc << 1 ^ (carry ? 0x8bb7 : 0));
		}
	}
	return crc;
}

inline uint16_t model_sum(uint16_t seed, std::span<const uint8_t> bytes)
{
	uint32_t sum = seed;
	for (size_t i = 0; i < bytes.size(); i++) {
		sum += i % 2 ? bytes[i] : bytes[i] * 256u;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return static_cast<uint16_t>(sum);
}

// The tuple that a domain has behind the interval `index` with this data.
inline std::vector<uint8_t> model_tuple(const ohca_signature_domain &domain, uint64_t index,
					std::span<const uint8_t> data)
{
	const auto guard = static_cast<uint16_t>(domain.guard_type == OHCA_GUARD_CRC ? model_crc(domain.guard_seed, data)
										     : ~model_sum(domain.guard_seed, data));
	const uint32_t ref = domain.ref_tag + (domain.flags & OHCA_SIGNATURE_REF_INCREMENT ? static_cast<uint32_t>(index) : 0);
	const uint64_t tuple = uint64_t{guard} << 48 | uint64_t{domain.app_tag} << 32 | ref;
	std::vector<uint8_t> bytes;
	for (int shift = 56; shift >= 0; shift -= 8)
		bytes.push_back(static_cast<uint8_t>(tuple >> shift));
	return bytes;
}

inline ohca_signature_domain t10_dif(uint8_t guard_type = OHCA_GUARD_CRC, uint8_t flags = OHCA_SIGNATURE_REF_INCREMENT)
{
	ohca_signature_domain domain{};
	domain.type = OHCA_SIGNATURE_T10_DIF;
	domain.guard_type = guard_type;
	domain.flags = flags;
	domain.app_tag = 0x1234;
	domain.app_tag_mask = 0xffff;
	domain.ref_tag = 0xfffffffe; // wraps
	return domain;
}

} // namespace ohca::core::test
