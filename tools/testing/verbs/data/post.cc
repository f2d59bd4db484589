// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "data/post.hh"

#include "data/endpoint.hh"
#include "failure.hh"

#include <algorithm>

namespace verbs_test {

namespace {

constexpr std::size_t kListMax = 16;

// The verbs do not change what they are given but take it without const.
ibv_sge *elements(const ScatterList &list)
{
	return list.count == 0 ? nullptr : const_cast<ibv_sge *>(list.sge);
}

// Bit 31 set: the device sends the sender's own Q_Key, which here is the right one, too.
std::uint32_t remote_qkey(const Endpoint &endpoint, const Operation &operation)
{
	constexpr std::uint32_t kOwnQkey = 0x80000000;
	return operation.wr_id % 4 == 0 ? kOwnQkey : endpoint.qkey();
}

void fill_classic(const Endpoint &endpoint, const Operation &operation, ibv_send_wr &wr)
{
	wr = {};
	wr.wr_id = operation.wr_id;
	wr.sg_list = elements(operation.local);
	wr.num_sge = static_cast<int>(operation.local.count);
	wr.opcode = operation.opcode;
	wr.send_flags = operation.flags;
	if (operation.opcode == IBV_WR_SEND_WITH_INV || operation.opcode == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = operation.window_key;
	else
		wr.imm_data = operation.immediate;
	if (endpoint.kind().service == Service::kXrc)
		wr.qp_type.xrc.remote_srqn = endpoint.remote_srqn();
	if (operation.address != nullptr) {
		wr.wr.ud.ah = operation.address->handle;
		wr.wr.ud.remote_qpn = endpoint.remote_qpn();
		wr.wr.ud.remote_qkey = remote_qkey(endpoint, operation);
	} else if (operation.opcode == IBV_WR_BIND_MW) {
		const Window &window = *operation.window;
		wr.bind_mw = {window.verbs(), operation.window_key, window.binding()};
	} else if (is_atomic(operation.opcode)) {
		wr.wr.atomic.remote_addr = operation.remote_address;
		wr.wr.atomic.rkey = operation.rkey;
		wr.wr.atomic.compare_add = operation.compare_add;
		wr.wr.atomic.swap = operation.swap;
	} else if (!is_send(operation.opcode)) {
		wr.wr.rdma.remote_addr = operation.remote_address;
		wr.wr.rdma.rkey = operation.rkey;
	}
}

void post_classic(const Endpoint &endpoint, std::span<const Operation> operations)
{
	ibv_send_wr list[kListMax];
	for (std::size_t i = 0; i < operations.size(); i++) {
		fill_classic(endpoint, operations[i], list[i]);
		if (i > 0)
			list[i - 1].next = &list[i];
	}
	ibv_send_wr *bad = nullptr;
	must_succeed(ibv_post_send(endpoint.qp(), list, &bad), "ibv_post_send");
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
	case IBV_WR_ATOMIC_WRITE:
		return ibv_wr_atomic_write(qp, operation.rkey, address, &operation.swap);
	case IBV_WR_FLUSH:
		return ibv_wr_flush(qp, operation.rkey, address, operation.remote.length, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	case IBV_WR_BIND_MW:
		return ibv_wr_bind_mw(qp, operation.window->verbs(), operation.window_key, &operation.window->binding());
	case IBV_WR_LOCAL_INV:
		return ibv_wr_local_inv(qp, operation.window_key);
	case IBV_WR_SEND_WITH_INV:
		return ibv_wr_send_inv(qp, operation.window_key);
	default:
		fail("opcode %d was planned", operation.opcode);
	}
}

bool has_data(ibv_wr_opcode opcode)
{
	return !needs_wr_api(opcode) && opcode != IBV_WR_BIND_MW && opcode != IBV_WR_LOCAL_INV;
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

void build(const Endpoint &endpoint, const Operation &operation)
{
	ibv_qp_ex *qp = endpoint.extended();
	start_operation(qp, operation);
	if (endpoint.kind().service == Service::kXrc)
		ibv_wr_set_xrc_srqn(qp, endpoint.remote_srqn());
	if (operation.address != nullptr)
		ibv_wr_set_ud_addr(qp, operation.address->handle, endpoint.remote_qpn(), remote_qkey(endpoint, operation));
	if (has_data(operation.opcode))
		set_data(qp, operation);
}

void post_by_wr_api(const Endpoint &endpoint, std::span<const Operation> operations, Random &random)
{
	ibv_qp_ex *qp = endpoint.extended();
	ibv_wr_start(qp);
	// An aborted batch must leave no trace.
	if (random.chance(5)) {
		build(endpoint, operations[0]);
		ibv_wr_abort(qp);
		ibv_wr_start(qp);
	}
	for (const Operation &operation : operations)
		build(endpoint, operation);
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

// Operations in front of the next one that only the ibv_wr_* API has; 0 if that is the first.
std::size_t count_for_either_api(std::span<const Operation> operations)
{
	const auto end = std::find_if(operations.begin(), operations.end(),
				      [](const Operation &operation) { return needs_wr_api(operation.opcode); });
	return static_cast<std::size_t>(end - operations.begin());
}

// get(i): the i-th buffer.  post(list, bad): a verb that takes a list.
template <typename Get, typename Post>
void post_buffers(std::size_t count, Random &random, Get get, Post post)
{
	std::size_t done = 0;
	while (done < count) {
		const std::size_t part = std::min(count - done, random.between<std::size_t>(1, kListMax));
		ibv_recv_wr list[kListMax];
		for (std::size_t i = 0; i < part; i++) {
			const ReceiveBuffer &buffer = get(done + i);
			list[i] = {buffer.wr_id, i + 1 < part ? &list[i + 1] : nullptr, elements(buffer.list),
				   static_cast<int>(buffer.list.count)};
		}
		ibv_recv_wr *bad = nullptr;
		must_succeed(post(list, &bad), "posting receives");
		done += part;
	}
}

}  // namespace

void post_sends(const Endpoint &endpoint, const Round &round, Random &random)
{
	std::span<const Operation> left = round.operations;
	while (!left.empty()) {
		std::size_t count = std::min(left.size(), random.between<std::size_t>(1, kListMax));
		const std::size_t either = count_for_either_api(left.first(count));
		bool by_wr_api = endpoint.extended() != nullptr && (either == 0 || random.chance(60));
		if (!by_wr_api)
			count = either;
		if (by_wr_api && !lists_work(endpoint)) {
			const std::size_t single = count_single_elements(left.first(count));
			by_wr_api = single > 0;
			count = by_wr_api ? single : count;
		}
		if (by_wr_api)
			post_by_wr_api(endpoint, left.first(count), random);
		else
			post_classic(endpoint, left.first(count));
		left = left.subspan(count);
	}
}

void post_receives(const Endpoint &endpoint, const Round &round, Random &random)
{
	post_buffers(
		round.receives.size(), random,
		[&round](std::size_t i) -> const ReceiveBuffer & { return round.receives[i].buffer; },
		[&endpoint](ibv_recv_wr *list, ibv_recv_wr **bad) { return ibv_post_recv(endpoint.qp(), list, bad); });
}

void post_shared_receives(ibv_srq *srq, std::span<const ReceiveBuffer *const> buffers, Random &random)
{
	post_buffers(
		buffers.size(), random, [buffers](std::size_t i) -> const ReceiveBuffer & { return *buffers[i]; },
		[srq](ibv_recv_wr *list, ibv_recv_wr **bad) { return ibv_post_srq_recv(srq, list, bad); });
}

}  // namespace verbs_test
