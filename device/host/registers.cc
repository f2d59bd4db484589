// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host/registers.hh"

#include <bit>
#include <cstring>
#include <rdma/ohca_hw_regs.h>

namespace ohca::host {

static_assert(std::endian::native == std::endian::little, "register images are little endian");

namespace {

uint32_t low(uint64_t value)
{
	return static_cast<uint32_t>(value);
}

uint32_t high(uint64_t value)
{
	return static_cast<uint32_t>(value >> 32);
}

void set_low(uint64_t &target, uint32_t value)
{
	target = (target & ~uint64_t{UINT32_MAX}) | value;
}

void set_high(uint64_t &target, uint32_t value)
{
	target = (target & UINT32_MAX) | uint64_t{value} << 32;
}

} // namespace

uint32_t ControlRegisters::status() const
{
	switch (state_) {
	case State::kResetting:
	case State::kEnabling: return 0;
	case State::kReady: return OHCA_STATUS_READY;
	case State::kEnabled: return OHCA_STATUS_READY | OHCA_STATUS_ENABLED;
	case State::kFailed:
		return OHCA_STATUS_READY | OHCA_STATUS_FAILED | (was_enabled_ ? OHCA_STATUS_ENABLED : 0u);
	}
	return 0;
}

uint32_t ControlRegisters::read32(uint32_t offset) const
{
	switch (offset) {
	case OHCA_REGS_MAGIC_OFF: return OHCA_MAGIC;
	case OHCA_REGS_VERSION_OFF: return OHCA_INTERFACE_VERSION;
	case OHCA_REGS_DEVICE_FEATURES_OFF: return low(description_.device_features);
	case OHCA_REGS_DEVICE_FEATURES_OFF + 4: return high(description_.device_features);
	case OHCA_REGS_DRIVER_FEATURES_OFF: return low(request_.driver_features);
	case OHCA_REGS_DRIVER_FEATURES_OFF + 4: return high(request_.driver_features);
	case OHCA_REGS_STATUS_OFF: return status();
	case OHCA_REGS_FAIL_REASON_OFF: return fail_reason_;
	case OHCA_REGS_RESET_COUNT_OFF: return reset_count_;
	case OHCA_REGS_UAR_COUNT_OFF: return description_.uar_count;
	case OHCA_REGS_VECTOR_COUNT_OFF: return description_.vector_count;
	case OHCA_REGS_MAC_OFF: return low(description_.mac);
	case OHCA_REGS_MAC_OFF + 4: return high(description_.mac);
	case OHCA_REGS_CMDQ_SQ_ADDR_OFF: return low(request_.cmdq_sq_address);
	case OHCA_REGS_CMDQ_SQ_ADDR_OFF + 4: return high(request_.cmdq_sq_address);
	case OHCA_REGS_CMDQ_CQ_ADDR_OFF: return low(request_.cmdq_cq_address);
	case OHCA_REGS_CMDQ_CQ_ADDR_OFF + 4: return high(request_.cmdq_cq_address);
	case OHCA_REGS_CMDQ_RECORD_ADDR_OFF: return low(request_.cmdq_record_address);
	case OHCA_REGS_CMDQ_RECORD_ADDR_OFF + 4: return high(request_.cmdq_record_address);
	case OHCA_REGS_CMDQ_LOG_DEPTH_OFF: return request_.cmdq_log_depth;
	default: return 0;
	}
}

ControlRegisters::Action ControlRegisters::write32(uint32_t offset, uint32_t value)
{
	if (offset == OHCA_REGS_CONTROL_OFF) {
		if (value == OHCA_CONTROL_RESET) {
			start_reset();
			return Action::kReset;
		}
		if (value == OHCA_CONTROL_ENABLE && state_ == State::kReady) {
			state_ = State::kEnabling;
			return Action::kEnable;
		}
		return Action::kNone;
	}
	if (state_ != State::kReady)
		return Action::kNone; // frozen by ENABLE, and gone anyway during a reset
	switch (offset) {
	case OHCA_REGS_DRIVER_FEATURES_OFF: set_low(request_.driver_features, value); break;
	case OHCA_REGS_DRIVER_FEATURES_OFF + 4: set_high(request_.driver_features, value); break;
	case OHCA_REGS_CMDQ_SQ_ADDR_OFF: set_low(request_.cmdq_sq_address, value); break;
	case OHCA_REGS_CMDQ_SQ_ADDR_OFF + 4: set_high(request_.cmdq_sq_address, value); break;
	case OHCA_REGS_CMDQ_CQ_ADDR_OFF: set_low(request_.cmdq_cq_address, value); break;
	case OHCA_REGS_CMDQ_CQ_ADDR_OFF + 4: set_high(request_.cmdq_cq_address, value); break;
	case OHCA_REGS_CMDQ_RECORD_ADDR_OFF: set_low(request_.cmdq_record_address, value); break;
	case OHCA_REGS_CMDQ_RECORD_ADDR_OFF + 4: set_high(request_.cmdq_record_address, value); break;
	case OHCA_REGS_CMDQ_LOG_DEPTH_OFF: request_.cmdq_log_depth = value; break;
	default: break;
	}
	return Action::kNone;
}

void ControlRegisters::read(uint32_t offset, std::span<std::byte> to) const
{
	for (size_t i = 0; i < to.size(); i++) {
		const auto at = static_cast<uint32_t>(offset + i);
		to[i] = static_cast<std::byte>(read32(at & ~3u) >> (8 * (at & 3)));
	}
}

ControlRegisters::Action ControlRegisters::write(uint32_t offset, std::span<const std::byte> from)
{
	Action action = Action::kNone;
	if (offset % 4 != 0 || (from.size() != 4 && from.size() != 8))
		return action;
	for (size_t i = 0; i < from.size(); i += 4) {
		uint32_t value;
		memcpy(&value, from.data() + i, sizeof(value));
		const Action asked = write32(static_cast<uint32_t>(offset + i), value);
		action = asked == Action::kNone ? action : asked;
	}
	return action;
}

void ControlRegisters::start_reset()
{
	state_ = State::kResetting;
	was_enabled_ = false;
	request_ = {};
	fail_reason_ = OHCA_FAIL_NONE;
}

void ControlRegisters::finish_reset()
{
	if (state_ != State::kResetting)
		return;
	state_ = State::kReady;
	reset_count_++;
}

void ControlRegisters::finish_enable(uint32_t reason)
{
	if (state_ != State::kEnabling)
		return;
	if (reason == OHCA_FAIL_NONE)
		state_ = State::kEnabled;
	else
		fail(reason);
}

void ControlRegisters::fail(uint32_t reason)
{
	if (state_ == State::kFailed)
		return; // the first reason is the interesting one
	was_enabled_ = state_ == State::kEnabled;
	state_ = State::kFailed;
	fail_reason_ = reason;
}

} // namespace ohca::host
