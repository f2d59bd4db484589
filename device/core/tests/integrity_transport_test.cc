// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// INTEGRITY keys in work requests, between two queue pairs whose messages are cut at a small MTU.
#include <gtest/gtest.h>

#include <random>

#include "core/tests/loopback.hh"
#include "core/tests/protection_model.hh"

namespace ohca::core::test {
namespace {

constexpr uint32_t kInterval = 520;
constexpr uint32_t kStride = kInterval + sizeof(ohca_t10_tuple);
constexpr uint32_t kCount = 700; // more than one segment of the transport
constexpr uint32_t kDataLength = kCount * kInterval;
constexpr uint32_t kWireLength = kCount * kStride;

struct IntegrityTransport : testing::Test {
	IntegrityTransport()
	{
		ConnectOptions options;
		options.path_mtu = 8; // 256 bytes
		std::tie(a, b) = net.connected_pair(0, 1, options);
		data = host().allocate(kDataLength);
		status_address = host().allocate(64);
		list = host().allocate(64);
		wire = peer().allocate(kWireLength);
		rkey = peer().register_memory(net.pd(1), wire, kWireLength);
		ohca_cmd_create_mkey_in in{};
		in.pd = net.pd(0);
		in.type = OHCA_MKEY_TYPE_INTEGRITY;
		in.list_entry_max = 4;
		ohca_cmd_create_mkey_out out;
		FakeFunction::must(host().command(OHCA_CMD_CREATE_MKEY, in, out));
		key = out.key;
		std::mt19937_64 random(23);
		for (uint32_t i = 0; i < kDataLength; i++)
			host().at<uint8_t>(data + i) = static_cast<uint8_t>(random());
	}
	FakeFunction &host() { return net[0]; }
	FakeFunction &peer() { return net[1]; }
	ohca_integrity_status &status() { return host().at<ohca_integrity_status>(status_address); }
	std::span<const uint8_t> interval(uint32_t index) { return {&host().at<uint8_t>(data + index * kInterval), kInterval}; }
	std::span<uint8_t> on_wire(uint32_t index) { return {&peer().at<uint8_t>(wire + index * kStride), kStride}; }

	// Tuples on the wire only.
	void post_registration()
	{
		host().at<ohca_block>(list) = {data, kDataLength};
		ohca_wqe_register_integrity request{};
		request.list_address = list;
		request.status_address = status_address;
		request.data_entry_count = 1;
		request.access = OHCA_ACCESS_LOCAL_WRITE | OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_REMOTE_WRITE;
		request.interval = kInterval;
		request.check_mask = 0xff;
		request.wire = t10_dif();
		ohca_sq_wqe wqe{};
		wqe.opcode = OHCA_WR_REG_MR_INTEGRITY;
		wqe.rkey = key;
		std::byte *slot = a.sq_slot(a.sq_producer);
		std::memcpy(slot, &wqe, sizeof(wqe));
		std::memcpy(slot + sizeof(wqe), &request, sizeof(request));
		a.record().sq_producer = ++a.sq_producer;
	}
	static void move(FakeQp &by, uint8_t opcode, uint64_t local, uint32_t local_key, uint64_t remote, uint32_t remote_key,
			 uint32_t length)
	{
		ohca_sq_wqe wqe{};
		wqe.opcode = opcode;
		wqe.flags = OHCA_WQE_SIGNALED;
		wqe.remote_address = remote;
		wqe.rkey = remote_key;
		const ohca_sge sge{.address = local, .length = length, .lkey = local_key};
		by.post_send(wqe, {&sge, 1});
	}
	void expect_success(uint32_t side)
	{
		net.run();
		const std::optional<ohca_cqe> cqe = net.cq(side).poll();
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_SUCCESS);
		EXPECT_FALSE(net.cq(side).poll());
	}
	void expect_wire()
	{
		for (uint32_t i = 0; i < kCount; i++) {
			ASSERT_TRUE(std::ranges::equal(on_wire(i).first(kInterval), interval(i))) << i;
			ASSERT_TRUE(std::ranges::equal(on_wire(i).subspan(kInterval), model_tuple(t10_dif(), i, interval(i)))) << i;
		}
	}

	Loopback net{2};
	FakeQp a, b;
	uint64_t data = 0, wire = 0, list = 0, status_address = 0;
	uint32_t rkey = 0, key = 0;
};

// OHCA-INTEGRITY-D2 OHCA-MEM-D21: the key may be used at once.
TEST_F(IntegrityTransport, WriteAndReadBack)
{
	post_registration();
	move(a, OHCA_WR_WRITE, 0, key, wire, rkey, kWireLength);
	a.ring();
	expect_success(0);
	expect_wire();

	const std::vector<uint8_t> before(interval(0).data(), interval(0).data() + kDataLength);
	std::memset(host().host(data), 0, kDataLength);
	move(a, OHCA_WR_READ, 0, key, wire, rkey, kWireLength);
	a.ring();
	expect_success(0);
	EXPECT_EQ(std::memcmp(host().host(data), before.data(), kDataLength), 0);
	EXPECT_EQ(status().error, unsigned{OHCA_INTEGRITY_NONE});
}

// OHCA-INTEGRITY-D6: the status is there with the completion.
TEST_F(IntegrityTransport, ReadOfAWrongTuple)
{
	post_registration();
	move(a, OHCA_WR_WRITE, 0, key, wire, rkey, kWireLength);
	a.ring();
	expect_success(0);
	on_wire(600)[kInterval + 3] ^= 1;
	move(a, OHCA_WR_READ, 0, key, wire, rkey, kWireLength);
	a.ring();
	expect_success(0);
	EXPECT_EQ(status().error, unsigned{OHCA_INTEGRITY_BAD_APP_TAG});
	EXPECT_EQ(status().interval_index, 600u);
}

// OHCA-INTEGRITY-D2: the peer works with the key, in messages of odd lengths.
TEST_F(IntegrityTransport, PeerReadsAndWrites)
{
	post_registration();
	a.ring();
	net.run();
	for (uint32_t at = 0; at < kWireLength;) {
		const uint32_t length = std::min(kWireLength - at, 77'777u);
		move(b, OHCA_WR_READ, wire + at, rkey, at, key, length);
		b.ring();
		expect_success(1);
		at += length;
	}
	expect_wire();
	std::memset(host().host(data), 0, kDataLength);
	for (uint32_t at = 0; at < kWireLength;) {
		const uint32_t length = std::min(kWireLength - at, 77'777u);
		move(b, OHCA_WR_WRITE, wire + at, rkey, at, key, length);
		b.ring();
		expect_success(1);
		at += length;
	}
	expect_wire();
	EXPECT_EQ(status().error, unsigned{OHCA_INTEGRITY_NONE});
}

// OHCA-INTEGRITY-D9
TEST_F(IntegrityTransport, NoAtomicWrite)
{
	post_registration();
	a.ring();
	net.run();
	move(b, OHCA_WR_ATOMIC_WRITE, wire, rkey, 0, key, 8);
	b.ring();
	net.run();
	const std::optional<ohca_cqe> cqe = net.cq(1).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_REMOTE_OPERATION);
}

// OHCA-MEM-D8: memory that is gone is an error of the queue pair.
TEST_F(IntegrityTransport, StatusThatIsGone)
{
	post_registration();
	host().dma.unmap(status_address, 1);
	move(a, OHCA_WR_READ, 0, key, wire, rkey, kWireLength); // zeros: all tuples are wrong
	a.ring();
	net.run();
	const std::optional<ohca_cqe> cqe = net.cq(0).poll();
	ASSERT_TRUE(cqe);
	EXPECT_EQ(cqe->status, OHCA_CQE_STATUS_LOCAL_PROTECTION);
	EXPECT_EQ(cqe->vendor_error, unsigned{OHCA_VENDOR_ERROR_DMA});
}

} // namespace
} // namespace ohca::core::test
