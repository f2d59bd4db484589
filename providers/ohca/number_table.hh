// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// 24-bit number -> queue pair, or shared receive queue, of one context.  Changes are
// serialized by the context; lookups take no lock: whoever polls a CQ holds that CQ's
// lock, and an object is detached under the locks of its CQs before it goes away.
#pragma once

#include <cstdint>

namespace ohca {

class NumberTableBase {
public:
	static constexpr std::uint32_t kNumberBits = 24;
	static constexpr std::uint32_t kLeafBits = 12;
	static constexpr std::uint32_t kLeafSize = 1u << kLeafBits;

	NumberTableBase() = default;
	NumberTableBase(const NumberTableBase &) = delete;
	NumberTableBase &operator=(const NumberTableBase &) = delete;
	~NumberTableBase();

	void remove(std::uint32_t number);

protected:
	int insert(std::uint32_t number, void *object);

	void *find(std::uint32_t number) const
	{
		if (number >> kNumberBits) [[unlikely]]
			return nullptr;
		void **leaf = __atomic_load_n(&leaves_[number >> kLeafBits], __ATOMIC_ACQUIRE);
		return leaf ? __atomic_load_n(&leaf[number % kLeafSize], __ATOMIC_ACQUIRE) : nullptr;
	}

private:
	void **leaves_[1u << (kNumberBits - kLeafBits)]{};
};

template <class T> class NumberTable : public NumberTableBase {
public:
	// 0, ENOMEM, or EINVAL if the number is out of range or taken.
	int insert(std::uint32_t number, T *object) { return NumberTableBase::insert(number, object); }

	// Any 32-bit value is allowed: it comes from the device.
	T *find(std::uint32_t number) const { return static_cast<T *>(NumberTableBase::find(number)); }
};

} // namespace ohca
