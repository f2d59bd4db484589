// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Anonymous, huge and shared mappings: a device sees them as page lists of
// different page sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbs_test {

enum class PageKind {
	kSmall,        // 4 KiB pages
	kTransparent,  // 2 MiB aligned, the kernel is asked for huge pages
	kHuge,         // from the huge page pool; kTransparent if that is empty
	kShared,       // a memfd: pages of the page cache
};

inline constexpr unsigned kPageKindCount = 4;
const char *name_of(PageKind kind);

class Mapping {
 public:
	Mapping(std::size_t length, PageKind kind);
	~Mapping();
	Mapping(const Mapping &) = delete;
	Mapping &operator=(const Mapping &) = delete;

	std::uint8_t *data() const { return data_; }
	std::size_t length() const { return length_; }
	PageKind kind() const { return kind_; }

 private:
	void map_aligned();

	std::uint8_t *mapped_ = nullptr;
	std::size_t mapped_length_ = 0;
	std::uint8_t *data_ = nullptr;
	std::size_t length_;
	PageKind kind_;
};

}  // namespace verbs_test
