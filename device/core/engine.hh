// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The HCA without its surroundings: what a poll thread drives.
//
// device/core is pure: no system call, no clock, no thread, no global.  Time
// comes in as an argument (nanoseconds of any monotonic clock), memory and
// interrupts through the interfaces below.  The process, the unit tests, the
// simulator and the fuzzers link the same library.
//
// One Engine is one poll thread's state.  It owns Functions; queue pairs of
// different Functions reach each other through it ("same process" peers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ohca::core {

class DmaSpace;
class Function;

using TimeNs = uint64_t;
constexpr TimeNs kNever = UINT64_MAX;

// Raises an MSI-X vector. Called at most once per vector and pass.
class InterruptSink {
public:
	virtual void raise(uint32_t vector) = 0;

protected:
	~InterruptSink() = default;
};

// What one function is built from. Everything outlives the Function.
struct FunctionResources {
	std::span<std::byte> context_memory; // broker's memfd, sparse, zero when new or reset
	std::span<std::byte> uar_pages;      // BAR2
	DmaSpace *dma = nullptr;
	InterruptSink *interrupts = nullptr;
	uint64_t mac = 0;                    // byte i is bits 8i+7:8i
	uint64_t features = 0;               // OHCA_FEATURE_* offered
	uint32_t vector_count = 0;
};

// The register values that ENABLE takes (ohca_hw_regs.h).
struct EnableRequest {
	uint64_t driver_features = 0;
	uint64_t cmdq_sq_address = 0;
	uint64_t cmdq_cq_address = 0;
	uint64_t cmdq_record_address = 0;
	uint32_t cmdq_log_depth = 0;
};

class Engine {
public:
	Engine();
	~Engine();
	Engine(const Engine &) = delete;
	Engine &operator=(const Engine &) = delete;

	// --- control (process context, never during run()) ---
	// Index of the new function; functions are never removed.
	uint32_t add_function(const FunctionResources &resources);
	Function &function(uint32_t index);
	uint32_t function_count() const;

	// Forgets everything: all objects, pending packets, UAR pages and context memory are zeroed.
	void reset(uint32_t function);
	// OHCA_FAIL_NONE, or why the function refuses to run.
	uint32_t enable(uint32_t function, const EnableRequest &request);
	// Why the function stopped by itself since enable(), OHCA_FAIL_NONE while it runs.
	uint32_t failure(uint32_t function) const;

	// --- data path ---
	// One pass: scan doorbells, execute commands, transmit and receive a bounded
	// amount, fire timers that are due, raise interrupts. True if anything was done.
	bool run(TimeNs now);
	// Completions of work requests and commands that the functions have counted; less after a reset.
	uint64_t completions() const;
	// When run() must be called again even if no doorbell rings; kNever if never.
	TimeNs poll_timeout() const;

	// Before sleeping: sets need_wakeup in every live UAR, fences, and looks once
	// more. False if there is work after all (need_wakeup is then cleared again).
	bool prepare_sleep();
	// After a sleep: clears need_wakeup.
	void end_sleep();

private:
	struct State;
	std::unique_ptr<State> state_;
};

// Bytes of context memory a function needs to be given (sparse; only what is used is resident).
size_t context_memory_size();

} // namespace ohca::core
