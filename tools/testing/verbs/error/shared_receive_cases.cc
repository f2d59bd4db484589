// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Shared receive queues and XRC: full, empty, wrong, foreign.
#include "error/cases.hh"
#include "error/parts.hh"
#include "failure.hh"

#include <cerrno>

namespace verbs_test {

namespace {

constexpr std::uint32_t kDepth = 16;

std::uint32_t granted_depth(ibv_srq *srq)
{
	ibv_srq_attr attributes{};
	must_succeed(ibv_query_srq(srq, &attributes), "ibv_query_srq");
	return attributes.max_wr;
}

void receive(ibv_srq *srq, const ibv_sge &sge, std::uint64_t wr_id)
{
	must_succeed(try_receive(srq, &sge, 1, wr_id), "ibv_post_srq_recv");
}

// Sender and receiver of RC; the receiver takes from a shared queue.
struct Sharing {
	explicit Sharing(const std::string &name) : device(name), parts(device)
	{
		srq = parts.create_srq(kDepth);
		add_pair(a, b);
	}
	void add_pair(ibv_qp *&sender, ibv_qp *&receiver)
	{
		sender = parts.create(IBV_QPT_RC);
		receiver = parts.create(IBV_QPT_RC, [this](ibv_qp_init_attr_ex &attributes) { attributes.srq = srq; });
		connect_both(device, sender, receiver);
	}
	void post_send(ibv_qp *qp, std::uint64_t wr_id, std::uint32_t length = 256)
	{
		post(qp, {IBV_WR_SEND, parts.sge(length), 0, 0, wr_id});
	}

	const Device device;
	Parts parts;
	ibv_srq *srq;
	ibv_qp *a = nullptr;
	ibv_qp *b = nullptr;
};

// OHCA-SRQ-H2
void post_beyond_srq(const std::string &name)
{
	Sharing sharing(name);
	const std::uint32_t depth = granted_depth(sharing.srq);
	const ibv_sge sge = sharing.parts.sge(256, kBufferSize / 2);
	for (std::uint32_t i = 0; i < depth; i++)
		receive(sharing.srq, sge, i);
	for (int i = 0; i < 3; i++)
		expect_errno(try_receive(sharing.srq, &sge, 1, 99), ENOMEM, "posting to a full shared receive queue");
	for (std::uint32_t i = 0; i < depth; i++) {
		sharing.post_send(sharing.a, i);
		expect_completion(sharing.parts.receive_cq, i, IBV_WC_SUCCESS, "what fitted");
		expect_completion(sharing.parts.send_cq, i, IBV_WC_SUCCESS, "what fitted, at the sender");
	}
	receive(sharing.srq, sge, 100);
	sharing.post_send(sharing.a, 100);
	expect_completion(sharing.parts.receive_cq, 100, IBV_WC_SUCCESS, "a receive when there is room again");
}

void post_malformed_to_srq(const std::string &name)
{
	Sharing sharing(name);
	ibv_srq_attr attributes{};
	must_succeed(ibv_query_srq(sharing.srq, &attributes), "ibv_query_srq");
	std::vector<ibv_sge> sges(attributes.max_sge + 1, sharing.parts.sge(8, kBufferSize / 2));
	expect_errno(try_receive(sharing.srq, sges.data(), static_cast<int>(sges.size()), 1), EINVAL,
		     "a receive with max_sge + 1 elements");
	must_succeed(try_receive(sharing.srq, sges.data(), static_cast<int>(attributes.max_sge), 2),
		     "a receive with max_sge elements");
	// whose queue pairs have no receive queue of their own
	expect_errno(try_receive(sharing.b, sges.data(), 1, 3), EINVAL, "posting a receive to a queue pair with an SRQ");
	sharing.post_send(sharing.a, 4, 8);
	expect_completion(sharing.parts.receive_cq, 2, IBV_WC_SUCCESS, "the receive that was accepted");
}

// OHCA-CMD-D11 OHCA-SRQ-D6
void modify_srq(const std::string &name)
{
	Sharing sharing(name);
	const ibv_sge sge = sharing.parts.sge(256, kBufferSize / 2);
	const std::uint32_t depth = granted_depth(sharing.srq);
	expect_errno(ibv_destroy_srq(sharing.srq), EBUSY, "destroying an SRQ that a queue pair uses");
	ibv_srq_attr attributes{};
	attributes.srq_limit = depth + 1;
	expect_errno(ibv_modify_srq(sharing.srq, &attributes, IBV_SRQ_LIMIT), EINVAL, "a limit above the depth");
	for (std::uint32_t i = 0; i < depth; i++)
		receive(sharing.srq, sge, i);
	attributes.max_wr = depth / 2;
	expect_errno(ibv_modify_srq(sharing.srq, &attributes, IBV_SRQ_MAX_WR), EINVAL, "a depth below what is posted");
	attributes.max_wr = static_cast<std::uint32_t>(sharing.device.attributes().max_srq_wr) + 1;
	expect_errno(ibv_modify_srq(sharing.srq, &attributes, IBV_SRQ_MAX_WR), EINVAL, "a depth of max_srq_wr + 1");
	attributes.max_wr = 2 * depth;
	must_succeed(ibv_modify_srq(sharing.srq, &attributes, IBV_SRQ_MAX_WR), "twice the depth");
	if (granted_depth(sharing.srq) < 2 * depth)
		fail("the SRQ has %u elements instead of %u", granted_depth(sharing.srq), 2 * depth);
	attributes.srq_limit = depth;
	must_succeed(ibv_modify_srq(sharing.srq, &attributes, IBV_SRQ_LIMIT), "a limit");
	sharing.post_send(sharing.a, 1);
	expect_completion(sharing.parts.receive_cq, 0, IBV_WC_SUCCESS, "the first receive, from before the resizing");
	const ibv_async_event event = wait_event(sharing.device.context(), IBV_EVENT_SRQ_LIMIT_REACHED, "the limit");
	if (event.element.srq != sharing.srq)
		fail("the event is about another SRQ");
	must_succeed(ibv_query_srq(sharing.srq, &attributes), "ibv_query_srq");
	if (attributes.srq_limit != 0)
		fail("the limit has fired and is %u", attributes.srq_limit);
}

// Uses up what is posted, until the receiver is not ready.
void use_up(Sharing &sharing)
{
	ConnectionOptions impatient;
	impatient.rnr_retry = 0;
	ibv_qp *sender = sharing.parts.create(IBV_QPT_RC);
	ibv_qp *receiver = sharing.parts.create(
		IBV_QPT_RC, [&sharing](ibv_qp_init_attr_ex &attributes) { attributes.srq = sharing.srq; });
	connect_both(sharing.device, sender, receiver, impatient);
	ibv_wc wc{};
	std::uint32_t used = 0;
	do {
		sharing.post_send(sender, 1, 8);
		wc = wait_completion(sharing.parts.send_cq, "a SEND that uses up a receive");
		if (wc.status == IBV_WC_SUCCESS && ++used > 2 * kDepth)
			fail("a shared receive queue of %u has no end", kDepth);
	} while (wc.status == IBV_WC_SUCCESS);
	if (wc.status != IBV_WC_RNR_RETRY_EXC_ERR)
		fail("status '%s' of the SEND for which there is no receive", ibv_wc_status_str(wc.status));
	sharing.parts.destroy(sender);
	sharing.parts.destroy(receiver);
	while (ibv_poll_cq(sharing.parts.receive_cq, 1, &wc) == 1) {
	}
}

// Queue pairs that go in the middle of a message do not take room of the queue with them.
// OHCA-SRQ-D11 OHCA-SRQ-H4
void queue_pairs_go(const std::string &name, bool destroy)
{
	constexpr int kRounds = 40;
	constexpr std::uint32_t kLong = 8 << 20;  // several passes of the device
	Sharing sharing(name);
	const std::uint32_t depth = granted_depth(sharing.srq);
	const Mapping memory(kLong, PageKind::kTransparent);
	ibv_mr *mr = must(ibv_reg_mr(sharing.parts.pd, memory.data(), kLong, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	const ibv_sge all = {reinterpret_cast<std::uint64_t>(memory.data()), kLong, mr->lkey};
	for (int round = 0; round < kRounds; round++) {
		const int error = try_receive(sharing.srq, &all, 1, 1);
		if (error != 0 && error != ENOMEM)
			fail_errno("ibv_post_srq_recv", error);
		post(sharing.a, {IBV_WR_SEND, all, 0, 0, 2});
		if (destroy) {
			sharing.parts.destroy(sharing.b);
			sharing.parts.destroy(sharing.a);
			sharing.add_pair(sharing.a, sharing.b);
		} else {
			must_succeed(to_state(sharing.b, IBV_QPS_RESET), "to RESET");
			must_succeed(to_state(sharing.a, IBV_QPS_RESET), "to RESET");
			connect_both(sharing.device, sharing.a, sharing.b);
		}
	}
	use_up(sharing);
	for (std::uint32_t i = 0; i < depth; i++)
		must_succeed(try_receive(sharing.srq, &all, 1, i), "posting as many receives as the queue has");
	expect_errno(try_receive(sharing.srq, &all, 1, depth), ENOMEM, "posting one more");
	use_up(sharing);
	must_succeed(ibv_dereg_mr(mr), "ibv_dereg_mr");
}

void queue_pairs_destroyed(const std::string &name)
{
	queue_pairs_go(name, true);
}

void queue_pairs_reset(const std::string &name)
{
	queue_pairs_go(name, false);
}

// An initiator and a target of XRC, and an SRQ of the target's domain.
struct Xrc {
	explicit Xrc(const std::string &name) : device(name), parts(device)
	{
		srq = parts.create_xrc_srq(parts.xrcd, kDepth);
		must_succeed(ibv_get_srq_num(srq, &number), "ibv_get_srq_num");
		initiator = parts.create(IBV_QPT_XRC_SEND);
		target = parts.create(IBV_QPT_XRC_RECV);
		connect_both(device, initiator, target);
		receive(srq, parts.sge(256, kBufferSize / 2), 1);
	}
	void expect_delivery()
	{
		send_xrc(initiator, number, parts.sge(), 1);
		expect_completion(parts.send_cq, 1, IBV_WC_SUCCESS, "a SEND of XRC");
		const ibv_wc wc = wait_completion(parts.receive_cq, "a SEND of XRC, received");
		if (wc.status != IBV_WC_SUCCESS || wc.qp_num != target->qp_num || wc.src_qp != initiator->qp_num)
			fail("a SEND of XRC: status '%s', QP 0x%x, from QP 0x%x", ibv_wc_status_str(wc.status), wc.qp_num, wc.src_qp);
	}
	void expect_violation(std::uint32_t srqn, const char *what)
	{
		send_xrc(initiator, srqn, parts.sge(), 2);
		expect_completion(parts.send_cq, 2, IBV_WC_REM_INV_REQ_ERR, what);
		expect_state(initiator, IBV_QPS_ERR, "the initiator");
		expect_state(target, IBV_QPS_ERR, "the target");
		expect_nothing(parts.receive_cq, 0.1, what);
	}

	const Device device;
	Parts parts;
	ibv_srq *srq;
	std::uint32_t number = 0;
	ibv_qp *initiator;
	ibv_qp *target;
};

// OHCA-XRC-D4
void foreign_domain(const std::string &name)
{
	Xrc xrc(name);
	xrc.expect_delivery();
	ibv_srq *foreign = xrc.parts.create_xrc_srq(xrc.parts.open_xrcd(), kDepth);
	receive(foreign, xrc.parts.sge(256, kBufferSize / 2), 5);
	std::uint32_t number = 0;
	must_succeed(ibv_get_srq_num(foreign, &number), "ibv_get_srq_num");
	xrc.expect_violation(number, "a SEND to an SRQ of another domain");
}

// OHCA-XRC-D4
void no_such_srq(const std::string &name)
{
	Xrc xrc(name);
	xrc.expect_delivery();
	xrc.expect_violation(0xfffff0, "a SEND to an SRQ that never was");
}

// OHCA-XRC-D4 OHCA-XRC-D6
void destroyed_srq(const std::string &name)
{
	Xrc xrc(name);
	xrc.expect_delivery();
	xrc.parts.destroy(xrc.srq);
	xrc.expect_violation(xrc.number, "a SEND to an SRQ that is gone");
}

// OHCA-XRC-D5
void empty_xrc_srq(const std::string &name)
{
	Xrc xrc(name);
	xrc.expect_delivery();
	send_xrc(xrc.initiator, xrc.number, xrc.parts.sge(), 3);
	expect_nothing(xrc.parts.send_cq, 0.2, "a SEND to an empty SRQ");
	receive(xrc.srq, xrc.parts.sge(256, kBufferSize / 2), 4);
	expect_completion(xrc.parts.send_cq, 3, IBV_WC_SUCCESS, "a SEND that is received at last");
	expect_completion(xrc.parts.receive_cq, 4, IBV_WC_SUCCESS, "the late receive");
}

// What an SRQ or a domain may not be used for.
// OHCA-CMD-D11
void misused_xrc_objects(const std::string &name)
{
	Xrc xrc(name);
	std::uint32_t number = 0;
	expect_errno(ibv_get_srq_num(xrc.parts.create_srq(kDepth), &number), EINVAL, "the number of a basic SRQ");
	expect_errno(ibv_close_xrcd(xrc.parts.xrcd), EBUSY, "closing a domain with an SRQ and a target");
	expect_errno(ibv_destroy_cq(xrc.parts.receive_cq), EBUSY, "destroying the CQ of an XRC SRQ");
	const ibv_qp *with_srq = xrc.parts.try_create(
		IBV_QPT_XRC_SEND, [&xrc](ibv_qp_init_attr_ex &attributes) { attributes.srq = xrc.srq; });
	if (with_srq != nullptr)
		fail("an initiator was created with an SRQ");
	const ibv_qp *without = xrc.parts.try_create(IBV_QPT_XRC_RECV,
						     [](ibv_qp_init_attr_ex &attributes) { attributes.xrcd = nullptr; });
	if (without != nullptr)
		fail("a target was created without a domain");
	const ibv_sge sge = xrc.parts.sge();
	expect_errno(try_receive(xrc.initiator, &sge, 1, 1), EINVAL, "posting a receive to an initiator");
	xrc.expect_delivery();
}

}  // namespace

void add_shared_receive_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"srq-post-beyond", post_beyond_srq},
		{"srq-post-malformed", post_malformed_to_srq},
		{"srq-modify", modify_srq},
		{"srq-queue-pairs-destroyed", queue_pairs_destroyed},
		{"srq-queue-pairs-reset", queue_pairs_reset},
		{"xrc-foreign-domain", foreign_domain},
		{"xrc-no-such-srq", no_such_srq},
		{"xrc-destroyed-srq", destroyed_srq},
		{"xrc-empty-srq", empty_xrc_srq},
		{"xrc-misused-objects", misused_xrc_objects},
	});
}

}  // namespace verbs_test
