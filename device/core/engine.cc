// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/engine.hh"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <ranges>

#include "core/cmd/processor.hh"
#include "core/doorbell/scan.hh"
#include "core/endian.hh"
#include "core/function.hh"
#include "core/queue/cq_event.hh"
#include "core/queue/eq_post.hh"
#include "core/multicast_routes.hh"
#include "core/routes.hh"
#include "core/timer_wheel.hh"
#include "core/transport/transport.hh"

namespace ohca::core {

namespace {

// What one pass may do before doorbells and commands are looked at again. Bytes bound the time
// (1 MiB of copying: some 100 us), segments the rest.
constexpr uint32_t kSegmentsPerPass = 256;
constexpr uint64_t kBytesPerPass = 1024 * 1024;
constexpr uint32_t kTimersPerPass = 1024;

// What one queue pair may do before it is the next one's turn.
constexpr uint32_t kSegmentsPerTurn = 16;
constexpr uint64_t kBytesPerTurn = 256 * 1024;

struct Budget {
	uint32_t segments;
	uint64_t bytes;

	bool spent() const { return segments == 0 || bytes == 0; }
	void take(uint32_t count, uint64_t payload)
	{
		segments -= std::min(segments, count);
		bytes -= std::min(bytes, payload);
	}
};

// The VLAN in which a queue pair speaks: that of its source address.
uint16_t vlan_of(Function &function, const QpContext &qp)
{
	const GidContext &source = *function.context().gid(qp.attributes.sgid_index);
	return source.live ? source.vlan_id : OHCA_VLAN_NONE;
}

// Rings a doorbell as the host does.
void announce_again(struct ohca_uar &page, uint32_t slot)
{
	std::atomic_ref(page.notify[slot / 64]).fetch_or(to_le(__le64{1} << (slot % 64)));
	std::atomic_ref(page.summary).fetch_or(to_le(__le64{1} << (slot / 64)));
}

} // namespace

struct Engine::State final : FunctionOwner {
	struct Slot {
		Slot(uint32_t index, const FunctionResources &resources, FunctionOwner *owner)
			: function(index, resources, owner), timers(function.context()),
			  event_timers(function.context())
		{
		}
		Function function;
		TimerWheel timers;
		CqTimerWheel event_timers; // of CQs with moderation
	};

	Slot &slot_of(Function &function) { return *slots[function.index()]; }

	// FunctionOwner
	void activate(Function &function, QpContext &qp) override;
	void forget(Function &function, QpContext &qp) override;
	void schedule(Function &function, CqContext &cq, TimeNs at) override
	{
		slot_of(function).event_timers.schedule(cq, at);
	}
	void forget(Function &function, CqContext &cq) override { slot_of(function).event_timers.remove(cq); }
	void routes_changed() override { routes.invalidate(); }
	void multicast_changed() override { multicast.invalidate(); }

	QpContext *pop_active(Function &function);
	void recover(Slot &slot);

	bool serve_doorbells_and_commands();
	bool serve_queue_pairs();
	void serve_turn(Slot &slot, QpContext &qp, Budget &pass);
	bool serve_timers();
	bool serve_event_timers(Slot &slot);
	bool serve_events();
	bool raise_interrupts();

	// Return the number of queue pairs that had to look at it, at least 1.
	uint32_t deliver(Function &function, QpContext &qp, const Segment &segment);
	uint32_t deliver_datagram(Function &function, QpContext &qp, const Segment &segment);
	uint32_t deliver_multicast(Function &function, QpContext &qp, const Segment &segment);
	bool hand_over(Function &function, QpContext &qp, Function &peer, QpContext &peer_qp, const Segment &segment);
	Function *route(Function &function, QpContext &qp);
	void refresh_routes();

	std::vector<std::unique_ptr<Slot>> slots;
	Routes routes;
	MulticastRoutes multicast;
	uint32_t next_slot = 0; // whose turn it is
	TimeNs now = 0;
	TransmitScratch scratch;
};

Engine::Engine() : state_(std::make_unique<State>()) {}
Engine::~Engine() = default;

// --- control ----------------------------------------------------------------

uint32_t Engine::add_function(const FunctionResources &resources)
{
	auto index = static_cast<uint32_t>(state_->slots.size());
	state_->slots.push_back(std::make_unique<State::Slot>(index, resources, state_.get()));
	state_->recover(*state_->slots.back());
	return index;
}

Function &Engine::function(uint32_t index)
{
	return state_->slots[index]->function;
}

uint32_t Engine::function_count() const
{
	return static_cast<uint32_t>(state_->slots.size());
}

// Takes over what context memory holds. Links and caches that belong to the engine process are
// made anew.
void Engine::State::recover(Slot &slot)
{
	Function &function = slot.function;
	ContextMemory &context = function.context();
	if (!context.format())
		context.reset(); // not ours, or of another build: nothing can be taken over
	function.state().active_head = 0;
	function.state().active_tail = 0;
	if (!function.state().enabled)
		return;
	for (uint32_t index = 0; index < context.uar_limit(); index++)
		if (context.uar(index))
			function.add_live_uar(index);
	for (uint32_t qpn = 0; qpn < context.qp_limit(); qpn++) {
		QpContext *qp = context.qp(qpn);
		if (!qp)
			continue;
		qp->active = 0;
		qp->timer_bucket = 0;
		qp->route_generation = 0;
		activate(function, *qp);
		// The old engine may have taken its doorbell and died.
		if (qp->type != OHCA_QP_TYPE_XRC_TGT) // has no queue to announce
			announce_again(*function.uar_page(qp->uar), qp->uar_slot);
	}
	for (uint32_t cqn = 0; cqn < context.cq_limit(); cqn++) {
		CqContext *cq = context.cq(cqn);
		if (!cq)
			continue;
		cq->timer_bucket = 0;
		slot.event_timers.schedule(*cq, event_timeout(*cq));
	}
	function.set_commands_pending(true);
	// Or cleared an interrupt_arm without raising the vector.
	function.request_interrupt(OHCA_CMD_VECTOR);
	for (uint32_t index = 0; index < context.eq_limit(); index++)
		if (EqContext *eq = context.eq(index))
			function.request_interrupt(eq->vector);
	routes.invalidate();
	multicast.invalidate();
}

void Engine::reset(uint32_t index)
{
	State::Slot &slot = *state_->slots[index];
	slot.timers.clear();
	slot.event_timers.clear();
	slot.function.clear_live_uars();
	slot.function.set_commands_pending(false);
	slot.function.take_interrupts();
	slot.function.context().reset();
	std::ranges::fill(slot.function.resources().uar_pages, std::byte{0});
	state_->routes.invalidate();
	state_->multicast.invalidate();
}

uint32_t Engine::enable(uint32_t index, const EnableRequest &request)
{
	Function &function = state_->slots[index]->function;
	uint32_t reason = enable_function(function, request);
	if (reason == OHCA_FAIL_NONE)
		function.set_commands_pending(true);
	state_->routes.invalidate();
	state_->multicast.invalidate();
	return reason;
}

uint32_t Engine::failure(uint32_t index) const
{
	return state_->slots[index]->function.state().failure;
}

// --- the active list: queue pairs that may have something to transmit -------

void Engine::State::activate(Function &function, QpContext &qp)
{
	if (qp.active)
		return;
	FunctionContext &list = function.state();
	qp.active = 1;
	qp.active_next = 0;
	qp.active_previous = list.active_tail;
	if (list.active_tail)
		function.context().qp(list.active_tail)->active_next = qp.qpn;
	else
		list.active_head = qp.qpn;
	list.active_tail = qp.qpn;
}

QpContext *Engine::State::pop_active(Function &function)
{
	FunctionContext &list = function.state();
	QpContext *qp = function.context().qp(list.active_head);
	if (!qp)
		return nullptr;
	list.active_head = qp->active_next;
	if (list.active_head)
		function.context().qp(list.active_head)->active_previous = 0;
	else
		list.active_tail = 0;
	qp->active = 0;
	return qp;
}

void Engine::State::forget(Function &function, QpContext &qp)
{
	slot_of(function).timers.remove(qp);
	if (!qp.active)
		return;
	FunctionContext &list = function.state();
	ContextMemory &context = function.context();
	if (qp.active_previous)
		context.qp(qp.active_previous)->active_next = qp.active_next;
	else
		list.active_head = qp.active_next;
	if (qp.active_next)
		context.qp(qp.active_next)->active_previous = qp.active_previous;
	else
		list.active_tail = qp.active_previous;
	qp.active = 0;
}

// --- one pass ---------------------------------------------------------------

bool Engine::run(TimeNs now)
{
	State &state = *state_;
	state.now = now;
	bool found = state.serve_doorbells_and_commands();
	found |= state.serve_timers();
	found |= state.serve_queue_pairs();
	found |= state.serve_events();
	found |= state.raise_interrupts();
	return found;
}

bool Engine::State::serve_doorbells_and_commands()
{
	bool found = false;
	for (auto &slot : slots) {
		Function &function = slot->function;
		if (!function.running())
			continue;
		function.set_now(now);
		found |= scan_doorbells(function, now);
		found |= process_commands(function);
	}
	return found;
}

// Functions take turns, and within a function its queue pairs. Peers that are given something to
// answer join their lists and are served in the same pass if the budget lasts.
bool Engine::State::serve_queue_pairs()
{
	bool found = false;
	Budget pass{kSegmentsPerPass, kBytesPerPass};
	auto count = static_cast<uint32_t>(slots.size());
	uint32_t idle = 0; // slots in a row that had nothing
	while (idle < count && !pass.spent()) {
		Slot &slot = *slots[next_slot];
		next_slot = next_slot + 1 < count ? next_slot + 1 : 0;
		QpContext *qp = slot.function.running() ? pop_active(slot.function) : nullptr;
		if (!qp) {
			idle++;
			continue;
		}
		idle = 0;
		found = true;
		serve_turn(slot, *qp, pass);
	}
	return found;
}

void Engine::State::serve_turn(Slot &slot, QpContext &qp, Budget &pass)
{
	Budget turn{std::min(kSegmentsPerTurn, pass.segments), std::min(kBytesPerTurn, pass.bytes)};
	const TransportLimits limits{.lossless = true};
	while (!turn.spent()) {
		Segment segment;
		if (!poll_transmit(slot.function, qp, now, limits, scratch, segment)) {
			slot.timers.schedule(qp, core::poll_timeout(qp));
			// A queue pair that did nothing costs something, too.
			pass.take(1, 0);
			return;
		}
		uint32_t copies = deliver(slot.function, qp, segment);
		turn.take(copies, copies * segment.payload_length);
		pass.take(copies, copies * segment.payload_length);
	}
	slot.timers.schedule(qp, core::poll_timeout(qp));
	activate(slot.function, qp);
}

void Engine::State::refresh_routes()
{
	if (routes.stale())
		routes.rebuild(slots | std::views::transform([](auto &slot) { return &slot->function; }));
}

// Null: nobody, or somebody who cannot be reached now.
Function *Engine::State::route(Function &function, QpContext &qp)
{
	if (qp.route_generation != routes.generation()) {
		if (!function.state().port_active)
			return nullptr;
		refresh_routes();
		Gid gid;
		Mac mac;
		std::memcpy(gid.data(), qp.attributes.dgid, gid.size());
		std::memcpy(mac.data(), qp.attributes.dmac, mac.size());
		uint32_t found = routes.find(gid, mac, vlan_of(function, qp), function.index());
		if (found == Routes::kNone)
			return nullptr;
		qp.route_function = found;
		qp.route_generation = routes.generation();
	}
	Function &peer = slots[qp.route_function]->function;
	return peer.running() ? &peer : nullptr;
}

uint32_t Engine::State::deliver(Function &function, QpContext &qp, const Segment &segment)
{
	if (segment.datagram)
		return deliver_datagram(function, qp, segment);
	Function *peer = route(function, qp);
	QpContext *peer_qp = peer ? peer->context().qp(segment.dest_qpn) : nullptr;
	// A connected queue pair listens to its peer only: a function must not be able to speak for
	// another one, even if it guesses numbers and PSNs.
	if (!peer_qp || (peer_qp->state >= OHCA_QP_STATE_RTR && route(*peer, *peer_qp) != &function)) {
		// As on a network: lost, and the sender's timers will tell.
		(peer ? *peer : function).count(OHCA_COUNTER_PACKETS_DROPPED);
		return 1;
	}
	hand_over(function, qp, *peer, *peer_qp, segment);
	activate(*peer, *peer_qp);
	return 1;
}

// Each has its own destination, so nothing is remembered in the queue pair.
uint32_t Engine::State::deliver_datagram(Function &function, QpContext &qp, const Segment &segment)
{
	const Datagram &datagram = *segment.datagram;
	Function *peer = nullptr;
	if (function.state().port_active) {
		refresh_routes();
		if (segment.dest_qpn == OHCA_QPN_MULTICAST)
			return deliver_multicast(function, qp, segment);
		uint32_t found = routes.find(datagram.dgid, datagram.destination_mac, datagram.vlan_id, function.index());
		if (found != Routes::kNone && slots[found]->function.running())
			peer = &slots[found]->function;
	}
	QpContext *peer_qp = peer ? peer->context().qp(segment.dest_qpn) : nullptr;
	if (peer_qp)
		hand_over(function, qp, *peer, *peer_qp, segment);
	else
		(peer ? *peer : function).count(OHCA_COUNTER_PACKETS_DROPPED);
	return 1;
}

// All copies at once: their number is bounded by the tables, and counts against the sender's turn.
uint32_t Engine::State::deliver_multicast(Function &function, QpContext &qp, const Segment &segment)
{
	const Datagram &datagram = *segment.datagram;
	uint32_t copies = 0;
	if (multicast.stale())
		multicast.rebuild(slots | std::views::transform([](auto &slot) { return &slot->function; }));
	for (auto [index, group] : multicast.find(datagram.dgid)) {
		Function &peer = slots[index]->function;
		if (!peer.running() || !routes.is_in_vlan(index, datagram.vlan_id))
			continue;
		ContextMemory &context = peer.context();
		for (uint32_t qpn : context.multicast_members(*context.multicast_group(group))) {
			QpContext &member = *context.qp(qpn);
			bool own = &peer == &function;
			if (own && (member.flags & OHCA_QP_BLOCK_MULTICAST_LOOPBACK))
				continue;
			copies++;
			if (!hand_over(function, qp, peer, member, segment))
				return copies;
		}
	}
	return std::max(copies, 1u);
}

// False: it has not been delivered, and the sender knows.
bool Engine::State::hand_over(Function &function, QpContext &qp, Function &peer, QpContext &peer_qp,
			      const Segment &segment)
{
	switch (handle_segment(peer, peer_qp, segment, now)) {
	case Delivery::kDone:
		return true;
	case Delivery::kSourceFault:
		handle_payload_fault(function, qp, segment, now);
		break;
	case Delivery::kPause:
		handle_pause(function, qp, segment, now);
		break;
	}
	activate(function, qp);
	return false;
}

bool Engine::State::serve_timers()
{
	bool found = false;
	uint32_t budget = kTimersPerPass;
	for (auto &slot : slots) {
		if (!slot->function.running())
			continue;
		if (!slot->event_timers.empty())
			found |= serve_event_timers(*slot);
		for (; budget; budget--) {
			QpContext *qp = slot->timers.take_due(now);
			if (!qp)
				break;
			found = true;
			if (core::poll_timeout(*qp) <= now) {
				handle_timeout(slot->function, *qp, now);
				activate(slot->function, *qp);
			}
			slot->timers.schedule(*qp, core::poll_timeout(*qp));
		}
	}
	return found;
}

bool Engine::State::serve_event_timers(Slot &slot)
{
	bool found = false;
	for (uint32_t budget = kTimersPerPass; budget; budget--) {
		CqContext *cq = slot.event_timers.take_due(now);
		if (!cq)
			break;
		found = true;
		handle_event_timeout(slot.function, cq->cqn, *cq);
	}
	return found;
}

bool Engine::State::serve_events()
{
	bool found = false;
	for (auto &slot : slots)
		if (slot->function.running() && slot->function.state().eq_pending)
			found |= retry_events(slot->function);
	return found;
}

bool Engine::State::raise_interrupts()
{
	bool found = false;
	for (auto &slot : slots) {
		uint64_t vectors = slot->function.take_interrupts();
		for (; vectors; vectors &= vectors - 1) {
			found = true;
			slot->function.resources().interrupts->raise(static_cast<uint32_t>(std::countr_zero(vectors)));
		}
	}
	return found;
}

uint64_t Engine::completions() const
{
	uint64_t sum = 0;
	for (auto &slot : state_->slots) {
		const auto counters = slot->function.context().counters();
		sum += counters[OHCA_COUNTER_CQES] + counters[OHCA_COUNTER_COMMANDS];
	}
	return sum;
}

// --- sleep ------------------------------------------------------------------

TimeNs Engine::poll_timeout() const
{
	TimeNs earliest = kNever;
	for (auto &slot : state_->slots) {
		Function &function = slot->function;
		if (!function.running())
			continue;
		const FunctionContext &state = function.state();
		if (state.active_head || function.has_interrupts())
			return state_->now;
		earliest = std::min(earliest, slot->timers.next());
		if (!slot->event_timers.empty())
			earliest = std::min(earliest, slot->event_timers.next());
		if (state.eq_pending)
			earliest = std::min(earliest, state_->now + kEventRetryNs);
		if (function.commands_pending())
			earliest = std::min(earliest, state_->now + kCommandRetryNs);
	}
	return earliest;
}

bool Engine::prepare_sleep()
{
	for (auto &slot : state_->slots)
		if (slot->function.running())
			set_need_wakeup(slot->function, true);
	// Between our store of need_wakeup and our load of summary; the host's atomic OR on summary
	// comes before its load of need_wakeup. One of the two sees the other.
	std::atomic_thread_fence(std::memory_order_seq_cst);
	for (auto &slot : state_->slots) {
		Function &function = slot->function;
		if (function.running() && (doorbells_rung(function) || function.state().active_head)) {
			end_sleep();
			return false;
		}
	}
	return true;
}

void Engine::end_sleep()
{
	for (auto &slot : state_->slots)
		set_need_wakeup(slot->function, false);
}

size_t context_memory_size()
{
	return ContextMemory::size();
}

} // namespace ohca::core
