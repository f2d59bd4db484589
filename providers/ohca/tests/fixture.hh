// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
//
// The provider without libibverbs and without a kernel: fake_kernel stands in
// for shim.c, and the test plays the device on the queues' memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/ohca_hw_io.h>
#include <rdma/ohca_hw_regs.h>

#include "../completion_queue.hh"
#include "../context.hh"
#include "../queue_pair.hh"
#include "../shim.h"

namespace ohca::test {

struct FakeKernel {
	int error = 0; // returned by the next call
	std::uint32_t next_qpn = 0x11;
	std::uint32_t uar_slot = 70;
	ohca_create_cq_req cq_request{};
	ibv_cq_init_attr_ex cq_attr{};
	ohca_create_qp_req qp_request{};
	ibv_qp_init_attr_ex qp_attr{};
	int hidden_ranges = 0; // dontfork - dofork
	int pds = 0, cqs = 0, qps = 0, srqs = 0, ahs = 0, uars = 0;
	int device_queries = 0;
	ohca_query_device_resp clocks{};
	ohca_create_cq_req resize_cq_request{};
	std::uint32_t next_srqn = 0x21;
	ohca_create_srq_req srq_request{};
	ibv_srq_init_attr_ex srq_attr{};
	int srq_mask = 0;
	std::function<void(std::uint64_t buffer)> on_resize; // what the device does with a new buffer
	ohca_create_ah_resp ah_response{};
	ohca_uar second_uar{};
	bool is_ohca = true;
	int completions = -1; // where an asynchronous queue gets them from
	std::vector<ohca_async_operation> async_operations;
	std::vector<ohca_async_create_qp> async_creations;
	int async_creation_error = 0;
};
constexpr std::uint32_t kPdNumber = 0x31;
constexpr std::uint32_t kUarIndex = 5;
extern FakeKernel fake_kernel;

struct CqeFields {
	std::uint32_t qpn = 0;
	std::uint32_t wqe_index = 0;
	std::uint8_t opcode = OHCA_WR_SEND;
	std::uint8_t flags = 0;
	std::uint8_t status = OHCA_CQE_STATUS_SUCCESS;
	std::uint32_t byte_length = 0;
	std::uint32_t immediate = 0;
	std::uint32_t src_qp = 0;
	std::uint32_t vendor_error = 0;
	std::uint64_t timestamp_ns = 0;
	std::uint32_t srqn = 0;
	std::uint8_t network_header = OHCA_NETWORK_HEADER_NONE;
};

// The device's side of one CQ.
class CqWriter {
public:
	CqWriter() = default;
	explicit CqWriter(ibv_cq *cq) : cq_(&CompletionQueue::of(cq)) {}

	void write(const CqeFields &fields);
	ohca_cq_record &record() { return *cq_->record; }

private:
	CompletionQueue *cq_ = nullptr;
	Index producer_ = 0;
};

class ProviderTest : public testing::Test {
protected:
	ProviderTest();
	~ProviderTest() override;

	ibv_cq *create_cq(int cqe);
	ibv_cq_ex *create_cq_ex(std::uint32_t cqe, std::uint64_t wc_flags, std::uint32_t flags = 0);
	// An RC queue pair, connected as far as this library can tell.
	ibv_qp *create_qp(ibv_cq *send_cq, ibv_cq *recv_cq, ibv_qp_cap cap = {16, 16, 2, 2, 32}, bool extended = true);
	// Of any type, likewise; destroyed by the fixture.
	ibv_qp *create_qp(const ibv_qp_init_attr_ex &attr);
	ibv_qp_init_attr_ex qp_attr(ibv_qp_type type, ibv_cq *cq, std::uint64_t send_ops = 0);
	ibv_srq *create_srq(std::uint32_t max_wr, std::uint32_t max_sge = 2);
	static int set_state(ibv_qp *qp, ibv_qp_state state);
	void fail_device() { uar().device_state = OHCA_UAR_DEVICE_FAILED; }

	ohca_uar &uar() { return *static_cast<ohca_uar *>(uar_); }
	std::uint32_t &kick() { return *static_cast<std::uint32_t *>(kick_); }

	ibv_context *context() { return &context_->verbs.context; }

	Context *context_ = nullptr;
	ibv_pd *pd_ = nullptr;

private:
	int memory_ = -1;
	void *uar_ = nullptr; // the device's mapping
	void *kick_ = nullptr;
	std::vector<ibv_qp *> qps_;
	std::vector<ibv_cq *> cqs_;
	std::vector<ibv_srq *> srqs_;
};

ibv_sge sge(std::uint64_t address, std::uint32_t length, std::uint32_t lkey);
// A signaled RDMA WRITE of one element.
ibv_send_wr write_wr(std::uint64_t wr_id, ibv_sge *list);

} // namespace ohca::test
