// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Words for cases about memory windows: b has region and windows, a uses them.
#pragma once

#include "error/rig.hh"

namespace verbs_test {

// Where in b's memory the windows of the cases are.
inline constexpr std::uint32_t kWindowOffset = 4096 + 64;
inline constexpr std::uint32_t kWindowLength = 1024;
inline constexpr unsigned kAllRights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct WindowRig : Rig {
	explicit WindowRig(const Device &device, bool extended = false);
	~WindowRig();

	// Of b; ended with the rig.
	ibv_mw *allocate(ibv_mw_type type);
	void deallocate(ibv_mw *window);
	// What ibv_mw_bind_info says of a part of b's memory.
	ibv_mw_bind_info part(std::uint32_t offset, std::uint32_t length, unsigned access) const;
	std::uint64_t address(std::uint32_t offset) const { return reinterpret_cast<std::uint64_t>(b.memory.data()) + offset; }

	// Binds on b's queue pair, and waits for its success.
	void bind_type_1(ibv_mw *window, const ibv_mw_bind_info &info);
	// Type 2: a work request, posted, or built with ibv_wr_bind_mw() if the rig is extended.  `rkey` becomes
	// that of the window.
	ibv_wc bind_type_2(ibv_mw *window, std::uint32_t rkey, const ibv_mw_bind_info &info);
	void invalidate_locally(std::uint32_t rkey);

	// a's operation of `length` bytes on b through `rkey`: its status.
	ibv_wc_status use(ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t rkey, std::uint32_t length);
	// All three kinds of access of the whole range succeed, and change and show the right bytes; the
	// neighbours keep theirs.  `start`: the address of the first byte in the window's address space.
	void require_use(std::uint64_t start, std::uint32_t rkey, std::uint32_t offset, std::uint32_t length);
	// The operation is refused and changes nothing. Both queue pairs are connected anew, and with the reset
	// the windows of type 2 that b's had bound are gone.
	void require_refusal(ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t rkey, std::uint32_t length,
			     const char *what);
	void reconnect();

	ibv_mr *region;  // all of b's memory, windows may be bound to it

 private:
	std::vector<ibv_mw *> windows_;
};

}  // namespace verbs_test
