// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// connect_rate DEVICE COUNT [--async]: creates a queue pair, brings it to RTS and destroys it, COUNT times,
// by one thread; prints how many a second. By the verbs, one after the other, or asynchronously on ohca with
// kInFlight of them on their way.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <infiniband/ohcadv.h>

#include "async/storm.hh"
#include "deadline.hh"
#include "device.hh"
#include "failure.hh"

namespace {

using verbs_test::must;
using verbs_test::must_succeed;

constexpr std::uint32_t kInFlight = 64;
constexpr double kDeadlineSeconds = 120;

class Connections {
 public:
	explicit Connections(const char *name) : device_(name)
	{
		attributes_.pd = must(ibv_alloc_pd(device_.context()), "ibv_alloc_pd");
		attributes_.send_cq = must(ibv_create_cq(device_.context(), 16, nullptr, nullptr, 0), "ibv_create_cq");
		attributes_.recv_cq = attributes_.send_cq;
		attributes_.cap = {16, 16, 1, 1, 0};
		attributes_.qp_type = IBV_QPT_RC;
		attributes_.comp_mask = IBV_QP_INIT_ATTR_PD;
	}
	~Connections()
	{
		must_succeed(ibv_destroy_cq(attributes_.send_cq), "ibv_destroy_cq");
		must_succeed(ibv_dealloc_pd(attributes_.pd), "ibv_dealloc_pd");
	}

	void by_verbs(unsigned long count)
	{
		for (unsigned long i = 0; i < count; ++i) {
			ibv_qp_init_attr_ex wanted = attributes_;
			ibv_qp *qp = must(ibv_create_qp_ex(device_.context(), &wanted), "ibv_create_qp_ex");
			// To itself: nothing is sent.
			ibv_qp_attr connection = verbs_test::connect_attributes(device_, qp->qp_num);
			for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
				connection.qp_state = state;
				must_succeed(ibv_modify_qp(qp, &connection, verbs_test::transition_mask(state)), "ibv_modify_qp");
			}
			must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp");
		}
	}

	void asynchronously(unsigned long count)
	{
		queue_ = must(ohcadv_create_async_queue(device_.context(), kInFlight), "ohcadv_create_async_queue");
		const verbs_test::Deadline deadline(kDeadlineSeconds);
		unsigned long begun = 0;
		for (unsigned long destroyed = 0; destroyed < count;) {
			const unsigned long room = kInFlight - (begun - destroyed);
			begun += begin(std::min(room, count - begun));
			destroyed += go_on();
			if (deadline.passed())
				verbs_test::fail("%lu of %lu connections", destroyed, count);
		}
		must_succeed(ohcadv_destroy_async_queue(queue_), "ohcadv_destroy_async_queue");
	}

 private:
	unsigned long begin(unsigned long count)
	{
		const std::uint64_t wr_ids[kInFlight] = {};
		if (count)
			must_succeed(ohcadv_create_qps_async(queue_, &attributes_, wr_ids, static_cast<std::uint32_t>(count)),
				     "ohcadv_create_qps_async");
		return count;
	}

	// Waits for completions, and has each queue pair do what is next; how many have been destroyed.
	unsigned long go_on()
	{
		ohcadv_async_completion completions[kInFlight];
		ibv_qp_attr connections[kInFlight];
		std::vector<ohcadv_async_operation> next;
		unsigned long destroyed = 0;
		const int count = ohcadv_read_async(queue_, completions, kInFlight);
		if (count < 0)
			verbs_test::fail_errno("ohcadv_read_async", -count);
		for (int i = 0; i < count; ++i) {
			must_succeed(completions[i].error, "an operation");
			ibv_qp *qp = completions[i].qp;
			if (completions[i].opcode == OHCADV_ASYNC_CREATE_QP) {
				connections[i] = verbs_test::connect_attributes(device_, qp->qp_num);
				next.push_back({0, OHCADV_ASYNC_CONNECT_QP, qp, &connections[i], verbs_test::kConnectMask});
			} else if (completions[i].opcode == OHCADV_ASYNC_CONNECT_QP) {
				next.push_back({0, OHCADV_ASYNC_DESTROY_QP, qp, nullptr, 0});
			} else {
				++destroyed;
			}
		}
		if (!next.empty())
			must_succeed(ohcadv_submit_async(queue_, next.data(), static_cast<std::uint32_t>(next.size())),
				     "ohcadv_submit_async");
		return destroyed;
	}

	verbs_test::Device device_;
	ibv_qp_init_attr_ex attributes_{};
	ohcadv_async_queue *queue_ = nullptr;
};

}  // namespace

int main(int argc, char **argv)
{
	const bool is_async = argc == 4 && !std::strcmp(argv[3], "--async");
	if (argc != 3 && !is_async) {
		std::fprintf(stderr, "usage: connect_rate DEVICE COUNT [--async]\n");
		return 2;
	}
	const unsigned long count = std::strtoul(argv[2], nullptr, 10);
	Connections connections(argv[1]);
	const double start = verbs_test::seconds_now();
	if (is_async)
		connections.asynchronously(count);
	else
		connections.by_verbs(count);
	std::printf("%.1f\n", static_cast<double>(count) / (verbs_test::seconds_now() - start));
	return 0;
}
