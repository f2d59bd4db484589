// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Datagram queue pairs of several functions.
#pragma once

#include <gtest/gtest.h>

#include "core/gid.hh"
#include "core/tests/loopback.hh"
#include "core/transport/datagram.hh"
#include "core/transport/unreliable.hh"

namespace ohca::core::test {

constexpr uint32_t kQkey = 0x11111111;

// A queue pair, and memory to send from and to receive into.
struct DatagramQp {
	FakeQp qp;
	uint32_t pd = 0;
	uint64_t memory = 0;
	uint32_t key = 0;

	static constexpr uint64_t kMemorySize = 1 << 20;
	static constexpr uint64_t kReceive = kMemorySize / 2; // from here on

	std::byte *at(uint64_t offset) { return qp.host->host(memory + offset); }
	ohca_sge sge(uint64_t offset, uint32_t length) const
	{
		return {.address = memory + offset, .length = length, .lkey = key};
	}
	void post_receive(uint32_t tag, uint32_t length, uint64_t offset = 0)
	{
		ohca_sge element = sge(kReceive + offset, length);
		qp.post_receive(tag, {&element, 1});
	}
};

class DatagramTest : public testing::Test {
protected:
	explicit DatagramTest(uint32_t functions = 2) : net(functions) {}

	DatagramQp create(uint32_t function, uint8_t type = OHCA_QP_TYPE_UD, uint8_t flags = 0)
	{
		FakeQpOptions options = net.qp_options(function);
		options.type = type;
		options.flags = flags;
		DatagramQp it;
		it.pd = options.pd;
		it.qp = net[function].create_qp(options);
		it.memory = net[function].allocate(DatagramQp::kMemorySize);
		it.key = net[function].register_memory(it.pd, it.memory, DatagramQp::kMemorySize);
		return it;
	}
	DatagramQp ready(uint32_t function, uint8_t type = OHCA_QP_TYPE_UD, uint8_t flags = 0)
	{
		DatagramQp it = create(function, type, flags);
		to_rts(it, type == OHCA_QP_TYPE_GSI ? kGsiQkey : kQkey);
		return it;
	}
	static void to_rts(DatagramQp &it, uint32_t qkey)
	{
		FakeFunction &host = *it.qp.host;
		ohca_qp_attributes a{};
		a.qkey = qkey;
		FakeFunction::must(host.modify(it.qp.qpn, OHCA_QP_STATE_INIT, OHCA_QP_ATTR_PKEY_INDEX | OHCA_QP_ATTR_QKEY, a));
		FakeFunction::must(host.modify(it.qp.qpn, OHCA_QP_STATE_RTR, 0));
		FakeFunction::must(host.modify(it.qp.qpn, OHCA_QP_STATE_RTS, OHCA_QP_ATTR_SQ_PSN, a));
	}
	ohca_wqe_datagram address(const DatagramQp &from, const DatagramQp &to)
	{
		ohca_wqe_datagram it{};
		it.remote_qpn = to.qp.qpn;
		it.remote_qkey = kQkey;
		it.pd = from.pd;
		it.dgid[0] = 0xfd;
		it.dgid[15] = to.qp.host->gid_byte();
		std::memcpy(it.dmac, &to.qp.host->options().mac, sizeof(it.dmac));
		it.hop_limit = 64;
		return it;
	}
	static ohca_sq_wqe header(uint8_t opcode = OHCA_WR_SEND, uint8_t flags = OHCA_WQE_SIGNALED)
	{
		ohca_sq_wqe wqe{};
		wqe.opcode = opcode;
		wqe.flags = flags;
		return wqe;
	}
	static void post(DatagramQp &from, const ohca_wqe_datagram &address, uint32_t length,
			 const ohca_sq_wqe &wqe = header(), uint64_t offset = 0)
	{
		ohca_sge element = from.sge(offset, length);
		from.qp.post_datagram(wqe, address, {&element, 1});
		from.qp.ring();
	}
	std::optional<ohca_cqe> poll(uint32_t function) { return net.cq(function).poll(); }
	// Longer than senders wait for a receiver (OHCA-LINK-D1).
	void starve() { net.advance(kPauseMaxNs + 10 * kPauseNs); }
	void expect_sent(uint32_t function, uint32_t index, uint8_t status = OHCA_CQE_STATUS_SUCCESS,
			 uint32_t vendor_error = OHCA_VENDOR_ERROR_NONE)
	{
		std::optional<ohca_cqe> cqe = poll(function);
		ASSERT_TRUE(cqe) << "no completion";
		EXPECT_FALSE(cqe->flags & OHCA_CQE_RECEIVE);
		EXPECT_EQ(cqe->wqe_index, index);
		EXPECT_EQ(int{cqe->status}, int{status});
		EXPECT_EQ(cqe->vendor_error, vendor_error);
	}
	// The first message of function 0's `sender`. From then on the one on function 1 is a receiver
	// that senders wait for (OHCA-LINK-D2).
	void begin_to_receive(DatagramQp &sender, DatagramQp &receiver)
	{
		receiver.post_receive(99, OHCA_GRH_SIZE);
		post(sender, address(sender, receiver), 0);
		net.run();
		expect_sent(0, 0);
		std::optional<ohca_cqe> cqe = poll(1);
		ASSERT_TRUE(cqe);
		EXPECT_EQ(cqe->wqe_index, 99u);
	}
	uint8_t state(const DatagramQp &it) { return it.qp.host->function().context().qp(it.qp.qpn)->state; }

	Loopback net;
};

} // namespace ohca::core::test
