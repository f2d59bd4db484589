// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "memory.hh"

#include "failure.hh"

#include <sys/mman.h>
#include <unistd.h>

namespace verbs_test {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kProtection = PROT_READ | PROT_WRITE;

std::size_t round_up(std::size_t value, std::size_t unit)
{
	return (value + unit - 1) / unit * unit;
}

}  // namespace

const char *name_of(PageKind kind)
{
	static const char *const kNames[kPageKindCount] = {"small", "transparent", "huge", "shared"};
	return kNames[static_cast<unsigned>(kind)];
}

Mapping::Mapping(std::size_t length, PageKind kind) : length_(round_up(length, 4096)), kind_(kind)
{
	void *result = MAP_FAILED;
	if (kind_ == PageKind::kHuge) {
		mapped_length_ = round_up(length_, kHugePage);
		result = mmap(nullptr, mapped_length_, kProtection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE,
			      -1, 0);
		if (result == MAP_FAILED)
			kind_ = PageKind::kTransparent;
	}
	if (kind_ == PageKind::kTransparent) {
		map_aligned();
		return;
	}
	if (kind_ == PageKind::kSmall) {
		mapped_length_ = length_;
		result = mmap(nullptr, length_, kProtection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (result != MAP_FAILED)
			madvise(result, length_, MADV_NOHUGEPAGE);
	} else if (kind_ == PageKind::kShared) {
		mapped_length_ = length_;
		const int file = memfd_create("verbs_test", MFD_CLOEXEC);
		if (file < 0 || ftruncate(file, static_cast<off_t>(length_)) != 0)
			fail_errno("memfd", last_error());
		result = mmap(nullptr, length_, kProtection, MAP_SHARED, file, 0);
		close(file);
	}
	if (result == MAP_FAILED)
		fail_errno("mmap", last_error());
	mapped_ = data_ = static_cast<std::uint8_t *>(result);
}

void Mapping::map_aligned()
{
	mapped_length_ = round_up(length_, kHugePage) + kHugePage;
	void *result = mmap(nullptr, mapped_length_, kProtection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		fail_errno("mmap", last_error());
	mapped_ = static_cast<std::uint8_t *>(result);
	data_ = reinterpret_cast<std::uint8_t *>(round_up(reinterpret_cast<std::uintptr_t>(mapped_), kHugePage));
	// refused when the kernel has no transparent huge pages: then they are small ones
	madvise(data_, round_up(length_, kHugePage), MADV_HUGEPAGE);
}

Mapping::~Mapping()
{
	munmap(mapped_, mapped_length_);
}

}  // namespace verbs_test
