// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/mem/protected_stream.hh"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "core/endian.hh"
#include "core/mem/function_memory.hh"
#include "core/mem/guard.hh"
#include "core/mem/integrity.hh"

namespace ohca::core {

namespace {

constexpr size_t kStepSize = 4096; // bytes that are in the first level cache on their way
constexpr uint16_t kAppTagEscape = 0xffff;
constexpr uint32_t kRefTagEscape = 0xffffffff;

// Bits of a field of which check_mask names the bytes; bit 7 is the first byte of the tuple.
constexpr uint32_t field_mask(uint8_t check_mask, unsigned first_byte, unsigned bytes)
{
	uint32_t mask = 0;
	for (unsigned i = 0; i < bytes; i++)
		mask = mask << 8 | (check_mask >> (7 - first_byte - i) & 1 ? 0xff : 0);
	return mask;
}

bool is_escaped(const SignatureDomain &domain, uint16_t app_tag, uint32_t ref_tag)
{
	const bool by_app_tag = domain.flags & OHCA_SIGNATURE_APP_ESCAPE;
	const bool by_ref_tag = domain.flags & OHCA_SIGNATURE_REF_ESCAPE;
	return (by_app_tag || by_ref_tag) && (!by_app_tag || app_tag == kAppTagEscape) &&
	       (!by_ref_tag || ref_tag == kRefTagEscape);
}

uint32_t expected_ref_tag(const SignatureDomain &domain, uint64_t index)
{
	return domain.flags & OHCA_SIGNATURE_REF_INCREMENT ? domain.ref_tag + static_cast<uint32_t>(index)
							    : domain.ref_tag;
}

bool has_same_guard(const SignatureDomain &one, const SignatureDomain &other)
{
	return one.guard_type == other.guard_type && one.guard_seed == other.guard_seed;
}

uint16_t update_guard(const SignatureDomain &domain, uint16_t guard, uint32_t offset, std::span<const std::byte> bytes)
{
	return domain.guard_type == OHCA_GUARD_CRC ? update_crc_t10dif(guard, bytes)
						   : update_ip_sum(guard, bytes, offset % 2 != 0);
}

} // namespace

ProtectedStream::ProtectedStream(FunctionMemory &memory, const MkeyContext &mkey)
	: memory_(memory), mkey_(mkey), integrity_(integrity_context(memory.context(), mkey))
{
}

ProtectedStream::Position ProtectedStream::locate(uint64_t at) const
{
	const uint32_t stride = integrity_.interval + (is_protected(integrity_.wire) ? kTupleSize : 0);
	const uint64_t index = at / stride;
	const auto offset = static_cast<uint32_t>(at - index * stride);
	return {index, offset, (offset < integrity_.interval ? integrity_.interval : stride) - offset};
}

bool ProtectedStream::has_tuples_among_data() const
{
	return is_protected(integrity_.memory) && integrity_.protection.page_count == 0;
}

uint64_t ProtectedStream::data_offset(uint64_t index, uint32_t offset) const
{
	return index * (integrity_.interval + (has_tuples_among_data() ? kTupleSize : 0)) + offset;
}

bool ProtectedStream::read(uint64_t at, std::span<std::byte> to)
{
	while (!to.empty()) {
		const Position position = locate(at);
		const auto piece = to.first(std::min<size_t>(to.size(), position.rest));
		if (!(position.offset < integrity_.interval ? read_data(position, piece) : read_tuple(position, piece)))
			return false;
		at += piece.size();
		to = to.subspan(piece.size());
	}
	return true;
}

bool ProtectedStream::write(uint64_t at, std::span<const std::byte> from)
{
	while (!from.empty()) {
		const Position position = locate(at);
		const auto piece = from.first(std::min<size_t>(from.size(), position.rest));
		if (!(position.offset < integrity_.interval ? write_data(position, piece) : write_tuple(position, piece)))
			return false;
		at += piece.size();
		from = from.subspan(piece.size());
	}
	return true;
}

bool ProtectedStream::read_data(Position position, std::span<std::byte> to)
{
	if (!memory_.read(mkey_.pages, data_offset(position.index, position.offset), to.data(), to.size()) ||
	    !advance_guard(position.index, position.offset, to))
		return false;
	if (to.size() < position.rest || is_protected(integrity_.wire))
		return true;
	// Its tuple stays behind.
	Tuple tuple;
	return load_tuple(position.index, tuple) && check(integrity_.memory, position.index, tuple);
}

bool ProtectedStream::write_data(Position position, std::span<const std::byte> from)
{
	if (!memory_.write(mkey_.pages, data_offset(position.index, position.offset), from.data(), from.size()) ||
	    !advance_guard(position.index, position.offset, from))
		return false;
	if (from.size() < position.rest || is_protected(integrity_.wire))
		return true;
	return store_tuple(position.index, generate(integrity_.memory, position.index));
}

bool ProtectedStream::read_tuple(Position position, std::span<std::byte> to)
{
	if (!seek_guard(position.index, integrity_.interval))
		return false;
	Tuple tuple;
	if (!is_protected(integrity_.memory)) {
		tuple = generate(integrity_.wire, position.index);
	} else {
		if (!load_tuple(position.index, tuple) || !check(integrity_.memory, position.index, tuple))
			return false;
		tuple = convert(integrity_.wire, integrity_.memory, position.index, tuple);
	}
	const struct ohca_t10_tuple wire = {to_be(tuple.guard), to_be(tuple.app_tag), to_be(tuple.ref_tag)};
	const auto bytes = std::as_bytes(std::span(&wire, 1));
	std::ranges::copy(bytes.subspan(position.offset - integrity_.interval, to.size()), to.begin());
	return true;
}

bool ProtectedStream::write_tuple(Position position, std::span<const std::byte> from)
{
	std::memcpy(integrity_.tuple + (position.offset - integrity_.interval), from.data(), from.size());
	if (from.size() < position.rest)
		return true;
	struct ohca_t10_tuple wire;
	std::memcpy(&wire, integrity_.tuple, sizeof(wire));
	const Tuple tuple = {from_be(wire.guard), from_be(wire.app_tag), from_be(wire.ref_tag)};
	if (!seek_guard(position.index, integrity_.interval) || !check(integrity_.wire, position.index, tuple))
		return false;
	return !is_protected(integrity_.memory) ||
	       store_tuple(position.index, convert(integrity_.memory, integrity_.wire, position.index, tuple));
}

bool ProtectedStream::load_tuple(uint64_t index, Tuple &tuple)
{
	struct ohca_t10_tuple bytes;
	const bool loaded = has_tuples_among_data()
				    ? memory_.read(mkey_.pages, data_offset(index, integrity_.interval), &bytes, sizeof(bytes))
				    : memory_.read(integrity_.protection, index * kTupleSize, &bytes, sizeof(bytes));
	if (loaded)
		tuple = {from_be(bytes.guard), from_be(bytes.app_tag), from_be(bytes.ref_tag)};
	return loaded;
}

bool ProtectedStream::store_tuple(uint64_t index, const Tuple &tuple)
{
	const struct ohca_t10_tuple bytes = {to_be(tuple.guard), to_be(tuple.app_tag), to_be(tuple.ref_tag)};
	if (has_tuples_among_data())
		return memory_.write(mkey_.pages, data_offset(index, integrity_.interval), &bytes, sizeof(bytes));
	return memory_.write(integrity_.protection, index * kTupleSize, &bytes, sizeof(bytes));
}

// Makes the guards those of the first `offset` bytes of the interval.
bool ProtectedStream::seek_guard(uint64_t index, uint32_t offset)
{
	const uint64_t start = index * integrity_.interval;
	if (offset > 0 && integrity_.guard_end == start + offset)
		return true;
	integrity_.memory_guard = integrity_.memory.guard_seed;
	integrity_.wire_guard = integrity_.wire.guard_seed;
	integrity_.guard_end = UINT64_MAX; // until it is true again
	std::array<std::byte, kStepSize> bytes;
	for (uint32_t at = 0; at < offset;) {
		const auto piece = std::span(bytes).first(std::min<size_t>(bytes.size(), offset - at));
		if (!memory_.read(mkey_.pages, data_offset(index, at), piece.data(), piece.size()))
			return false;
		feed_guard(at, piece);
		at += static_cast<uint32_t>(piece.size());
	}
	integrity_.guard_end = start + offset;
	return true;
}

// Bytes of an interval, from `offset` on. Of two guards that are the same only one is computed.
void ProtectedStream::feed_guard(uint32_t offset, std::span<const std::byte> bytes)
{
	const SignatureDomain &memory = integrity_.memory;
	const SignatureDomain &wire = integrity_.wire;

	if (is_protected(memory))
		integrity_.memory_guard = update_guard(memory, integrity_.memory_guard, offset, bytes);
	if (is_protected(memory) && is_protected(wire) && has_same_guard(memory, wire))
		integrity_.wire_guard = integrity_.memory_guard;
	else if (is_protected(wire))
		integrity_.wire_guard = update_guard(wire, integrity_.wire_guard, offset, bytes);
}

// `bytes` go on at `offset` of the interval.
bool ProtectedStream::advance_guard(uint64_t index, uint32_t offset, std::span<const std::byte> bytes)
{
	if (!seek_guard(index, offset))
		return false;
	feed_guard(offset, bytes);
	integrity_.guard_end += bytes.size();
	return true;
}

uint16_t ProtectedStream::guard(const SignatureDomain &domain) const
{
	const uint16_t value = &domain == &integrity_.memory ? integrity_.memory_guard : integrity_.wire_guard;
	return domain.guard_type == OHCA_GUARD_CRC ? value : static_cast<uint16_t>(~value);
}

// False: there is something to report, and no way to.
bool ProtectedStream::check(const SignatureDomain &domain, uint64_t index, const Tuple &tuple)
{
	if (is_escaped(domain, tuple.app_tag, tuple.ref_tag))
		return true;
	const uint8_t mask = integrity_.check_mask;
	const Tuple expected = generate(domain, index);

	if ((tuple.guard ^ expected.guard) & field_mask(mask, offsetof(struct ohca_t10_tuple, guard), 2))
		return report(OHCA_INTEGRITY_BAD_GUARD, index, expected.guard, tuple.guard);
	if ((tuple.ref_tag ^ expected.ref_tag) & field_mask(mask, offsetof(struct ohca_t10_tuple, ref_tag), 4))
		return report(OHCA_INTEGRITY_BAD_REF_TAG, index, expected.ref_tag, tuple.ref_tag);
	if ((tuple.app_tag ^ expected.app_tag) & domain.app_tag_mask &
	    field_mask(mask, offsetof(struct ohca_t10_tuple, app_tag), 2))
		return report(OHCA_INTEGRITY_BAD_APP_TAG, index, expected.app_tag, tuple.app_tag);
	return true;
}

bool ProtectedStream::report(uint32_t error, uint64_t index, uint32_t expected, uint32_t actual)
{
	if (integrity_.failed)
		return true;
	const struct ohca_integrity_status status = {to_le(error), to_le(integrity_.key), to_le(expected), to_le(actual),
						     to_le(index)};
	if (!memory_.dma().write(integrity_.status_address, std::as_bytes(std::span(&status, 1))))
		return false;
	integrity_.failed = 1;
	return true;
}

ProtectedStream::Tuple ProtectedStream::generate(const SignatureDomain &domain, uint64_t index) const
{
	return {guard(domain), domain.app_tag, expected_ref_tag(domain, index)};
}

// A field of which both domains expect the same goes through as it is, right or wrong, so that an
// error stays visible to whoever checks next. So does a tuple that is escaped.
ProtectedStream::Tuple ProtectedStream::convert(const SignatureDomain &to, const SignatureDomain &from, uint64_t index,
						const Tuple &tuple) const
{
	if (is_escaped(from, tuple.app_tag, tuple.ref_tag))
		return tuple;
	Tuple converted = generate(to, index);
	if (has_same_guard(to, from))
		converted.guard = tuple.guard;
	if (to.app_tag == from.app_tag)
		converted.app_tag = tuple.app_tag;
	if (expected_ref_tag(to, index) == expected_ref_tag(from, index))
		converted.ref_tag = tuple.ref_tag;
	return converted;
}

namespace {

ProtectedStream stream_of(const SgRange &range)
{
	return {*range.memory, *range.mkey};
}

} // namespace

CopyResult copy_to_protected(SgCursor &destination, SgCursor &source, uint64_t length, uint64_t &done)
{
	const SgRange &range = destination.ranges[destination.index];
	std::array<std::byte, kStepSize> bytes;
	done = std::min({length, range.length - destination.offset, uint64_t{kStepSize}});
	const SgRange step = {nullptr, nullptr, 0, bytes.data(), done};
	SgCursor through = {&step, 1, 0, 0};

	const CopyResult result = copy(through, source, done);
	if (result != CopyResult::kOk)
		return result;
	const uint64_t at = range.address + destination.offset - range.mkey->start;
	if (!stream_of(range).write(at, std::span(bytes).first(done)))
		return CopyResult::kDestinationFault;
	destination.skip(done);
	return CopyResult::kOk;
}

CopyResult copy_from_protected(SgCursor &destination, SgCursor &source, uint64_t length, uint64_t &done)
{
	const SgRange &range = source.ranges[source.index];
	std::array<std::byte, kStepSize> bytes;
	done = std::min({length, range.length - source.offset, uint64_t{kStepSize}});
	const uint64_t at = range.address + source.offset - range.mkey->start;

	if (!stream_of(range).read(at, std::span(bytes).first(done)))
		return CopyResult::kSourceFault;
	const SgRange step = {nullptr, nullptr, 0, bytes.data(), done};
	SgCursor through = {&step, 1, 0, 0};
	const CopyResult result = copy(destination, through, done);
	source.skip(done);
	return result;
}

} // namespace ohca::core
