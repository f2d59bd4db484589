// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One PCI function inside the engine: its context memory, host memory,
// counters, command queue position and interrupts. No logic of its own; the
// files of cmd/, queue/, doorbell/ and transport/ work on it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/context.hh"
#include "core/engine.hh"
#include "core/mem/context_memory.hh"
#include "core/mem/function_memory.hh"

namespace ohca::core {

class Function;

// Who drives a function: the engine; null in the simulator and in unit tests, which poll.
class FunctionOwner {
public:
	virtual void activate(Function &function, QpContext &qp) = 0;
	// The queue pair is about to be destroyed: forget it.
	virtual void forget(Function &function, QpContext &qp) = 0;
	// The CQ holds back an event until `at` (queue/cq_event.hh), or is about to be destroyed.
	virtual void schedule(Function &function, CqContext &cq, TimeNs at) = 0;
	virtual void forget(Function &function, CqContext &cq) = 0;
	// GIDs or the port changed.
	virtual void routes_changed() = 0;
	// A queue pair was attached to a multicast group or detached.
	virtual void multicast_changed() = 0;

protected:
	~FunctionOwner() = default;
};

class Function {
public:
	Function(uint32_t index, const FunctionResources &resources, FunctionOwner *owner = nullptr);

	uint32_t index() const { return index_; } // in the engine
	ContextMemory &context() { return context_; }
	FunctionMemory &memory() { return memory_; }
	const FunctionResources &resources() const { return resources_; }
	FunctionContext &state() { return context_.function(); }

	bool running() { return state().enabled && !state().failure; }
	bool has_feature(uint64_t feature) { return (state().features & feature) == feature; }
	// Stops the function for good (until RESET): applications see it in their UAR pages, the
	// driver in STATUS. OHCA_FAIL_*.
	void fail(uint32_t reason);

	// The time of the current pass; CQE timestamps.
	TimeNs now() const { return now_; }
	void set_now(TimeNs now) { now_ = now; }

	void count(enum ohca_counter counter, uint64_t by = 1) { context_.counters()[counter] += by; }

	// Interrupts are collected and raised once per pass.
	void request_interrupt(uint32_t vector) { if (vector < 64) interrupts_pending_ |= uint64_t{1} << vector; }
	uint64_t take_interrupts() { uint64_t v = interrupts_pending_; interrupts_pending_ = 0; return v; }
	bool has_interrupts() const { return interrupts_pending_ != 0; }

	// A queue pair that has something to transmit or a timer: puts it on the engine's list once.
	// Does nothing without an owner.
	void activate(QpContext &qp) { if (owner_) owner_->activate(*this, qp); }
	void schedule(CqContext &cq, TimeNs at) { if (owner_) owner_->schedule(*this, cq, at); }
	FunctionOwner *owner() { return owner_; }

	// UAR pages, and which of them are live: a compact list, because it is scanned in every pass.
	uint32_t uar_count() const { return static_cast<uint32_t>(resources_.uar_pages.size() / OHCA_UAR_SIZE); }
	struct ohca_uar *uar_page(uint32_t index)
	{
		return reinterpret_cast<struct ohca_uar *>(resources_.uar_pages.data() +
							   size_t{index} * OHCA_UAR_SIZE);
	}
	const std::vector<uint32_t> &live_uars() const { return live_uars_; }
	void add_live_uar(uint32_t index) { live_uars_.push_back(index); }
	void remove_live_uar(uint32_t index) { std::erase(live_uars_, index); }
	void clear_live_uars() { live_uars_.clear(); }

	// Commands may wait in the ring (doorbell rung, or a pass did not take them all).
	bool commands_pending() const { return commands_pending_; }
	void set_commands_pending(bool pending) { commands_pending_ = pending; }
	// The one being executed, for those that complete later (cmd/processor.hh).
	const DeferredCommand &current_command() const { return current_command_; }
	void set_current_command(const DeferredCommand &command) { current_command_ = command; }
	// What the commands of this pass have cost beside a fixed amount: page list entries copied.
	void add_command_cost(uint64_t entries) { command_cost_ += entries; }
	uint64_t take_command_cost() { uint64_t v = command_cost_; command_cost_ = 0; return v; }

private:
	uint32_t index_;
	FunctionResources resources_;
	ContextMemory context_;
	FunctionMemory memory_;
	FunctionOwner *owner_;
	TimeNs now_ = 0;
	uint64_t interrupts_pending_ = 0;
	bool commands_pending_ = false;
	uint64_t command_cost_ = 0;
	DeferredCommand current_command_{};
	std::vector<uint32_t> live_uars_;
};

} // namespace ohca::core
