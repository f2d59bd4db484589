// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/post.hh"

#include "failure.hh"

#include <algorithm>
#include <span>

namespace verbs_test {

namespace {

constexpr std::size_t kListMax = 16;

// The verbs do not change what they are given but take it without const.
ibv_sge *elements(const ScatterList &list)
{
	return list.count == 0 ? nullptr : const_cast<ibv_sge *>(list.sge);
}

void fill_classic(const Operation &operation, ibv_send_wr &wr)
{
	wr = {};
	wr.wr_id = operation.wr_id;
	wr.sg_list = elements(operation.local);
	wr.num_sge = static_cast<int>(operation.local.count);
	wr.opcode = operation.opcode;
	wr.send_flags = operation.flags;
	wr.imm_data = operation.immediate;
	if (is_atomic(operation.opcode)) {
		wr.wr.atomic.remote_addr = operation.remote_address;
		wr.wr.atomic.rkey = operation.rkey;
		wr.wr.atomic.compare_add = operation.compare_add;
		wr.wr.atomic.swap = operation.swap;
	} else if (operation.opcode != IBV_WR_SEND && operation.opcode != IBV_WR_SEND_WITH_IMM) {
		wr.wr.rdma.remote_addr = operation.remote_address;
		wr.wr.rdma.rkey = operation.rkey;
	}
}

void post_classic(ibv_qp *qp, std::span<const Operation> operations)
{
	ibv_send_wr list[kListMax];
	for (std::size_t i = 0; i < operations.size(); i++) {
		fill_classic(operations[i], list[i]);
		if (i > 0)
			list[i - 1].next = &list[i];
	}
	ibv_send_wr *bad = nullptr;
	must_succeed(ibv_post_send(qp, list, &bad), "ibv_post_send");
}

void start_operation(ibv_qp_ex *qp, const Operation &operation)
{
	qp->wr_id = operation.wr_id;
	qp->wr_flags = operation.flags;
	const std::uint64_t address = operation.remote_address;
	switch (operation.opcode) {
	case IBV_WR_SEND:
		return ibv_wr_send(qp);
	case IBV_WR_SEND_WITH_IMM:
		return ibv_wr_send_imm(qp, operation.immediate);
	case IBV_WR_RDMA_WRITE:
		return ibv_wr_rdma_write(qp, operation.rkey, address);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ibv_wr_rdma_write_imm(qp, operation.rkey, address, operation.immediate);
	case IBV_WR_RDMA_READ:
		return ibv_wr_rdma_read(qp, operation.rkey, address);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return ibv_wr_atomic_cmp_swp(qp, operation.rkey, address, operation.compare_add, operation.swap);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ibv_wr_atomic_fetch_add(qp, operation.rkey, address, operation.compare_add);
	default:
		fail("opcode %d was planned", operation.opcode);
	}
}

void set_data(ibv_qp_ex *qp, const Operation &operation)
{
	const ScatterList &list = operation.local;
	if ((operation.flags & IBV_SEND_INLINE) == 0) {
		if (list.count == 1)
			ibv_wr_set_sge(qp, list.sge[0].lkey, list.sge[0].addr, list.sge[0].length);
		else
			ibv_wr_set_sge_list(qp, list.count, elements(list));
		return;
	}
	ibv_data_buf buffers[kSgeMax];
	for (unsigned i = 0; i < list.count; i++)
		buffers[i] = {reinterpret_cast<void *>(list.sge[i].addr), list.sge[i].length};
	if (list.count == 1)
		ibv_wr_set_inline_data(qp, buffers[0].addr, buffers[0].length);
	else
		ibv_wr_set_inline_data_list(qp, list.count, buffers);
}

void post_by_wr_api(ibv_qp_ex *qp, std::span<const Operation> operations, Random &random)
{
	ibv_wr_start(qp);
	// An aborted batch must leave no trace.
	if (random.chance(5)) {
		start_operation(qp, operations[0]);
		set_data(qp, operations[0]);
		ibv_wr_abort(qp);
		ibv_wr_start(qp);
	}
	for (const Operation &operation : operations) {
		start_operation(qp, operation);
		set_data(qp, operation);
	}
	must_succeed(ibv_wr_complete(qp), "ibv_wr_complete");
}

// rxe of rdma-core 56 adds up the lengths of a list wrongly in the ibv_wr_* API.
bool lists_work(const Endpoint &endpoint)
{
	return endpoint.device().is_ohca();
}

std::size_t count_single_elements(std::span<const Operation> operations)
{
	const auto end = std::find_if(operations.begin(), operations.end(),
				      [](const Operation &operation) { return operation.local.count != 1; });
	return static_cast<std::size_t>(end - operations.begin());
}

}  // namespace

void post_sends(const Endpoint &endpoint, const Round &round, Random &random)
{
	std::span<const Operation> left = round.operations;
	while (!left.empty()) {
		std::size_t count = std::min(left.size(), random.between<std::size_t>(1, kListMax));
		bool by_wr_api = endpoint.extended() != nullptr && random.chance(60);
		if (by_wr_api && !lists_work(endpoint)) {
			const std::size_t single = count_single_elements(left.first(count));
			by_wr_api = single > 0;
			count = by_wr_api ? single : count;
		}
		if (by_wr_api)
			post_by_wr_api(endpoint.extended(), left.first(count), random);
		else
			post_classic(endpoint.qp(), left.first(count));
		left = left.subspan(count);
	}
}

void post_receives(const Endpoint &endpoint, const Round &round, Random &random)
{
	std::span<const Receive> left = round.receives;
	while (!left.empty()) {
		const std::size_t count = std::min(left.size(), random.between<std::size_t>(1, kListMax));
		ibv_recv_wr list[kListMax];
		for (std::size_t i = 0; i < count; i++) {
			list[i] = {left[i].wr_id, i + 1 < count ? &list[i + 1] : nullptr, elements(left[i].local),
				   static_cast<int>(left[i].local.count)};
		}
		ibv_recv_wr *bad = nullptr;
		must_succeed(ibv_post_recv(endpoint.qp(), list, &bad), "ibv_post_recv");
		left = left.subspan(count);
	}
}

}  // namespace verbs_test
