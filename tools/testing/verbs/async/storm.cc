// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "async/storm.hh"

#include "deadline.hh"
#include "failure.hh"

#include <infiniband/ohcadv.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <vector>

namespace verbs_test {

namespace {

constexpr std::uint32_t kQueuePairs = 128;
constexpr double kDrainSeconds = 60;

// Each queue pair is created, goes from RESET to RTS, to ERR, every other one to RESET again, and is destroyed.
enum class Step { kCreate, kConnect, kDisconnect, kReset, kDestroy };

class Storm {
 public:
	explicit Storm(const std::string &name) : device_(name)
	{
		pd_ = must(ibv_alloc_pd(device_.context()), "ibv_alloc_pd");
		cq_ = must(ibv_create_cq(device_.context(), 16, nullptr, nullptr, 0), "ibv_create_cq");
		queue_ = must(ohcadv_create_async_queue(device_.context(), 4 * kQueuePairs), "ohcadv_create_async_queue");
		fcntl(queue_->fd, F_SETFL, O_NONBLOCK);
		qps_.resize(kQueuePairs);
		in_flight_.resize(kQueuePairs);
		steps_.resize(kQueuePairs, Step::kCreate);
	}

	// False: the device has gone.
	bool submit_all() { return create_all() && change_all(); }

	// True: one of them says that the device has failed.
	bool take(int timeout_ms)
	{
		pollfd file = {queue_->fd, POLLIN, 0};
		poll(&file, 1, timeout_ms);
		ohcadv_async_completion completions[64];
		const int count = ohcadv_read_async(queue_, completions, 64);
		if (count < 0)
			fail_errno("ohcadv_read_async", -count);
		bool failed = false;
		for (int i = 0; i < count; i++)
			failed |= end(completions[i]);
		return failed;
	}

	bool has_succeeded() const { return succeeded_ > 0; }

	void drain()
	{
		const Deadline deadline(kDrainSeconds);
		while (ended_ < submitted_) {
			take(100);
			if (deadline.passed())
				fail("%lu of %lu operations have ended", ended_, submitted_);
		}
		std::printf("%lu operations, as many completions, %lu of them without error\n", ended_, succeeded_);
		// The context is of no more use, and it is enough to end.
	}

 private:
	bool create_all()
	{
		std::vector<std::uint64_t> wr_ids;
		for (std::uint32_t i = 0; i < kQueuePairs; i++) {
			if (!in_flight_[i] && steps_[i] == Step::kCreate)
				wr_ids.push_back(i);
		}
		if (wr_ids.empty())
			return true;
		ibv_qp_init_attr_ex attributes{};
		attributes.send_cq = attributes.recv_cq = cq_;
		attributes.cap = {1, 1, 1, 1, 0};
		attributes.qp_type = IBV_QPT_RC;
		attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
		attributes.pd = pd_;
		return submitted(ohcadv_create_qps_async(queue_, &attributes, wr_ids.data(),
							 static_cast<std::uint32_t>(wr_ids.size())),
				 wr_ids);
	}

	bool change_all()
	{
		std::vector<ibv_qp_attr> attributes(kQueuePairs);
		std::vector<ohcadv_async_operation> operations;
		std::vector<std::uint64_t> wr_ids;
		for (std::uint32_t i = 0; i < kQueuePairs; i++) {
			if (in_flight_[i])
				continue;
			operations.push_back(operation(i, attributes[i]));
			wr_ids.push_back(i);
		}
		if (operations.empty())
			return true;
		return submitted(ohcadv_submit_async(queue_, operations.data(),
						     static_cast<std::uint32_t>(operations.size())),
				 wr_ids);
	}

	bool submitted(int error, const std::vector<std::uint64_t> &wr_ids)
	{
		if (error == EIO)
			return false;
		must_succeed(error, "submission");
		for (const std::uint64_t one : wr_ids)
			in_flight_[one] = true;
		submitted_ += wr_ids.size();
		return true;
	}

	ohcadv_async_operation operation(std::uint32_t index, ibv_qp_attr &attributes) const
	{
		ohcadv_async_operation result{};
		result.wr_id = index;
		result.qp = qps_[index];
		result.attr = &attributes;
		switch (steps_[index]) {
		case Step::kConnect:
			result.opcode = OHCADV_ASYNC_CONNECT_QP;
			attributes = connect_attributes(device_, qps_[index]->qp_num);
			result.attr_mask = kConnectMask;
			break;
		case Step::kDisconnect:
			result.opcode = OHCADV_ASYNC_DISCONNECT_QP;
			break;
		case Step::kReset:
			result.opcode = OHCADV_ASYNC_MODIFY_QP;
			attributes = {};
			attributes.qp_state = IBV_QPS_RESET;
			result.attr_mask = IBV_QP_STATE;
			break;
		case Step::kDestroy:
			result.opcode = OHCADV_ASYNC_DESTROY_QP;
			break;
		case Step::kCreate:
			fail("queue pair %u does not exist", index);
		}
		return result;
	}

	// What the completion says of its queue pair.
	bool is_right(const ohcadv_async_completion &completion) const
	{
		const ibv_qp *qp = qps_[completion.wr_id];
		if (completion.opcode == OHCADV_ASYNC_CREATE_QP)
			return !qp && (completion.error != 0) == (completion.qp == nullptr);
		if (completion.opcode == OHCADV_ASYNC_DESTROY_QP && !completion.error)
			return !completion.qp;
		return completion.qp == qp;
	}

	static Step next(Step step, std::uint64_t index)
	{
		switch (step) {
		case Step::kCreate: return Step::kConnect;
		case Step::kConnect: return Step::kDisconnect;
		case Step::kDisconnect: return index % 2 ? Step::kReset : Step::kDestroy;
		case Step::kReset: return Step::kDestroy;
		case Step::kDestroy: break;
		}
		return Step::kCreate;
	}

	bool end(const ohcadv_async_completion &completion)
	{
		if (completion.wr_id >= kQueuePairs || !in_flight_[completion.wr_id] || !is_right(completion))
			fail("completion of %lu, which is not in flight", static_cast<unsigned long>(completion.wr_id));
		in_flight_[completion.wr_id] = false;
		ended_++;
		if (completion.error == EIO || completion.error == ETIMEDOUT)
			return true;
		expect_success(completion);
		qps_[completion.wr_id] = completion.qp;
		steps_[completion.wr_id] = next(steps_[completion.wr_id], completion.wr_id);
		return false;
	}

	void expect_success(const ohcadv_async_completion &completion)
	{
		if (completion.error != 0)
			fail("operation %d ends with %s (%u)", completion.opcode, std::strerror(completion.error),
			     completion.vendor_error);
		succeeded_++;
	}

	Device device_;
	ibv_pd *pd_;
	ibv_cq *cq_;
	ohcadv_async_queue *queue_;
	std::vector<ibv_qp *> qps_;
	std::vector<bool> in_flight_;
	std::vector<Step> steps_;
	unsigned long submitted_ = 0, ended_ = 0, succeeded_ = 0;
};

}  // namespace

ibv_qp_attr connect_attributes(const Device &device, std::uint32_t peer_qpn)
{
	ibv_qp_attr attributes{};
	attributes.qp_state = IBV_QPS_RTS;
	attributes.port_num = kPort;
	attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	attributes.path_mtu = IBV_MTU_1024;
	attributes.dest_qp_num = peer_qpn;
	attributes.rq_psn = attributes.sq_psn = 0x123456;
	attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4;
	attributes.min_rnr_timer = 1;
	attributes.timeout = 18;
	attributes.retry_cnt = 7;
	attributes.rnr_retry = 7;
	attributes.ah_attr.is_global = 1;
	attributes.ah_attr.port_num = kPort;
	attributes.ah_attr.grh.dgid = device.gid();
	attributes.ah_attr.grh.sgid_index = device.gid_index();
	attributes.ah_attr.grh.hop_limit = 64;
	return attributes;
}

int transition_mask(ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	default:
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	}
}

int run_storm(const std::string &device)
{
	Storm storm(device);
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	std::printf("storm\n");
	bool blows = false;
	while (storm.submit_all() && !storm.take(100)) {
		if (!blows && storm.has_succeeded())
			std::printf("blows\n");
		blows = storm.has_succeeded();
	}
	storm.drain();
	return 0;
}

}  // namespace verbs_test
