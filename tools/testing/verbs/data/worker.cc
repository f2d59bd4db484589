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
constexpr unsigned kRoundMax = 64;  // operations of a flow
constexpr unsigned kUsersPerSharedQueue = SharedReceives::kDepth / kRoundMax;
// All of them complete in the CQ of an XRC SRQ.
static_assert(SharedReceives::kDepth <= kCqDepthMin);

// A loop over CQs: which queue of the endpoint a completion is from.
bool is_receive(const Completion &completion)
{
	return (completion.opcode & IBV_WC_RECV) != 0;
}

}  // namespace

Worker::Worker(Shared &shared, unsigned index, unsigned first_pair, unsigned pairs, std::uint64_t operations)
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
		create_pair(shared.options.kinds[(first_pair + i) % shared.options.kinds.size()], a, b);
	}
}

Worker::~Worker()
{
	pairs_.clear();
	shared_receives_.clear();
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
	if (side.xrcd != nullptr)
		must_succeed(ibv_close_xrcd(side.xrcd), "ibv_close_xrcd");
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
	const int other_access = side.device->is_ohca() ? IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_MW_BIND : 0;
	return std::make_unique<Region>(side.pd, length, kind, other_access, random_);
}

// The queue that the next endpoint of the side gets.
SharedReceives *Worker::shared_receives(const PairKind &kind, Side &side)
{
	if (!kind.shared_receives)
		return nullptr;
	const bool xrc = kind.service == Service::kXrc;
	auto &current = side.shared[xrc ? 1 : 0];
	if (current.queue == nullptr || current.users == kUsersPerSharedQueue) {
		CompletionQueue *cq = nullptr;
		if (xrc && side.xrcd == nullptr) {
			ibv_xrcd_init_attr attributes{};
			attributes.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
			attributes.fd = -1;
			attributes.oflags = O_CREAT;
			side.xrcd = must(ibv_open_xrcd(side.device->context(), &attributes), "ibv_open_xrcd");
		}
		if (xrc)
			cq = create_cq(side);
		shared_receives_.push_back(std::make_unique<SharedReceives>(*side.device, side.pd,
									    xrc ? side.xrcd : nullptr, cq, random_));
		current.queue = shared_receives_.back().get();
		current.users = 0;
	}
	current.users++;
	return current.queue;
}

std::unique_ptr<Endpoint> Worker::create_endpoint(const PairKind &kind, Side &side, const CqSet &cqs, bool with_wr_api)
{
	ibv_pd *pd = side.parent_domain != nullptr && random_.chance(70) ? side.parent_domain : side.pd;
	SharedReceives *receives = shared_receives(kind, side);
	CompletionQueue *receive_cq = kind.service == Service::kXrc ? receives->cq() : cqs.receive;
	const EndpointParts parts = {*side.device, pd, side.xrcd, *cqs.send, *receive_cq, receives};
	return std::make_unique<Endpoint>(kind, parts, with_wr_api, random_);
}

// One pair of a thread has long messages: memory is finite.
void Worker::create_pair(const PairKind &kind, CqSet a, CqSet b)
{
	auto pair = std::make_unique<Pair>();
	pair->a = create_endpoint(kind, side_a_, a, random_.chance(40));
	pair->b = create_endpoint(kind, side_b_, b, true);
	std::size_t message_max = std::min(kSmallMessageMax, shared_.options.message_max);
	if (!has_long_messages_ && kind.service != Service::kUd) {
		message_max = shared_.options.message_max;
		has_long_messages_ = true;
	}
	const unsigned mtu = 128U << mtu_log_max_;
	auto forth_target = create_region(side_b_, message_max);
	auto back_target = create_region(side_a_, message_max);
	Region &of_b = *forth_target;
	Region &of_a = *back_target;
	pair->forth = std::make_unique<Flow>(*pair->a, *pair->b, create_region(side_a_, message_max),
					     std::move(forth_target), mtu, message_max, coverage_, random_);
	pair->back = std::make_unique<Flow>(*pair->b, *pair->a, create_region(side_b_, message_max),
					    std::move(back_target), mtu, message_max, coverage_, random_);
	create_windows(*pair, kind, of_a, of_b);
	connect_pair(*pair);
	pair->forth->set_aids({pair->a->addresses(), pair->window_a.get(), pair->window_b.get()});
	pair->back->set_aids({pair->b->addresses(), pair->window_b.get(), pair->window_a.get()});
	pairs_.push_back(std::move(pair));
}

// Of the kinds whose queue pairs serve both as requester and as responder.
void Worker::create_windows(Pair &pair, const PairKind &kind, Region &of_a, Region &of_b)
{
	const bool has_windows = kind.service == Service::kRc || kind.service == Service::kUc;
	if (!has_windows || !side_a_.device->is_ohca() || !side_b_.device->is_ohca())
		return;
	pair.window_a = std::make_unique<Window>(side_a_.pd, of_a);
	pair.window_b = std::make_unique<Window>(side_b_.pd, of_b);
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
	if (shared_.device.is_ohca() && shared_.peer.is_ohca())
		a.access |= IBV_ACCESS_FLUSH_GLOBAL;
	a.qkey = static_cast<std::uint32_t>(random_.below(0x80000000));
	a.mtu = static_cast<ibv_mtu>(random_.between(1U, mtu_log_max_));
	a.sq_psn = psn();
	a.rq_psn = psn();
	a.read_atomic_initiator = random_.between<std::uint8_t>(1, depth_max);
	a.read_atomic_responder = random_.between<std::uint8_t>(1, depth_max);
	ConnectionOptions b = a;
	std::swap(b.sq_psn, b.rq_psn);
	b.read_atomic_initiator = random_.between<std::uint8_t>(1, a.read_atomic_responder);
	a.read_atomic_initiator = random_.between<std::uint8_t>(1, b.read_atomic_responder);
	pair.a->connect_to(*pair.b, a, random_);
	pair.b->connect_to(*pair.a, b, random_);
}

void Worker::keep_busy()
{
	for (auto &pair : pairs_) {
		if (pair->recycle) {
			if (!pair->forth->idle() || !pair->back->idle())
				continue;
			pair->a->reset();
			pair->b->reset();
			for (Window *window : {pair->window_a.get(), pair->window_b.get()}) {
				if (window != nullptr)
					window->handle_reset();
			}
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
	for (auto &receives : shared_receives_)
		receives->verify_all();
	const std::lock_guard guard(shared_.coverage_lock);
	shared_.coverage.merge(coverage_);
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
