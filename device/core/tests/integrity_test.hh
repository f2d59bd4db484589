// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// An INTEGRITY key over data and tuples that are scattered over memory in small pieces.
#pragma once

#include <algorithm>
#include <random>
#include <span>

#include "core/mem/integrity.hh"
#include "core/mem/protected_stream.hh"
#include "core/tests/command_test.hh"
#include "core/tests/protection_model.hh"

namespace ohca::core::test {

using Bytes = std::vector<uint8_t>;

struct IntegrityAttributes {
	uint32_t interval = 512;
	uint32_t count = 7; // intervals
	ohca_signature_domain memory{};
	ohca_signature_domain wire{};
	uint8_t check_mask = 0xff;
	bool among_data = false; // tuples in memory follow their interval

	bool has_memory() const { return memory.type != OHCA_SIGNATURE_NONE; }
	bool has_wire() const { return wire.type != OHCA_SIGNATURE_NONE; }
};

// Bytes of memory in any order.
struct Scattered {
	std::vector<uint64_t> addresses; // of each byte
	std::vector<ohca_block> blocks;
};

struct IntegrityTest : CommandTest {
	static constexpr uint64_t kStart = 0x5000'0000;

	IntegrityTest()
	{
		pd = host.create_pd();
		FakeCq cq = host.create_cq();
		FakeQpOptions options;
		options.pd = pd;
		options.send_cq = options.recv_cq = cq.cqn;
		qp = host.create_qp(options);
		list = host.allocate(0x10000);
		status_address = host.allocate(64);
		ohca_cmd_create_mkey_in in{};
		in.pd = pd;
		in.type = OHCA_MKEY_TYPE_INTEGRITY;
		in.list_entry_max = kEntries;
		ohca_cmd_create_mkey_out out;
		FakeFunction::must(host.command(OHCA_CMD_CREATE_MKEY, in, out));
		key = out.key;
	}
	FunctionMemory &memory() { return host.function().memory(); }
	MkeyContext &mkey() { return *host.function().context().mkey(key >> 8); }
	ohca_integrity_status &status() { return *reinterpret_cast<ohca_integrity_status *>(host.host(status_address)); }

	// Pieces of 1 .. piece_max bytes with gaps, so that intervals and tuples are cut anywhere.
	Scattered scatter(uint64_t bytes, uint64_t piece_max)
	{
		Scattered result;
		uint64_t at = host.allocate(bytes * 3 + 0x1000);
		while (bytes) {
			const uint64_t length = std::min<uint64_t>(bytes, 1 + random() % piece_max);
			result.blocks.push_back({at, length});
			for (uint64_t i = 0; i < length; i++)
				result.addresses.push_back(at + i);
			at += length + random() % 3;
			bytes -= length;
		}
		std::ranges::shuffle(result.blocks, random);
		result.addresses.clear();
		for (const ohca_block &block : result.blocks)
			for (uint64_t i = 0; i < block.length; i++)
				result.addresses.push_back(block.address + i);
		return result;
	}
	void store(const Scattered &where, uint64_t offset, std::span<const uint8_t> bytes)
	{
		for (size_t i = 0; i < bytes.size(); i++)
			*host.host(where.addresses[offset + i]) = static_cast<std::byte>(bytes[i]);
	}
	Bytes load(const Scattered &where, uint64_t offset, uint64_t length)
	{
		Bytes bytes;
		for (uint64_t i = 0; i < length; i++)
			bytes.push_back(static_cast<uint8_t>(*host.host(where.addresses[offset + i])));
		return bytes;
	}
	Bytes noise(size_t length)
	{
		Bytes bytes(length);
		for (uint8_t &byte : bytes)
			byte = static_cast<uint8_t>(random());
		return bytes;
	}

	ohca_wqe_register_integrity request_of(const IntegrityAttributes &given)
	{
		attributes = given;
		const uint64_t stride = given.interval + (given.among_data ? kTupleSize : 0);
		data = scatter(given.count * stride, 300);
		tuples = given.has_memory() && !given.among_data ? scatter(given.count * kTupleSize, 11) : Scattered{};
		std::byte *to = host.host(list);
		for (const Scattered *blocks : {&data, &tuples}) {
			std::ranges::copy(std::as_bytes(std::span(blocks->blocks)), to);
			to += blocks->blocks.size() * sizeof(ohca_block);
		}
		status() = {};
		ohca_wqe_register_integrity request{};
		request.start = kStart;
		request.list_address = list;
		request.status_address = status_address;
		request.data_entry_count = static_cast<uint32_t>(data.blocks.size());
		request.protection_entry_count = static_cast<uint32_t>(tuples.blocks.size());
		request.access = OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_REMOTE_WRITE;
		request.interval = given.has_memory() || given.has_wire() ? given.interval : 0;
		request.check_mask = given.check_mask;
		request.memory = given.memory;
		request.wire = given.wire;
		return request;
	}
	uint32_t reg(const ohca_wqe_register_integrity &request)
	{
		return register_integrity(host.function(), pd, key, request);
	}
	// Makes the key valid anew, with another consumer key.
	void open(const IntegrityAttributes &given)
	{
		if (!(mkey().flags & kMkeyFlagFree))
			FakeFunction::must(host.destroy(OHCA_CMD_INVALIDATE_MKEY, key));
		key = (key & ~0xffu) | ((key + 1) & 0xff);
		ASSERT_EQ(reg(request_of(given)), 0u);
	}

	// --- the memory domain ---
	uint64_t data_at(uint64_t index) const
	{
		return index * (attributes.interval + (attributes.among_data ? kTupleSize : 0));
	}
	Bytes interval(uint64_t index) { return load(data, data_at(index), attributes.interval); }
	Bytes tuple(uint64_t index)
	{
		return attributes.among_data ? load(data, data_at(index) + attributes.interval, kTupleSize)
					     : load(tuples, index * kTupleSize, kTupleSize);
	}
	void set_tuple(uint64_t index, std::span<const uint8_t> bytes)
	{
		if (attributes.among_data)
			store(data, data_at(index) + attributes.interval, bytes);
		else
			store(tuples, index * kTupleSize, bytes);
	}
	// Data, and good tuples if the domain has any.
	void fill_memory()
	{
		for (uint64_t i = 0; i < attributes.count; i++) {
			store(data, data_at(i), noise(attributes.interval));
			if (attributes.has_memory())
				set_tuple(i, model_tuple(attributes.memory, i, interval(i)));
		}
	}

	// --- the wire domain ---
	uint64_t wire_stride() const { return attributes.interval + (attributes.has_wire() ? kTupleSize : 0); }
	uint64_t wire_length() const { return attributes.count * wire_stride(); }
	Bytes good_wire()
	{
		Bytes wire;
		for (uint64_t i = 0; i < attributes.count; i++) {
			const Bytes block = noise(attributes.interval);
			wire.insert(wire.end(), block.begin(), block.end());
			if (attributes.has_wire())
				std::ranges::copy(model_tuple(attributes.wire, i, block), std::back_inserter(wire));
		}
		return wire;
	}
	std::span<uint8_t> wire_tuple(Bytes &wire, uint64_t index)
	{
		return std::span(wire).subspan(index * wire_stride() + attributes.interval, kTupleSize);
	}
	CopyResult move(uint64_t at, std::span<uint8_t> bytes, bool to_memory)
	{
		const SgRange there = {&memory(), &mkey(), kStart + at, nullptr, bytes.size()};
		const SgRange here = {nullptr, nullptr, 0, std::as_writable_bytes(bytes).data(), bytes.size()};
		SgCursor key_cursor = {&there, 1, 0, 0};
		SgCursor plain = {&here, 1, 0, 0};
		return to_memory ? copy(key_cursor, plain, bytes.size()) : copy(plain, key_cursor, bytes.size());
	}
	// In pieces of 1 .. piece_max bytes.
	void move_in_pieces(Bytes &wire, bool to_memory, uint64_t piece_max)
	{
		for (uint64_t at = 0; at < wire.size();) {
			const uint64_t length = std::min<uint64_t>(1 + random() % piece_max, wire.size() - at);
			ASSERT_EQ(move(at, std::span(wire).subspan(at, length), to_memory), CopyResult::kOk);
			at += length;
		}
	}
	Bytes read_wire(uint64_t piece_max = 100'000)
	{
		Bytes wire(wire_length());
		move_in_pieces(wire, false, piece_max);
		return wire;
	}
	void write_wire(Bytes wire, uint64_t piece_max = 100'000) { move_in_pieces(wire, true, piece_max); }

	void expect_status(uint32_t error, uint64_t index = 0, uint32_t expected = 0, uint32_t actual = 0)
	{
		EXPECT_EQ(status().error, error);
		EXPECT_EQ(status().interval_index, index);
		EXPECT_EQ(status().expected, expected);
		EXPECT_EQ(status().actual, actual);
		EXPECT_EQ(status().key, error ? key : 0);
	}

	static constexpr uint32_t kEntries = 4096;
	std::mt19937_64 random{17};
	uint32_t pd = 0;
	FakeQp qp;
	uint32_t key = 0;
	uint64_t list = 0;
	uint64_t status_address = 0;
	IntegrityAttributes attributes;
	Scattered data;
	Scattered tuples;
};

} // namespace ohca::core::test
