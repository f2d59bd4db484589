// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Control verbs: destroying what is in use, illegal transitions, bad attributes.
#include "error/cases.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <cerrno>
#include <unistd.h>

namespace verbs_test {

namespace {

void expect_traffic(Rig &rig, const char *what)
{
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	work.wr_id = 4711;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, 4711, IBV_WC_SUCCESS, what);
}

// OHCA-CMD-D11
void destroy_busy(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	expect_errno(ibv_destroy_cq(rig.a.send_cq), EBUSY, "destroying a CQ that a queue pair sends to");
	expect_errno(ibv_destroy_cq(rig.a.receive_cq), EBUSY, "destroying a CQ that a queue pair receives to");
	expect_errno(ibv_dealloc_pd(rig.a.pd), EBUSY, "freeing a PD with a queue pair and a key");
	expect_traffic(rig, "a WRITE after the refused destructions");
}

// OHCA-CMD-D11
void destroy_pd_with_key(const std::string &name)
{
	const Device device(name);
	ibv_pd *pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	Mapping memory(8192, PageKind::kSmall);
	ibv_mr *mr = must(ibv_reg_mr(pd, memory.data(), 8192, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	expect_errno(ibv_dealloc_pd(pd), EBUSY, "freeing a PD with a key");
	must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr");
	must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
}

// Whatever is outstanding dies with its queue pair, and the peer learns of it.
// OHCA-CQ-D6
void destroy_with_work_outstanding(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connection.ack_timeout = 13;
	options.connection.retry_count = 2;
	for (int round = 0; round < 20; round++) {
		Rig rig(device, options);
		Work work = rig.work(round % 2 == 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
		work.sge.length = 32 << 10;
		for (int i = 0; i < 16; i++)
			post(rig.a.qp, work);
		work.opcode = IBV_WR_RDMA_WRITE;
		work.sge = rig.b.sge();
		work.remote_address = reinterpret_cast<std::uint64_t>(rig.a.memory.data());
		work.rkey = rig.a.mr->rkey;
		must_succeed(ibv_destroy_qp(rig.a.qp), "ibv_destroy_qp with work outstanding");
		rig.a.qp = nullptr;
		if (round % 5 == 0) {
			post(rig.b.qp, work);
			expect_completion(rig.b.send_cq, 0, IBV_WC_RETRY_EXC_ERR, "the peer of a destroyed queue pair");
		}
	}
}

// A key that goes while it is used: an error of that operation, or success, nothing else.
// OHCA-CMD-D13 OHCA-MEM-D6
void deregister_busy(const std::string &name)
{
	const Device device(name);
	for (int round = 0; round < 20; round++) {
		Rig rig(device);
		ibv_mr *mr = must(ibv_reg_mr(rig.b.pd, rig.b.memory.data(), kBufferSize,
					     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
				  "ibv_reg_mr");
		Work work = rig.work(IBV_WR_RDMA_WRITE);
		work.rkey = mr->rkey;
		work.sge.length = kBufferSize;
		for (int i = 0; i < 16; i++)
			post(rig.a.qp, work);
		must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr of a key in use");
		bool failed = false;
		for (int i = 0; i < 16; i++) {
			const ibv_wc wc = wait_completion(rig.a.send_cq, "a WRITE through a key that goes");
			const ibv_wc_status wanted = failed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_REM_ACCESS_ERR;
			if (wc.status != wanted && (failed || wc.status != IBV_WC_SUCCESS))
				fail("status '%s' instead of '%s'", ibv_wc_status_str(wc.status), ibv_wc_status_str(wanted));
			failed = wc.status != IBV_WC_SUCCESS;
		}
	}
}

void try_transition(Rig &rig, ibv_qp_state to, const char *what)
{
	const ibv_qp_state before = state_of(rig.a.qp);
	int error;
	if (to == IBV_QPS_INIT)
		error = to_init(rig.a.qp, rig.options.connection);
	else if (to == IBV_QPS_RTR)
		error = to_rtr(rig.a.qp, rig.device, {rig.device.gid(), rig.b.qp->qp_num}, rig.options.connection);
	else if (to == IBV_QPS_RTS)
		error = to_rts(rig.a.qp, rig.options.connection);
	else
		error = to_state(rig.a.qp, to);
	expect_errno(error, EINVAL, what);
	if (state_of(rig.a.qp) != before)
		fail("%s: refused, but the state went from %d to %d", what, before, state_of(rig.a.qp));
}

// OHCA-QP-D1
void illegal_transitions(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connected = false;
	Rig rig(device, options);
	const ConnectionOptions &connection = options.connection;
	try_transition(rig, IBV_QPS_RTR, "RESET to RTR");
	try_transition(rig, IBV_QPS_RTS, "RESET to RTS");
	try_transition(rig, IBV_QPS_SQD, "RESET to SQD");
	must_succeed(to_init(rig.a.qp, connection), "to INIT");
	try_transition(rig, IBV_QPS_RTS, "INIT to RTS");
	try_transition(rig, IBV_QPS_SQD, "INIT to SQD");
	must_succeed(to_rtr(rig.a.qp, device, {device.gid(), rig.b.qp->qp_num}, connection), "to RTR");
	try_transition(rig, IBV_QPS_INIT, "RTR to INIT");
	try_transition(rig, IBV_QPS_RTR, "RTR to RTR");
	must_succeed(to_rts(rig.a.qp, connection), "to RTS");
	try_transition(rig, IBV_QPS_INIT, "RTS to INIT");
	try_transition(rig, IBV_QPS_RTR, "RTS to RTR");
	must_succeed(to_state(rig.a.qp, IBV_QPS_ERR), "to ERR");
	try_transition(rig, IBV_QPS_INIT, "ERR to INIT");
	try_transition(rig, IBV_QPS_RTR, "ERR to RTR");
	try_transition(rig, IBV_QPS_RTS, "ERR to RTS");
	must_succeed(to_state(rig.a.qp, IBV_QPS_RESET), "to RESET");
	rig.connect_both();
	expect_traffic(rig, "a WRITE after all that");
}

// Attributes that are out of range, with the transition they would belong to.
// OHCA-QP-D1
void bad_attributes(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connected = false;
	Rig rig(device, options);
	const Peer peer = {device.gid(), rig.b.qp->qp_num};
	ibv_qp_attr init{};
	init.qp_state = IBV_QPS_INIT;
	init.port_num = 2;
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	expect_errno(ibv_modify_qp(rig.a.qp, &init, mask), EINVAL, "port 2");
	init.port_num = 1;
	init.pkey_index = 1;
	expect_errno(ibv_modify_qp(rig.a.qp, &init, mask), EINVAL, "P_Key index 1");
	must_succeed(to_init(rig.a.qp, options.connection), "to INIT");
	ConnectionOptions bad = options.connection;
	bad.mtu = static_cast<ibv_mtu>(6);
	expect_errno(to_rtr(rig.a.qp, device, peer, bad), EINVAL, "path MTU 6");
	bad = options.connection;
	bad.read_atomic_responder = 255;
	expect_errno(to_rtr(rig.a.qp, device, peer, bad), EINVAL, "max_dest_rd_atomic 255");
	must_succeed(to_rtr(rig.a.qp, device, peer, options.connection), "to RTR");
	bad = options.connection;
	bad.read_atomic_initiator = 255;
	expect_errno(to_rts(rig.a.qp, bad), EINVAL, "max_rd_atomic 255");
	if (state_of(rig.a.qp) != IBV_QPS_RTR)
		fail("refused attributes changed the state");
	must_succeed(to_rts(rig.a.qp, options.connection), "to RTS");
	connect(rig.b.qp, device, {device.gid(), rig.a.qp->qp_num}, options.connection);
	expect_traffic(rig, "a WRITE after all that");
}

// SQD: what is posted waits, what was posted before is finished, and the event says when.
// OHCA-QP-D4
void send_queue_drained(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	for (std::uint64_t i = 0; i < 8; i++) {
		work.wr_id = i;
		post(rig.a.qp, work);
	}
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_SQD;
	attributes.en_sqd_async_notify = 1;
	must_succeed(ibv_modify_qp(rig.a.qp, &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), "to SQD");
	const ibv_async_event event = wait_event(device.context(), IBV_EVENT_SQ_DRAINED, "draining");
	if (event.element.qp != rig.a.qp)
		fail("the event is about another queue pair");
	work.wr_id = 100;
	post(rig.a.qp, work);
	// IBTA lets SQD begin anywhere in the queue: what has not begun then waits, too
	std::uint64_t next = 0;
	ibv_wc wc{};
	while (ibv_poll_cq(rig.a.send_cq, 1, &wc) == 1) {
		if (wc.wr_id != next++ || wc.status != IBV_WC_SUCCESS)
			fail("completion %d while draining: wr_id %d, %s", static_cast<int>(next - 1), static_cast<int>(wc.wr_id),
			     ibv_wc_status_str(wc.status));
	}
	expect_nothing(rig.a.send_cq, 0.3, "a WRITE posted in SQD");
	must_succeed(to_state(rig.a.qp, IBV_QPS_RTS), "SQD to RTS");
	for (; next < 8; next++)
		expect_completion(rig.a.send_cq, next, IBV_WC_SUCCESS, "a WRITE from before SQD");
	expect_completion(rig.a.send_cq, 100, IBV_WC_SUCCESS, "the WRITE posted in SQD");
}

}  // namespace

void add_control_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"destroy-busy", destroy_busy},
		{"destroy-pd-with-key", destroy_pd_with_key},
		{"destroy-with-work-outstanding", destroy_with_work_outstanding},
		{"deregister-busy", deregister_busy},
		{"illegal-transitions", illegal_transitions},
		{"bad-attributes", bad_attributes},
		{"send-queue-drained", send_queue_drained},
	});
}

}  // namespace verbs_test
