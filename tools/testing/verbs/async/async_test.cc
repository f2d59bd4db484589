// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// async_test - asynchronous operations on queue pairs of an ohca device: each ends once, by the right
// completion, and its file can be waited for.
//
// async_test --storm: creates, connects, disconnects and destroys without end, until it is killed or the
// device goes. In the latter case it demands a completion of each operation.
#include "async/create_destroy.hh"
#include "async/storm.hh"
#include "case.hh"
#include "deadline.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <infiniband/ohcadv.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <set>
#include <sys/epoll.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace verbs_test;

constexpr std::uint64_t kWork = 0xe1;

// Two queue pairs in RESET, and a queue for operations.
struct AsyncRig : Rig {
	explicit AsyncRig(const Device &the_device, std::uint32_t depth = 64)
		: Rig(the_device, unconnected()),
		  queue(must(ohcadv_create_async_queue(the_device.context(), depth), "ohcadv_create_async_queue"))
	{
		fcntl(queue->fd, F_SETFL, O_NONBLOCK);
	}
	~AsyncRig() { must_succeed(ohcadv_destroy_async_queue(queue), "ohcadv_destroy_async_queue"); }

	static RigOptions unconnected()
	{
		RigOptions options;
		options.connected = false;
		return options;
	}

	ibv_qp_attr connection(const End &peer) const { return connect_attributes(device, peer.qp->qp_num); }

	bool readable(int milliseconds) const
	{
		pollfd file = {queue->fd, POLLIN, 0};
		return poll(&file, 1, milliseconds) == 1 && (file.revents & POLLIN);
	}

	// The next completion; fail() if there is none in time.
	ohcadv_async_completion wait(const char *what) const
	{
		ohcadv_async_completion completion{};
		if (!readable(static_cast<int>(kPatience * 1000)))
			fail("waited %.0f s for a completion: %s", kPatience, what);
		if (ohcadv_read_async(queue, &completion, 1) != 1)
			fail("%s: the file is readable, but nothing can be read", what);
		return completion;
	}

	void expect(std::uint64_t wr_id, int error, const char *what) const
	{
		const ohcadv_async_completion completion = wait(what);
		if (completion.wr_id != wr_id)
			fail("%s: completion of %lu", what, static_cast<unsigned long>(completion.wr_id));
		expect_errno(completion.error, error, what);
	}

	void expect_none(const char *what) const
	{
		ohcadv_async_completion completion{};
		if (readable(50) || ohcadv_read_async(queue, &completion, 1) != 0)
			fail("%s: one completion too many", what);
	}

	void connect_async()
	{
		ibv_qp_attr attributes = connection(b);
		must_succeed(ohcadv_connect_qp_async(queue, a.qp, &attributes, kConnectMask, 1), "ohcadv_connect_qp_async");
		attributes = connection(a);
		must_succeed(ohcadv_connect_qp_async(queue, b.qp, &attributes, kConnectMask, 2), "ohcadv_connect_qp_async");
		std::set<std::uint64_t> ended;
		for (int i = 0; i < 2; i++) {
			const ohcadv_async_completion completion = wait("a connection");
			expect_errno(completion.error, 0, "a connection");
			ended.insert(completion.wr_id);
		}
		if (ended != std::set<std::uint64_t>{1, 2})
			fail("the completions are not those of the two connections");
	}

	void require_traffic()
	{
		Work write = work(IBV_WR_RDMA_WRITE);
		write.wr_id = kWork;
		std::memset(a.memory.data(), 0x4e, 256);
		post(a.qp, write);
		expect_completion(a.send_cq, kWork, IBV_WC_SUCCESS, "WRITE");
		if (std::memcmp(a.memory.data(), b.memory.data(), 256) != 0)
			fail("WRITE has written something else");
	}

	ohcadv_async_queue *queue;
};

void connects(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device);
	if (rig.readable(0))
		fail("a new queue is readable");
	rig.connect_async();
	rig.expect_none("two connections");
	expect_state(rig.a.qp, IBV_QPS_RTS, "a");
	expect_state(rig.b.qp, IBV_QPS_RTS, "b");
	rig.require_traffic();
}

// One batch for all transitions of both: they are carried out in their order.
void modifies_in_order(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device);
	std::vector<ibv_qp_attr> attributes;
	std::vector<ohcadv_async_operation> operations;
	for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
		for (const End *end : {&rig.a, &rig.b}) {
			attributes.push_back(rig.connection(end == &rig.a ? rig.b : rig.a));
			attributes.back().qp_state = state;
			operations.push_back({operations.size(), OHCADV_ASYNC_MODIFY_QP, end->qp, nullptr, transition_mask(state)});
		}
	}
	for (std::size_t i = 0; i < operations.size(); i++)
		operations[i].attr = &attributes[i];
	must_succeed(ohcadv_submit_async(rig.queue, operations.data(), static_cast<std::uint32_t>(operations.size())),
		     "ohcadv_submit_async");
	std::set<std::uint64_t> ended;
	for (std::size_t i = 0; i < operations.size(); i++) {
		const ohcadv_async_completion completion = rig.wait("a transition");
		expect_errno(completion.error, 0, "a transition");
		// of one queue pair: the ids are even or odd
		if (completion.wr_id >= 2 && !ended.contains(completion.wr_id - 2))
			fail("transition %lu has ended before the one before it", static_cast<unsigned long>(completion.wr_id));
		if (!ended.insert(completion.wr_id).second)
			fail("transition %lu has ended twice", static_cast<unsigned long>(completion.wr_id));
	}
	rig.expect_none("six transitions");
	rig.require_traffic();
}

// All work requests are flushed before the completion can be read.
void disconnects_and_flushes(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device);
	rig.connect_async();
	constexpr int kReceives = 8;
	for (std::uint64_t i = 0; i < kReceives; i++)
		receive(rig.b.qp, rig.b.sge(), i);
	must_succeed(ohcadv_disconnect_qp_async(rig.queue, rig.b.qp, 5), "ohcadv_disconnect_qp_async");
	rig.expect(5, 0, "the disconnection");
	ibv_wc completions[kReceives + 1];
	const int count = ibv_poll_cq(rig.b.receive_cq, kReceives + 1, completions);
	if (count != kReceives)
		fail("%d of %d receives are flushed when the disconnection has ended", count, kReceives);
	for (int i = 0; i < count; i++) {
		if (completions[i].status != IBV_WC_WR_FLUSH_ERR || completions[i].wr_id != static_cast<std::uint64_t>(i))
			fail("receive %d ends with '%s'", i, ibv_wc_status_str(completions[i].status));
	}
	expect_state(rig.b.qp, IBV_QPS_ERR, "b");
	rig.expect_none("a disconnection");
	must_succeed(to_state(rig.a.qp, IBV_QPS_RESET), "to RESET");
	must_succeed(to_state(rig.b.qp, IBV_QPS_RESET), "to RESET");
	rig.connect_async();
	rig.require_traffic();
}

void reports_errors(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device);
	ibv_qp_attr attributes = rig.connection(rig.b);
	const auto refused = [&](int mask, int error, const char *what) {
		must_succeed(ohcadv_connect_qp_async(rig.queue, rig.a.qp, &attributes, mask, 3), what);
		rig.expect(3, error, what);
		rig.expect_none(what);
		expect_state(rig.a.qp, IBV_QPS_RESET, what);
	};
	refused(kConnectMask & ~IBV_QP_SQ_PSN, EINVAL, "a connection without PSN");
	refused(kConnectMask & ~IBV_QP_STATE, EINVAL, "a connection to no state");
	refused(kConnectMask | IBV_QP_ALT_PATH, EOPNOTSUPP, "a connection with an alternate path");
	attributes.qp_state = IBV_QPS_SQD;
	refused(kConnectMask, EINVAL, "a connection to SQD");
	attributes = rig.connection(rig.b);
	attributes.ah_attr.grh.sgid_index = 250;
	refused(kConnectMask, ENODATA, "a connection from a GID that is not there");
	attributes = rig.connection(rig.b);
	attributes.qp_state = IBV_QPS_RTS;
	must_succeed(ohcadv_modify_qp_async(rig.queue, rig.a.qp, &attributes, IBV_QP_STATE, 4), "ohcadv_modify_qp_async");
	rig.expect(4, EINVAL, "RESET to RTS");
	rig.connect_async();
	rig.require_traffic();
}

// One that is wrong does not keep the others of its batch from their ends.
void ends_a_batch_one_by_one(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device);
	ibv_qp_attr good = rig.connection(rig.b);
	ibv_qp_attr back = rig.connection(rig.a);
	const ohcadv_async_operation operations[] = {
		{0, OHCADV_ASYNC_CONNECT_QP, rig.a.qp, &good, IBV_QP_STATE},
		{1, OHCADV_ASYNC_CONNECT_QP, rig.a.qp, &good, kConnectMask},
		{2, OHCADV_ASYNC_CONNECT_QP, rig.b.qp, &back, kConnectMask},
		{3, static_cast<ohcadv_async_opcode>(3), rig.b.qp, nullptr, 0},
	};
	must_succeed(ohcadv_submit_async(rig.queue, operations, 4), "ohcadv_submit_async");
	int errors[4] = {-1, -1, -1, -1};
	for (int i = 0; i < 4; i++) {
		const ohcadv_async_completion completion = rig.wait("an operation of a batch");
		if (completion.wr_id >= 4 || errors[completion.wr_id] != -1)
			fail("completion of %lu", static_cast<unsigned long>(completion.wr_id));
		errors[completion.wr_id] = completion.error;
	}
	rig.expect_none("a batch of four");
	if (errors[0] != EINVAL || errors[1] != 0 || errors[2] != 0 || errors[3] != 0)
		fail("the errors are %d, %d, %d, %d", errors[0], errors[1], errors[2], errors[3]);
	expect_state(rig.b.qp, IBV_QPS_ERR, "b");
}

void epoll_tells(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device);
	const int epoll = epoll_create1(0);
	epoll_event event{};
	event.events = EPOLLIN | EPOLLET;
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, rig.queue->fd, &event) != 0)
		fail_errno("epoll", last_error());
	if (epoll_wait(epoll, &event, 1, 0) != 0)
		fail("epoll tells of a new queue");
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_RESET;
	for (std::uint64_t i = 0; i < 3; i++) {
		must_succeed(ohcadv_modify_qp_async(rig.queue, rig.a.qp, &attributes, IBV_QP_STATE, i), "to RESET");
		if (epoll_wait(epoll, &event, 1, static_cast<int>(kPatience * 1000)) != 1)
			fail("epoll does not tell of a completion");
		rig.expect(i, 0, "to RESET");
	}
	close(epoll);
}

// Who waits in read() is woken.
void read_waits(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device);
	fcntl(rig.queue->fd, F_SETFL, 0);
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_RESET;
	for (int i = 0; i < 100; i++) {
		must_succeed(ohcadv_modify_qp_async(rig.queue, rig.a.qp, &attributes, IBV_QP_STATE, 7), "to RESET");
		ohcadv_async_completion completions[2];
		const int count = ohcadv_read_async(rig.queue, completions, 2);
		if (count != 1 || completions[0].wr_id != 7)
			fail("a read that waits returns %d", count);
		expect_errno(completions[0].error, 0, "to RESET");
	}
}

void respects_its_depth(const std::string &name)
{
	const Device device(name);
	AsyncRig rig(device, 3);
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_RESET;
	for (std::uint64_t i = 0; i < 3; i++)
		must_succeed(ohcadv_modify_qp_async(rig.queue, rig.a.qp, &attributes, IBV_QP_STATE, i), "to RESET");
	expect_errno(ohcadv_modify_qp_async(rig.queue, rig.a.qp, &attributes, IBV_QP_STATE, 3), EAGAIN, "one too many");
	expect_errno(ohcadv_destroy_async_queue(rig.queue), EBUSY, "destroying a queue with completions");
	expect_errno(ibv_destroy_qp(rig.a.qp), EBUSY, "destroying a queue pair with completions");
	for (std::uint64_t i = 0; i < 3; i++)
		rig.expect(i, 0, "to RESET");
	must_succeed(ohcadv_modify_qp_async(rig.queue, rig.a.qp, &attributes, IBV_QP_STATE, 3), "to RESET again");
	rig.expect(3, 0, "to RESET again");
}

Cases all_cases()
{
	Cases cases = {
		{"async/connects", connects},
		{"async/modifies in order", modifies_in_order},
		{"async/disconnects and flushes", disconnects_and_flushes},
		{"async/reports errors", reports_errors},
		{"async/ends a batch one by one", ends_a_batch_one_by_one},
		{"async/epoll tells", epoll_tells},
		{"async/read waits", read_waits},
		{"async/respects its depth", respects_its_depth},
	};
	for (const auto &one : create_destroy_cases())
		cases.push_back(one);
	return cases;
}

}  // namespace

int main(int argc, char **argv)
{
	static constexpr option kOptions[] = {{"device", required_argument, nullptr, 'd'},
					      {"case", required_argument, nullptr, 'c'},
					      {"storm", no_argument, nullptr, 's'},
					      {nullptr, 0, nullptr, 0}};
	std::string device = "ohca0";
	std::vector<std::string> wanted;
	bool storm = false;
	for (int letter; (letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
		if (letter == 'd')
			device = optarg;
		else if (letter == 'c')
			wanted.emplace_back(optarg);
		else if (letter == 's')
			storm = true;
		else
			return 2;
	}
	if (storm)
		return run_storm(device);
	return run_cases(all_cases(), wanted, device);
}
