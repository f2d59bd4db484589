// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Queue pair number -> queue pair of one context.  Changes are serialized by the
// context; lookups take no lock: whoever polls a CQ holds that CQ's lock, and a
// queue pair is detached under the locks of its CQs before it goes away.
#pragma once

#include <cstdint>

namespace ohca {

struct QueuePair;

class QpTable {
public:
	static constexpr std::uint32_t kNumberBits = 24;
	static constexpr std::uint32_t kLeafBits = 12;
	static constexpr std::uint32_t kLeafSize = 1u << kLeafBits;

	QpTable() = default;
	QpTable(const QpTable &) = delete;
	QpTable &operator=(const QpTable &) = delete;
	~QpTable();

	// 0, ENOMEM, or EINVAL if the number is out of range or taken.
	int insert(std::uint32_t qpn, QueuePair *qp);
	void remove(std::uint32_t qpn);

	// Any 32-bit value is allowed: it comes from the device.
	QueuePair *find(std::uint32_t qpn) const
	{
		if (qpn >> kNumberBits) [[unlikely]]
			return nullptr;
		QueuePair **leaf = __atomic_load_n(&leaves_[qpn >> kLeafBits], __ATOMIC_ACQUIRE);
		return leaf ? __atomic_load_n(&leaf[qpn % kLeafSize], __ATOMIC_ACQUIRE) : nullptr;
	}

private:
	QueuePair **leaves_[1u << (kNumberBits - kLeafBits)]{};
};

} // namespace ohca
