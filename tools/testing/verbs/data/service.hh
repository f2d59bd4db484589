// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The kinds of connected pairs that the data test works with.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace verbs_test {

enum class Service {
	kRc,
	kUc,
	kUd,
	kXrc,
};

struct PairKind {
	const char *name;
	Service service;
	bool shared_receives;  // from a shared receive queue that others use, too

	// Nothing is acknowledged: a send completes before its message is received.
	bool is_unreliable() const { return service == Service::kUc || service == Service::kUd; }
};

// XRC has no receive queue but a shared one.
inline constexpr std::array<PairKind, 7> kPairKinds = {{
	{"rc", Service::kRc, false},
	{"ud", Service::kUd, false},
	{"xrc", Service::kXrc, true},
	{"uc", Service::kUc, false},
	{"rc-srq", Service::kRc, true},
	{"ud-srq", Service::kUd, true},
	{"uc-srq", Service::kUc, true},
}};

// Of enum ibv_wr_opcode.
inline constexpr std::size_t kOpcodeCount = IBV_WR_ATOMIC_WRITE + 1;

// What is in front of the payload of a datagram in its receive buffer.
inline constexpr std::uint32_t kGrhSize = 40;

bool uses_receive(ibv_wr_opcode opcode);
bool is_send(ibv_wr_opcode opcode);
// Reads, changes and returns 8 bytes.
bool is_atomic(ibv_wr_opcode opcode);
// ibv_post_send() cannot say all of them.
bool needs_wr_api(ibv_wr_opcode opcode);

}  // namespace verbs_test
