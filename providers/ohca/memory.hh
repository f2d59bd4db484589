// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Creation of control-path objects without operator new, which would make every
// application load libstdc++.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace ohca {

template <class T> T *create()
{
	static_assert(sizeof(T) % alignof(T) == 0);
	void *memory = std::aligned_alloc(alignof(T), sizeof(T));
	if (!memory) {
		errno = ENOMEM;
		return nullptr;
	}
	return new (memory) T{};
}

template <class T> void destroy(T *object)
{
	object->~T();
	std::free(object);
}

} // namespace ohca
