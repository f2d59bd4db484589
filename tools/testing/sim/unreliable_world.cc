// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "unreliable_world.hh"

#include <algorithm>

namespace ohca::sim {

namespace {

using namespace ohca::core;

constexpr size_t kRamSize = size_t{1} << 26;   // bytes, sparse
constexpr uint64_t kStepsMax = 1'000'000;      // against livelock
constexpr uint32_t kQkey = 0x1234567;
constexpr double kCorruption = 0.02;           // of packets, with the canary

} // namespace

// Duplicates are left out: neither service has, or needs on its networks, a defence.
Options UnreliableWorld::adapted(Options options)
{
	options.duplication = 0;
	if (options.direct)
		options.loss = 0;
	return options;
}

UnreliableWorld::UnreliableWorld(const Options &options)
	: options_(adapted(options)), prng_(options.seed ^ 0x756e7265), network_(options_, prng_)
{
	for (uint32_t i = 0; i < 2; i++) {
		hosts_.push_back(std::make_unique<RcHost>(i, kRamSize));
		Function &function = hosts_[i]->function();
		function.state().port_active = 1;
		function.state().port_max_mtu = 1u << options_.log_mtu;
		GidContext &gid = *function.context().gid(0);
		gid.live = 1;
		gid.gid[0] = 0xfd;
		gid.gid[15] = static_cast<uint8_t>(i + 1);
		gid.vlan_id = OHCA_VLAN_NONE;
	}
	limits_.segment_payload_max = options_.segment_payload_max;
	limits_.lossless = options_.direct;
	for (int type : {OHCA_QP_TYPE_UC, OHCA_QP_TYPE_UD}) {
		const auto a = create_end(0, static_cast<uint8_t>(type));
		const auto b = create_end(1, static_cast<uint8_t>(type));
		const std::string name = type == OHCA_QP_TYPE_UC ? "UC" : "UD";
		a.qp->attributes.sq_psn = 0xffffff - static_cast<uint32_t>(prng_.below(200));
		b.qp->attributes.sq_psn = static_cast<uint32_t>(prng_.below(1 << 24));
		connect(*a.qp, *b.qp, 0);
		connect(*b.qp, *a.qp, 1);
		flows_.push_back(
			std::make_unique<UnreliableFlow>(options_, prng_, verdict_, name + " forward", a, b));
		flows_.push_back(std::make_unique<UnreliableFlow>(options_, prng_, verdict_, name + " back", b, a));
	}
}

UnreliableFlow::End UnreliableWorld::create_end(uint32_t index, uint8_t type)
{
	RcHost &host = *hosts_[index];
	UnreliableFlow::End end{.host = &host, .pd = host.create_pd(), .send_cq = host.create_cq(10),
				.recv_cq = host.create_cq(10)};
	core::test::QpOptions options;

	options.log_sq_depth = options_.log_sq_depth;
	options.log_rq_depth = options_.log_rq_depth;
	options.pd = end.pd;
	options.send_cq = end.send_cq;
	options.recv_cq = end.recv_cq;
	end.qp = &host.create_qp(options);
	end.qp->type = type;
	return end;
}

void UnreliableWorld::connect(QpContext &qp, const QpContext &peer, uint32_t host)
{
	constexpr uint8_t kPath[] = {OHCA_QP_STATE_INIT, OHCA_QP_STATE_RTR, OHCA_QP_STATE_RTS};

	qp.attributes.path_mtu = options_.log_mtu;
	qp.attributes.access = OHCA_ACCESS_REMOTE_WRITE;
	qp.attributes.dest_qpn = peer.qpn;
	qp.attributes.rq_psn = peer.attributes.sq_psn;
	qp.attributes.qkey = kQkey;
	for (uint8_t state : kPath)
		hosts_[host]->modify(qp, state, now_);
}

void UnreliableWorld::transmit(UnreliableFlow &flow)
{
	Function &function = flow.from().host->function();

	function.set_now(now_);
	for (uint32_t i = 0; i < options_.transmit_budget; i++) {
		Segment segment;
		if (!poll_transmit(function, *flow.from().qp, now_, limits_, scratch_, segment))
			return;
		if (options_.direct)
			deliver_directly(flow, segment);
		else
			network_.send(now_, flow.to().host->function().index(), segment, false);
	}
}

void UnreliableWorld::deliver_directly(UnreliableFlow &flow, const Segment &segment)
{
	Function &function = flow.to().host->function();

	function.set_now(now_);
	const Delivery delivery = handle_segment(function, *flow.to().qp, segment, now_);
	if (delivery == Delivery::kPause) {
		handle_pause(flow.from().host->function(), *flow.from().qp, segment, now_);
		return;
	}
	datagrams_delivered_ += segment.datagram != nullptr;
	outcome_.segments++;
	flow.poll();
}

void UnreliableWorld::deliver_due()
{
	while (network_.next_time() <= now_) {
		Packet packet = network_.take();
		Segment segment = packet.segment;
		SgRange bytes;

		if (options_.canary == Canary::kCorruption && packet.payload && prng_.chance(kCorruption))
			(*packet.payload)[prng_.below(packet.payload->size())] ^= std::byte{1};
		if (packet.payload) {
			bytes = {nullptr, nullptr, 0, packet.payload->data(), packet.payload->size()};
			segment.payload = {&bytes, 1, 0, 0};
		}
		if (segment.datagram) {
			segment.datagram = &packet.datagram;
			datagrams_delivered_++;
		}
		Function &function = hosts_[packet.to_host]->function();
		function.set_now(now_);
		handle_segment(function, *function.context().qp(segment.dest_qpn), segment, now_);
		outcome_.segments++;
		// Before the next message comes to the same place.
		for (auto &flow : flows_)
			flow->poll();
	}
}

// False: nothing is left to be done.
bool UnreliableWorld::step(uint32_t limit, bool generous)
{
	bool busy = false;

	deliver_due();
	for (auto &flow : flows_) {
		flow->poll();
		if (generous || prng_.chance(0.7))
			flow->post_receives(generous ? UINT32_MAX : static_cast<uint32_t>(prng_.below(4)));
		// Generous: no more than there is room for at the other end.
		const uint64_t burst = prng_.between(1, 4);
		for (uint64_t i = 0; i < burst; i++)
			if (!generous || flow->posted() - flow->completed() == 0)
				flow->post_send(limit);
		transmit(*flow);
		flow->poll();
		busy |= flow->posted() < limit || flow->completed() < flow->posted();
	}
	now_ += prng_.between(1, options_.latency_ns);
	return busy || network_.next_time() != kNever;
}

void UnreliableWorld::run_phase(uint32_t limit, bool generous)
{
	for (uint64_t steps = 0; !verdict_.failed() && step(limit, generous); steps++) {
		// Generous: one message on its way at a time, so that none meets an empty receive queue.
		while (generous && network_.next_time() != kNever) {
			now_ = std::max(now_, network_.next_time());
			deliver_due();
		}
		if (steps == kStepsMax)
			verdict_.fail("no end: something hangs");
	}
}

void UnreliableWorld::judge()
{
	uint64_t datagrams_received = 0;

	for (auto &flow : flows_) {
		outcome_.operations += flow->posted();
		if (is_datagram(*flow->to().qp))
			datagrams_received += flow->received();
		if (flow->from().qp->state != OHCA_QP_STATE_RTS)
			flow->fail("is in state " + std::to_string(flow->from().qp->state));
	}
	uint64_t dropped = 0;
	uint64_t lost = 0;
	for (auto &host : hosts_) {
		dropped += host->counter(OHCA_COUNTER_DATAGRAMS_DROPPED);
		lost += host->counter(OHCA_COUNTER_UC_MESSAGES_LOST);
		if (host->counter(OHCA_COUNTER_QKEY_VIOLATIONS) || host->counter(OHCA_COUNTER_PACKETS_DROPPED))
			verdict_.fail("dropped for no reason");
	}
	// Each datagram that the network has not lost is accounted for.
	if (datagrams_received + dropped != datagrams_delivered_)
		verdict_.fail("datagrams are missing");
	if (options_.direct && dropped + lost > 0)
		verdict_.fail("a sender was not paused");
	const uint64_t sent = flows_[0]->posted() + flows_[1]->posted();
	const uint64_t received = flows_[0]->received() + flows_[1]->received();
	// What the network has lost from end to end nobody can count; what it reorders counts twice.
	if (options_.delay == 0 && (options_.loss == 0 ? lost != sent - received : lost > sent - received))
		verdict_.fail(std::to_string(lost) + " of " + std::to_string(sent - received) + " lost messages counted");
}

Outcome UnreliableWorld::run()
{
	// Who receives from the beginning is waited for later (OHCA-LINK-D2).
	for (auto &flow : flows_)
		flow->post_receives(1);
	run_phase(options_.operations, false);
	// In health, and with receives enough, everything arrives, whatever has happened before.
	network_.set_faulty(false);
	while (step(options_.operations, true) && !verdict_.failed())
		;
	std::vector<uint32_t> missing;
	for (auto &flow : flows_)
		missing.push_back(flow->posted() - flow->received());
	run_phase(options_.operations + 10, true);
	for (size_t i = 0; i < flows_.size(); i++)
		if (!verdict_.failed() && flows_[i]->posted() - flows_[i]->received() != missing[i])
			flows_[i]->fail("loses messages on a healthy network");
	if (!verdict_.failed())
		judge();
	outcome_.failure = verdict_.why();
	return outcome_;
}

} // namespace ohca::sim
