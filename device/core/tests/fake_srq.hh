// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Shared receive queues, and queue pairs that use them, as a driver makes them.
#pragma once

#include <algorithm>

#include "core/tests/fake_host.hh"

namespace ohca::core::test {

struct FakeSrqOptions {
	uint32_t pd = 0;
	uint32_t xrcd = 0;
	uint32_t cq = 0;
	uint8_t log_depth = 6;
	uint8_t log_stride = 9; // 512 bytes: 30 elements
	uint32_t limit = 0;
};

struct FakeSrq {
	FakeFunction *host = nullptr;
	uint32_t srqn = 0;
	uint64_t buffer = 0; // bus address
	uint32_t ring_offset = 0;
	FakeSrqOptions options;
	uint32_t producer = 0;

	ohca_srq_record &record() { return host->at<ohca_srq_record>(buffer); }
	std::byte *slot(uint32_t index)
	{
		uint64_t position = index & ((1u << options.log_depth) - 1);
		return host->host(buffer + ring_offset + (position << options.log_stride));
	}
	// Writes one WQE and advances the producer, which is all the device needs.
	void post_list(uint32_t tag, std::span<const ohca_sge> sges)
	{
		std::byte *bytes = slot(producer);
		ohca_rq_wqe header{};
		header.num_sge = static_cast<uint8_t>(sges.size());
		header.tag = tag;
		std::memcpy(bytes, &header, sizeof(header));
		if (!sges.empty())
			std::memcpy(bytes + sizeof(header), sges.data(), sges.size_bytes());
		std::atomic_ref(record().producer).store(++producer, std::memory_order_release);
	}
	void post(uint32_t tag) { post_list(tag, {}); }
	void post(uint32_t tag, const ohca_sge &sge) { post_list(tag, {&sge, 1}); }
	ohca_cmd_query_srq_out query()
	{
		ohca_cmd_handle in{};
		in.handle = srqn;
		ohca_cmd_query_srq_out out;
		FakeFunction::must(host->command(OHCA_CMD_QUERY_SRQ, in, out));
		return out;
	}
	CommandResult set_limit(uint32_t limit)
	{
		ohca_cmd_modify_srq_in in{};
		in.srqn = srqn;
		in.limit = limit;
		return host->command(OHCA_CMD_MODIFY_SRQ, in);
	}
};

inline ohca_cmd_create_srq_in srq_request(FakeFunction &host, const FakeSrqOptions &o, FakeSrq &srq)
{
	srq.host = &host;
	srq.options = o;
	srq.ring_offset = std::max(64u, 1u << o.log_stride);
	uint64_t size = srq.ring_offset + (uint64_t{1} << (o.log_depth + o.log_stride));
	srq.buffer = host.allocate(size);
	ohca_cmd_create_srq_in in{};
	in.pages = host.contiguous(srq.buffer, size);
	in.pd = o.pd;
	in.xrcd = o.xrcd;
	in.cq = o.cq;
	in.ring_offset = srq.ring_offset;
	in.log_depth = o.log_depth;
	in.log_stride = o.log_stride;
	in.limit = o.limit;
	return in;
}

inline FakeSrq create_srq(FakeFunction &host, const FakeSrqOptions &o)
{
	FakeSrq srq;
	ohca_cmd_create_srq_in in = srq_request(host, o, srq);
	ohca_cmd_handle out;
	FakeFunction::must(host.command(OHCA_CMD_CREATE_SRQ, in, out));
	srq.srqn = out.handle;
	return srq;
}

// The request for a buffer of another depth, filled as a driver does: producer in the new record.
inline ohca_cmd_resize_srq_in srq_resize_request(FakeSrq &srq, uint8_t log_depth, FakeSrq &resized)
{
	FakeSrqOptions o = srq.options;
	o.log_depth = log_depth;
	ohca_cmd_create_srq_in create = srq_request(*srq.host, o, resized);
	resized.srqn = srq.srqn;
	resized.producer = srq.producer;
	resized.record().producer = srq.producer;
	ohca_cmd_resize_srq_in in{};
	in.pages = create.pages;
	in.srqn = srq.srqn;
	in.ring_offset = create.ring_offset;
	in.log_depth = log_depth;
	return in;
}

inline uint32_t create_xrcd(FakeFunction &host)
{
	ohca_cmd_handle out;
	FakeFunction::must(host.query(OHCA_CMD_CREATE_XRCD, out));
	return out.handle;
}

inline FakeQp create_qp_from(FakeFunction &host, FakeQp &qp, const ohca_cmd_create_qp_in &in)
{
	ohca_cmd_create_qp_out out;
	FakeFunction::must(host.command(OHCA_CMD_CREATE_QP, in, out));
	qp.qpn = out.qpn;
	qp.slot = out.uar_slot;
	return qp;
}

// A queue pair that receives from the SRQ.
inline FakeQp create_qp_on(FakeFunction &host, FakeQpOptions o, uint32_t srqn, uint8_t type = OHCA_QP_TYPE_RC)
{
	FakeQp qp;
	o.flags |= OHCA_QP_NO_RQ;
	ohca_cmd_create_qp_in in = host.qp_request(o, qp);
	in.type = type;
	in.srq = srqn;
	return create_qp_from(host, qp, in);
}

inline FakeQp create_xrc_initiator(FakeFunction &host, FakeQpOptions o)
{
	FakeQp qp;
	o.flags |= OHCA_QP_NO_RQ;
	o.recv_cq = 0;
	ohca_cmd_create_qp_in in = host.qp_request(o, qp);
	in.type = OHCA_QP_TYPE_XRC_INI;
	return create_qp_from(host, qp, in);
}

inline ohca_cmd_create_qp_in xrc_target_request(uint32_t xrcd)
{
	ohca_cmd_create_qp_in in{};
	in.type = OHCA_QP_TYPE_XRC_TGT;
	in.flags = OHCA_QP_NO_SQ | OHCA_QP_NO_RQ;
	in.xrcd = xrcd;
	return in;
}

inline FakeQp create_xrc_target(FakeFunction &host, uint32_t xrcd)
{
	FakeQp qp;
	qp.host = &host;
	return create_qp_from(host, qp, xrc_target_request(xrcd));
}

inline ohca_qp_attributes connect_attributes(FakeFunction &peer, uint32_t dest_qpn, const ConnectOptions &o)
{
	ohca_qp_attributes a{};
	uint64_t mac = peer.options().mac;
	a.path_mtu = o.path_mtu;
	a.dest_qpn = dest_qpn;
	a.rq_psn = o.psn;
	a.sq_psn = o.psn;
	a.max_read_atomic = o.max_read_atomic;
	a.max_dest_read_atomic = o.max_dest_read_atomic;
	a.min_rnr_timer = o.min_rnr_timer;
	a.ack_timeout = o.ack_timeout;
	a.retry_count = o.retry_count;
	a.rnr_retry = o.rnr_retry;
	a.dgid[0] = 0xfd;
	a.dgid[15] = peer.gid_byte();
	std::memcpy(a.dmac, &mac, sizeof(a.dmac));
	return a;
}

constexpr uint32_t kConnectMask =
	OHCA_QP_ATTR_PATH | OHCA_QP_ATTR_PATH_MTU | OHCA_QP_ATTR_DEST_QPN | OHCA_QP_ATTR_RQ_PSN;

// A target goes to RTR, which is all it needs.
inline void connect_target(const FakeQp &initiator, const FakeQp &target, const ConnectOptions &o = {})
{
	ohca_qp_attributes a = connect_attributes(*initiator.host, initiator.qpn, o);
	FakeFunction::must(target.host->to_init(target.qpn, o));
	FakeFunction::must(
		target.host->modify(target.qpn, OHCA_QP_STATE_RTR,
				    kConnectMask | OHCA_QP_ATTR_MAX_DEST_READ_ATOMIC | OHCA_QP_ATTR_MIN_RNR_TIMER, a));
}

// An initiator goes to RTS.
inline void connect_xrc(const FakeQp &initiator, const FakeQp &target, const ConnectOptions &o = {})
{
	FakeFunction &sender = *initiator.host;
	ohca_qp_attributes a = connect_attributes(*target.host, target.qpn, o);
	FakeFunction::must(sender.to_init(initiator.qpn, o));
	FakeFunction::must(sender.modify(initiator.qpn, OHCA_QP_STATE_RTR, kConnectMask, a));
	FakeFunction::must(sender.to_rts(initiator.qpn, o));
	connect_target(initiator, target, o);
}

} // namespace ohca::core::test
