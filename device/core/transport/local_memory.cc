// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
#include "core/transport/local_memory.hh"

#include <algorithm>
#include <endian.h>
#include <memory>

namespace ohca::core {

uint32_t check_sges(Function &function, uint32_t pd, std::span<const ohca_sge> sges, uint64_t needed,
		    uint32_t access, SgRange *ranges, uint32_t &count)
{
	uint64_t covered = 0;

	count = 0;
	for (const ohca_sge &sge : sges) {
		const uint64_t address = le64toh(sge.address);
		if (covered >= needed)
			break;
		const auto length = static_cast<uint32_t>(std::min<uint64_t>(le32toh(sge.length), needed - covered));

		if (length == 0)
			continue;
		const KeyCheck check =
			function.memory().check_key(le32toh(sge.lkey), pd, address, length, access);
		if (check.mkey == nullptr) {
			function.count(OHCA_COUNTER_LOCAL_PROTECTION_ERRORS);
			return check.vendor_error;
		}
		if (ranges != nullptr)
			std::construct_at(ranges + count, &function.memory(), check.mkey, address, nullptr, length);
		count++;
		covered += length;
	}
	return OHCA_VENDOR_ERROR_NONE;
}

} // namespace ohca::core
