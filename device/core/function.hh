// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// One PCI function inside the engine: its context memory, host memory,
// counters, command queue position and interrupts. No logic of its own; the
// files of cmd/, queue/, doorbell/ and transport/ work on it.
#pragma once

#include <cstdint>

#include "core/context.hh"
#include "core/engine.hh"
#include "core/mem/context_memory.hh"
#include "core/mem/function_memory.hh"

namespace ohca::core {

class Function {
public:
	Function(uint32_t index, const FunctionResources &resources);

	uint32_t index() const { return index_; } // in the engine
	ContextMemory &context() { return context_; }
	FunctionMemory &memory() { return memory_; }
	const FunctionResources &resources() const { return resources_; }

	// The time of the current pass; CQE timestamps.
	TimeNs now() const { return now_; }
	void set_now(TimeNs now) { now_ = now; }

	void count(enum ohca_counter counter, uint64_t by = 1) { context_.counters()[counter] += by; }

	// Interrupts are collected and raised once per pass.
	void request_interrupt(uint32_t vector) { if (vector < 64) interrupts_pending_ |= uint64_t{1} << vector; }
	uint64_t take_interrupts() { uint64_t v = interrupts_pending_; interrupts_pending_ = 0; return v; }

	// A queue pair that has something to transmit or a timer: puts it on the engine's list once.
	// Implemented by the engine; the simulator and unit tests poll instead.
	void activate(QpContext &qp);

private:
	uint32_t index_;
	FunctionResources resources_;
	ContextMemory context_;
	FunctionMemory memory_;
	TimeNs now_ = 0;
	uint64_t interrupts_pending_ = 0;
};

} // namespace ohca::core
