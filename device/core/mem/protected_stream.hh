// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The address space of an INTEGRITY key: the bytes of its wire domain, from and
// to memory.
//
// The wire domain is the data in intervals, each followed by a tuple if the
// domain has a signature. A transfer may begin and end anywhere, inside a tuple
// too, since messages are cut at the path MTU. The guard of an interval whose
// transfer goes on is kept in the IntegrityContext; if a retransmission begins in
// the middle of one, what is before is read again.
//
// What comes from a domain with a signature is checked (check_mask, escapes);
// what goes to one gets tuples: those of the other domain as far as the
// attributes of both agree, the rest of a tuple is generated. A transfer with a
// wrong tuple goes on; the first one is reported (struct ohca_integrity_status).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/context.hh"
#include "core/mem/sg_list.hh"

namespace ohca::core {

class FunctionMemory;

class ProtectedStream {
public:
	// A key with kMkeyFlagIntegrity.
	ProtectedStream(FunctionMemory &memory, const MkeyContext &mkey);

	// [at, at + size) of the key's range. False: memory is not reachable.
	bool read(uint64_t at, std::span<std::byte> to);
	// In ascending order: a tuple is looked at when its last byte has come.
	bool write(uint64_t at, std::span<const std::byte> from);

private:
	struct Tuple {
		uint16_t guard;
		uint16_t app_tag;
		uint32_t ref_tag;
	};
	struct Position {
		uint64_t index;  // of the interval
		uint32_t offset; // in it, from `interval` on: in its tuple
		uint32_t rest;   // bytes until the interval, or the tuple, ends
	};

	Position locate(uint64_t at) const;
	uint64_t data_offset(uint64_t index, uint32_t offset) const;
	bool has_tuples_among_data() const;

	bool read_data(Position position, std::span<std::byte> to);
	bool write_data(Position position, std::span<const std::byte> from);
	bool read_tuple(Position position, std::span<std::byte> to);
	bool write_tuple(Position position, std::span<const std::byte> from);
	bool load_tuple(uint64_t index, Tuple &tuple);
	bool store_tuple(uint64_t index, const Tuple &tuple);

	bool seek_guard(uint64_t index, uint32_t offset);
	void feed_guard(uint32_t offset, std::span<const std::byte> bytes);
	bool advance_guard(uint64_t index, uint32_t offset, std::span<const std::byte> bytes);
	// Here and below `domain` is one of integrity_'s.
	uint16_t guard(const SignatureDomain &domain) const;

	bool check(const SignatureDomain &domain, uint64_t index, const Tuple &tuple);
	bool report(uint32_t error, uint64_t index, uint32_t expected, uint32_t actual);
	Tuple generate(const SignatureDomain &domain, uint64_t index) const;
	Tuple convert(const SignatureDomain &to, const SignatureDomain &from, uint64_t index, const Tuple &tuple) const;

	FunctionMemory &memory_;
	const MkeyContext &mkey_;
	IntegrityContext &integrity_;
};

// One step of copy() where the front of a cursor is such a key: some of `length` bytes, which
// `done` gets. Both cursors advance.
CopyResult copy_to_protected(SgCursor &destination, SgCursor &source, uint64_t length, uint64_t &done);
CopyResult copy_from_protected(SgCursor &destination, SgCursor &source, uint64_t length, uint64_t &done);

} // namespace ohca::core
