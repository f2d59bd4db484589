// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Memory that may not be touched: wrong keys, protection domains, addresses,
// lengths and access rights, on either side.
#include "error/cases.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <algorithm>
#include <cstring>
#include <optional>

namespace verbs_test {

namespace {

constexpr std::uint64_t kGood = 1;
constexpr std::uint64_t kBad = 2;
constexpr std::uint64_t kFlushed = 3;
constexpr std::uint64_t kReceive = 10;
// where nothing but the bad operation would write
constexpr std::uint32_t kTargetOffset = 32 << 10;

// What the bad operation brings about.
struct Outcome {
	ibv_wc_status requester;
	std::optional<ibv_wc_status> receiver = std::nullopt;     // of the receive it used
	std::optional<ibv_event_type> responder_event = std::nullopt;
};

constexpr Outcome kLocal{IBV_WC_LOC_PROT_ERR};
constexpr Outcome kRemote{IBV_WC_REM_ACCESS_ERR, std::nullopt, IBV_EVENT_QP_ACCESS_ERR};
constexpr Outcome kInvalid{IBV_WC_REM_INV_REQ_ERR, std::nullopt, IBV_EVENT_QP_REQ_ERR};

void require_untouched(const std::uint8_t *bytes, std::uint8_t value, const char *what)
{
	for (std::uint32_t i = 0; i < 4096; i++) {
		if (bytes[i] != value)
			fail("%s: byte %u is 0x%02x, it should not have been written", what, i, bytes[i]);
	}
}

// A good WRITE, the bad operation, and a WRITE that must be flushed.
// OHCA-ERR-D2 OHCA-ERR-D4
void expect_failure(Rig &rig, Work bad, const Outcome &outcome)
{
	Work good = rig.work(IBV_WR_RDMA_WRITE);
	good.wr_id = kGood;
	post(rig.a.qp, good);
	bad.wr_id = kBad;
	post(rig.a.qp, bad);
	good.wr_id = kFlushed;
	good.remote_address += kTargetOffset / 2;
	post(rig.a.qp, good);
	expect_completion(rig.a.send_cq, kGood, IBV_WC_SUCCESS, "the operation before");
	expect_completion(rig.a.send_cq, kBad, outcome.requester, "the bad operation");
	expect_completion(rig.a.send_cq, kFlushed, IBV_WC_WR_FLUSH_ERR, "the operation after");
	expect_state(rig.a.qp, IBV_QPS_ERR, "the requester");
	if (outcome.receiver)
		expect_completion(rig.b.receive_cq, kReceive, *outcome.receiver, "the receive");
	if (outcome.responder_event) {
		const ibv_async_event event = wait_event(rig.device.context(), *outcome.responder_event, "the responder");
		if (event.element.qp != rig.b.qp)
			fail("the event is not about the responder's queue pair");
	}
	if (outcome.responder_event || outcome.receiver)
		expect_state(rig.b.qp, IBV_QPS_ERR, "the responder");
	else
		expect_state(rig.b.qp, IBV_QPS_RTS, "the responder, which has seen nothing bad");
	require_untouched(rig.b.memory.data() + kTargetOffset, 0xbb, "the responder's memory");
	require_untouched(rig.a.memory.data() + kTargetOffset, 0xaa, "the requester's memory");
}

using Spoil = std::function<void(Rig &, Work &)>;

void run(const std::string &name, ibv_wr_opcode opcode, const Spoil &spoil, const Outcome &outcome)
{
	const Device device(name);
	Rig rig(device);
	Work work = rig.work(opcode);
	work.remote_address += kTargetOffset;
	if (opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		work.sge.addr += kTargetOffset;
	if (opcode == IBV_WR_SEND) {
		ibv_sge sge = rig.b.sge();
		sge.addr += kTargetOffset;
		receive(rig.b.qp, sge, kReceive);
	}
	spoil(rig, work);
	expect_failure(rig, work, outcome);
}

const char *short_name(ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
		return "send";
	case IBV_WR_RDMA_WRITE:
		return "write";
	case IBV_WR_RDMA_READ:
		return "read";
	default:
		return "atomic";
	}
}

void add(Cases &cases, const std::string &what, std::initializer_list<ibv_wr_opcode> opcodes, const Spoil &spoil,
	 const Outcome &outcome)
{
	for (const ibv_wr_opcode opcode : opcodes) {
		cases.push_back({what + "-" + short_name(opcode), [opcode, spoil, outcome](const std::string &device) {
			run(device, opcode, spoil, outcome);
		}});
	}
}

constexpr auto kAllOpcodes = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
constexpr auto kRemoteOpcodes = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};

constexpr int kEverything = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			    IBV_ACCESS_REMOTE_ATOMIC;

ibv_mr *another_mr(End &end, int access)
{
	end.other_mrs.push_back(must(ibv_reg_mr(end.pd, end.memory.data(), kBufferSize, access), "ibv_reg_mr"));
	return end.other_mrs.back();
}

ibv_mr *mr_of_other_pd(const Rig &rig, End &end)
{
	end.other_pds.push_back(must(ibv_alloc_pd(rig.device.context()), "ibv_alloc_pd"));
	end.other_mrs.push_back(
		must(ibv_reg_mr(end.other_pds.back(), end.memory.data(), kBufferSize, kEverything), "ibv_reg_mr"));
	return end.other_mrs.back();
}

std::uint32_t stale_key(End &end)
{
	ibv_mr *mr = must(ibv_reg_mr(end.pd, end.memory.data(), kBufferSize, kEverything), "ibv_reg_mr");
	const std::uint32_t key = mr->rkey;
	must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr");
	return key;
}

// OHCA-MEM-D4 OHCA-ERR-D1
void add_local(Cases &cases)
{
	add(cases, "lkey-unknown", kAllOpcodes, [](Rig &, Work &work) { work.sge.lkey = 0xfffffe01; }, kLocal);
	add(cases, "lkey-other-consumer-key", kAllOpcodes, [](Rig &, Work &work) { work.sge.lkey ^= 0x5a; }, kLocal);
	add(cases, "lkey-stale", kAllOpcodes, [](Rig &rig, Work &work) { work.sge.lkey = stale_key(rig.a); }, kLocal);
	add(cases, "lkey-other-pd", kAllOpcodes,
	    [](Rig &rig, Work &work) { work.sge.lkey = mr_of_other_pd(rig, rig.a)->lkey; }, kLocal);
	add(cases, "local-length", {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ},
	    [](Rig &rig, Work &work) {
		    work.sge.addr = reinterpret_cast<std::uint64_t>(rig.a.memory.data()) + kBufferSize - 255;
	    },
	    kLocal);
	add(cases, "local-address", kAllOpcodes,
	    [](Rig &rig, Work &work) { work.sge.addr = reinterpret_cast<std::uint64_t>(rig.a.memory.data()) - 8; },
	    kLocal);
	add(cases, "local-address-wraps", kAllOpcodes, [](Rig &, Work &work) { work.sge.addr = ~std::uint64_t{0} - 3; },
	    kLocal);
	add(cases, "local-write-denied", {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD},
	    [](Rig &rig, Work &work) { work.sge.lkey = another_mr(rig.a, 0)->lkey; }, kLocal);
}

// OHCA-MEM-D4 OHCA-ERR-D1
void add_remote(Cases &cases)
{
	add(cases, "rkey-unknown", kRemoteOpcodes, [](Rig &, Work &work) { work.rkey = 0xfffffe01; }, kRemote);
	add(cases, "rkey-other-consumer-key", kRemoteOpcodes, [](Rig &, Work &work) { work.rkey ^= 0x5a; }, kRemote);
	add(cases, "rkey-stale", kRemoteOpcodes, [](Rig &rig, Work &work) { work.rkey = stale_key(rig.b); }, kRemote);
	add(cases, "rkey-other-pd", kRemoteOpcodes,
	    [](Rig &rig, Work &work) { work.rkey = mr_of_other_pd(rig, rig.b)->rkey; }, kRemote);
	add(cases, "remote-length", {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ},
	    [](Rig &rig, Work &work) {
		    work.remote_address = reinterpret_cast<std::uint64_t>(rig.b.memory.data()) + kBufferSize - 255;
	    },
	    kRemote);
	add(cases, "remote-address", kRemoteOpcodes,
	    [](Rig &rig, Work &work) {
		    work.remote_address = reinterpret_cast<std::uint64_t>(rig.b.memory.data()) - 8;
	    },
	    kRemote);
	add(cases, "remote-address-wraps", {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ},
	    [](Rig &, Work &work) { work.remote_address = ~std::uint64_t{0} - 7; }, kRemote);
	const auto allowing = [](int access) {
		return [access](Rig &rig, Work &work) { work.rkey = another_mr(rig.b, access)->rkey; };
	};
	add(cases, "remote-write-denied", {IBV_WR_RDMA_WRITE}, allowing(IBV_ACCESS_REMOTE_READ), kRemote);
	add(cases, "remote-read-denied", {IBV_WR_RDMA_READ}, allowing(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
	    kRemote);
	add(cases, "remote-atomic-denied", {IBV_WR_ATOMIC_FETCH_AND_ADD},
	    allowing(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ), kRemote);
	add(cases, "misaligned", {IBV_WR_ATOMIC_FETCH_AND_ADD}, [](Rig &, Work &work) { work.remote_address += 4; },
	    kInvalid);
}

// The queue pair itself does not allow what the key would.
void run_qp_access(const std::string &name, ibv_wr_opcode opcode)
{
	const Device device(name);
	RigOptions options;
	options.connection.access = 0;
	Rig rig(device, options);
	Work work = rig.work(opcode);
	work.wr_id = kBad;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, kBad, IBV_WC_REM_INV_REQ_ERR, "an operation that the queue pair does not allow");
	expect_state(rig.b.qp, IBV_QPS_ERR, "the responder");
}

// The receive is at fault: its own completion says how, the sender's that.
// OHCA-RQ-D5
void run_bad_receive(const std::string &name, const std::function<void(Rig &, ibv_sge &)> &spoil,
		     ibv_wc_status receiver, ibv_wc_status sender)
{
	const Device device(name);
	Rig rig(device);
	ibv_sge sge = rig.b.sge();
	sge.addr += kTargetOffset;
	spoil(rig, sge);
	receive(rig.b.qp, sge, kReceive);
	Work work = rig.work(IBV_WR_SEND);
	work.wr_id = kBad;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, kBad, sender, "the SEND");
	expect_completion(rig.b.receive_cq, kReceive, receiver, "the receive");
	expect_state(rig.a.qp, IBV_QPS_ERR, "the sender");
	expect_state(rig.b.qp, IBV_QPS_ERR, "the receiver");
	require_untouched(rig.b.memory.data() + kTargetOffset, 0xbb, "the receiver's memory");
}

void add_receive(Cases &cases, const char *name, const std::function<void(Rig &, ibv_sge &)> &spoil,
		 ibv_wc_status receiver, ibv_wc_status sender)
{
	cases.push_back({name, [spoil, receiver, sender](const std::string &device) {
		run_bad_receive(device, spoil, receiver, sender);
	}});
}

}  // namespace

void add_key_cases(Cases &cases)
{
	add_local(cases);
	add_remote(cases);
	for (const ibv_wr_opcode opcode : kRemoteOpcodes) {
		cases.push_back({std::string("qp-access-denied-") + short_name(opcode),
				 [opcode](const std::string &device) { run_qp_access(device, opcode); }});
	}
	add_receive(cases, "lkey-unknown-receive", [](Rig &, ibv_sge &sge) { sge.lkey = 0xfffffe01; }, IBV_WC_LOC_PROT_ERR,
		    IBV_WC_REM_OP_ERR);
	add_receive(cases, "lkey-other-pd-receive", [](Rig &rig, ibv_sge &sge) { sge.lkey = rig.a.mr->lkey; },
		    IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	add_receive(cases, "local-write-denied-receive",
		    [](Rig &rig, ibv_sge &sge) { sge.lkey = another_mr(rig.b, IBV_ACCESS_REMOTE_READ)->lkey; },
		    IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	add_receive(cases, "receive-too-short", [](Rig &, ibv_sge &sge) { sge.length = 255; }, IBV_WC_LOC_LEN_ERR,
		    IBV_WC_REM_INV_REQ_ERR);
}

}  // namespace verbs_test
