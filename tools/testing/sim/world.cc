// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "world.hh"

#include <algorithm>

#include "core/transport/psn.hh"

namespace ohca::sim {

namespace {

using namespace ohca::core;

constexpr size_t kRamSize = size_t{1} << 30;          // bytes, sparse
constexpr TimeNs kPatience = 20'000'000'000;          // after the last fault everything must end
constexpr uint64_t kStepsMax = 5'000'000;             // against livelock
constexpr uint8_t kMercyRetries = 4;                  // below this the network is friendly

} // namespace

World::World(const Options &options)
	: options_(options), prng_(options.seed), network_(options_, prng_)
{
	for (uint32_t i = 0; i < 2; i++)
		hosts_.push_back(std::make_unique<RcHost>(i, kRamSize));
	limits_.segment_payload_max = options_.segment_payload_max;
	create_sides();
}

void World::create_sides()
{
	uint32_t pds[2];
	uint32_t shared[2];

	for (uint32_t i = 0; i < 2; i++) {
		pds[i] = hosts_[i]->create_pd();
		shared[i] = hosts_[i]->create_cq(14);
	}
	for (uint32_t pair = 0; pair < options_.pair_count; pair++) {
		const bool loopback = prng_.chance(0.2);
		for (uint32_t end = 0; end < 2; end++) {
			auto side = std::make_unique<Side>();
			side->host = loopback ? 0 : end;
			RcHost &host = *hosts_[side->host];
			side->send_cq = options_.shared_cq ? shared[side->host] : host.create_cq(10);
			side->recv_cq = options_.shared_cq ? shared[side->host] : host.create_cq(10);
			core::test::QpOptions qp;
			qp.log_sq_depth = options_.log_sq_depth;
			qp.log_rq_depth = options_.log_rq_depth;
			qp.flags = options_.signal_all ? OHCA_QP_SIGNAL_ALL : 0;
			qp.pd = pds[side->host];
			qp.send_cq = side->send_cq;
			qp.recv_cq = side->recv_cq;
			side->qp = &host.create_qp(qp);
			sides_.push_back(std::move(side));
		}
		Side &a = *sides_[sides_.size() - 2];
		Side &b = *sides_[sides_.size() - 1];
		const Endpoint at_a = {hosts_[a.host].get(), a.qp, pds[a.host]};
		const Endpoint at_b = {hosts_[b.host].get(), b.qp, pds[b.host]};
		const std::string name = "pair " + std::to_string(pair);
		flows_.push_back(std::make_unique<Flow>(options_, prng_, verdict_, name + " forward", at_a, at_b));
		flows_.push_back(std::make_unique<Flow>(options_, prng_, verdict_, name + " back", at_b, at_a));
		flows_[flows_.size() - 2]->set_back(*flows_.back());
		flows_.back()->set_back(*flows_[flows_.size() - 2]);
		a.outgoing = b.incoming = flows_[flows_.size() - 2].get();
		b.outgoing = a.incoming = flows_[flows_.size() - 1].get();
		a.peer = &b;
		b.peer = &a;
		const uint32_t near_wrap = prng_.chance(0.5) ? 0xffffff - static_cast<uint32_t>(prng_.below(200)) : 0;
		a.qp->attributes.sq_psn = near_wrap ? near_wrap : static_cast<uint32_t>(prng_.below(1 << 24));
		b.qp->attributes.sq_psn = static_cast<uint32_t>(prng_.below(1 << 24));
		a.qp->attributes.rq_psn = b.qp->attributes.sq_psn;
		b.qp->attributes.rq_psn = a.qp->attributes.sq_psn;
		connect(a, b);
		connect(b, a);
	}
}

void World::connect(Side &side, const Side &peer)
{
	ohca_qp_attributes &attributes = side.qp->attributes;

	attributes.path_mtu = options_.log_mtu;
	attributes.access = OHCA_ACCESS_REMOTE_WRITE | OHCA_ACCESS_REMOTE_READ |
			    OHCA_ACCESS_REMOTE_ATOMIC | OHCA_ACCESS_FLUSH_GLOBAL;
	attributes.max_read_atomic = options_.read_atomic_depth;
	attributes.max_dest_read_atomic = options_.read_atomic_depth;
	attributes.min_rnr_timer = options_.rnr_timer;
	attributes.ack_timeout = options_.ack_timeout;
	attributes.retry_count = options_.retry_count;
	attributes.rnr_retry = options_.rnr_retry;
	attributes.sq_drained_event = 1;
	attributes.dest_qpn = peer.qp->qpn;
	constexpr uint8_t kPath[] = {OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS};
	for (uint8_t state : kPath)
		hosts_[side.host]->modify(*side.qp, state, now_);
}

World::Side *World::side_of(uint32_t host, uint32_t qpn)
{
	for (auto &side : sides_)
		if (side->host == host && side->qp->qpn == qpn)
			return side.get();
	return nullptr;
}

// A connection that has used up many retries is spared: losing it is another scenario.
bool World::merciful(const Side &side) const
{
	return options_.scenario != Scenario::kBlackout && options_.retry_count == 7 &&
	       (side.qp->requester.retries_left <= kMercyRetries ||
		side.peer->qp->requester.retries_left <= kMercyRetries);
}

// The canaries bend here what the state machine gets to see.
void World::deliver_bent(RcHost &host, QpContext &qp, const Segment &segment)
{
	ResponderContext &responder = qp.responder;
	const uint32_t behind = psn_distance(responder.expected_psn, segment.psn);
	const bool write = segment.kind == SegmentKind::kWrite && segment.first && segment.last;

	if (options_.canary == Canary::kDuplicates && write && behind > 0 && behind < kPsnWindow) {
		const uint32_t expected = responder.expected_psn;
		const uint8_t in_message = responder.in_message;
		responder.expected_psn = segment.psn;
		responder.in_message = 0;
		handle_segment(host.function(), qp, segment, now_);
		responder.expected_psn = expected;
		responder.in_message = in_message;
		return;
	}
	const MkeyContext *mkey = segment.rkey ? host.function().context().mkey(segment.rkey >> 8) : nullptr;
	if (options_.canary == Canary::kKeys && mkey) {
		Segment bent = segment;
		bent.rkey = (segment.rkey & ~0xffu) | mkey->consumer_key;
		handle_segment(host.function(), qp, bent, now_);
		return;
	}
	if (options_.canary == Canary::kAcks && segment.kind == SegmentKind::kAcknowledge &&
	    segment.aeth_syndrome < 0x20) {
		Segment bent = segment;
		bent.psn = psn_add(bent.psn, 1);
		handle_segment(host.function(), qp, bent, now_);
		return;
	}
	handle_segment(host.function(), qp, segment, now_);
}

void World::deliver(uint32_t host, const Segment &segment)
{
	Side *side = side_of(host, segment.dest_qpn);

	hosts_[host]->function().set_now(now_);
	deliver_bent(*hosts_[host], *side->qp, segment);
	side->dirty = true;
	outcome_.segments++;
}

// Gives a queue pair its turn: a bounded number of segments.
void World::service(Side &side)
{
	Function &function = hosts_[side.host]->function();

	function.set_now(now_);
	for (uint32_t i = 0; i < options_.transmit_budget; i++) {
		Segment segment;

		if (!poll_transmit(function, *side.qp, now_, limits_, scratch_, segment)) {
			side.dirty = false;
			return;
		}
		const bool mercy = merciful(side);
		if (!options_.direct) {
			network_.send(now_, side.peer->host, segment, mercy);
			continue;
		}
		if (network_.drops(mercy))
			continue;
		deliver(side.peer->host, segment);
		if (network_.duplicates(mercy))
			deliver(side.peer->host, segment);
	}
}

void World::fire_timers()
{
	for (auto &side : sides_) {
		if (poll_timeout(*side->qp) > now_)
			continue;
		hosts_[side->host]->function().set_now(now_);
		handle_timeout(hosts_[side->host]->function(), *side->qp, now_);
		side->dirty = true;
	}
}

void World::poll_completions(uint32_t host, uint32_t cqn)
{
	while (auto cqe = hosts_[host]->poll(cqn)) {
		Side *side = side_of(host, cqe->qpn);

		if (cqe->flags & OHCA_CQE_RECEIVE)
			side->incoming->on_receive(*cqe, now_);
		else
			side->outgoing->on_send(*cqe);
	}
}

void World::poll_events(uint32_t host)
{
	while (auto event = hosts_[host]->poll_event()) {
		if (event->type == OHCA_EVENT_SQ_DRAINED)
			side_of(host, event->number)->drains_seen++;
		else if (options_.scenario == Scenario::kExchange)
			verdict_.fail("asynchronous event " + std::to_string(event->type));
	}
}

void World::run_application(Side &side)
{
	RcHost &host = *hosts_[side.host];
	bool rung = false;

	side.incoming->post_receives(now_);
	if (side.qp->state == OHCA_QP_STATE_SQD && !side.qp->requester.draining && prng_.chance(0.5)) {
		host.modify(*side.qp, OHCA_QP_STATE_RTS, now_);
		side.dirty = true;
	}
	const uint64_t burst = prng_.between(1, 8);
	for (uint64_t i = 0; i < burst && side.outgoing->post_request(); i++)
		rung = true;
	if (side.qp->state == OHCA_QP_STATE_ERR && !side.late_posted) {
		side.late_posted = true;
		side.outgoing->stop();
		side.outgoing->post_late();
		rung = true;
	}
	if (rung && side.qp->state == OHCA_QP_STATE_RTS && prng_.chance(options_.drain)) {
		side.drains_expected++;
		host.modify(*side.qp, OHCA_QP_STATE_SQD, now_);
	}
	if (rung) {
		handle_doorbell(host.function(), *side.qp, now_);
		side.dirty = true;
	}
}

// Halfway, the first connection gets into the trouble of the scenario.
void World::start_trouble()
{
	Flow &flow = *flows_[0];

	if (trouble_started_ || flow.posted() < options_.operations / 2)
		return;
	trouble_started_ = true;
	switch (options_.scenario) {
	case Scenario::kBlackout:
		network_.set_dead();
		break;
	case Scenario::kNoReceives:
		flow.stop_receives();
		break;
	case Scenario::kBadKey:
		flow.break_remote_key();
		break;
	case Scenario::kBadLocalKey:
		flow.break_local_key();
		break;
	case Scenario::kShortReceive:
		flow.shorten_receive();
		break;
	case Scenario::kModifyToError:
		hosts_[sides_[0]->host]->modify(*sides_[0]->qp, OHCA_QP_STATE_ERR, now_);
		break;
	default:
		break;
	}
}

void World::run_applications()
{
	start_trouble();
	for (auto &side : sides_)
		run_application(*side);
	if (healed_at_ == 0 && std::ranges::all_of(flows_, [](auto &flow) { return flow->all_posted(); })) {
		healed_at_ = now_;
		network_.set_faulty(false);
	}
}

bool World::quiet(const Side &side) const
{
	if (!side.outgoing->idle())
		return false;
	// In ERR receives are flushed, too.
	return side.qp->state != OHCA_QP_STATE_ERR ||
	       (side.late_posted && side.incoming->oracle().receives_outstanding() == 0);
}

bool World::finished() const
{
	return std::ranges::all_of(sides_, [this](auto &side) { return quiet(*side); });
}

// To the next time at which anything happens. False: never.
bool World::advance()
{
	TimeNs next = network_.next_time();

	for (auto &side : sides_) {
		if (side->dirty)
			return true;
		next = std::min(next, poll_timeout(*side->qp));
		next = std::min(next, side->incoming->next_receive_time());
		if (side->qp->state == OHCA_QP_STATE_SQD && !side->qp->requester.draining)
			next = std::min(next, now_ + 500);
	}
	if (next == kNever)
		return false;
	now_ = std::max(now_ + 1, next);
	return true;
}

bool World::step()
{
	while (network_.next_time() <= now_) {
		const Packet packet = network_.take();
		Segment segment = packet.segment;
		SgRange bytes;

		if (packet.payload) {
			bytes = {nullptr, nullptr, 0, packet.payload->data(), packet.payload->size()};
			segment.payload = {&bytes, 1, 0, 0};
		}
		deliver(packet.to_host, segment);
	}
	fire_timers();
	// Until nobody has anything more to say at this time.
	bool again = true;
	for (uint32_t round = 0; again && round < 100000; round++) {
		again = false;
		for (auto &side : sides_) {
			if (!side->dirty)
				continue;
			service(*side);
			again = true;
		}
	}
	if (again)
		verdict_.fail("queue pairs never stop transmitting");
	for (uint32_t host = 0; host < 2; host++)
		poll_events(host);
	for (auto &side : sides_) {
		poll_completions(side->host, side->send_cq);
		poll_completions(side->host, side->recv_cq);
	}
	run_applications();
	return advance();
}

void World::judge_failed_flow()
{
	Oracle &oracle = flows_[0]->oracle();
	const uint8_t status = oracle.send_error();
	const bool lossless = options_.loss == 0 && options_.delay == 0;
	uint8_t expected = OHCA_CQE_STATUS_SUCCESS;

	switch (options_.scenario) {
	case Scenario::kBlackout:
		expected = OHCA_CQE_STATUS_RETRY_EXCEEDED;
		break;
	case Scenario::kNoReceives:
		expected = OHCA_CQE_STATUS_RNR_RETRY_EXCEEDED;
		break;
	case Scenario::kBadKey:
		expected = OHCA_CQE_STATUS_REMOTE_ACCESS;
		break;
	case Scenario::kBadLocalKey:
		expected = OHCA_CQE_STATUS_LOCAL_PROTECTION;
		break;
	case Scenario::kShortReceive:
		expected = OHCA_CQE_STATUS_REMOTE_INVALID_REQUEST;
		break;
	default:
		expected = OHCA_CQE_STATUS_FLUSHED;
	}
	// Where a NAK may be lost, or the peer has failed first, retries run out instead.
	const uint8_t back = flows_[1]->oracle().send_error();
	const bool unanswered = !lossless || back == OHCA_CQE_STATUS_RNR_RETRY_EXCEEDED;
	if (status != OHCA_CQE_STATUS_SUCCESS && status != expected &&
	    !(unanswered && status == OHCA_CQE_STATUS_RETRY_EXCEEDED))
		oracle.fail("status " + std::to_string(status) + " instead of " + std::to_string(expected) + ", request " +
			    std::to_string(oracle.send_error_index()) + "; the other direction: " + std::to_string(back));
	for (size_t i = 1; i < flows_.size(); i++) {
		const uint8_t other = flows_[i]->oracle().send_error();
		const bool connected = i == 1 || options_.scenario == Scenario::kBlackout ||
				       options_.scenario == Scenario::kNoReceives;
		if (other != OHCA_CQE_STATUS_SUCCESS && !connected)
			flows_[i]->oracle().fail("failed for no reason, status " + std::to_string(other));
	}
}

void World::judge()
{
	const bool exchange = options_.scenario == Scenario::kExchange;

	for (size_t i = 0; i < flows_.size(); i++) {
		const uint8_t status = flows_[i]->oracle().send_error();
		const bool exact = status == OHCA_CQE_STATUS_SUCCESS &&
				   flows_[i ^ 1]->oracle().send_error() == OHCA_CQE_STATUS_SUCCESS &&
				   flows_[i]->oracle().receive_error() == OHCA_CQE_STATUS_SUCCESS;

		if (exchange && status != OHCA_CQE_STATUS_SUCCESS)
			flows_[i]->oracle().fail("failed with status " + std::to_string(status));
		flows_[i]->finish(exact);
		outcome_.operations += flows_[i]->posted();
	}
	if (!exchange)
		judge_failed_flow();
	for (auto &side : sides_)
		if (exchange && side->drains_seen != side->drains_expected)
			verdict_.fail("SQ_DRAINED reported " + std::to_string(side->drains_seen) + " times instead of " +
				      std::to_string(side->drains_expected));
	for (auto &host : hosts_) {
		outcome_.retries += host->counter(OHCA_COUNTER_ACK_TIMEOUTS) +
				    host->counter(OHCA_COUNTER_SEQUENCE_NAKS_RECEIVED);
		outcome_.rnr_naks += host->counter(OHCA_COUNTER_RNR_NAKS_RECEIVED);
	}
}

Outcome World::run()
{
	for (uint64_t steps = 0; !verdict_.failed() && !finished(); steps++) {
		if (steps == kStepsMax || (healed_at_ != 0 && now_ > healed_at_ + kPatience)) {
			verdict_.fail("no end: something hangs");
			break;
		}
		if (!step() && !finished()) {
			verdict_.fail("nothing more will happen, and not everything is done");
			break;
		}
	}
	if (!verdict_.failed())
		judge();
	outcome_.status = flows_[0]->oracle().send_error();
	outcome_.failure = verdict_.why();
	return outcome_;
}

} // namespace ohca::sim
