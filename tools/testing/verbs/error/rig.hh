// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// Two connected queue pairs of one process, and words for what a case does with them.
#pragma once

#include "connection.hh"
#include "memory.hh"

#include <vector>

namespace verbs_test {

inline constexpr double kPatience = 20;  // seconds; emulated guests on busy machines are slow
inline constexpr std::uint32_t kBufferSize = 64 << 10;

struct RigOptions {
	ConnectionOptions connection;
	ibv_qp_cap capabilities = {16, 16, 4, 4, 64};
	int send_cq_depth = 64;
	int receive_cq_depth = 64;
	bool signal_all = true;
	bool connected = true;
	int memory_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			    IBV_ACCESS_REMOTE_ATOMIC;
	std::uint64_t send_ops = 0;  // for ibv_wr_*: IBV_QP_EX_WITH_*
};

// One side of the rig: everything is its own.
struct End {
	ibv_pd *pd = nullptr;
	ibv_cq *send_cq = nullptr;
	ibv_cq *receive_cq = nullptr;
	ibv_qp *qp = nullptr;
	Mapping memory{kBufferSize, PageKind::kSmall};
	ibv_mr *mr = nullptr;
	// what a case made beside it
	std::vector<ibv_mr *> other_mrs;
	std::vector<ibv_pd *> other_pds;

	ibv_sge sge(std::uint32_t length = 256) const
	{
		return {reinterpret_cast<std::uint64_t>(memory.data()), length, mr->lkey};
	}
};

// A send work request with one element.
struct Work {
	ibv_wr_opcode opcode;
	ibv_sge sge;
	std::uint64_t remote_address;
	std::uint32_t rkey;
	std::uint64_t wr_id = 0;
	unsigned flags = 0;
};

class Rig {
 public:
	explicit Rig(const Device &device, const RigOptions &options = RigOptions());
	~Rig();
	Rig(const Rig &) = delete;
	Rig &operator=(const Rig &) = delete;

	void connect_both();
	// a's operation on b's memory, as it should be
	Work work(ibv_wr_opcode opcode) const;
	// Takes b's queue pair away before its time.
	void destroy_b();

	const Device &device;
	const RigOptions options;
	End a;
	End b;

 private:
	void create(End &end) const;
	static void destroy(End &end);
};

// 0 or the errno of ibv_post_send.
int try_post(ibv_qp *qp, const Work &work);
void post(ibv_qp *qp, const Work &work);
int try_receive(ibv_qp *qp, const ibv_sge *sge, int count, std::uint64_t wr_id);
void receive(ibv_qp *qp, const ibv_sge &sge, std::uint64_t wr_id);

// The next completion; fail() after `seconds`.
ibv_wc wait_completion(ibv_cq *cq, const char *what, double seconds = kPatience);
void expect_completion(ibv_cq *cq, std::uint64_t wr_id, ibv_wc_status status, const char *what,
		       double seconds = kPatience);
void expect_nothing(ibv_cq *cq, double seconds, const char *what);
void expect_state(ibv_qp *qp, ibv_qp_state state, const char *what);
void expect_errno(int got, int wanted, const char *what);

// Waits for an asynchronous event of this type; others are acknowledged and forgotten.
ibv_async_event wait_event(ibv_context *context, ibv_event_type type, const char *what);

}  // namespace verbs_test
