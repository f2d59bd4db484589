// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The control registers of BAR0 (ohca_hw_regs.h) as a state machine without
// surroundings: a write tells what is to be started, and whoever does it
// reports the end.
//
//             RESET                    ENABLE                ok
//   any state ------> resetting --> ready ------> enabling ------> enabled
//                                     ^               | refused       |
//                                     |               v               v
//                                     +---- RESET -- failed <---------+
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/engine.hh"

namespace ohca::host {

class ControlRegisters {
public:
	struct Description {
		uint64_t device_features = 0;
		uint32_t uar_count = 0;
		uint32_t vector_count = 0;
		uint64_t mac = 0;
	};
	enum class State : uint8_t { kResetting, kReady, kEnabling, kEnabled, kFailed };
	enum class Action : uint8_t { kNone, kReset, kEnable };

	explicit ControlRegisters(const Description &description) : description_(description) {}

	// Offsets are relative to the control page. Reads of any size give the bytes of the
	// registers; writes count if they are whole, aligned registers.
	void read(uint32_t offset, std::span<std::byte> to) const;
	Action write(uint32_t offset, std::span<const std::byte> from);

	// Also the way in for FLR and DEVICE_RESET.
	void start_reset();
	void finish_reset();
	// reason: OHCA_FAIL_NONE if the engine accepted.
	void finish_enable(uint32_t reason);
	void fail(uint32_t reason);

	State state() const { return state_; }
	const core::EnableRequest &enable_request() const { return request_; }
	uint32_t fail_reason() const { return fail_reason_; }
	uint32_t reset_count() const { return reset_count_; }

private:
	uint32_t read32(uint32_t offset) const;
	Action write32(uint32_t offset, uint32_t value);
	uint32_t status() const;

	Description description_;
	State state_ = State::kReady;
	bool was_enabled_ = false; // for STATUS while failed
	core::EnableRequest request_;
	uint32_t fail_reason_ = 0;
	uint32_t reset_count_ = 0;
};

} // namespace ohca::host
