// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/dma_map.hh"

#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <sys/stat.h>

#include "host/protocol.hh"

namespace ohca::host {

FileId BackingFiles::acquire(UniqueFd fd, bool &added)
{
	added = false;
	struct stat status;
	if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
		return kNoFile;
	const bool writable = (fcntl(fd.get(), F_GETFL) & O_ACCMODE) == O_RDWR;
	for (const auto &[id, file] : files_) {
		if (file.device == status.st_dev && file.inode == status.st_ino && file.writable == writable)
			return id;
	}
	added = true;
	const FileId id = next_id_++;
	files_.emplace(id, File{std::move(fd), status.st_dev, status.st_ino, writable, 0});
	return id;
}

void BackingFiles::reference(FileId id)
{
	const auto found = files_.find(id);
	if (found != files_.end())
		found->second.ranges++;
}

void BackingFiles::release(FileId id)
{
	const auto found = files_.find(id);
	if (found != files_.end())
		found->second.ranges--;
}

std::vector<FileId> BackingFiles::collect(size_t keep)
{
	std::vector<FileId> unused;
	for (const auto &[id, file] : files_) {
		if (file.ranges == 0)
			unused.push_back(id);
	}
	unused.resize(unused.size() > keep ? unused.size() - keep : 0);
	for (const FileId id : unused)
		files_.erase(id);
	return unused;
}

bool BackingFiles::contains(FileId id, uint64_t offset, uint64_t size) const
{
	const auto found = files_.find(id);
	struct stat status;
	if (found == files_.end() || fstat(found->second.fd.get(), &status) != 0)
		return false;
	const auto length = static_cast<uint64_t>(status.st_size);
	return offset <= length && size <= length - offset;
}

int DmaMap::map(const DmaRange &range)
{
	if (ranges_.size() >= kMaxDmaMaps)
		return ENOSPC;
	const auto next = ranges_.lower_bound(range.address);
	if (next != ranges_.end() && next->first - range.address < range.size)
		return EEXIST;
	if (next != ranges_.begin()) {
		const DmaRange &before = std::prev(next)->second;
		if (range.address - before.address < before.size)
			return EEXIST;
	}
	ranges_.emplace(range.address, range);
	files_.reference(range.file);
	return 0;
}

// Makes `at` a border between ranges.
void DmaMap::cut(uint64_t at)
{
	const auto next = ranges_.lower_bound(at);
	if (next == ranges_.begin())
		return;
	DmaRange &before = std::prev(next)->second;
	const uint64_t offset = at - before.address;
	if (offset >= before.size)
		return;
	DmaRange tail = before;
	tail.address = at;
	tail.size -= offset;
	tail.file_offset += offset;
	before.size = offset;
	ranges_.emplace(at, tail);
	files_.reference(tail.file);
}

void DmaMap::unmap(uint64_t address, uint64_t size)
{
	const uint64_t last = address + (size - 1);
	cut(address);
	if (last != UINT64_MAX)
		cut(last + 1);
	auto range = ranges_.lower_bound(address);
	while (range != ranges_.end() && range->first <= last) {
		files_.release(range->second.file);
		range = ranges_.erase(range);
	}
}

void DmaMap::clear()
{
	for (const auto &[address, range] : ranges_)
		files_.release(range.file);
	ranges_.clear();
}

} // namespace ohca::host
