// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "async/create_destroy.hh"

#include "async/storm.hh"
#include "deadline.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <infiniband/ohcadv.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <poll.h>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace verbs_test {

namespace {

constexpr int kMulticastByte = 0xff;

// A device with what queue pairs need, and a queue for operations; the cases make the queue pairs.
struct Nursery {
	explicit Nursery(const std::string &name, std::uint32_t depth = 2 * OHCADV_ASYNC_BATCH_MAX)
		: device(name), pd(must(ibv_alloc_pd(device.context()), "ibv_alloc_pd")),
		  cq(must(ibv_create_cq(device.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
		  queue(must(ohcadv_create_async_queue(device.context(), depth), "ohcadv_create_async_queue"))
	{
		fcntl(queue->fd, F_SETFL, O_NONBLOCK);
	}
	~Nursery()
	{
		must_succeed(ohcadv_destroy_async_queue(queue), "ohcadv_destroy_async_queue");
		must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
		must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	}

	ibv_qp_init_attr_ex attributes(ibv_qp_type type = IBV_QPT_RC) const
	{
		ibv_qp_init_attr_ex result{};
		result.send_cq = result.recv_cq = cq;
		result.cap = {4, 4, 1, 1, 0};
		result.qp_type = type;
		result.comp_mask = IBV_QP_INIT_ATTR_PD;
		result.pd = pd;
		return result;
	}

	// `count` completions, which must be there in time.
	std::vector<ohcadv_async_completion> wait(std::size_t count, const char *what) const
	{
		std::vector<ohcadv_async_completion> all;
		const Deadline deadline(kPatience);
		while (all.size() < count) {
			pollfd file = {queue->fd, POLLIN, 0};
			poll(&file, 1, 100);
			ohcadv_async_completion some[64];
			const int read = ohcadv_read_async(queue, some, 64);
			if (read < 0)
				fail_errno(what, -read);
			all.insert(all.end(), some, some + read);
			if (deadline.passed())
				fail("%s: %zu of %zu completions", what, all.size(), count);
		}
		return all;
	}

	ohcadv_async_completion wait_one(int error, const char *what) const
	{
		const ohcadv_async_completion completion = wait(1, what).front();
		expect_errno(completion.error, error, what);
		return completion;
	}

	std::vector<ibv_qp *> create(std::uint32_t count, ibv_qp_init_attr_ex wanted) const
	{
		std::vector<std::uint64_t> wr_ids(count);
		std::iota(wr_ids.begin(), wr_ids.end(), 1000);
		must_succeed(ohcadv_create_qps_async(queue, &wanted, wr_ids.data(), count), "ohcadv_create_qps_async");
		std::vector<ibv_qp *> qps;
		std::set<std::uint64_t> ended;
		for (const ohcadv_async_completion &one : wait(count, "creations")) {
			expect_errno(one.error, 0, "a creation");
			if (one.opcode != OHCADV_ASYNC_CREATE_QP || !one.qp || !ended.insert(one.wr_id).second ||
			    one.wr_id < 1000 || one.wr_id >= 1000 + count)
				fail("completion of creation %lu", static_cast<unsigned long>(one.wr_id));
			qps.push_back(one.qp);
		}
		return qps;
	}

	void destroy(const std::vector<ibv_qp *> &qps) const
	{
		std::vector<ohcadv_async_operation> operations;
		for (ibv_qp *qp : qps)
			operations.push_back({operations.size(), OHCADV_ASYNC_DESTROY_QP, qp, nullptr, 0});
		must_succeed(ohcadv_submit_async(queue, operations.data(), static_cast<std::uint32_t>(operations.size())),
			     "ohcadv_submit_async");
		for (const ohcadv_async_completion &one : wait(qps.size(), "destructions")) {
			expect_errno(one.error, 0, "a destruction");
			if (one.qp)
				fail("a queue pair is left of a destruction");
		}
	}

	Device device;
	ibv_pd *pd;
	ibv_cq *cq;
	ohcadv_async_queue *queue;
};

// `rdma resource` as a user sees it.
bool is_listed(const Device &device, std::uint32_t number)
{
	const std::string command = "rdma resource show qp link " + device.name();
	const std::string wanted = " lqpn " + std::to_string(number) + " ";
	FILE *output = must(popen(command.c_str(), "r"), "rdma resource");
	bool found = false;
	for (char line[512]; std::fgets(line, sizeof(line), output);)
		found |= std::strstr(line, wanted.c_str()) != nullptr;
	pclose(output);
	return found;
}

void send_to_itself(const Nursery &nursery, ibv_qp *qp)
{
	ibv_qp_attr to_itself = connect_attributes(nursery.device, qp->qp_num);
	must_succeed(ohcadv_connect_qp_async(nursery.queue, qp, &to_itself, kConnectMask, 1), "ohcadv_connect_qp_async");
	nursery.wait_one(0, "a connection");
	ibv_recv_wr receive{};
	receive.wr_id = 1;
	ibv_recv_wr *bad_receive = nullptr;
	must_succeed(ibv_post_recv(qp, &receive, &bad_receive), "ibv_post_recv");
	ibv_send_wr send{};
	send.wr_id = 2;
	send.opcode = IBV_WR_SEND;
	send.send_flags = IBV_SEND_SIGNALED;
	ibv_send_wr *bad_send = nullptr;
	must_succeed(ibv_post_send(qp, &send, &bad_send), "ibv_post_send");
	const Deadline deadline(kPatience);
	for (int found = 0; found < 2;) {
		ibv_wc completion;
		const int count = ibv_poll_cq(nursery.cq, 1, &completion);
		if (count == 1 && completion.status != IBV_WC_SUCCESS)
			fail("a message ends with '%s'", ibv_wc_status_str(completion.status));
		found += count;
		if (deadline.passed())
			fail("%d of 2 completions of a message", found);
	}
}

// The verbs find nothing special about it.
void creates_one(const std::string &name)
{
	Nursery nursery(name);
	for (const bool destroy_by_verb : {false, true}) {
		ibv_qp *qp = nursery.create(1, nursery.attributes()).front();
		const std::uint32_t number = qp->qp_num;
		expect_state(qp, IBV_QPS_RESET, "a new queue pair");
		if (!is_listed(nursery.device, number))
			fail("`rdma resource` does not show QP %u", number);
		send_to_itself(nursery, qp);
		if (destroy_by_verb)
			must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp");
		else
			nursery.destroy({qp});
		if (is_listed(nursery.device, number))
			fail("`rdma resource` still shows QP %u", number);
	}
}

void creates_a_batch(const std::string &name)
{
	Nursery nursery(name);
	for (int i = 0; i < 3; i++) {
		const std::vector<ibv_qp *> qps = nursery.create(OHCADV_ASYNC_BATCH_MAX, nursery.attributes());
		std::set<std::uint32_t> numbers;
		for (ibv_qp *qp : qps)
			numbers.insert(qp->qp_num);
		if (numbers.size() != qps.size())
			fail("%zu queue pairs have %zu numbers", qps.size(), numbers.size());
		nursery.destroy(qps);
	}
}

void creates_every_type(const std::string &name)
{
	Nursery nursery(name);
	ibv_srq_init_attr srq_attributes{};
	srq_attributes.attr.max_wr = 16;
	srq_attributes.attr.max_sge = 1;
	ibv_srq *srq = must(ibv_create_srq(nursery.pd, &srq_attributes), "ibv_create_srq");
	std::vector<ibv_qp *> qps;
	for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND}) {
		ibv_qp_init_attr_ex wanted = nursery.attributes(type);
		if (type == IBV_QPT_XRC_SEND)
			wanted.recv_cq = nullptr;
		qps.push_back(nursery.create(1, wanted).front());
	}
	ibv_qp_init_attr_ex shared = nursery.attributes();
	shared.srq = srq;
	qps.push_back(nursery.create(1, shared).front());
	expect_errno(ibv_destroy_srq(srq), EBUSY, "destroying the SRQ of a queue pair");
	for (ibv_qp *qp : qps)
		expect_state(qp, IBV_QPS_RESET, "a new queue pair");
	nursery.destroy(qps);
	must_succeed(ibv_destroy_srq(srq), "ibv_destroy_srq");
}

// What a queue pair refers to stays from the call on, whether or not the completion has been read.
void holds_what_it_uses(const std::string &name)
{
	Nursery nursery(name);
	ibv_qp_init_attr_ex wanted = nursery.attributes();
	must_succeed(ohcadv_create_qp_async(nursery.queue, &wanted, 1), "ohcadv_create_qp_async");
	for (int i = 0; i < 2; i++) {
		expect_errno(ibv_destroy_cq(nursery.cq), EBUSY, "destroying the CQ of a creation");
		expect_errno(ibv_dealloc_pd(nursery.pd), EBUSY, "deallocating the PD of a creation");
		expect_errno(ohcadv_destroy_async_queue(nursery.queue), EBUSY, "destroying the queue of a creation");
		pollfd file = {nursery.queue->fd, POLLIN, 0};
		if (poll(&file, 1, static_cast<int>(kPatience * 1000)) != 1)
			fail("no completion of a creation");
	}
	nursery.destroy({nursery.wait_one(0, "a creation").qp});
}

// Who closes the file without reading leaves nothing behind.
void closes_with_unread_creations(const std::string &name)
{
	const Device device(name);
	ibv_pd *pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	ibv_cq *cq = must(ibv_create_cq(device.context(), 16, nullptr, nullptr, 0), "ibv_create_cq");
	for (int i = 0; i < 20; i++) {
		ohcadv_async_queue *queue = must(ohcadv_create_async_queue(device.context(), 256), "ohcadv_create_async_queue");
		ibv_qp_init_attr_ex wanted{};
		wanted.send_cq = wanted.recv_cq = cq;
		wanted.cap = {4, 4, 1, 1, 0};
		wanted.qp_type = IBV_QPT_RC;
		wanted.comp_mask = IBV_QP_INIT_ATTR_PD;
		wanted.pd = pd;
		const std::vector<std::uint64_t> wr_ids(64);
		must_succeed(ohcadv_create_qps_async(queue, &wanted, wr_ids.data(), 64), "ohcadv_create_qps_async");
		if (i % 2) {
			pollfd file = {queue->fd, POLLIN, 0};
			poll(&file, 1, static_cast<int>(kPatience * 1000));
		}
		// The library's memory of them is lost with that, which a program that does it knows.
		close(queue->fd);
	}
	must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
	// The library counts what it planned: the PD goes with the context.
	(void)pd;
}

void refuses(const std::string &name)
{
	Nursery nursery(name, 3);
	const std::uint64_t wr_ids[4] = {};
	const auto expect = [&](ibv_qp_init_attr_ex wanted, std::uint32_t count, int error, const char *what) {
		expect_errno(ohcadv_create_qps_async(nursery.queue, &wanted, wr_ids, count), error, what);
	};
	ibv_qp_init_attr_ex wanted = nursery.attributes();
	expect(wanted, 0, EINVAL, "creating none");
	expect(wanted, OHCADV_ASYNC_BATCH_MAX + 1, EINVAL, "creating too many");
	expect(wanted, 4, EAGAIN, "creating more than the queue's depth");
	wanted.comp_mask = 0;
	expect(wanted, 1, EINVAL, "creating without PD");
	wanted = nursery.attributes(IBV_QPT_XRC_RECV);
	expect(wanted, 1, EOPNOTSUPP, "creating an XRC target");
	wanted = nursery.attributes();
	wanted.cap.max_send_wr = 1u << 30;
	expect(wanted, 1, EINVAL, "creating a send queue that is too long");
	wanted = nursery.attributes();
	wanted.send_cq = nullptr;
	expect(wanted, 1, EINVAL, "creating without CQ");
	ibv_qp *qp = nursery.create(1, nursery.attributes()).front();
	ibv_qp_attr attributes{};
	const ohcadv_async_operation creation = {1, OHCADV_ASYNC_CREATE_QP, qp, &attributes, 0};
	expect_errno(ohcadv_submit_async(nursery.queue, &creation, 1), EINVAL, "submitting a creation");
	nursery.destroy({qp});
}

void destroys_once(const std::string &name)
{
	Nursery nursery(name);
	ibv_qp *qp = nursery.create(1, nursery.attributes()).front();
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_RESET;
	must_succeed(ohcadv_modify_qp_async(nursery.queue, qp, &attributes, IBV_QP_STATE, 1), "to RESET");
	expect_errno(ohcadv_destroy_qp_async(nursery.queue, qp, 2), EBUSY, "destroying with a completion unread");
	nursery.wait_one(0, "to RESET");
	must_succeed(ohcadv_destroy_qp_async(nursery.queue, qp, 3), "ohcadv_destroy_qp_async");
	expect_errno(ohcadv_destroy_qp_async(nursery.queue, qp, 4), EBUSY, "destroying twice");
	expect_errno(ibv_destroy_qp(qp), EBUSY, "ibv_destroy_qp() of what is being destroyed");
	expect_errno(ohcadv_disconnect_qp_async(nursery.queue, qp, 5), EBUSY, "disconnecting what is being destroyed");
	if (const ohcadv_async_completion completion = nursery.wait_one(0, "a destruction"); completion.wr_id != 3)
		fail("completion of %lu", static_cast<unsigned long>(completion.wr_id));
}

// A member of a multicast group is not destroyed, and goes on.
void keeps_members_of_groups(const std::string &name)
{
	Nursery nursery(name);
	ibv_qp *qp = nursery.create(1, nursery.attributes(IBV_QPT_UD)).front();
	ibv_gid group{};
	group.raw[0] = kMulticastByte;
	group.raw[1] = 0x0e;
	group.raw[15] = 0x42;
	must_succeed(ibv_attach_mcast(qp, &group, 0), "ibv_attach_mcast");
	must_succeed(ohcadv_destroy_qp_async(nursery.queue, qp, 1), "ohcadv_destroy_qp_async");
	if (nursery.wait_one(EBUSY, "destroying a member of a group").qp != qp)
		fail("the member of a group is gone");
	expect_state(qp, IBV_QPS_RESET, "a member of a group");
	must_succeed(ibv_detach_mcast(qp, &group, 0), "ibv_detach_mcast");
	nursery.destroy({qp});
}

}  // namespace

Cases create_destroy_cases()
{
	return {
		{"async/creates one", creates_one},
		{"async/creates a batch", creates_a_batch},
		{"async/creates every type", creates_every_type},
		{"async/holds what a creation uses", holds_what_it_uses},
		{"async/closes with unread creations", closes_with_unread_creations},
		{"async/refuses creations", refuses},
		{"async/destroys once", destroys_once},
		{"async/keeps members of groups", keeps_members_of_groups},
	};
}

}  // namespace verbs_test
