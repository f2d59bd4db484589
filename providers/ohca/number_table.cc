// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "number_table.hh"

#include <cerrno>
#include <cstdlib>

namespace ohca {

NumberTableBase::~NumberTableBase()
{
	// Leaves live as long as the table: a lookup may be reading one.
	for (void **leaf : leaves_)
		std::free(leaf);
}

int NumberTableBase::insert(std::uint32_t number, void *object)
{
	if (number >> kNumberBits)
		return EINVAL;
	void **&leaf = leaves_[number >> kLeafBits];
	if (!leaf) {
		auto *fresh = static_cast<void **>(std::calloc(kLeafSize, sizeof(void *)));
		if (!fresh)
			return ENOMEM;
		__atomic_store_n(&leaf, fresh, __ATOMIC_RELEASE);
	}
	if (leaf[number % kLeafSize])
		return EINVAL;
	__atomic_store_n(&leaf[number % kLeafSize], object, __ATOMIC_RELEASE);
	return 0;
}

void NumberTableBase::remove(std::uint32_t number)
{
	if (number >> kNumberBits)
		return;
	if (void **leaf = leaves_[number >> kLeafBits])
		__atomic_store_n(&leaf[number % kLeafSize], nullptr, __ATOMIC_RELEASE);
}

} // namespace ohca
