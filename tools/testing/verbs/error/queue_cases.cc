// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Queues that are full, empty, overrun, in error or in the wrong state.
#include "deadline.hh"
#include "error/cases.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <thread>

namespace verbs_test {

namespace {

std::uint32_t granted_send_depth(ibv_qp *qp)
{
	ibv_qp_attr attributes{};
	ibv_qp_init_attr created{};
	must_succeed(ibv_query_qp(qp, &attributes, IBV_QP_CAP, &created), "ibv_query_qp");
	return created.cap.max_send_wr;
}

std::uint32_t granted_receive_depth(ibv_qp *qp)
{
	ibv_qp_attr attributes{};
	ibv_qp_init_attr created{};
	must_succeed(ibv_query_qp(qp, &attributes, IBV_QP_CAP, &created), "ibv_query_qp");
	return created.cap.max_recv_wr;
}

// RNR keeps the send queue busy for as long as the case wants.
// OHCA-SQ-H2
void post_beyond_send_queue(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	const std::uint32_t depth = granted_send_depth(rig.a.qp);
	Work work = rig.work(IBV_WR_SEND);
	for (std::uint32_t i = 0; i < depth; i++) {
		work.wr_id = i;
		post(rig.a.qp, work);
	}
	for (int i = 0; i < 3; i++)
		expect_errno(try_post(rig.a.qp, work), ENOMEM, "posting to a full send queue");
	for (std::uint32_t i = 0; i < depth; i++)
		receive(rig.b.qp, rig.b.sge(), i);
	for (std::uint32_t i = 0; i < depth; i++) {
		expect_completion(rig.a.send_cq, i, IBV_WC_SUCCESS, "the SENDs that fitted");
		expect_completion(rig.b.receive_cq, i, IBV_WC_SUCCESS, "their receives");
	}
	expect_nothing(rig.a.send_cq, 0.1, "what did not fit");
	receive(rig.b.qp, rig.b.sge(), 77);
	work.wr_id = 77;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, 77, IBV_WC_SUCCESS, "a SEND when there is room again");
}

// OHCA-RQ-H2
void post_beyond_receive_queue(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	const std::uint32_t depth = granted_receive_depth(rig.b.qp);
	for (std::uint32_t i = 0; i < depth; i++)
		receive(rig.b.qp, rig.b.sge(), i);
	const ibv_sge sge = rig.b.sge();
	expect_errno(try_receive(rig.b.qp, &sge, 1, 99), ENOMEM, "posting to a full receive queue");
	Work work = rig.work(IBV_WR_SEND);
	post(rig.a.qp, work);
	expect_completion(rig.b.receive_cq, 0, IBV_WC_SUCCESS, "the first receive");
	receive(rig.b.qp, sge, depth);
}

// The list is taken up to the first work request that does not fit, and bad_wr names that one.
void post_list_beyond_queue(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	const std::uint32_t depth = granted_send_depth(rig.a.qp);
	std::vector<ibv_send_wr> list(depth + 2);
	ibv_sge sge = rig.a.sge();
	for (std::uint32_t i = 0; i < list.size(); i++) {
		list[i].wr_id = i;
		list[i].opcode = IBV_WR_RDMA_WRITE;
		list[i].sg_list = &sge;
		list[i].num_sge = 1;
		list[i].wr.rdma.remote_addr = reinterpret_cast<std::uint64_t>(rig.b.memory.data());
		list[i].wr.rdma.rkey = rig.b.mr->rkey;
		list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
	}
	ibv_send_wr *bad = nullptr;
	expect_errno(ibv_post_send(rig.a.qp, list.data(), &bad), ENOMEM, "a list longer than the queue");
	if (bad != &list[depth])
		fail("bad_wr is work request %td of the list instead of %u", bad - list.data(), depth);
	for (std::uint32_t i = 0; i < depth; i++)
		expect_completion(rig.a.send_cq, i, IBV_WC_SUCCESS, "the work requests before bad_wr");
}

void post_malformed(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	ibv_sge sges[64];
	for (ibv_sge &sge : sges)
		sge = rig.a.sge(8);
	ibv_send_wr wr{};
	ibv_send_wr *bad = nullptr;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.sg_list = sges;
	wr.num_sge = 64;
	if (ibv_post_send(rig.a.qp, &wr, &bad) == 0)
		fail("64 elements were accepted by a queue pair made for 4");
	wr.num_sge = 1;
	wr.opcode = IBV_WR_TSO;  // for other types of queue pairs
	expect_errno(ibv_post_send(rig.a.qp, &wr, &bad), EINVAL, "opcode TSO");
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_INLINE;
	sges[0].length = kBufferSize;
	if (ibv_post_send(rig.a.qp, &wr, &bad) == 0)
		fail("64 KiB of inline data were accepted by a queue pair made for 64 bytes");
	if (try_receive(rig.b.qp, sges, 64, 0) == 0)
		fail("a receive with 64 elements was accepted by a queue pair made for 4");
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	work.wr_id = 5;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, 5, IBV_WC_SUCCESS, "a good WRITE after those refused");
}

void post_before_rts(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connected = false;
	Rig rig(device, options);
	const Work work = rig.work(IBV_WR_RDMA_WRITE);
	const ibv_sge sge = rig.a.sge();
	expect_errno(try_receive(rig.a.qp, &sge, 1, 0), EINVAL, "posting a receive in RESET");
	expect_errno(try_post(rig.a.qp, work), EINVAL, "posting a send in RESET");
	must_succeed(to_init(rig.a.qp, options.connection), "to INIT");
	expect_errno(try_post(rig.a.qp, work), EINVAL, "posting a send in INIT");
	must_succeed(try_receive(rig.a.qp, &sge, 1, 0), "posting a receive in INIT");
}

// Everything outstanding and everything posted later is flushed, in order.
// OHCA-ERR-D3
void flush_order(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	for (std::uint64_t i = 0; i < 8; i++)
		receive(rig.a.qp, rig.a.sge(), i);
	Work work = rig.work(IBV_WR_SEND);  // nobody receives: they stay
	for (std::uint64_t i = 0; i < 4; i++) {
		work.wr_id = 100 + i;
		post(rig.a.qp, work);
	}
	must_succeed(to_state(rig.a.qp, IBV_QPS_ERR), "to ERR");
	for (std::uint64_t i = 4; i < 8; i++) {
		work.wr_id = 100 + i;
		post(rig.a.qp, work);
	}
	for (std::uint64_t i = 8; i < 12; i++)
		receive(rig.a.qp, rig.a.sge(), i);
	for (std::uint64_t i = 0; i < 8; i++)
		expect_completion(rig.a.send_cq, 100 + i, IBV_WC_WR_FLUSH_ERR, "a send of a queue pair in ERR");
	for (std::uint64_t i = 0; i < 12; i++)
		expect_completion(rig.a.receive_cq, i, IBV_WC_WR_FLUSH_ERR, "a receive of a queue pair in ERR");
	expect_nothing(rig.a.send_cq, 0.1, "the send CQ after the flush");
	// and it can be used again
	must_succeed(to_state(rig.a.qp, IBV_QPS_RESET), "to RESET");
	must_succeed(to_state(rig.b.qp, IBV_QPS_RESET), "to RESET");
	rig.connect_both();
	work = rig.work(IBV_WR_RDMA_WRITE);
	work.wr_id = 200;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, 200, IBV_WC_SUCCESS, "a WRITE after RESET");
}

// Unsignaled work requests get completions when they are flushed.
// OHCA-SQ-D6
void flush_unsignaled(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.signal_all = false;
	Rig rig(device, options);
	must_succeed(to_state(rig.a.qp, IBV_QPS_ERR), "to ERR");
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	for (std::uint64_t i = 0; i < 5; i++) {
		work.wr_id = i;
		post(rig.a.qp, work);
	}
	for (std::uint64_t i = 0; i < 5; i++)
		expect_completion(rig.a.send_cq, i, IBV_WC_WR_FLUSH_ERR, "an unsignaled send of a queue pair in ERR");
}

// Defined result: CQ_ERR on the CQ; its queue pair cannot go on; others are not concerned.
// OHCA-CQ-D3
void cq_overflow(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.send_cq_depth = 4;
	options.capabilities.max_send_wr = 64;
	Rig rig(device, options);
	Rig other(device);
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	for (int i = 0; i < 64; i++) {
		if (try_post(rig.a.qp, work) != 0)
			break;
	}
	const ibv_async_event event = wait_event(device.context(), IBV_EVENT_CQ_ERR, "the overrun CQ");
	if (event.element.cq != rig.a.send_cq)
		fail("the event is about another CQ");
	expect_state(rig.a.qp, IBV_QPS_ERR, "the queue pair of the CQ");
	Work fine = other.work(IBV_WR_RDMA_WRITE);
	fine.wr_id = 9;
	post(other.a.qp, fine);
	expect_completion(other.a.send_cq, 9, IBV_WC_SUCCESS, "another queue pair");
}

void receive_cq_overflow(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.receive_cq_depth = 4;
	options.capabilities.max_recv_wr = 64;
	options.capabilities.max_send_wr = 64;
	options.send_cq_depth = 256;
	options.connection.ack_timeout = 12;
	options.connection.retry_count = 2;
	Rig rig(device, options);
	for (std::uint64_t i = 0; i < 64; i++)
		receive(rig.b.qp, rig.b.sge(), i);
	for (int i = 0; i < 64; i++)
		post(rig.a.qp, rig.work(IBV_WR_SEND));
	const ibv_async_event event = wait_event(device.context(), IBV_EVENT_CQ_ERR, "the overrun receive CQ");
	if (event.element.cq != rig.b.receive_cq)
		fail("the event is about another CQ");
	expect_state(rig.b.qp, IBV_QPS_ERR, "the receiver");
	expect_state(rig.a.qp, IBV_QPS_ERR, "the sender, which gets no more answers");
}

// OHCA-RC-D6
void rnr_retry_exceeded(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connection.rnr_retry = 2;
	options.connection.rnr_timer = 12;  // 0.64 ms
	Rig rig(device, options);
	Work work = rig.work(IBV_WR_SEND);
	work.wr_id = 1;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR, "a SEND that nobody receives");
	expect_state(rig.a.qp, IBV_QPS_ERR, "the sender");
	expect_state(rig.b.qp, IBV_QPS_RTS, "the receiver");
}

void rnr_without_retry(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.connection.rnr_retry = 0;
	Rig rig(device, options);
	Work work = rig.work(IBV_WR_RDMA_WRITE_WITH_IMM);
	work.wr_id = 1;
	post(rig.a.qp, work);
	expect_completion(rig.a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR, "a WRITE_IMM that nobody receives");
}

// OHCA-RC-D6
void rnr_for_ever(const std::string &name)
{
	const Device device(name);
	Rig rig(device);
	Work work = rig.work(IBV_WR_SEND);
	work.wr_id = 1;
	post(rig.a.qp, work);
	expect_nothing(rig.a.send_cq, 1.0, "a SEND that nobody receives yet");
	receive(rig.b.qp, rig.b.sge(), 2);
	expect_completion(rig.a.send_cq, 1, IBV_WC_SUCCESS, "the SEND that is received at last");
	expect_completion(rig.b.receive_cq, 2, IBV_WC_SUCCESS, "the late receive");
}

}  // namespace

void add_queue_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"post-beyond-send-queue", post_beyond_send_queue},
		{"post-beyond-receive-queue", post_beyond_receive_queue},
		{"post-list-beyond-queue", post_list_beyond_queue},
		{"post-malformed", post_malformed},
		{"post-before-rts", post_before_rts},
		{"flush-order", flush_order},
		{"flush-unsignaled", flush_unsignaled},
		{"cq-overflow", cq_overflow},
		{"cq-overflow-receive", receive_cq_overflow},
		{"rnr-retry-exceeded", rnr_retry_exceeded},
		{"rnr-without-retry", rnr_without_retry},
		{"rnr-for-ever", rnr_for_ever},
	});
}

}  // namespace verbs_test
