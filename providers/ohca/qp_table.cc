// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "qp_table.hh"

#include <cerrno>
#include <cstdlib>

namespace ohca {

QpTable::~QpTable()
{
	// Leaves live as long as the table: a lookup may be reading one.
	for (QueuePair **leaf : leaves_)
		std::free(leaf);
}

int QpTable::insert(std::uint32_t qpn, QueuePair *qp)
{
	if (qpn >> kNumberBits)
		return EINVAL;
	QueuePair **&leaf = leaves_[qpn >> kLeafBits];
	if (!leaf) {
		auto *fresh = static_cast<QueuePair **>(std::calloc(kLeafSize, sizeof(QueuePair *)));
		if (!fresh)
			return ENOMEM;
		__atomic_store_n(&leaf, fresh, __ATOMIC_RELEASE);
	}
	if (leaf[qpn % kLeafSize])
		return EINVAL;
	__atomic_store_n(&leaf[qpn % kLeafSize], qp, __ATOMIC_RELEASE);
	return 0;
}

void QpTable::remove(std::uint32_t qpn)
{
	if (qpn >> kNumberBits)
		return;
	if (QueuePair **leaf = leaves_[qpn >> kLeafBits])
		__atomic_store_n(&leaf[qpn % kLeafSize], nullptr, __ATOMIC_RELEASE);
}

} // namespace ohca
