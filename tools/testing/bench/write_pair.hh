// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Two RC queue pairs of one process, connected to each other, and 8-byte WRITEs
// from the first to the second.
#pragma once

#include <cstdint>

#include "device.hh"

namespace bench {

// What all pairs of a process share.
class Resources {
 public:
	explicit Resources(const verbs_test::Device &device);
	~Resources();
	Resources(const Resources &) = delete;
	Resources &operator=(const Resources &) = delete;

	const verbs_test::Device &device;
	ibv_pd *pd;
	ibv_cq *cq;
	ibv_mr *mr;
	alignas(64) std::uint64_t source = 0;
	std::uint64_t target = 0;
};

class WritePair {
 public:
	explicit WritePair(Resources &resources);
	~WritePair();
	WritePair(const WritePair &) = delete;
	WritePair &operator=(const WritePair &) = delete;

	// One signaled WRITE of 8 bytes, one call.
	void post();

 private:
	Resources &resources_;
	ibv_qp *from_;
	ibv_qp *to_;
	ibv_sge element_{};
	ibv_send_wr request_{};
};

inline constexpr std::uint32_t kWindow = 64;  // work requests outstanding

// Polls until `count` completions have been taken, `batch` at most a call; any error ends the process.
void take_completions(ibv_cq *cq, std::uint32_t count, int batch);

}  // namespace bench
