// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Completion queues: another size with completions inside, moderation of their
// events, clocks, thread domains.
#include "deadline.hh"
#include "error/cases.hh"
#include "error/rig.hh"
#include "failure.hh"

#include <cerrno>
#include <cinttypes>
#include <ctime>
#include <fcntl.h>
#include <poll.h>

namespace verbs_test {

namespace {

void post_writes(Rig &rig, std::uint64_t first, std::uint64_t count)
{
	Work work = rig.work(IBV_WR_RDMA_WRITE);
	for (std::uint64_t i = first; i < first + count; i++) {
		work.wr_id = i;
		post(rig.a.qp, work);
	}
}

// Until the CQ, which is not polled meanwhile, has all completions.
void wait_until_done(Rig &rig)
{
	// what comes after them on another CQ
	Work work = rig.work(IBV_WR_RDMA_WRITE_WITH_IMM);
	work.wr_id = 1000;
	receive(rig.b.qp, rig.b.sge(), 1000);
	post(rig.a.qp, work);
	expect_completion(rig.b.receive_cq, 1000, IBV_WC_SUCCESS, "the last of several WRITEs");
}

// OHCA-CQ-D9
void resize_below_outstanding(const std::string &name)
{
	const Device device(name);
	RigOptions options;
	options.capabilities.max_send_wr = 64;
	Rig rig(device, options);
	post_writes(rig, 0, 20);
	wait_until_done(rig);
	// the completion of the last one follows its receive
	expect_errno(ibv_resize_cq(rig.a.send_cq, 16), EINVAL, "a CQ smaller than what it holds");
	expect_errno(ibv_resize_cq(rig.a.send_cq, 0), EINVAL, "a CQ of no entries");
	expect_errno(ibv_resize_cq(rig.a.send_cq, -1), EINVAL, "a CQ of -1 entries");
	expect_errno(ibv_resize_cq(rig.a.send_cq, device.attributes().max_cqe + 1), EINVAL, "max_cqe + 1");
	must_succeed(ibv_resize_cq(rig.a.send_cq, 256), "a larger CQ");
	if (rig.a.send_cq->cqe < 256)
		fail("the CQ has %d entries instead of 256", rig.a.send_cq->cqe);
	for (std::uint64_t i = 0; i < 20; i++)
		expect_completion(rig.a.send_cq, i, IBV_WC_SUCCESS, "completions from before the resizing");
	expect_completion(rig.a.send_cq, 1000, IBV_WC_SUCCESS, "the last completion from before the resizing");
	must_succeed(ibv_resize_cq(rig.a.send_cq, 16), "a smaller CQ when it is empty");
	post_writes(rig, 100, 8);
	for (std::uint64_t i = 100; i < 108; i++)
		expect_completion(rig.a.send_cq, i, IBV_WC_SUCCESS, "completions after the resizing");
}

// A CQ with a channel, and a pair that sends to it.
class Moderated {
 public:
	explicit Moderated(const Device &device)
		: channel_(must(ibv_create_comp_channel(device.context()), "ibv_create_comp_channel")), rig(device, options())
	{
		if (fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0)
			fail_errno("O_NONBLOCK", last_error());
		cq = must(ibv_create_cq(device.context(), 256, nullptr, channel_, 0), "ibv_create_cq");
		ibv_qp_init_attr attributes{};
		attributes.send_cq = cq;
		attributes.recv_cq = rig.a.receive_cq;
		attributes.cap = rig.options.capabilities;
		attributes.qp_type = IBV_QPT_RC;
		attributes.sq_sig_all = 1;
		qp_ = must(ibv_create_qp(rig.a.pd, &attributes), "ibv_create_qp");
		connect(qp_, device, {device.gid(), rig.b.qp->qp_num}, rig.options.connection);
		connect(rig.b.qp, device, {device.gid(), qp_->qp_num}, rig.options.connection);
	}
	~Moderated()
	{
		must_succeed(ibv_destroy_qp(qp_), "ibv_destroy_qp");
		must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
		must_succeed(ibv_destroy_comp_channel(channel_), "ibv_destroy_comp_channel");
	}
	Moderated(const Moderated &) = delete;
	Moderated &operator=(const Moderated &) = delete;

	// 0 or an errno
	int moderate(unsigned count, unsigned period_us)
	{
		ibv_modify_cq_attr attributes{};
		attributes.attr_mask = IBV_CQ_ATTR_MODERATE;
		attributes.moderate = {static_cast<std::uint16_t>(count), static_cast<std::uint16_t>(period_us)};
		return ibv_modify_cq(cq, &attributes);
	}
	void arm() { must_succeed(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq"); }
	void complete(unsigned count)
	{
		Work work = rig.work(IBV_WR_RDMA_WRITE);
		for (unsigned i = 0; i < count; i++) {
			work.wr_id = i;
			post(qp_, work);
		}
		for (unsigned i = 0; i < count; i++)
			expect_completion(cq, i, IBV_WC_SUCCESS, "a WRITE");
	}
	bool has_event(double seconds)
	{
		const Deadline deadline(seconds);
		do {
			ibv_cq *of = nullptr;
			void *context = nullptr;
			if (ibv_get_cq_event(channel_, &of, &context) == 0) {
				ibv_ack_cq_events(of, 1);
				return true;
			}
			pollfd file = {channel_->fd, POLLIN, 0};
			poll(&file, 1, deadline.milliseconds_left());
		} while (!deadline.passed());
		return false;
	}

 private:
	static RigOptions options()
	{
		RigOptions result;
		result.connected = false;
		result.capabilities.max_send_wr = 64;
		return result;
	}

	ibv_comp_channel *channel_;

 public:
	Rig rig;
	ibv_cq *cq = nullptr;

 private:
	ibv_qp *qp_ = nullptr;
};

// By what comes and what does not, with a period that is beyond all patience, or none.
// OHCA-CQ-D8
void moderation(const std::string &name)
{
	constexpr unsigned kCount = 8;
	const Device device(name);
	Moderated moderated(device);
	moderated.arm();
	moderated.complete(1);
	if (!moderated.has_event(kPatience))
		fail("no event for the first completion of a CQ without moderation");
	// 65 ms at most: the count alone decides within a few
	must_succeed(moderated.moderate(kCount, 0xffff), "ibv_modify_cq");
	moderated.arm();
	moderated.complete(kCount);
	if (!moderated.has_event(kPatience))
		fail("no event for as many completions as the count says");
	if (moderated.has_event(0.2))
		fail("two events for one request");
	// fewer: the period ends the wait
	moderated.arm();
	moderated.complete(kCount - 1);
	if (!moderated.has_event(kPatience))
		fail("no event for fewer completions than the count says, when the period is over");
	must_succeed(moderated.moderate(0, 0), "ibv_modify_cq without moderation");
	moderated.arm();
	moderated.complete(1);
	if (!moderated.has_event(kPatience))
		fail("no event for the first completion when moderation has ended");
}

// Completions that come one at a time, armed for anew after each event: without moderation each
// has its event; with it there is one for eight of them, or for those of a period.
// OHCA-CQ-D8
void moderated_event_count(const std::string &name)
{
	constexpr unsigned kCompletions = 64;
	constexpr unsigned kCount = 8;
	constexpr unsigned kPeriodUs = 0xffff;
	const Device device(name);
	Moderated moderated(device);
	for (unsigned i = 0; i < kCompletions; i++) {
		moderated.arm();
		moderated.complete(1);
		if (!moderated.has_event(kPatience))
			fail("no event for completion %u of a CQ without moderation", i);
	}
	must_succeed(moderated.moderate(kCount, kPeriodUs), "ibv_modify_cq");
	const double start = seconds_now();
	unsigned events = 0;
	moderated.arm();
	for (unsigned i = 0; i < kCompletions; i++) {
		moderated.complete(1);
		if (moderated.has_event(0.002)) {
			events++;
			moderated.arm();
		}
	}
	const double periods = (seconds_now() - start) * 1e6 / kPeriodUs;
	if (events > kCompletions / kCount + static_cast<unsigned>(periods) + 1)
		fail("%u events for %u completions in %.1f periods, one for %u or one a period", events, kCompletions, periods,
		     kCount);
}

void bad_moderation(const std::string &name)
{
	const Device device(name);
	Moderated moderated(device);
	ibv_modify_cq_attr attributes{};
	attributes.attr_mask = 1U << 30;
	if (ibv_modify_cq(moderated.cq, &attributes) == 0)
		fail("an unknown attribute of a CQ was accepted");
	moderated.arm();
	moderated.complete(1);
	if (!moderated.has_event(kPatience))
		fail("no event after a refused change");
}

std::uint64_t nanoseconds(const timespec &time)
{
	return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t wall_clock()
{
	timespec now{};
	clock_gettime(CLOCK_REALTIME, &now);
	return nanoseconds(now);
}

ibv_cq_ex *create_timed_cq(const Device &device)
{
	ibv_cq_init_attr_ex attributes{};
	attributes.cqe = 64;
	attributes.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	return must(ibv_create_cq_ex(device.context(), &attributes), "ibv_create_cq_ex with both clocks");
}

// Each completion lies between what the application saw before and after it, on both clocks.
// The two are converted at different moments: a twentieth of a second is allowed for that.
void completion_clocks(const std::string &name)
{
	constexpr std::uint64_t kTolerance = 50'000'000;
	const Device device(name);
	RigOptions options;
	options.connected = false;
	Rig rig(device, options);
	ibv_cq_ex *cq = create_timed_cq(device);
	ibv_qp_init_attr attributes{};
	attributes.send_cq = ibv_cq_ex_to_cq(cq);
	attributes.recv_cq = rig.a.receive_cq;
	attributes.cap = {16, 16, 1, 1, 0};
	attributes.qp_type = IBV_QPT_RC;
	attributes.sq_sig_all = 1;
	ibv_qp *qp = must(ibv_create_qp(rig.a.pd, &attributes), "ibv_create_qp");
	connect(qp, device, {device.gid(), rig.b.qp->qp_num}, options.connection);
	connect(rig.b.qp, device, {device.gid(), qp->qp_num}, options.connection);
	std::uint64_t last_cycles = 0;
	std::uint64_t last_time = 0;
	for (int i = 0; i < 200; i++) {
		ibv_values_ex before{};
		before.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
		must_succeed(ibv_query_rt_values_ex(device.context(), &before), "ibv_query_rt_values_ex");
		const std::uint64_t wall_before = wall_clock();
		post(qp, rig.work(IBV_WR_RDMA_WRITE));
		ibv_poll_cq_attr poll_attributes{};
		const Deadline deadline(kPatience);
		while (ibv_start_poll(cq, &poll_attributes) == ENOENT) {
			if (deadline.passed())
				fail("waited %.0f s for a completion", kPatience);
		}
		const std::uint64_t cycles = ibv_wc_read_completion_ts(cq);
		const std::uint64_t time = ibv_wc_read_completion_wallclock_ns(cq);
		ibv_end_poll(cq);
		const std::uint64_t wall_after = wall_clock();
		ibv_values_ex after = before;
		must_succeed(ibv_query_rt_values_ex(device.context(), &after), "ibv_query_rt_values_ex");
		if (cycles < nanoseconds(before.raw_clock) || cycles > nanoseconds(after.raw_clock) || cycles < last_cycles)
			fail("completion %d at %" PRIu64 " of the device's clock, which was %" PRIu64 " before and %" PRIu64
			     " after it (the one before: %" PRIu64 ")",
			     i, cycles, nanoseconds(before.raw_clock), nanoseconds(after.raw_clock), last_cycles);
		if (time + kTolerance < wall_before || time > wall_after + kTolerance || time + kTolerance < last_time)
			fail("completion %d at %" PRIu64 " ns of the wall clock, which was %" PRIu64 " before and %" PRIu64 " after it",
			     i, time, wall_before, wall_after);
		last_cycles = cycles;
		last_time = time;
	}
	must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp");
	must_succeed(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "ibv_destroy_cq");
}

// OHCA-CMD-D11
void busy_domains(const std::string &name)
{
	const Device device(name);
	ibv_td_init_attr td_attributes{};
	ibv_td *td = must(ibv_alloc_td(device.context(), &td_attributes), "ibv_alloc_td");
	ibv_pd *pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	ibv_parent_domain_init_attr attributes{};
	attributes.td = td;
	if (ibv_alloc_parent_domain(device.context(), &attributes) != nullptr)
		fail("a parent domain without a protection domain");
	expect_errno(last_error(), EINVAL, "a parent domain without a protection domain");
	attributes.pd = pd;
	attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	if (ibv_alloc_parent_domain(device.context(), &attributes) != nullptr)
		fail("a parent domain with allocators that are not there");
	expect_errno(last_error(), EINVAL, "a parent domain with allocators that are not there");
	attributes.comp_mask = 0;
	ibv_pd *parent = must(ibv_alloc_parent_domain(device.context(), &attributes), "ibv_alloc_parent_domain");
	expect_errno(ibv_dealloc_td(td), EBUSY, "freeing a thread domain that a parent domain has");
	expect_errno(ibv_dealloc_pd(pd), EBUSY, "freeing a protection domain that a parent domain has");
	ibv_cq *cq = must(ibv_create_cq(device.context(), 16, nullptr, nullptr, 0), "ibv_create_cq");
	ibv_qp_init_attr qp_attributes{};
	qp_attributes.send_cq = qp_attributes.recv_cq = cq;
	qp_attributes.cap = {4, 4, 1, 1, 0};
	qp_attributes.qp_type = IBV_QPT_RC;
	ibv_qp *qp = must(ibv_create_qp(parent, &qp_attributes), "ibv_create_qp in a parent domain");
	expect_errno(ibv_dealloc_pd(parent), EBUSY, "freeing a parent domain with a queue pair");
	must_succeed(ibv_destroy_qp(qp), "ibv_destroy_qp");
	must_succeed(ibv_dealloc_pd(parent), "ibv_dealloc_pd of the parent domain");
	must_succeed(ibv_dealloc_td(td), "ibv_dealloc_td");
	must_succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	must_succeed(ibv_destroy_cq(cq), "ibv_destroy_cq");
	td_attributes.comp_mask = 1;
	if (ibv_alloc_td(device.context(), &td_attributes) != nullptr)
		fail("a thread domain with an unknown attribute");
	expect_errno(last_error(), EOPNOTSUPP, "a thread domain with an unknown attribute");
}

}  // namespace

void add_completion_cases(Cases &cases)
{
	cases.insert(cases.end(), {
		{"cq-resize-below-outstanding", resize_below_outstanding},
		{"cq-moderation", moderation},
		{"cq-moderated-event-count", moderated_event_count},
		{"cq-bad-moderation", bad_moderation},
		{"cq-completion-clocks", completion_clocks},
		{"domains-busy", busy_domains},
	});
}

}  // namespace verbs_test
