// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Packet scripts: one queue pair, and the test plays its peer and its application.
//
//	post(write(100));
//	expect(0, request(SegmentKind::kWrite, kSqPsn));
//	send(10, ack(kSqPsn));
//	expect_send(0);
//	expect_nothing(20);
//
// Times are in microseconds. Before anything is sent or expected at a time, the timers
// that are due until then have fired. MTU 256, so that few bytes are many packets.
#pragma once

#include <gtest/gtest.h>

#include <source_location>

#include "core/tests/transport/rc_host.hh"
#include "core/transport/aeth.hh"
#include "core/transport/psn.hh"

namespace ohca::core::test {

constexpr uint32_t kSqPsn = 1000;
constexpr uint32_t kRqPsn = 5000;
constexpr uint32_t kPeerQpn = 0x123;
constexpr uint32_t kMtu = 256;
constexpr uint32_t kLogMtu = 8;
constexpr uint32_t kAllRemote = OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ | OHCA_ACCESS_REMOTE_ATOMIC;

// What a transmitted segment has to look like.
struct Want {
	SegmentKind kind = SegmentKind::kNone;
	uint32_t psn = 0;
	uint32_t psn_count = 1;
	bool first = true;
	bool last = true;
	int syndrome = -1;               // AETH, -1: not looked at
};

inline Want request(SegmentKind kind, uint32_t psn, uint32_t psn_count = 1)
{
	return {kind, psn, psn_count, true, true, -1};
}
inline Want part(SegmentKind kind, uint32_t psn, bool first, bool last, uint32_t psn_count = 1)
{
	return {kind, psn, psn_count, first, last, -1};
}
inline Want want_ack(uint32_t psn) { return {SegmentKind::kAcknowledge, psn, 1, true, true, kAethAck}; }
inline Want want_nak(uint32_t psn, uint8_t syndrome)
{
	return {SegmentKind::kAcknowledge, psn, 1, true, true, syndrome};
}

inline Segment ack(uint32_t psn, uint8_t syndrome = kAethAck)
{
	Segment segment;
	segment.kind = SegmentKind::kAcknowledge;
	segment.first = segment.last = true;
	segment.psn = psn;
	segment.aeth_syndrome = syndrome;
	return segment;
}
inline Segment nak(uint32_t psn, uint8_t syndrome) { return ack(psn, syndrome); }
inline Segment rnr_nak(uint32_t psn, uint8_t timer)
{
	return ack(psn, static_cast<uint8_t>(kAethClassRnr | timer));
}

using Bytes = std::vector<std::byte>;

inline Bytes pattern(uint64_t length, uint8_t seed)
{
	Bytes bytes(length);
	for (uint64_t i = 0; i < length; i++)
		bytes[i] = static_cast<std::byte>(seed + i * 3 + (i >> 7));
	return bytes;
}

class RcScript : public testing::Test {
protected:
	void SetUp() override
	{
		pd = host.create_pd();
		send_cq = host.create_cq();
		recv_cq = host.create_cq();
		memory = host.allocate(1 << 20);
		key = host.create_key(pd, memory, 1 << 20, OHCA_ACCESS_LOCAL_WRITE | kAllRemote);
		QpOptions options;
		options.pd = pd;
		options.send_cq = send_cq;
		options.recv_cq = recv_cq;
		create(options);
		limits.segment_payload_max = kMtu;
	}

	void create(const QpOptions &options)
	{
		qp = &host.create_qp(options);
		qp->attributes.path_mtu = kLogMtu;
		qp->attributes.access = kAllRemote;
		qp->attributes.max_read_atomic = 4;
		qp->attributes.max_dest_read_atomic = 4;
		qp->attributes.min_rnr_timer = 12;
		qp->attributes.ack_timeout = 8; // 1048.576 us
		qp->attributes.retry_count = 3;
		qp->attributes.rnr_retry = 2;
		qp->attributes.dest_qpn = kPeerQpn;
		qp->attributes.sq_psn = kSqPsn;
		qp->attributes.rq_psn = kRqPsn;
	}
	void to(uint8_t state) { host.modify(*qp, state, now_ns); }
	void ready()
	{
		to(OHCA_QP_STATE_INIT);
		to(OHCA_QP_STATE_RTR);
		to(OHCA_QP_STATE_RTS);
	}
	Function &function() { return host.function(); }

	// --- time ---
	void advance(uint64_t time_us)
	{
		const TimeNs until = time_us * 1000;

		while (poll_timeout(*qp) <= until) {
			now_ns = std::max(now_ns, poll_timeout(*qp));
			function().set_now(now_ns);
			handle_timeout(function(), *qp, now_ns);
			if (qp->state == OHCA_QP_STATE_ERR && qp->flush_interval_ns > 0 && qp->flush_at_ns > until)
				break;
		}
		now_ns = std::max(now_ns, until);
		function().set_now(now_ns);
	}

	// --- the peer ---
	Delivery send(uint64_t time_us, Segment segment, const Bytes &payload = {})
	{
		Bytes bytes = payload;
		SgRange range = {nullptr, nullptr, 0, bytes.data(), bytes.size()};

		advance(time_us);
		segment.source_qpn = kPeerQpn;
		segment.dest_qpn = qp->qpn;
		if (!bytes.empty()) {
			segment.payload = {&range, 1, 0, 0};
			segment.payload_length = bytes.size();
		}
		return handle_segment(function(), *qp, segment, now_ns);
	}
	void expect(uint64_t time_us, const Want &want, std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect");

		advance(time_us);
		got = {};
		ASSERT_TRUE(poll_transmit(function(), *qp, now_ns, limits, scratch, got)) << "nothing was transmitted";
		EXPECT_EQ(static_cast<int>(got.kind), static_cast<int>(want.kind));
		EXPECT_EQ(got.psn, want.psn);
		EXPECT_EQ(got.psn_count, want.psn_count);
		EXPECT_EQ(got.first, want.first);
		EXPECT_EQ(got.last, want.last);
		EXPECT_EQ(got.source_qpn, qp->qpn);
		EXPECT_EQ(got.dest_qpn, kPeerQpn);
		if (want.syndrome >= 0) {
			EXPECT_EQ(got.aeth_syndrome, want.syndrome);
		}
		got_payload.assign(got.payload_length, std::byte{});
		if (got.payload_length > 0) {
			SgRange range = {nullptr, nullptr, 0, got_payload.data(), got_payload.size()};
			SgCursor to = {&range, 1, 0, 0};
			SgCursor from = got.payload;
			EXPECT_EQ(copy(to, from, got.payload_length), CopyResult::kOk);
		}
	}
	void expect_nothing(uint64_t time_us, std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect_nothing");

		advance(time_us);
		got = {};
		EXPECT_FALSE(poll_transmit(function(), *qp, now_ns, limits, scratch, got))
			<< "kind " << static_cast<int>(got.kind) << " psn " << got.psn;
	}

	// --- the application ---
	uint32_t post(const SendRequest &request)
	{
		const uint32_t index = host.post_send(*qp, request);
		handle_doorbell(function(), *qp, now_ns);
		return index;
	}
	SendRequest message(uint8_t opcode, uint32_t length, uint64_t offset = 0)
	{
		SendRequest request;
		request.opcode = opcode;
		if (length > 0)
			request.sges.push_back({memory + offset, length, key});
		request.remote_address = 0x5000;
		request.rkey = 0x77;
		return request;
	}
	SendRequest write(uint32_t length) { return message(OHCA_WR_WRITE, length); }
	SendRequest read(uint32_t length) { return message(OHCA_WR_READ, length); }
	SendRequest fetch_add(uint64_t addend)
	{
		SendRequest request = message(OHCA_WR_FADD, 8);
		request.operand = addend;
		return request;
	}
	void post_receive(uint32_t tag, uint32_t length, uint64_t offset = 0)
	{
		host.post_receive(*qp, tag, {{memory + offset, length, key}});
	}
	void expect_send(uint32_t index, uint8_t status = OHCA_CQE_STATUS_SUCCESS,
			 std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect_send");
		const auto cqe = host.poll(send_cq);

		ASSERT_TRUE(cqe.has_value()) << "no completion";
		EXPECT_EQ(cqe->wqe_index, index);
		EXPECT_EQ(int{cqe->status}, int{status});
		EXPECT_EQ(cqe->qpn, qp->qpn);
		EXPECT_EQ(int{cqe->flags}, 0);
		completion = *cqe;
	}
	void expect_receive(uint32_t tag, uint8_t status = OHCA_CQE_STATUS_SUCCESS,
			    std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect_receive");
		const auto cqe = host.poll(recv_cq);

		ASSERT_TRUE(cqe.has_value()) << "no completion";
		EXPECT_EQ(cqe->wqe_index, tag);
		EXPECT_EQ(int{cqe->status}, int{status});
		EXPECT_TRUE(cqe->flags & OHCA_CQE_RECEIVE);
		completion = *cqe;
	}
	void expect_no_completion(std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect_no_completion");

		EXPECT_FALSE(host.poll(send_cq).has_value());
		EXPECT_FALSE(host.poll(recv_cq).has_value());
	}
	void expect_event(uint8_t type, std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect_event");
		const auto event = host.poll_event();

		ASSERT_TRUE(event.has_value()) << "no event";
		EXPECT_EQ(int{event->type}, int{type});
	}
	void expect_no_event() { EXPECT_FALSE(host.poll_event().has_value()); }
	void expect_broken(std::source_location where = std::source_location::current())
	{
		testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "expect_broken");

		EXPECT_EQ(int{qp->state}, OHCA_QP_STATE_ERR);
	}

	// --- requests of the peer ---
	Segment incoming(SegmentKind kind, uint32_t psn, bool first = true, bool last = true)
	{
		Segment segment;
		segment.kind = kind;
		segment.psn = psn;
		segment.first = first;
		segment.last = last;
		segment.ack_request = last;
		return segment;
	}
	Segment incoming_write(uint32_t psn, uint32_t length, uint64_t offset = 0)
	{
		Segment segment = incoming(SegmentKind::kWrite, psn);
		segment.remote_address = memory + offset;
		segment.rkey = key;
		segment.dma_length = length;
		segment.psn_count = packet_count(length, kLogMtu);
		return segment;
	}
	Segment incoming_read(uint32_t psn, uint32_t length, uint64_t offset = 0)
	{
		Segment segment = incoming_write(psn, length, offset);
		segment.kind = SegmentKind::kReadRequest;
		return segment;
	}
	Segment incoming_add(uint32_t psn, uint64_t addend, uint64_t offset = 0)
	{
		Segment segment = incoming_write(psn, 0, offset);
		segment.kind = SegmentKind::kFetchAdd;
		segment.operand = addend;
		return segment;
	}
	Bytes bytes_at(uint64_t offset, uint64_t length)
	{
		const std::byte *from = host.at(memory + offset);
		return {from, from + length};
	}
	void put(uint64_t offset, const Bytes &bytes)
	{
		std::memcpy(host.at(memory + offset), bytes.data(), bytes.size());
	}

	RcHost host{0};
	QpContext *qp = nullptr;
	uint32_t pd = 0;
	uint32_t send_cq = 0;
	uint32_t recv_cq = 0;
	uint64_t memory = 0;
	uint32_t key = 0;
	TransportLimits limits;
	TransmitScratch scratch;
	Segment got;          // by expect()
	Bytes got_payload;
	ohca_cqe completion{}; // by expect_send() and expect_receive()
	TimeNs now_ns = 0;
};

} // namespace ohca::core::test
