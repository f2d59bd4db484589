// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The broker's record of what the client has mapped for DMA: what a new engine
// starts from.  The broker itself never touches the memory.
//
// Guest RAM is few files and, behind a vIOMMU, tens of thousands of ranges.  So
// a file is known by device and inode, kept open once and mapped once by the
// engine; a range only says where in which file it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <sys/types.h>
#include <vector>

#include "base/unique_fd.hh"

namespace ohca::host {

using FileId = uint32_t;
constexpr FileId kNoFile = 0; // the range is reached in band

// Files behind the DMA maps of all functions.
class BackingFiles {
public:
	struct File {
		UniqueFd fd;
		dev_t device = 0;
		ino_t inode = 0;
		bool writable = false;
		uint64_t ranges = 0;   // that use it
	};

	// The id of the file; `added` if it was not known. kNoFile if it cannot be mapped,
	// that is, if it is not a regular file.
	FileId acquire(UniqueFd fd, bool &added);
	void reference(FileId id);
	void release(FileId id);
	// Closes files without ranges, sparing the `keep` youngest: while a guest boots, all its RAM
	// is unmapped and mapped again several times.
	std::vector<FileId> collect(size_t keep);

	const std::map<FileId, File> &files() const { return files_; }
	// Whether [offset, offset + size) is in the file as it is now.
	bool contains(FileId id, uint64_t offset, uint64_t size) const;

private:
	std::map<FileId, File> files_;
	FileId next_id_ = 1;
};

struct DmaRange {
	uint64_t address = 0;
	uint64_t size = 0;
	uint64_t file_offset = 0;
	FileId file = kNoFile;
	bool writable = false;
};

class DmaMap {
public:
	explicit DmaMap(BackingFiles &files) : files_(files) {}

	// 0 or errno. The range is not empty and does not wrap.
	int map(const DmaRange &range);
	// Removes [address, address + size); ranges that stick out are cut.
	void unmap(uint64_t address, uint64_t size);
	void clear();

	const std::map<uint64_t, DmaRange> &ranges() const { return ranges_; }

private:
	void cut(uint64_t at);

	BackingFiles &files_;
	std::map<uint64_t, DmaRange> ranges_; // by address; disjoint
};

} // namespace ohca::host
