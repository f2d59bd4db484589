// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// mem/integrity.cc: REG_MR_INTEGRITY, and what else may be done with such keys.
#include "core/mem/fast_registration.hh"
#include "core/mem/invalidate.hh"
#include "core/tests/integrity_test.hh"

namespace ohca::core::test {
namespace {

struct IntegrityRegistration : IntegrityTest {
	QpContext &context() { return *host.function().context().qp(qp.qpn); }
	uint32_t check(uint64_t address, uint64_t length, uint32_t access)
	{
		return memory().check_remote_key(key, context(), address, length, access).vendor_error;
	}
	static IntegrityAttributes pass()
	{
		IntegrityAttributes attributes;
		attributes.memory = attributes.wire = t10_dif();
		return attributes;
	}
};

// OHCA-INTEGRITY-D1 OHCA-INTEGRITY-D2
TEST_F(IntegrityRegistration, AddressSpaceIsTheWireDomain)
{
	IntegrityAttributes given = pass();
	open(given);
	EXPECT_EQ(mkey().length, given.count * 520u);
	EXPECT_EQ(check(kStart, given.count * 520u, OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_REMOTE_WRITE), 0u);
	EXPECT_EQ(check(kStart, given.count * 520u + 1, OHCA_ACCESS_REMOTE_READ), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	EXPECT_EQ(check(kStart - 1, 2, OHCA_ACCESS_REMOTE_READ), unsigned{OHCA_VENDOR_ERROR_KEY_RANGE});
	EXPECT_EQ(host.counter(OHCA_COUNTER_REGISTRATIONS), 1u);
	given.wire = {};
	open(given);
	EXPECT_EQ(mkey().length, given.count * 512u);
	given.among_data = true;
	given.wire = t10_dif();
	open(given);
	EXPECT_EQ(mkey().length, given.count * 520u);
}

// OHCA-INTEGRITY-D1: a region like any other.
TEST_F(IntegrityRegistration, WithoutSignatures)
{
	open({});
	EXPECT_EQ(mkey().flags, 0);
	EXPECT_EQ(mkey().length, attributes.count * 512u);
	const Bytes wire = good_wire();
	write_wire(wire);
	EXPECT_EQ(load(data, 0, wire.size()), wire);
	EXPECT_EQ(read_wire(), wire);
}

// OHCA-INTEGRITY-D1
TEST_F(IntegrityRegistration, AllocatesNothing)
{
	const uint64_t bytes = host.function().context().block_bytes_in_use();
	for (int round = 0; round < 20; round++)
		open(pass());
	EXPECT_EQ(host.function().context().block_bytes_in_use(), bytes);
	EXPECT_TRUE(host.destroy(OHCA_CMD_DESTROY_MKEY, key).ok());
	EXPECT_LT(host.function().context().block_bytes_in_use(), bytes);
}

// OHCA-INTEGRITY-D1
TEST_F(IntegrityRegistration, Refusals)
{
	auto refused = [&](auto change, uint32_t error, const IntegrityAttributes &given = pass()) {
		ohca_wqe_register_integrity request = request_of(given);
		change(request);
		EXPECT_EQ(reg(request), error);
		EXPECT_EQ(check(kStart, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	};
	constexpr uint32_t kFlags = OHCA_VENDOR_ERROR_FLAGS;
	constexpr uint32_t kRange = OHCA_VENDOR_ERROR_KEY_RANGE;
	constexpr uint32_t kAccess = OHCA_VENDOR_ERROR_KEY_ACCESS;
	refused([](auto &r) { r.access |= OHCA_ACCESS_REMOTE_ATOMIC; }, kAccess);
	refused([](auto &r) { r.access |= OHCA_ACCESS_WINDOW_BIND; }, kAccess);
	refused([](auto &r) { r.access = OHCA_ACCESS_REMOTE_WRITE; }, kAccess);
	refused([](auto &r) { r.data_entry_count = kEntries; }, OHCA_VENDOR_ERROR_LENGTH);
	refused([](auto &r) { r.protection_entry_count = UINT32_MAX; }, OHCA_VENDOR_ERROR_LENGTH);
	for (uint32_t interval : {0u, 8u, 504u, 516u, 65536u})
		refused([=](auto &r) { r.interval = interval; }, kFlags);
	refused([](auto &r) { r.memory.type = 2; }, kFlags);
	refused([](auto &r) { r.wire.type = 255; }, kFlags);
	refused([](auto &r) { r.wire.guard_type = 2; }, kFlags);
	refused([](auto &r) { r.wire.flags = 8; }, kFlags);
	refused([](auto &r) { r.wire.reserved_18 = 1; }, kFlags);
	refused([](auto &r) { r.memory.reserved_50[1] = 1; }, kFlags);
	refused([](auto &r) { r.memory.type = OHCA_SIGNATURE_NONE; }, kFlags); // with tags
	refused([](auto &r) { r.interval = 520; }, kRange);                    // no whole number of them
	refused([](auto &r) { r.protection_entry_count = 1; }, kRange);        // tuples for some only
	refused([](auto &r) { r.start = uint64_t{0} - 100; }, kRange);
	refused([](auto &r) { r.list_address = 0x10; }, OHCA_VENDOR_ERROR_DMA);
	refused([&](auto &) { reinterpret_cast<ohca_block *>(host.host(list))->length = 0; }, kRange);
	refused([&](auto &) { reinterpret_cast<ohca_block *>(host.host(list))->length = UINT64_MAX; }, kRange);
	IntegrityAttributes none;
	refused([](auto &r) { r.interval = 512; }, kFlags, none);
	EXPECT_EQ(reg(request_of(pass())), 0u);
	EXPECT_EQ(reg(request_of(pass())), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
}

// OHCA-INTEGRITY-D1
TEST_F(IntegrityRegistration, RefusedKeys)
{
	const ohca_wqe_register_integrity request = request_of(pass());
	const uint32_t region = host.register_memory(pd, host.allocate(4096), 4096, OHCA_ACCESS_LOCAL_WRITE);
	Function &function = host.function();
	EXPECT_EQ(register_integrity(function, pd, region, request), unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
	EXPECT_EQ(register_integrity(function, pd, 0xffffff00, request), unsigned{OHCA_VENDOR_ERROR_KEY_INDEX});
	EXPECT_EQ(register_integrity(function, host.create_pd(), key, request), unsigned{OHCA_VENDOR_ERROR_KEY_PD});
	// Each kind of key has a work request of its own.
	EXPECT_EQ(register_list(function, pd, key, {}), unsigned{OHCA_VENDOR_ERROR_KEY_TYPE});
}

// OHCA-MEM-D19 OHCA-MEM-D25
TEST_F(IntegrityRegistration, Invalidation)
{
	open(pass());
	EXPECT_EQ(invalidate_key(host.function(), context(), key ^ 1), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(invalidate_key(host.function(), context(), key), 0u);
	EXPECT_EQ(check(kStart, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
	EXPECT_EQ(invalidate_key(host.function(), context(), key), unsigned{OHCA_VENDOR_ERROR_KEY_STATE});
	open(pass());
	EXPECT_TRUE(host.destroy(OHCA_CMD_INVALIDATE_MKEY, key).ok());
	EXPECT_EQ(check(kStart, 1, 0), unsigned{OHCA_VENDOR_ERROR_KEY_STALE});
}

// OHCA-INTEGRITY-D9
TEST_F(IntegrityRegistration, NothingAtomic)
{
	open(pass());
	uint64_t original = 0;
	EXPECT_FALSE(memory().atomic_store(mkey(), kStart, 1));
	EXPECT_FALSE(memory().fetch_add(mkey(), kStart, 1, original));
}

} // namespace
} // namespace ohca::core::test
