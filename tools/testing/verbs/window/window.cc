// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "window/window.hh"

#include "failure.hh"

#include <algorithm>
#include <cstring>

namespace verbs_test {

namespace {

constexpr std::uint64_t kBind = 0xb1;
constexpr std::uint64_t kInvalidate = 0xb2;
constexpr std::uint64_t kUse = 0xb3;
constexpr std::uint8_t kPattern = 0x5c;

RigOptions options_of(bool extended)
{
	RigOptions options;
	if (extended)
		options.send_ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV |
				   IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				   IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	return options;
}

bool is_filled(const std::uint8_t *bytes, std::size_t length, std::uint8_t value)
{
	return std::all_of(bytes, bytes + length, [value](std::uint8_t byte) { return byte == value; });
}

}  // namespace

WindowRig::WindowRig(const Device &the_device, bool extended) : Rig(the_device, options_of(extended))
{
	region = must(ibv_reg_mr(b.pd, b.memory.data(), kBufferSize, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		      "ibv_reg_mr with IBV_ACCESS_MW_BIND");
	b.other_mrs.push_back(region);
}

WindowRig::~WindowRig()
{
	for (ibv_mw *window : windows_)
		must_succeed(ibv_dealloc_mw(window), "ibv_dealloc_mw at the end");
}

ibv_mw *WindowRig::allocate(ibv_mw_type type)
{
	ibv_mw *window = must(ibv_alloc_mw(b.pd, type), "ibv_alloc_mw");
	windows_.push_back(window);
	return window;
}

void WindowRig::deallocate(ibv_mw *window)
{
	must_succeed(ibv_dealloc_mw(window), "ibv_dealloc_mw");
	std::erase(windows_, window);
}

ibv_mw_bind_info WindowRig::part(std::uint32_t offset, std::uint32_t length, unsigned access) const
{
	return {region, address(offset), length, access};
}

void WindowRig::bind_type_1(ibv_mw *window, const ibv_mw_bind_info &info)
{
	const std::uint32_t before = window->rkey;
	ibv_mw_bind bind{kBind, IBV_SEND_SIGNALED, info};
	must_succeed(ibv_bind_mw(b.qp, window, &bind), "ibv_bind_mw");
	const ibv_wc wc = wait_completion(b.send_cq, "ibv_bind_mw");
	if (wc.wr_id != kBind || wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_BIND_MW)
		fail("ibv_bind_mw completes with '%s', opcode %d", ibv_wc_status_str(wc.status), wc.opcode);
	if (window->rkey == before || (window->rkey ^ before) >> 8 != 0)
		fail("ibv_bind_mw has made rkey 0x%x of 0x%x", window->rkey, before);
}

ibv_wc WindowRig::bind_type_2(ibv_mw *window, std::uint32_t rkey, const ibv_mw_bind_info &info)
{
	if (options.send_ops != 0) {
		ibv_qp_ex *qp = must(ibv_qp_to_qp_ex(b.qp), "ibv_qp_to_qp_ex");
		ibv_wr_start(qp);
		qp->wr_id = kBind;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_bind_mw(qp, window, rkey, &info);
		must_succeed(ibv_wr_complete(qp), "ibv_wr_complete of a bind");
	} else {
		ibv_send_wr wr{};
		wr.wr_id = kBind;
		wr.opcode = IBV_WR_BIND_MW;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.bind_mw.mw = window;
		wr.bind_mw.rkey = rkey;
		wr.bind_mw.bind_info = info;
		ibv_send_wr *bad = nullptr;
		must_succeed(ibv_post_send(b.qp, &wr, &bad), "ibv_post_send of a bind");
	}
	const ibv_wc wc = wait_completion(b.send_cq, "a bind");
	if (wc.wr_id != kBind)
		fail("a bind completes as wr_id 0x%lx", static_cast<unsigned long>(wc.wr_id));
	if (wc.status == IBV_WC_SUCCESS) {
		if (wc.opcode != IBV_WC_BIND_MW)
			fail("a bind completes with opcode %d", wc.opcode);
		window->rkey = rkey;
	}
	return wc;
}

void WindowRig::invalidate_locally(std::uint32_t rkey)
{
	if (options.send_ops != 0) {
		ibv_qp_ex *qp = must(ibv_qp_to_qp_ex(b.qp), "ibv_qp_to_qp_ex");
		ibv_wr_start(qp);
		qp->wr_id = kInvalidate;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_local_inv(qp, rkey);
		must_succeed(ibv_wr_complete(qp), "ibv_wr_complete of an invalidation");
	} else {
		ibv_send_wr wr{};
		wr.wr_id = kInvalidate;
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.invalidate_rkey = rkey;
		ibv_send_wr *bad = nullptr;
		must_succeed(ibv_post_send(b.qp, &wr, &bad), "ibv_post_send of an invalidation");
	}
	expect_completion(b.send_cq, kInvalidate, IBV_WC_SUCCESS, "the invalidation");
}

ibv_wc_status WindowRig::use(ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t rkey,
			     std::uint32_t length)
{
	post(a.qp, {opcode, a.sge(length), remote_address, rkey, kUse, IBV_SEND_SIGNALED});
	const ibv_wc wc = wait_completion(a.send_cq, "an operation through a window");
	if (wc.wr_id != kUse)
		fail("an operation through a window completes as wr_id 0x%lx", static_cast<unsigned long>(wc.wr_id));
	return wc.status;
}

void WindowRig::require_use(std::uint64_t start, std::uint32_t rkey, std::uint32_t offset, std::uint32_t length)
{
	std::uint8_t *own = a.memory.data();
	std::uint8_t *peer = b.memory.data();

	std::memset(peer, 0xbb, kBufferSize);
	std::memset(own, kPattern, length);
	if (use(IBV_WR_RDMA_WRITE, start, rkey, length) != IBV_WC_SUCCESS)
		fail("WRITE through a window is refused");
	if (!is_filled(peer + offset, length, kPattern) || !is_filled(peer, offset, 0xbb) ||
	    !is_filled(peer + offset + length, kBufferSize - offset - length, 0xbb))
		fail("WRITE through a window has written other bytes than those of the window");

	peer[offset + length - 1] = 0x77;
	if (use(IBV_WR_RDMA_READ, start, rkey, length) != IBV_WC_SUCCESS)
		fail("READ through a window is refused");
	if (!is_filled(own, length - 1, kPattern) || own[length - 1] != 0x77)
		fail("READ through a window has read other bytes than those of the window");

	const std::uint64_t before = 41;
	std::uint64_t after;
	std::memcpy(peer + offset + 8, &before, sizeof(before));
	if (use(IBV_WR_ATOMIC_FETCH_AND_ADD, start + 8, rkey, 8) != IBV_WC_SUCCESS)
		fail("fetch and add through a window is refused");
	std::memcpy(&after, peer + offset + 8, sizeof(after));
	if (after != before + 1 || std::memcmp(own, &before, sizeof(before)) != 0)
		fail("fetch and add through a window has made %lu of %lu", static_cast<unsigned long>(after),
		     static_cast<unsigned long>(before));
}

void WindowRig::require_refusal(ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t rkey,
				std::uint32_t length, const char *what)
{
	std::memset(a.memory.data(), kPattern, kBufferSize);
	std::memset(b.memory.data(), 0xbb, kBufferSize);
	const ibv_wc_status status = use(opcode, remote_address, rkey, length);
	if (status != IBV_WC_REM_ACCESS_ERR)
		fail("%s ends with '%s' instead of a remote access error", what, ibv_wc_status_str(status));
	if (!is_filled(b.memory.data(), kBufferSize, 0xbb) || !is_filled(a.memory.data(), kBufferSize, kPattern))
		fail("%s has changed memory", what);
	reconnect();
}

void WindowRig::reconnect()
{
	must_succeed(to_state(a.qp, IBV_QPS_RESET), "ibv_modify_qp to RESET");
	must_succeed(to_state(b.qp, IBV_QPS_RESET), "ibv_modify_qp to RESET");
	connect_both();
}

}  // namespace verbs_test
