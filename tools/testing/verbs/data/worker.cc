// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/worker.hh"

#include "deadline.hh"
#include "failure.hh"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>

namespace verbs_test {

namespace {

constexpr unsigned kPairsPerCqSet = 3;
// each pair: two queue pairs with 64 sends and 64 receives at most
constexpr int kCqDepthMin = kPairsPerCqSet * 2 * 2 * 64;
constexpr std::size_t kSmallMessageMax = 70000;
constexpr int kCompletionsAtOnce = 32;

// A loop over CQs: which queue of the endpoint a completion is from.
bool is_receive(const Completion &completion)
{
	return (completion.opcode & IBV_WC_RECV) != 0;
}

}  // namespace

Worker::Worker(Shared &shared, unsigned index, unsigned pairs, std::uint64_t operations)
	: shared_(shared), index_(index), operations_wanted_(operations),
	  random_(shared.options.seed * 1000003 + index), by_events_(index % 2 == 1),
	  mtu_log_max_(static_cast<unsigned>(std::min(shared.device.port().active_mtu, shared.peer.port().active_mtu))),
	  last_progress_(seconds_now())
{
	open_side(side_a_, shared.device);
	open_side(side_b_, shared.peer);
	CqSet a{};
	CqSet b{};
	for (unsigned i = 0; i < pairs; i++) {
		if (i % kPairsPerCqSet == 0) {
			a = create_cqs(side_a_);
			b = create_cqs(side_b_);
		}
		create_pair(i, a, b);
	}
}

Worker::~Worker()
{
	pairs_.clear();
	cqs_.clear();
	close_side(side_a_);
	close_side(side_b_);
}

void Worker::open_side(Side &side, const Device &device)
{
	side.device = &device;
	side.pd = must(ibv_alloc_pd(device.context()), "ibv_alloc_pd");
	if (random_.chance(50)) {
		ibv_td_init_attr td_attributes{};
		side.thread_domain = ibv_alloc_td(device.context(), &td_attributes);
		if (side.thread_domain == nullptr && device.is_ohca())
			fail_errno("ibv_alloc_td", errno);
	}
	if (side.thread_domain != nullptr) {
		ibv_parent_domain_init_attr attributes{};
		attributes.pd = side.pd;
		attributes.td = side.thread_domain;
		side.parent_domain = must(ibv_alloc_parent_domain(device.context(), &attributes),
					  "ibv_alloc_parent_domain");
	}
	if (by_events_) {
		side.channel = must(ibv_create_comp_channel(device.context()), "ibv_create_comp_channel");
		if (fcntl(side.channel->fd, F_SETFL, O_NONBLOCK) != 0)
			fail_errno("O_NONBLOCK", errno);
	}
}

void Worker::close_side(Side &side)
{
	if (side.channel != nullptr)
		must_succeed(ibv_destroy_comp_channel(side.channel), "ibv_destroy_comp_channel");
	if (side.parent_domain != nullptr)
		must_succeed(ibv_dealloc_pd(side.parent_domain), "ibv_dealloc_pd of a parent domain");
	if (side.thread_domain != nullptr)
		must_succeed(ibv_dealloc_td(side.thread_domain), "ibv_dealloc_td");
	must_succeed(ibv_dealloc_pd(side.pd), "ibv_dealloc_pd");
}

CompletionQueue *Worker::create_cq(const Side &side)
{
	const auto api = static_cast<CompletionQueue::Api>(random_.below(CompletionQueue::kApiCount));
	const int depth = kCqDepthMin + static_cast<int>(random_.below(500));
	cqs_.push_back(std::make_unique<CompletionQueue>(*side.device, side.channel, depth, api, random_.chance(50)));
	return cqs_.back().get();
}

Worker::CqSet Worker::create_cqs(const Side &side)
{
	CqSet set{};
	set.send = create_cq(side);
	set.receive = random_.chance(50) ? set.send : create_cq(side);
	if (set.receive != set.send && side.channel != nullptr)
		set.receive->set_solicited_only(random_.chance(50));
	return set;
}

std::unique_ptr<Region> Worker::create_region(const Side &side, std::size_t message_max)
{
	const std::size_t length = 2 * message_max + (std::size_t{64} << 10);
	PageKind kind = PageKind::kSmall;
	if (message_max > kSmallMessageMax)
		kind = random_.chance(70) ? PageKind::kHuge : PageKind::kTransparent;
	else if (random_.chance(25))
		kind = random_.chance(70) ? PageKind::kShared : PageKind::kTransparent;
	return std::make_unique<Region>(side.pd, length, kind, random_);
}

// The first pair of a thread is the one with long messages: memory is finite.
void Worker::create_pair(unsigned number, CqSet a, CqSet b)
{
	auto pair = std::make_unique<Pair>();
	const auto pd = [this](const Side &side) {
		return side.parent_domain != nullptr && random_.chance(70) ? side.parent_domain : side.pd;
	};
	pair->a = std::make_unique<Endpoint>(*side_a_.device, pd(side_a_), *a.send, *a.receive, random_);
	pair->b = std::make_unique<Endpoint>(*side_b_.device, pd(side_b_), *b.send, *b.receive, random_);
	const std::size_t message_max = number == 0 ? shared_.options.message_max
						    : std::min(kSmallMessageMax, shared_.options.message_max);
	const unsigned mtu = 128U << mtu_log_max_;
	pair->forth = std::make_unique<Flow>(*pair->a, *pair->b, create_region(side_a_, message_max),
					     create_region(side_b_, message_max), mtu, message_max, random_);
	pair->back = std::make_unique<Flow>(*pair->b, *pair->a, create_region(side_b_, message_max),
					    create_region(side_a_, message_max), mtu, message_max, random_);
	connect_pair(*pair);
	pairs_.push_back(std::move(pair));
}

void Worker::connect_pair(Pair &pair)
{
	const auto depth_max = static_cast<std::uint8_t>(
		std::min({16, shared_.device.attributes().max_qp_init_rd_atom, shared_.device.attributes().max_qp_rd_atom,
			  shared_.peer.attributes().max_qp_init_rd_atom, shared_.peer.attributes().max_qp_rd_atom}));
	const auto psn = [this] {
		// one in four wraps soon
		return static_cast<std::uint32_t>(random_.chance(25) ? 0xffffff - random_.below(64)
								     : random_.below(0x1000000));
	};
	ConnectionOptions a;
	a.mtu = static_cast<ibv_mtu>(random_.between(1U, mtu_log_max_));
	a.sq_psn = psn();
	a.rq_psn = psn();
	a.read_atomic_initiator = random_.between<std::uint8_t>(1, depth_max);
	a.read_atomic_responder = random_.between<std::uint8_t>(1, depth_max);
	ConnectionOptions b = a;
	std::swap(b.sq_psn, b.rq_psn);
	b.read_atomic_initiator = random_.between<std::uint8_t>(1, a.read_atomic_responder);
	a.read_atomic_initiator = random_.between<std::uint8_t>(1, b.read_atomic_responder);
	pair.a->connect_to(*pair.b, a);
	pair.b->connect_to(*pair.a, b);
}

void Worker::keep_busy()
{
	for (auto &pair : pairs_) {
		if (pair->recycle) {
			if (!pair->forth->idle() || !pair->back->idle())
				continue;
			pair->a->reset();
			pair->b->reset();
			connect_pair(*pair);
			pair->recycle = false;
		}
		for (Flow *flow : {pair->forth.get(), pair->back.get()}) {
			if (flow->idle())
				flow->start_round();
		}
		pair->recycle = random_.below(2000) == 0;
	}
}

bool Worker::drain(CompletionQueue &cq)
{
	Completion completions[kCompletionsAtOnce];
	bool any = false;
	int count;
	do {
		count = cq.poll(completions, random_.between(1, kCompletionsAtOnce));
		for (int i = 0; i < count; i++) {
			const Completion &completion = completions[i];
			Endpoint *endpoint = cq.endpoint(completion.qpn);
			if (endpoint == nullptr)
				fail("a completion has qp_num 0x%x, which is no queue pair of this CQ", completion.qpn);
			if (completion.status == IBV_WC_WR_FLUSH_ERR)
				report_flush(completion.qpn);
			// the opcode of a failed completion says nothing; its wr_id does here
			if (completion.status != IBV_WC_SUCCESS ? completion.wr_id >> 63 != 0 : is_receive(completion))
				endpoint->incoming->handle_receive(completion);
			else
				endpoint->outgoing->handle_send(completion);
			any = true;
		}
	} while (count > 0);
	return any;
}

// A flushed queue is the effect; the cause may be in another CQ.
void Worker::report_flush(std::uint32_t qpn)
{
	const Deadline deadline(0.5);
	while (!deadline.passed()) {
		for (auto &cq : cqs_) {
			Completion completion;
			while (cq->poll(&completion, 1) == 1) {
				if (completion.status == IBV_WC_SUCCESS || completion.status == IBV_WC_WR_FLUSH_ERR)
					continue;
				const char *status = ibv_wc_status_str(completion.status);
				Endpoint *endpoint = cq->endpoint(completion.qpn);
				if (endpoint != nullptr && completion.wr_id >> 63 == 0)
					endpoint->outgoing->describe_operation(completion.wr_id);
				fail("QP 0x%x flushes; %s completion of QP 0x%x: %s, vendor error %u", qpn,
				     completion.wr_id >> 63 != 0 ? "receive" : "send", completion.qpn, status,
				     completion.vendor_error);
			}
		}
	}
	describe();
	fail("QP 0x%x flushes its work requests, and no completion says why", qpn);
}

bool Worker::drain_all()
{
	bool any = false;
	for (auto &cq : cqs_)
		any |= drain(*cq);
	return any;
}

bool Worker::read_events(ibv_comp_channel *channel)
{
	bool any = false;
	ibv_cq *cq = nullptr;
	void *context = nullptr;
	while (ibv_get_cq_event(channel, &cq, &context) == 0) {
		auto *queue = static_cast<CompletionQueue *>(context);
		if (queue->cq() != cq)
			fail("a completion event has the wrong cq_context");
		queue->acknowledge_event();
		queue->arm();
		any |= drain(*queue);
	}
	if (errno != EAGAIN)
		fail_errno("ibv_get_cq_event", errno);
	return any;
}

bool Worker::wait_for_events()
{
	pollfd files[2] = {{side_a_.channel->fd, POLLIN, 0}, {side_b_.channel->fd, POLLIN, 0}};
	if (poll(files, 2, 500) < 0 && errno != EINTR)
		fail_errno("poll", errno);
	const bool a = read_events(side_a_.channel);
	const bool b = read_events(side_b_.channel);
	return a || b;
}

bool Worker::all_idle() const
{
	return std::all_of(pairs_.begin(), pairs_.end(),
			   [](const auto &pair) { return pair->forth->idle() && pair->back->idle(); });
}

void Worker::account()
{
	std::uint64_t operations = 0;
	std::uint64_t bytes = 0;
	for (const auto &pair : pairs_) {
		operations += pair->forth->operations() + pair->back->operations();
		bytes += pair->forth->bytes() + pair->back->bytes();
	}
	shared_.operations += operations - accounted_operations_;
	shared_.bytes += bytes - accounted_bytes_;
	accounted_operations_ = operations;
	accounted_bytes_ = bytes;
}

bool Worker::wants_more() const
{
	if (shared_.options.operations == 0)
		return !shared_.stop;
	return accounted_operations_ < operations_wanted_;
}

void Worker::run()
{
	if (by_events_) {
		for (auto &cq : cqs_)
			cq->arm();
	}
	while (wants_more() || !all_idle()) {
		if (wants_more())
			keep_busy();
		if (by_events_ ? wait_for_events() : drain_all()) {
			last_progress_ = seconds_now();
			account();
		} else if (seconds_now() - last_progress_ > shared_.options.stall_seconds) {
			describe();
			fail("thread %u (%s) waited %.0f s for a completion", index_, by_events_ ? "events" : "polling",
			     shared_.options.stall_seconds);
		}
	}
	account();
	for (auto &pair : pairs_) {
		pair->forth->verify_all();
		pair->back->verify_all();
	}
}

void Worker::describe() const
{
	for (const auto &pair : pairs_) {
		for (const Flow *flow : {pair->forth.get(), pair->back.get()}) {
			if (!flow->idle())
				flow->describe();
		}
	}
}

}  // namespace verbs_test
