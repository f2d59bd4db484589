// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error/rig.hh"

#include "deadline.hh"
#include "failure.hh"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace verbs_test {

Rig::Rig(const Device &the_device, const RigOptions &the_options) : device(the_device), options(the_options)
{
	create(a);
	create(b);
	std::memset(a.memory.data(), 0xaa, kBufferSize);
	std::memset(b.memory.data(), 0xbb, kBufferSize);
	if (options.connected)
		connect_both();
}

Rig::~Rig()
{
	destroy(a);
	destroy(b);
}

void Rig::create(End &end) const
{
	end.pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	end.send_cq = must(ibv_create_cq(device.context(), options.send_cq_depth, nullptr, nullptr, 0), "ibv_create_cq");
	end.receive_cq = must(ibv_create_cq(device.context(), options.receive_cq_depth, nullptr, nullptr, 0),
			      "ibv_create_cq");
	end.mr = must(ibv_reg_mr(end.pd, end.memory.data(), kBufferSize, options.memory_access), "ibv_reg_mr");
	ibv_qp_init_attr_ex attributes{};
	attributes.send_cq = end.send_cq;
	attributes.recv_cq = end.receive_cq;
	attributes.cap = options.capabilities;
	attributes.qp_type = IBV_QPT_RC;
	attributes.sq_sig_all = options.signal_all ? 1 : 0;
	attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
	attributes.pd = end.pd;
	if (options.send_ops != 0) {
		attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attributes.send_ops_flags = options.send_ops;
	}
	end.qp = must(ibv_create_qp_ex(device.context(), &attributes), "ibv_create_qp_ex");
}

void Rig::connect_both()
{
	connect(a.qp, device, {device.gid(), b.qp->qp_num}, options.connection);
	ConnectionOptions back = options.connection;
	std::swap(back.sq_psn, back.rq_psn);
	// a case that mismatches the PSNs means the way from a to b
	if (back.sq_psn != back.rq_psn)
		back.sq_psn = back.rq_psn = options.connection.rq_psn;
	connect(b.qp, device, {device.gid(), a.qp->qp_num}, back);
}

void Rig::destroy_b()
{
	must_succeed(ibv_destroy_qp(b.qp), "ibv_destroy_qp");
	b.qp = nullptr;
}

void Rig::destroy(End &end)
{
	if (end.qp != nullptr)
		must_succeed(ibv_destroy_qp(end.qp), "ibv_destroy_qp at the end");
	must_succeed(ibv_destroy_cq(end.send_cq), "ibv_destroy_cq at the end");
	must_succeed(ibv_destroy_cq(end.receive_cq), "ibv_destroy_cq at the end");
	end.other_mrs.push_back(end.mr);
	end.other_pds.push_back(end.pd);
	for (ibv_mr *mr : end.other_mrs)
		must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr at the end");
	for (ibv_pd *pd : end.other_pds)
		must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd at the end");
}

Work Rig::work(ibv_wr_opcode opcode) const
{
	const bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	return {opcode, a.sge(atomic ? 8 : 256), reinterpret_cast<std::uint64_t>(b.memory.data()), b.mr->rkey};
}

int try_post(ibv_qp *qp, const Work &work)
{
	ibv_sge sge = work.sge;
	ibv_send_wr wr{};
	wr.wr_id = work.wr_id;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = work.opcode;
	wr.send_flags = work.flags;
	if (work.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = work.remote_address;
		wr.wr.atomic.rkey = work.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = work.remote_address;
		wr.wr.rdma.rkey = work.rkey;
	}
	ibv_send_wr *bad = nullptr;
	const int error = ibv_post_send(qp, &wr, &bad);
	if (error != 0 && bad != &wr)
		fail("ibv_post_send failed and bad_wr is not the work request");
	return error;
}

void post(ibv_qp *qp, const Work &work)
{
	must_succeed(try_post(qp, work), "ibv_post_send");
}

int try_receive(ibv_qp *qp, const ibv_sge *sge, int count, std::uint64_t wr_id)
{
	ibv_recv_wr wr{wr_id, nullptr, const_cast<ibv_sge *>(sge), count};
	ibv_recv_wr *bad = nullptr;
	const int error = ibv_post_recv(qp, &wr, &bad);
	if (error != 0 && bad != &wr)
		fail("ibv_post_recv failed and bad_wr is not the work request");
	return error;
}

void receive(ibv_qp *qp, const ibv_sge &sge, std::uint64_t wr_id)
{
	must_succeed(try_receive(qp, &sge, 1, wr_id), "ibv_post_recv");
}

ibv_wc wait_completion(ibv_cq *cq, const char *what, double seconds)
{
	const Deadline deadline(seconds);
	ibv_wc wc{};
	for (;;) {
		const int count = ibv_poll_cq(cq, 1, &wc);
		if (count == 1)
			return wc;
		if (count < 0)
			fail("%s: ibv_poll_cq returned %d", what, count);
		if (deadline.passed())
			fail("waited %.0f s for a completion: %s", seconds, what);
		usleep(100);
	}
}

void expect_completion(ibv_cq *cq, std::uint64_t wr_id, ibv_wc_status status, const char *what, double seconds)
{
	const ibv_wc wc = wait_completion(cq, what, seconds);
	if (wc.wr_id != wr_id)
		fail("%s: completion of wr_id %" PRIu64 " (%s) instead of %" PRIu64, what, wc.wr_id,
		     ibv_wc_status_str(wc.status), wr_id);
	if (wc.status != status)
		fail("%s: wr_id %" PRIu64 " has status '%s' (vendor error %u) instead of '%s'", what, wr_id,
		     ibv_wc_status_str(wc.status), wc.vendor_err, ibv_wc_status_str(status));
}

void expect_nothing(ibv_cq *cq, double seconds, const char *what)
{
	const Deadline deadline(seconds);
	ibv_wc wc{};
	while (!deadline.passed()) {
		if (ibv_poll_cq(cq, 1, &wc) != 0)
			fail("%s: an unexpected completion, wr_id %" PRIu64 ", %s", what, wc.wr_id,
			     ibv_wc_status_str(wc.status));
		usleep(500);
	}
}

void expect_state(ibv_qp *qp, ibv_qp_state state, const char *what)
{
	const Deadline deadline(kPatience);
	while (state_of(qp) != state) {
		if (deadline.passed())
			fail("%s: waited %.0f s for state %d, the queue pair is in %d", what, kPatience, state, state_of(qp));
		usleep(1000);
	}
}

void expect_errno(int got, int wanted, const char *what)
{
	if (got != wanted)
		fail("%s: %s (%d) instead of %s", what, std::strerror(got), got, std::strerror(wanted));
}

ibv_async_event wait_event(ibv_context *context, ibv_event_type type, const char *what)
{
	const Deadline deadline(kPatience);
	fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		ibv_async_event event{};
		if (ibv_get_async_event(context, &event) == 0) {
			ibv_ack_async_event(&event);
			if (event.event_type == type)
				return event;
			std::fprintf(stderr, "%s: event '%s' on the way\n", what, ibv_event_type_str(event.event_type));
			continue;
		}
		pollfd file = {context->async_fd, POLLIN, 0};
		if (deadline.passed())
			fail("%s: waited %.0f s for the event '%s'", what, kPatience, ibv_event_type_str(type));
		poll(&file, 1, 100);
	}
}

}  // namespace verbs_test
