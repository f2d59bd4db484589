// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Peers that are gone, never were, or count differently.
#include "error/cases.hh"
#include "error/rig.hh"
#include "failure.hh"

namespace verbs_test {

namespace {

RigOptions impatient()
{
	RigOptions options;
	options.connection.ack_timeout = 13;  // 34 ms
	options.connection.retry_count = 2;
	return options;
}

void expect_retry_exceeded(Rig &rig, const char *what)
{
	for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		Work work = rig.work(opcode);
		work.wr_id = opcode;
		post(rig.a.qp, work);
	}
	expect_completion(rig.a.send_cq, IBV_WR_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR, what);
	expect_completion(rig.a.send_cq, IBV_WR_RDMA_READ, IBV_WC_WR_FLUSH_ERR, what);
	expect_state(rig.a.qp, IBV_QPS_ERR, what);
}

// OHCA-RC-D5
void peer_destroyed(const std::string &name)
{
	const Device device(name);
	Rig rig(device, impatient());
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	work.wr_id = 100;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, 100, IBV_WC_SUCCESS, "a WRITE while the peer is there");
	rig.destroy_b();
	expect_retry_exceeded(rig, "a WRITE to a destroyed queue pair");
}

void peer_reset(const std::string &name)
{
	const Device device(name);
	Rig rig(device, impatient());
	must_succeed(to_state(rig.b.qp, IBV_QPS_RESET), "the peer to RESET");
	expect_retry_exceeded(rig, "a WRITE to a queue pair in RESET");
}

void peer_in_error(const std::string &name)
{
	const Device device(name);
	Rig rig(device, impatient());
	must_succeed(to_state(rig.b.qp, IBV_QPS_ERR), "the peer to ERR");
	expect_retry_exceeded(rig, "a WRITE to a queue pair in ERR");
}

void connect_to_number(const std::string &name, std::uint32_t qpn, const char *what)
{
	const Device device(name);
	RigOptions options = impatient();
	options.connected = false;
	Rig rig(device, options);
	connect(rig.a.qp, device, {device.gid(), qpn}, options.connection);
	expect_retry_exceeded(rig, what);
}

void peer_unknown(const std::string &name)
{
	connect_to_number(name, 0xfffff0, "a WRITE to a queue pair that never was");
}

// b is connected to itself: what a sends is not from its peer.
// OHCA-RC-D11
void peer_of_another(const std::string &name)
{
	const Device device(name);
	RigOptions options = impatient();
	options.connected = false;
	Rig rig(device, options);
	connect(rig.a.qp, device, {device.gid(), rig.b.qp->qp_num}, options.connection);
	connect(rig.b.qp, device, {device.gid(), rig.b.qp->qp_num}, options.connection);
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	work.wr_id = 1;
	post(rig.a.qp, work);
	const ibv_wc wc = wait_completion(rig.a.send_cq, "a WRITE to a queue pair that has another peer");
	// RoCE responders do not have to check the sender; if they answer, they answer their own peer
	if (wc.status != IBV_WC_RETRY_EXC_ERR)
		fail("status '%s' instead of '%s'", ibv_wc_status_str(wc.status), ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR));
}

void psn_ahead(const std::string &name)
{
	const Device device(name);
	RigOptions options = impatient();
	options.connection.rq_psn = 1000;
	options.connection.sq_psn = 2000;
	Rig rig(device, options);
	expect_retry_exceeded(rig, "a WRITE whose PSN is ahead");
	if (rig.b.memory.data()[0] != 0xbb)
		fail("a WRITE with a wrong PSN was executed");
	expect_state(rig.b.qp, IBV_QPS_RTS, "the responder");
}

void psn_behind(const std::string &name)
{
	const Device device(name);
	RigOptions options = impatient();
	options.connection.rq_psn = 2000;
	options.connection.sq_psn = 1000;
	Rig rig(device, options);
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	work.wr_id = 1;
	post(rig.a.qp, work);
	// It looks like a duplicate: it must not be executed, whatever the answer is.
	wait_completion(rig.a.send_cq, "a WRITE whose PSN is behind");
	if (rig.b.memory.data()[0] != 0xbb)
		fail("a WRITE with a wrong PSN was executed");
	expect_state(rig.b.qp, IBV_QPS_RTS, "the responder");
}

// A peer that vanishes and comes back within the retries is not missed.
void peer_returns(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connection.ack_timeout = 16;  // 268 ms
	options.connected = false;
	Rig rig(device, options);
	connect(rig.a.qp, device, {device.gid(), rig.b.qp->qp_num}, options.connection);
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	work.wr_id = 1;
	post(rig.a.qp, work);
	expect_nothing(rig.a.send_cq, 0.3, "a WRITE to a queue pair in RESET");
	connect(rig.b.qp, device, {device.gid(), rig.a.qp->qp_num}, options.connection);
	expect_completion(rig.a.send_cq, 1, IBV_WC_SUCCESS, "the WRITE once the peer is there");
}

}  // namespace

void add_connection_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"peer-destroyed", peer_destroyed},
		{"peer-reset", peer_reset},
		{"peer-in-error", peer_in_error},
		{"peer-unknown", peer_unknown},
		{"peer-of-another", peer_of_another},
		{"peer-returns", peer_returns},
		{"psn-ahead", psn_ahead},
		{"psn-behind", psn_behind},
	});
}

}  // namespace verbs_test
