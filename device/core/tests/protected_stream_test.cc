// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// mem/protected_stream.cc: what becomes of data and tuples on their way.
#include "core/tests/integrity_test.hh"

namespace ohca::core::test {
namespace {

constexpr uint8_t kGuardTypes[] = {OHCA_GUARD_CRC, OHCA_GUARD_IP_CHECKSUM};

struct ProtectedStreamTest : IntegrityTest {
	// The field that starts at `byte` of a tuple is not what it should be.
	static void spoil(std::span<uint8_t> tuple, size_t byte) { tuple[byte] ^= 0x10; }
	void spoil_memory(uint64_t index, size_t byte)
	{
		Bytes bytes = tuple(index);
		spoil(bytes, byte);
		set_tuple(index, bytes);
	}
	static uint32_t guard_of(std::span<const uint8_t> tuple) { return tuple[0] * 256u + tuple[1]; }
	Bytes data_of(const Bytes &wire, uint64_t index)
	{
		const auto from = wire.begin() + static_cast<ptrdiff_t>(index * wire_stride());
		return {from, from + attributes.interval};
	}
	void expect_same_data(const Bytes &wire)
	{
		for (uint64_t i = 0; i < attributes.count; i++)
			ASSERT_EQ(interval(i), data_of(wire, i)) << i;
	}
};

IntegrityAttributes insert_on_wire()
{
	IntegrityAttributes attributes;
	attributes.wire = t10_dif();
	return attributes;
}

IntegrityAttributes protected_memory()
{
	IntegrityAttributes attributes;
	attributes.memory = t10_dif();
	return attributes;
}

IntegrityAttributes pass()
{
	IntegrityAttributes attributes = protected_memory();
	attributes.wire = attributes.memory;
	return attributes;
}

// OHCA-INTEGRITY-D2 OHCA-INTEGRITY-D3 OHCA-INTEGRITY-D4
TEST_F(ProtectedStreamTest, EveryDirectionAndInterval)
{
	for (uint32_t interval_bytes : {512u, 520u, 528u, 4096u, 4104u, 4160u, 65528u}) {
		for (uint8_t guard_type : kGuardTypes) {
			for (int way = 0; way < 5; way++) {
				IntegrityAttributes given;
				given.interval = interval_bytes;
				given.count = interval_bytes > 5000 ? 2 : 7;
				if (way != 1)
					given.memory = t10_dif(guard_type);
				if (way != 2 && way != 4)
					given.wire = t10_dif(guard_type);
				given.among_data = way >= 3;
				open(given);
				fill_memory();
				Bytes wire = read_wire(700);
				expect_same_data(wire);
				for (uint64_t i = 0; given.has_wire() && i < given.count; i++)
					EXPECT_TRUE(std::ranges::equal(wire_tuple(wire, i), model_tuple(given.wire, i, interval(i))));
				expect_status(OHCA_INTEGRITY_NONE);

				open(given);
				wire = good_wire();
				write_wire(wire, 700);
				expect_same_data(wire);
				for (uint64_t i = 0; given.has_memory() && i < given.count; i++)
					EXPECT_EQ(tuple(i), model_tuple(given.memory, i, interval(i)));
				expect_status(OHCA_INTEGRITY_NONE);
			}
		}
	}
}

// OHCA-INTEGRITY-D4
TEST_F(ProtectedStreamTest, ConvertsBetweenDomainsThatDiffer)
{
	IntegrityAttributes given = pass();
	given.wire.guard_type = OHCA_GUARD_IP_CHECKSUM;
	given.wire.app_tag = 0x4321;
	given.wire.flags = 0;
	given.wire.ref_tag = 77;
	open(given);
	fill_memory();
	Bytes wire = read_wire(100);
	for (uint64_t i = 0; i < given.count; i++)
		EXPECT_TRUE(std::ranges::equal(wire_tuple(wire, i), model_tuple(given.wire, i, interval(i))));
	open(given);
	write_wire(wire = good_wire(), 100);
	for (uint64_t i = 0; i < given.count; i++)
		EXPECT_EQ(tuple(i), model_tuple(given.memory, i, interval(i)));
	expect_status(OHCA_INTEGRITY_NONE);
}

// OHCA-INTEGRITY-D3: a seed is where the guard of an interval begins.
TEST_F(ProtectedStreamTest, SeedsOfGuards)
{
	for (uint8_t guard_type : kGuardTypes) {
		IntegrityAttributes given = pass();
		given.memory.guard_type = given.wire.guard_type = guard_type;
		given.wire.guard_seed = 0xffff;
		open(given);
		fill_memory();
		Bytes wire = read_wire(100);
		for (uint64_t i = 0; i < given.count; i++)
			EXPECT_TRUE(std::ranges::equal(wire_tuple(wire, i), model_tuple(given.wire, i, interval(i))));
		expect_status(OHCA_INTEGRITY_NONE);
	}
}

// OHCA-INTEGRITY-D5 OHCA-INTEGRITY-D6: the first wrong tuple is reported, and everything has been moved.
TEST_F(ProtectedStreamTest, ReportsWhatIsWrongInMemory)
{
	for (bool with_wire : {false, true}) {
		for (auto [byte, error] : {std::pair{1, OHCA_INTEGRITY_BAD_GUARD}, {3, OHCA_INTEGRITY_BAD_APP_TAG},
					   {7, OHCA_INTEGRITY_BAD_REF_TAG}}) {
			IntegrityAttributes given = with_wire ? pass() : protected_memory();
			open(given);
			fill_memory();
			spoil_memory(3, static_cast<size_t>(byte));
			spoil_memory(5, 0);
			Bytes wire = read_wire(200);
			expect_same_data(wire);
			const uint32_t guard = guard_of(model_tuple(given.memory, 3, interval(3)));
			if (error == OHCA_INTEGRITY_BAD_GUARD)
				expect_status(OHCA_INTEGRITY_BAD_GUARD, 3, guard, guard ^ 0x10);
			else if (error == OHCA_INTEGRITY_BAD_APP_TAG)
				expect_status(OHCA_INTEGRITY_BAD_APP_TAG, 3, 0x1234, 0x1224);
			else
				expect_status(OHCA_INTEGRITY_BAD_REF_TAG, 3, 1, 0x11);
			// What is wrong stays visible to whoever checks next.
			if (with_wire) {
				EXPECT_TRUE(std::ranges::equal(wire_tuple(wire, 3), tuple(3)));
			}
		}
	}
}

// OHCA-INTEGRITY-D5 OHCA-INTEGRITY-D6
TEST_F(ProtectedStreamTest, ReportsWhatIsWrongOnTheWire)
{
	for (bool with_memory : {false, true}) {
		for (auto [byte, error] : {std::pair{0, OHCA_INTEGRITY_BAD_GUARD}, {2, OHCA_INTEGRITY_BAD_APP_TAG},
					   {4, OHCA_INTEGRITY_BAD_REF_TAG}}) {
			IntegrityAttributes given = with_memory ? pass() : insert_on_wire();
			open(given);
			Bytes wire = good_wire();
			spoil(wire_tuple(wire, 6), static_cast<size_t>(byte));
			write_wire(wire, 200);
			expect_same_data(wire);
			const uint32_t guard = guard_of(model_tuple(given.wire, 6, interval(6)));
			if (error == OHCA_INTEGRITY_BAD_GUARD)
				expect_status(OHCA_INTEGRITY_BAD_GUARD, 6, guard, guard ^ 0x1000);
			else if (error == OHCA_INTEGRITY_BAD_APP_TAG)
				expect_status(OHCA_INTEGRITY_BAD_APP_TAG, 6, 0x1234, 0x0234);
			else
				expect_status(OHCA_INTEGRITY_BAD_REF_TAG, 6, 4, 0x10000004);
			if (with_memory) {
				EXPECT_TRUE(std::ranges::equal(wire_tuple(wire, 6), tuple(6)));
			}
		}
	}
}

// OHCA-INTEGRITY-D5: what goes to a domain is generated, whatever is there before.
TEST_F(ProtectedStreamTest, ChecksTheSourceOnly)
{
	open(protected_memory());
	fill_memory();
	spoil_memory(0, 0);
	write_wire(good_wire());
	expect_status(OHCA_INTEGRITY_NONE);
	EXPECT_EQ(tuple(0), model_tuple(attributes.memory, 0, interval(0)));
}

// OHCA-INTEGRITY-D5: data that has changed is a wrong guard.
TEST_F(ProtectedStreamTest, NoticesChangedData)
{
	open(protected_memory());
	fill_memory();
	Bytes bytes = interval(2);
	bytes[511] ^= 1;
	store(data, data_at(2), bytes);
	const Bytes wire = read_wire();
	expect_status(OHCA_INTEGRITY_BAD_GUARD, 2, guard_of(model_tuple(attributes.memory, 2, bytes)), guard_of(tuple(2)));
	expect_same_data(wire);
}

// OHCA-INTEGRITY-D5: guard before reference tag before application tag.
TEST_F(ProtectedStreamTest, OrderOfTheChecks)
{
	for (auto [mask, error] : {std::pair{0xff, OHCA_INTEGRITY_BAD_GUARD}, {0x3f, OHCA_INTEGRITY_BAD_REF_TAG},
				   {0x30, OHCA_INTEGRITY_BAD_APP_TAG}, {0x00, OHCA_INTEGRITY_NONE}}) {
		IntegrityAttributes given = insert_on_wire();
		given.check_mask = static_cast<uint8_t>(mask);
		open(given);
		Bytes wire = good_wire();
		for (size_t byte = 0; byte < kTupleSize; byte++)
			spoil(wire_tuple(wire, 1), byte);
		write_wire(wire);
		EXPECT_EQ(status().error, static_cast<uint32_t>(error)) << mask;
	}
}

// OHCA-INTEGRITY-D5: each bit of check_mask is a byte of the tuple.
TEST_F(ProtectedStreamTest, ChecksTheBytesOfTheMask)
{
	for (size_t byte = 0; byte < kTupleSize; byte++) {
		for (size_t spoilt = 0; spoilt < kTupleSize; spoilt++) {
			IntegrityAttributes given = insert_on_wire();
			given.check_mask = static_cast<uint8_t>(0x80 >> byte);
			open(given);
			Bytes wire = good_wire();
			spoil(wire_tuple(wire, 4), spoilt);
			write_wire(wire);
			EXPECT_EQ(status().error != OHCA_INTEGRITY_NONE, byte == spoilt) << byte << " " << spoilt;
		}
	}
}

// OHCA-INTEGRITY-D5
TEST_F(ProtectedStreamTest, ApplicationTagHasAMaskOfItsOwn)
{
	for (uint16_t mask : {uint16_t{0x0010}, uint16_t{0xffef}}) {
		IntegrityAttributes given = insert_on_wire();
		given.wire.app_tag_mask = mask;
		open(given);
		Bytes wire = good_wire();
		spoil(wire_tuple(wire, 0), 3); // bit 4
		write_wire(wire);
		EXPECT_EQ(status().error == OHCA_INTEGRITY_BAD_APP_TAG, mask == 0x0010);
	}
}

// OHCA-INTEGRITY-D7
TEST_F(ProtectedStreamTest, Escapes)
{
	for (uint8_t flags = 0; flags <= OHCA_SIGNATURE_FLAGS_ALL; flags++) {
		for (int escape = 0; escape < 4; escape++) {
			IntegrityAttributes given = pass();
			given.memory.flags = given.wire.flags = flags;
			given.memory.ref_tag = given.wire.ref_tag = 0x100;
			given.memory.app_tag = 0; // the domains differ
			open(given);
			Bytes wire = good_wire();
			auto bad = wire_tuple(wire, 2);
			spoil(bad, 0);
			if (escape & 1)
				bad[2] = bad[3] = 0xff;
			if (escape & 2)
				bad[4] = bad[5] = bad[6] = bad[7] = 0xff;
			write_wire(wire, 50);
			const int needed = (flags & OHCA_SIGNATURE_APP_ESCAPE ? 1 : 0) |
					   (flags & OHCA_SIGNATURE_REF_ESCAPE ? 2 : 0);
			const bool escaped = needed && (escape & needed) == needed;
			EXPECT_EQ(status().error, escaped ? OHCA_INTEGRITY_NONE : OHCA_INTEGRITY_BAD_GUARD)
				<< +flags << " " << escape;
			// It stays escaped in the other domain.
			if (escaped) {
				EXPECT_TRUE(std::ranges::equal(bad, tuple(2)));
			} else {
				EXPECT_EQ(tuple(2)[2], 0);
			}
		}
	}
}

// OHCA-INTEGRITY-D8: as a retransmission does, from anywhere; the answer is the same.
TEST_F(ProtectedStreamTest, ReadsAgainFromAnywhere)
{
	for (IntegrityAttributes given : {pass(), insert_on_wire(), protected_memory()}) {
		open(given);
		fill_memory();
		const Bytes wire = read_wire();
		for (int round = 0; round < 300; round++) {
			const uint64_t at = random() % wire.size();
			Bytes part(std::min<uint64_t>(1 + random() % 1500, wire.size() - at));
			ASSERT_EQ(move(at, part, false), CopyResult::kOk);
			EXPECT_TRUE(std::ranges::equal(part, std::span(wire).subspan(at, part.size()))) << at;
		}
		expect_status(OHCA_INTEGRITY_NONE);
	}
}

// OHCA-INTEGRITY-D8: a message that has been cut off anywhere, then a whole one.
TEST_F(ProtectedStreamTest, WritesAnewAfterItWasCut)
{
	for (IntegrityAttributes given : {pass(), insert_on_wire(), protected_memory()}) {
		for (int round = 0; round < 50; round++) {
			open(given);
			Bytes lost = good_wire();
			lost.resize(1 + random() % lost.size());
			write_wire(lost, 300);
			const Bytes wire = good_wire();
			write_wire(wire, 300);
			expect_status(OHCA_INTEGRITY_NONE);
			expect_same_data(wire);
			for (uint64_t i = 0; given.has_memory() && i < given.count; i++)
				ASSERT_EQ(tuple(i), model_tuple(given.memory, i, interval(i)));
		}
	}
}

// OHCA-INTEGRITY-D2: both ends of one copy may be such keys.
TEST_F(ProtectedStreamTest, FromKeyToKey)
{
	open(pass());
	fill_memory();
	struct : IntegrityTest {
		void TestBody() override {}
	} there;
	IntegrityAttributes strip = insert_on_wire();
	there.open(strip);
	const SgRange from = {&memory(), &mkey(), kStart, nullptr, wire_length()};
	const SgRange to = {&there.memory(), &there.mkey(), kStart, nullptr, there.wire_length()};
	SgCursor source = {&from, 1, 0, 0};
	SgCursor destination = {&to, 1, 0, 0};
	ASSERT_EQ(copy(destination, source, wire_length()), CopyResult::kOk);
	for (uint64_t i = 0; i < attributes.count; i++)
		EXPECT_EQ(interval(i), there.interval(i));
	there.expect_status(OHCA_INTEGRITY_NONE);
}

// OHCA-INTEGRITY-D6 OHCA-MEM-D8: data, tuples and the status must be reachable.
TEST_F(ProtectedStreamTest, MemoryThatIsGone)
{
	auto unmap = [this](uint64_t address) { host.dma.unmap(address, 1); };
	for (bool to_memory : {false, true}) {
		const CopyResult fault = to_memory ? CopyResult::kDestinationFault : CopyResult::kSourceFault;
		IntegrityAttributes given = pass();
		given.count = 3;
		open(given);
		Bytes wire = good_wire();
		unmap(data.addresses[600]);
		EXPECT_EQ(move(0, wire, to_memory), fault);
		open(given);
		unmap(tuples.addresses[9]);
		EXPECT_EQ(move(0, wire, to_memory), fault);
	}
	open(insert_on_wire());
	Bytes wire = good_wire();
	wire_tuple(wire, 1)[0] ^= 1;
	unmap(status_address);
	EXPECT_EQ(move(0, wire, true), CopyResult::kDestinationFault);
}

} // namespace
} // namespace ohca::core::test
